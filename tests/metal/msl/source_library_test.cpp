// The source door as a whole: diagnostics, include path, limits, the AIR that comes out, and the API's
// newLibrary.
#include "metal/msl/source_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "metal/api/extensions.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHeader = "#include <metal_stdlib>\nusing namespace metal;\n";

std::string error_of(const std::string& text, const msl::SourceOptions& options = {}) {
    const auto library = msl::SourceLibrary::open(text, options);
    if (!library) return library.error().describe();
    const auto checked = library->check();
    return checked ? "accepted" : checked.error().describe();
}

// The AIR of a source's only kernel, as text.
std::string air_of(const std::string& text) {
    const auto library = msl::SourceLibrary::open(kHeader + text, {});
    if (!library) return library.error().describe();
    const std::string name = library->kernel_names().at(0);
    const auto module = library->compile(name);
    if (!module) return module.error().describe();
    const auto ir = the_compiler().disassemble(*module, name, {});
    return ir ? *ir : ir.error().describe();
}

// A folder that goes away with the test.
class Folder {
  public:
    Folder() {
        std::string pattern = (fs::temp_directory_path() / "ingot-msl-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    fs::path write(const std::string& name, const std::string& text) const {
        fs::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
        return path_ / name;
    }
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

TEST(SourceDoor, DiagnosticsStandAtTheLineOfTheSource) {
    EXPECT_THAT(error_of(kHeader + "\nkernel void f(device float* a) {\n    a[0] = undeclared;\n}"),
                HasSubstr("program_source:5: error: use of undeclared identifier 'undeclared'"));
}

TEST(SourceDoor, DiagnosticsNameIncludedFiles) {
    const Folder folder;
    folder.write("inner/helper.h", "float helper() {\n    return missing;\n}\n");
    const fs::path main = folder.write("main.metal", "#include \"inner/helper.h\"\nkernel void f() {}\n");
    const auto library = msl::SourceLibrary::open_file(main.string(), {});
    ASSERT_TRUE(library) << library.error().describe();
    const auto checked = library->check();
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().describe(),
                HasSubstr("inner/helper.h:2: error: use of undeclared identifier"));
}

TEST(SourceDoor, IncludesFromTheGivenFoldersAndSeesMacros) {
    const Folder folder;
    folder.write("value.h", "#define VALUE (GIVEN + 1)\n");
    msl::SourceOptions options;
    options.include_folders = {folder.path().string()};
    options.macros = {"GIVEN=41"};
    EXPECT_EQ("accepted", error_of("#include <value.h>\nstatic_assert(VALUE == 42);\n", options));
    EXPECT_EQ("accepted", error_of("static_assert(__METAL_VERSION__ == 320);\n"));
    options.standard = "metal4.0";
    EXPECT_EQ("accepted", error_of("static_assert(__METAL_VERSION__ == 400);\n", options));
    options.standard = "metal9";
    EXPECT_THAT(error_of("", options), HasSubstr("no language version 'metal9'; there are metal3.0"));
}

TEST(SourceDoor, NothingOutsideTheIncludePathCanBeRead) {
    const Folder folder;
    folder.write("secret.h", "int secret;\n");
    fs::create_directories(folder.path() / "inner");
    msl::SourceOptions options;
    options.include_folders = {(folder.path() / "inner").string()};
    const std::string absolute = (folder.path() / "secret.h").string();
    for (const std::string& name : {absolute, std::string("../secret.h"), std::string("/etc/passwd"),
                                    std::string("/dev/stdin"), std::string("/proc/self/environ")}) {
        EXPECT_THAT(error_of("#include \"" + name + "\"\n", options), HasSubstr("file not found")) << name;
        EXPECT_THAT(error_of("#define NAME \"" + name + "\"\n#include NAME\n", options),
                    HasSubstr("file not found"));
        EXPECT_EQ("accepted",
                  error_of("#if __has_include(\"" + name + "\")\n#error found\n#endif\n", options));
        EXPECT_THAT(error_of("char bytes[] = {\n#embed \"" + name + "\"\n};\n", options),
                    HasSubstr("not found"));
    }
    EXPECT_THAT(error_of("#define HASH #\nHASH include \"" + absolute + "\"\n", options),
                Not(HasSubstr("accepted")));
}

TEST(SourceDoor, EndlessCompilationStopsAtItsLimit) {
    msl::SourceOptions options;
    options.limits.seconds = 2;
    const std::string error = error_of(
        "template <int D, int P> struct G { enum { v = G<D - 1, 2 * P>::v + G<D - 1, 2 * P + 1>::v }; };\n"
        "template <int P> struct G<0, P> { enum { v = 1 }; };\n"
        "static_assert(G<30, 0>::v == 0);\n",
        options);
    EXPECT_THAT(error, HasSubstr("stopped after 2 s"));
}

// Each would run for ever, or as long as memory lasts, if nothing limited it.
TEST(SourceDoor, HostileSourcesAreErrors) {
    msl::SourceOptions options;
    options.limits.seconds = 10;
    options.limits.memory_bytes = uint64_t{1} << 30;
    std::string macros = "#define A0 x\n";
    for (int i = 1; i < 60; ++i) {
        const std::string before = "A" + std::to_string(i - 1);
        macros += "#define A" + std::to_string(i) + " " + before + " " + before + "\n";
    }
    std::string call = "f0(1)";
    std::string nested;
    for (int i = 0; i < 60; ++i)
        nested += "#define f" + std::to_string(i) + "(x) f" + std::to_string(i + 1) + "(x x) f" +
                  std::to_string(i + 1) + "(x x)\n";
    const std::string sources[] = {
        macros + "int A59;\n",
        nested + "int y = " + call + ";\n",
        "template <int N> struct S { static constexpr int v = S<N + 1>::v; };\nint x = S<0>::v;\n",
        "template <typename T> struct P { P<P<T>> next; };\nP<int> p;\n",
        "constexpr int spin(int i) { while (true) ++i; return i; }\nstatic_assert(spin(0) == 1);\n",
        "#include __FILE__\n",
        "int x = " + std::string(200'000, '(') + "1" + std::string(200'000, ')') + ";\n",
        std::string(200'000, '{'),
        "int x[] = {" + std::string(100'000, '-') + "1};\n",
        "#if " + std::string(100'000, '!') + "1\n#endif\nint x = y;\n",
    };
    for (const std::string& source : sources) {
        const std::string error = error_of(source + "kernel void k(device int* a) { a[0] = 1; }", options);
        EXPECT_NE("accepted", error) << source.substr(0, 100);
        EXPECT_NE("", error) << source.substr(0, 100);
    }
}

TEST(SourceDoor, DevicesAndPipesInTheIncludePathDontHangIt) {
    const Folder folder;
    ASSERT_EQ(0, ::mkfifo((folder.path() / "pipe.h").c_str(), 0600));
    fs::create_symlink("/dev/zero", folder.path() / "zeros.h");
    msl::SourceOptions options;
    options.include_folders = {folder.path().string()};
    options.limits.seconds = 2;
    options.limits.memory_bytes = uint64_t{1} << 30;
    EXPECT_THAT(error_of("#include <pipe.h>\n", options), Not(HasSubstr("accepted")));
    EXPECT_THAT(error_of("#include <zeros.h>\n", options), HasSubstr("leads outside of the include path"));
}

TEST(SourceDoor, LinksOutOfTheIncludePathAreRefused) {
    const Folder folder, elsewhere;
    std::ofstream(elsewhere.path() / "fine.h") << "int secret;\n";
    std::ofstream(elsewhere.path() / "broken.h") << "#error a secret\n";
    std::ofstream(folder.path() / "own.h") << "int own;\n";
    fs::create_symlink(elsewhere.path() / "fine.h", folder.path() / "fine.h");
    fs::create_symlink(elsewhere.path() / "broken.h", folder.path() / "broken.h");
    fs::create_symlink(elsewhere.path(), folder.path() / "sub");
    fs::create_symlink("own.h", folder.path() / "inside.h");
    msl::SourceOptions options;
    options.include_folders = {folder.path().string()};
    for (const std::string line : {"#include <fine.h>", "#include <broken.h>", "#include <sub/fine.h>"}) {
        const std::string error = error_of(line + "\nkernel void k(device int* a) { a[0] = 1; }", options);
        EXPECT_THAT(error, HasSubstr("is a link that leads outside of the include path")) << line;
        EXPECT_THAT(error, Not(HasSubstr("secret"))) << line;
    }
    EXPECT_EQ("accepted",
              error_of("#include <inside.h>\nkernel void k(device int* a) { a[0] = 1; }", options));
}

// What a kernel's text can ask a C++ compiler to do besides compiling: load plugins, assemble, link, read
// files.
TEST(SourceDoor, NothingRunsAtCompileTime) {
    for (const std::string text :
         {"#pragma clang __debug crash\n", "#pragma clang __debug parser_crash\n",
          "#pragma clang module import std\n", "import std;\n", "asm(\".incbin \\\"/etc/passwd\\\"\");\n",
          "#import \"/etc/passwd\"\n", "#include_next </etc/passwd>\n"}) {
        const std::string error = error_of(text + "kernel void k(device int* a) { a[0] = 1; }");
        EXPECT_THAT(error, Not(HasSubstr("root:"))) << text;
        EXPECT_THAT(error, Not(HasSubstr("PLEASE submit"))) << text;
        const bool is_pragma = text.starts_with("#pragma");  // dropped
        EXPECT_TRUE(is_pragma || error != "accepted") << text;
    }
}

std::string compiled(const std::string& text) {
    const auto library = msl::SourceLibrary::open(kHeader + text, {});
    if (!library) return library.error().describe();
    const auto module = library->compile(library->kernel_names().at(0));
    return module ? "accepted" : module.error().describe();
}

// Threads have memory of their own, of their group, and the device's: nothing else can be changed.
TEST(SourceDoor, VariablesOfTheProgramAreConstants) {
    const std::string kernel = "kernel void k(device int* a, uint i [[thread_position_in_grid]]) {\n";
    const std::pair<std::string, std::string> refused[] = {
        {"int v = 0;\n" + kernel + "a[i] = v++; }", "program_source:5: error: 'v'"},
        {"int v;\n" + kernel + "v = a[i]; }", "program_source:5: error: 'v'"},
        {"static int v = 3;\n" + kernel + "a[i] = v; v = 1; }", "program_source:5: error: 'v'"},
        {"namespace n { int v[4] = {1, 2}; }\n" + kernel + "a[i] = n::v[i]; }", "error: 'n::v'"},
        {"struct S { static int v; };\nint S::v = 2;\n" + kernel + "a[i] = S::v; }", "error: 'S::v'"},
        {"struct S { static inline float v = 2; };\n" + kernel + "a[i] = int(S::v); }", "error: 'S::v'"},
        {kernel + "static int v = 0;\na[i] = v++; }", "program_source:5: error: 'k("},
        {"int next() { static int v = 0; return ++v; }\n" + kernel + "a[i] = next(); }",
         "program_source:3: error: 'next()::v'"},
        {"template <typename T> T next() { static T v = 0; return ++v; }\n" + kernel +
             "a[i] = next<int>(); }",
         "program_source:3: error: 'int next<int>()::v'"},
        {"struct S { int a, b; } v = {1, 2};\n" + kernel + "a[i] = v.a; v.b = 3; }", "error: 'v'"},
        {"inline int v = 5;\n" + kernel + "a[i] = v; }", "error: 'v'"},
        {"device int* v = nullptr;\n" + kernel + "v = a + i; v[0] = 1; }", "error: 'v'"},
        {"int v = 0;\nint get() { return v; }\n" + kernel + "a[i] = get(); }",
         "program_source:4: error: 'v'"},
        {"int v = int(sqrt(2.0));\n" + kernel + "a[i] = v; v = 3; }", "error: 'v'"},
        {kernel + "static int v = a[i];\na[i] = v; }", "error: 'k("}};
    for (const auto& [text, expected] : refused) {
        const std::string error = compiled(text);
        EXPECT_THAT(error, HasSubstr(expected)) << text;
        EXPECT_THAT(error, HasSubstr("must reside in constant address space")) << text;
    }
    const std::string constants =
        "constant int table[2] = {1, 2};\nconstexpr constant float4 f(1, 2, 3, 4);\nconst int c = 3;\n"
        "constant bool flag [[function_constant(0)]];\nstruct S { static constexpr constant int n = 2; };\n"
        "constant struct { int a, b; } both = {4, 5};\ntemplate <int N> constant constexpr int twice = 2 * "
        "N;\n"
        "constant bool inverted = !flag;\nconstant os_log logger(\"a\", \"b\");\n";
    EXPECT_EQ("accepted",
              compiled(constants + kernel +
                       "threadgroup int t[2]; static constexpr int m[] = {1, 2}; t[i] = m[i];\n"
                       "const int x[3] = {1, 2, 3}; logger.log(\"%d\", 1);\n"
                       "a[i] = table[i & 1] + int(f.x) + c + S::n + both.b + twice<3> + t[i] + x[i]\n"
                       "  + (flag == inverted ? 1 : 0); }"));
}

// Strict mode refuses these too.
TEST(SourceDoor, AFunctionThatCallsItselfLastIsALoop) {
    const std::string kernel = "kernel void k(device int* a) { a[0] = g(a[1], a[2]); }";
    EXPECT_EQ("accepted",
              compiled("int g(int a, int b) { if (b == 0) return a; return g(b, a % b); }\n" + kernel));
    EXPECT_THAT(
        compiled("int g(int a, int b) { return b == 0 ? a : g(b, a - 1) ^ g(a, b - 1) * 3; }\n" + kernel),
        HasSubstr("program_source:3: error: 'g(int, int)' calls itself"));
}

TEST(SourceDoor, ACrashOfTheCompilerIsOneLine) {
    // A stand-in that ends as clang does when it crashes, with and without a diagnostic before.
    const Folder folder;
    const std::string last_words =
        "PLEASE submit a bug report to https://example.org/ and include the crash backtrace.\n"
        "Stack dump:\n0.\tProgram arguments: clang -x c++\n1.\t<eof> parser at end of file\n";
    const fs::path plain = folder.write("plain", "#!/bin/sh\ncat >&2 <<'E'\n" + last_words + "E\nexit 134\n"),
                   told =
                       folder.write("told", "#!/bin/sh\ncat >&2 <<'E'\nprogram_source:2: error: no type\n" +
                                                last_words + "E\nexit 134\n");
    for (const fs::path& program : {plain, told}) fs::permissions(program, fs::perms::owner_all);
    const auto error_with = [](const fs::path& program) {
        ::setenv("INGOT_CLANG", program.c_str(), 1);
        const std::string error = error_of("int crashes_" + program.filename().string() + ";");
        ::unsetenv("INGOT_CLANG");
        return error;
    };
    EXPECT_EQ("program_source: error: the compiler crashed on this source", error_with(plain));
    EXPECT_EQ("program_source:2: error: no type", error_with(told));
}

TEST(SourceDoor, UsingWhatIsntServedIsAnErrorWhereItIsUsed) {
    const std::string texts[] = {"constexpr sampler s(filter::linear);\nint use(int);\n",
                                 "float s(texture2d<float> t) { return t.read(0).x; }\nint use(int);\n",
                                 "constant sampler s = sampler(filter::linear);\nint use(int);\n"};
    for (const std::string& text : texts) {
        EXPECT_THAT(
            error_of(kHeader + text + "kernel void k(device int* a) {\n    a[0] = use(s);\n}"),
            AllOf(HasSubstr("program_source:6: error: 's' is unavailable: "), HasSubstr("not supported")))
            << text;
        EXPECT_EQ("accepted",
                  error_of(kHeader + text + "kernel void k(device int* a) { int s = 1; a[0] = s; }"));
    }
}

TEST(SourceDoor, MemoryIsLimited) {
    msl::SourceOptions options;
    options.limits.memory_bytes = 64 << 20;
    EXPECT_THAT(error_of("int x;", options), Not(HasSubstr("accepted")));
}

TEST(SourceDoor, UnknownKernelsAreAnErrorThatNamesOthers) {
    const auto library = msl::SourceLibrary::open("kernel void here() {}", {});
    ASSERT_TRUE(library) << library.error().describe();
    EXPECT_THAT(library->kernel_names(), ElementsAre("here"));
    const auto module = library->compile("there");
    ASSERT_FALSE(module);
    EXPECT_THAT(module.error().describe(), HasSubstr("no kernel 'there'"));
    EXPECT_THAT(module.error().describe(), HasSubstr("there are: here"));
}

TEST(AirForm, HasAddressSpacesAndArgumentMetadata) {
    const std::string air = air_of(
        "struct S { float4 scale; int n; };\n"
        "kernel void f(device half2* out [[buffer(5)]], constant S& s, device const uchar* in "
        "[[buffer(2)]],\n"
        "    threadgroup float* t [[threadgroup(1)]], ushort2 p [[thread_position_in_grid]]) {\n"
        "    t[p.x] = s.scale.x * in[p.y]; out[p.x] = half2(half(t[p.x])); }");
    EXPECT_THAT(air, HasSubstr("@f(ptr addrspace(1)"));
    EXPECT_THAT(air, HasSubstr("load float, ptr addrspace(2)"));
    EXPECT_THAT(air, HasSubstr("store float %"));
    EXPECT_THAT(air, HasSubstr("!\"air.location_index\", i32 5, i32 1, !\"air.read_write\", "
                               "!\"air.address_space\", i32 1, !\"air.arg_type_size\", i32 4, "
                               "!\"air.arg_type_align_size\", i32 4, !\"air.arg_type_name\", !\"half2\", "
                               "!\"air.arg_name\", !\"out\""));
    EXPECT_THAT(
        air, HasSubstr("!\"air.buffer_size\", i32 32, !\"air.location_index\", i32 6, i32 1, !\"air.read\", "
                       "!\"air.address_space\", i32 2"));
    EXPECT_THAT(
        air, HasSubstr("!\"air.location_index\", i32 1, i32 1, !\"air.read_write\", !\"air.address_space\", "
                       "i32 3"));
    EXPECT_THAT(air, HasSubstr("!\"air.thread_position_in_grid\", !\"air.arg_type_name\", !\"ushort2\""));
    EXPECT_THAT(air, Not(HasSubstr("addrspacecast")));
}

TEST(AirForm, AtomicsAreNamedAfterTheirPointersSpace) {
    const std::string air = air_of(
        "kernel void f(device atomic_uint* d) { threadgroup atomic_uint t[2];\n"
        "    atomic_fetch_add_explicit(&t[0], 1u, memory_order_relaxed);\n"
        "    atomic_fetch_add_explicit(d, 1u, memory_order_relaxed); }");
    EXPECT_THAT(air, HasSubstr("@air.atomic.local.add.u.i32(ptr addrspace(3)"));
    EXPECT_THAT(air, HasSubstr("@air.atomic.global.add.u.i32(ptr addrspace(1)"));
    EXPECT_THAT(air, Not(HasSubstr("flat")));
}

TEST(AirForm, PointersFromMemoryPointToDeviceMemory) {
    const std::string air =
        air_of("struct A { device float* p; };\nkernel void f(constant A& a) { a.p[3] = 1; }");
    EXPECT_THAT(air, HasSubstr("store float 1.000000e+00, ptr addrspace(1)"));
}

TEST(AirForm, OnlyUsedFunctionConstantsRemain) {
    const std::string air = air_of(
        "constant bool used [[function_constant(4)]];\nconstant int unused [[function_constant(9)]];\n"
        "kernel void f(device int* a) { a[0] = used ? 1 : 2; }");
    EXPECT_THAT(air, HasSubstr("externally_initialized constant i8, section \"air.fc_initializer\""));
    EXPECT_THAT(air, HasSubstr("!\"bool\", !\"used\", i32 4"));
    EXPECT_THAT(air, Not(HasSubstr("unused")));
}

TEST(AirForm, KeepsTheSourcesLines) {
    EXPECT_THAT(air_of("kernel void f(device int* a) {\n    a[0] = a[1] + 1;\n}"),
                HasSubstr("!DILocation(line: 4"));
}

class SourceApi : public ::testing::Test {
  protected:
    NS::SharedPtr<NS::AutoreleasePool> pool_ = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    NS::SharedPtr<MTL::Device> device_ = NS::TransferPtr(MTL::CreateSystemDefaultDevice());

    static NS::String* string(const std::string& text) {
        return NS::String::string(text.c_str(), NS::UTF8StringEncoding);
    }
};

TEST_F(SourceApi, NewLibraryCompilesSourceAndItsKernelsRun) {
    NS::Error* error = nullptr;
    const auto library = NS::TransferPtr(device_->newLibrary(
        string(kHeader +
               "constant int k [[function_constant(0)]];\n"
               "kernel void add(device int* a, constant int& b, uint i [[thread_position_in_grid]]) "
               "{ a[i] += b * k; }"),
        nullptr, &error));
    ASSERT_TRUE(library) << error->localizedDescription()->utf8String();
    EXPECT_EQ(1u, library->functionNames()->count());
    const auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    const int k = 10;
    values->setConstantValue(&k, MTL::DataTypeInt, NS::UInteger(0));
    const auto function = NS::TransferPtr(library->newFunction(string("add"), values.get(), &error));
    ASSERT_TRUE(function);
    EXPECT_EQ(1u, function->functionConstantsDictionary()->count());
    const auto pipeline = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
    ASSERT_TRUE(pipeline) << error->localizedDescription()->utf8String();
    const auto buffer = NS::TransferPtr(device_->newBuffer(16, MTL::ResourceStorageModeShared));
    auto* numbers = static_cast<int*>(buffer->contents());
    for (int i = 0; i < 4; ++i) numbers[i] = i;
    const auto queue = NS::TransferPtr(device_->newCommandQueue());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    encoder->setBuffer(buffer.get(), 0, 0);
    const int b = 7;
    encoder->setBytes(&b, sizeof b, 1);
    encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    EXPECT_EQ(MTL::CommandBufferStatusCompleted, commands->status());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(i + 70, numbers[i]);
}

TEST_F(SourceApi, TensorsAreArgumentsOfTheirShape) {
    NS::Error* error = nullptr;
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setLanguageVersion(MTL::LanguageVersion4_0);
    const auto library = NS::TransferPtr(device_->newLibrary(
        string(kHeader +
               "#include <metal_tensor>\n"
               "kernel void sum_rows(tensor<device int, dextents<int, 2>> a, device int* sums,\n"
               "                     uint y [[thread_position_in_grid]]) {\n"
               "    sums[y] = 0;\n"
               "    for (int x = 0; x < a.get_extent(0); ++x) sums[y] += a[array<int, 2>{x, int(y)}];\n}"),
        options.get(), &error));
    ASSERT_TRUE(library) << error->localizedDescription()->utf8String();
    const auto function = NS::TransferPtr(library->newFunction(string("sum_rows")));
    const auto pipeline = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
    ASSERT_TRUE(pipeline) << error->localizedDescription()->utf8String();
    const int elements[] = {-1, 1, 2, 3, 9, 4, 5, 6, 9};  // 2 rows of 3 behind one element, 4 apart
    const auto buffer =
        NS::TransferPtr(device_->newBuffer(elements, sizeof elements, MTL::ResourceStorageModeShared));
    const auto sums = NS::TransferPtr(device_->newBuffer(8, MTL::ResourceStorageModeShared));
    const auto queue = NS::TransferPtr(device_->newCommandQueue());
    MTL::CommandBuffer* commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    set_tensor(encoder, buffer.get(), 4, {3, 2}, {1, 4}, 0);
    encoder->setBuffer(sums.get(), 0, 1);
    encoder->dispatchThreads(MTL::Size(2, 1, 1), MTL::Size(2, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    ASSERT_EQ(MTL::CommandBufferStatusCompleted, commands->status());
    EXPECT_EQ(6, static_cast<int*>(sums->contents())[0]);
    EXPECT_EQ(15, static_cast<int*>(sums->contents())[1]);
}

TEST_F(SourceApi, AStrictDeviceRefusesSourcesThatMixAddressSpaces) {
    const std::string text = "kernel void f(device int* a) {\n    int* p = a;\n    p[0] = 1;\n}";
    NS::Error* error = nullptr;
    EXPECT_TRUE(NS::TransferPtr(device_->newLibrary(string(text), nullptr, &error)));
    set_strict(device_.get(), true);
    EXPECT_FALSE(NS::TransferPtr(device_->newLibrary(string(text), nullptr, &error)));
    set_strict(device_.get(), false);
    ASSERT_NE(nullptr, error);
    EXPECT_THAT(
        error->localizedDescription()->utf8String(),
        HasSubstr("program_source:2: error: pointer type must have explicit address space qualifier"));
}

TEST_F(SourceApi, BrokenSourceIsACompileFailureWithTheLog) {
    NS::Error* error = nullptr;
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    const auto library = NS::TransferPtr(
        device_->newLibrary(string("kernel void f() {\n  nonsense();\n}"), options.get(), &error));
    EXPECT_FALSE(library);
    ASSERT_NE(nullptr, error);
    EXPECT_EQ(NS::Integer(MTL::LibraryErrorCompileFailure), error->code());
    EXPECT_THAT(error->localizedDescription()->utf8String(),
                HasSubstr("program_source:2: error: use of undeclared identifier 'nonsense'"));
}

TEST_F(SourceApi, MacrosAndLanguageVersionReachTheSource) {
    NS::Error* error = nullptr;
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setLanguageVersion(MTL::LanguageVersion4_0);
    options->setPreprocessorMacros(NS::Dictionary::dictionary(string("7"), string("SEVEN")));
    const auto library = NS::TransferPtr(device_->newLibrary(
        string("static_assert(SEVEN == 7 && __METAL_VERSION__ == 400);\nkernel void f() {}"), options.get(),
        &error));
    EXPECT_TRUE(library) << (error ? error->localizedDescription()->utf8String() : "");
}

// A copy for each side of the branches around it would make threads wait at different barriers.
TEST(SourceDoor, ABarrierBetweenBranchesOnOneConditionStaysOne) {
    const std::string ir = air_of(
        "void wait() { threadgroup_barrier(mem_flags::mem_threadgroup); }\n"
        "kernel void k(device uint* out, uint t [[thread_index_in_threadgroup]]) {\n"
        "  threadgroup uint shared[64];\n"
        "  if (t < 4) shared[t] = out[t];\n"
        "  wait();\n"
        "  if (t < 4) out[t] = shared[3 - t];\n"
        "}\n");
    const std::string call = "call void @air.wg.barrier(";
    const size_t first = ir.find(call);
    ASSERT_NE(std::string::npos, first) << ir;
    EXPECT_EQ(std::string::npos, ir.find(call, first + 1)) << ir;
}

}  // namespace
}  // namespace ingot::metal::testing

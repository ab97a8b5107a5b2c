// `ingot metal` on Metal source, and what programs that run no kernel don't pay.
#include <gmock/gmock.h>

#include "metal_cli/program.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;

class Source : public Program {
  protected:
    void source(const std::string& text) {
        write("k.metal", "#include <metal_stdlib>\nusing namespace metal;\n" + text);
    }
    // The 32-bit integers that end a file.
    std::string tail(const std::string& name, size_t count) {
        const std::string file = read(name);
        return file.size() < 4 * count ? "" : file.substr(file.size() - 4 * count);
    }
};

TEST_F(Source, CompileWritesEachStage) {
    source("kernel void k(device int* a, uint i [[thread_position_in_grid]]) { a[i] = 7; }");
    EXPECT_EQ("k\n", good("compile k.metal"));
    EXPECT_EQ("k: compiled\n", good("compile k.metal --kernel k"));
    EXPECT_THAT(good("compile k.metal --emit c++"), HasSubstr("a[i] = 7;"));
    EXPECT_THAT(good("compile k.metal --emit ir"), HasSubstr("void @k(ptr addrspace(1)"));
    good("compile k.metal --emit air -o k.air");
    EXPECT_THAT(read("k.air"), HasSubstr("BC\xC0\xDE"));
    const std::string code = good("compile k.metal --emit asm");
    EXPECT_THAT(code, HasSubstr("ingot_entry:"));
    EXPECT_THAT(code, HasSubstr(".size\tingot_entry"));
    EXPECT_THAT(good("compile k.metal --all"), HasSubstr("1 of 1 kernels compiled"));
    EXPECT_EQ(2, metal("compile k.metal --emit wasm").status);
}

TEST_F(Source, ListShowsThreadgroupVariablesAndOptionalConstants) {
    source(
        "constant int needed [[function_constant(0)]];\nconstant int maybe [[function_constant(1)]];\n"
        "kernel void k(device int* a, uint i [[thread_index_in_threadgroup]]) {\n"
        "    threadgroup int t[40];\n    t[i] = a[i];\n    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "    a[i] = t[39 - i] + needed + (is_function_constant_defined(maybe) ? maybe : 3);\n}");
    const std::string text = good("list k.metal");
    EXPECT_THAT(text, HasSubstr("160 bytes of threadgroup variables"));
    EXPECT_THAT(text, HasSubstr("constant(0) int needed\n"));
    EXPECT_THAT(text, HasSubstr("constant(1) int maybe, optional\n"));
    const auto kernels = json("list k.metal");
    EXPECT_EQ(160, kernels[0]["threadgroup_bytes"]);
    EXPECT_TRUE(kernels[0]["constants"][0]["required"].get<bool>());
    EXPECT_FALSE(kernels[0]["constants"][1]["required"].get<bool>());
    const std::string run = "run k.metal --grid 1 --threads 1 --buffer '0=out:o.npy:i32[1]' ";
    EXPECT_THAT(bad(run), HasSubstr("function constants without a value: int needed (index 0)"));
    good(run + "--constant needed=int:20");
    EXPECT_EQ(bytes_of<int32_t>({23}), tail("o.npy", 1));
    good(run + "--constant needed=int:20 --constant 1=int:500");
    EXPECT_EQ(bytes_of<int32_t>({520}), tail("o.npy", 1));
}

// Transposes; the kernel learns the shapes from its arguments alone.
TEST_F(Source, ATensorIsBoundWithItsShape) {
    write("in.npy", numpy_file("<i4", "(2, 3)", bytes_of<int32_t>({1, 2, 3, 4, 5, 6})));
    source(
        "#include <metal_tensor>\n"
        "kernel void k(tensor<device int, dextents<int, 2>> a [[buffer(0)]],\n"
        "              tensor<device int, dextents<int, 2>> b [[buffer(1)]]) {\n"
        "    for (int y = 0; y < a.get_extent(1); ++y)\n"
        "        for (int x = 0; x < a.get_extent(0); ++x) b[array<int, 2>{y, x}] = a[array<int, 2>{x, y}] + "
        "100 * b.get_extent(1);\n}");
    good("run k.metal --std metal4.0 --grid 1 --threads 1 --tensor 0=in.npy --tensor '1=out:o.npy:i32[3,2]'");
    EXPECT_EQ(bytes_of<int32_t>({301, 304, 302, 305, 303, 306}), tail("o.npy", 6));
    EXPECT_THAT(read("o.npy"), HasSubstr("'shape': (3, 2)"));
}

TEST_F(Source, VisibleFunctionsAreBoundByName) {
    source(
        "[[visible]] int twice(int x) { return 2 * x; }\n"
        "namespace far { [[visible]] int less(int x) { return x - 1; } }\n"
        "kernel void k(visible_function_table<int(int)> table [[buffer(0)]], device int* out [[buffer(1)]],\n"
        "              uint i [[thread_position_in_grid]]) { out[i] = table[i](50) + 1000 * table.size(); }");
    const std::string run = "run k.metal --threads 2 --buffer '1=out:o.npy:i32[2]' --grid 1 ";
    good(run + "--function-table 0=far::less,twice");
    EXPECT_EQ(bytes_of<int32_t>({2049, 2100}), tail("o.npy", 2));
    EXPECT_THAT(bad(run + "--function-table 0=twice"), HasSubstr("thread (1, 0, 0)"));
    EXPECT_THAT(bad(run + "--function-table 0=less"), HasSubstr("there are: twice, far::less"));
    EXPECT_THAT(bad(run), HasSubstr("nothing is bound to buffer(0) 'table'"));
}

TEST_F(Source, ConstantsMayBeVectors) {
    source(
        "constant half3 v [[function_constant(0)]];\nconstant uchar4 w [[function_constant(1)]];\n"
        "kernel void k(device int* out) { out[0] = int(v.x + v.y + v.z); out[1] = w.x + w.w; }");
    const std::string run = "run k.metal --threads 1 --grid 1 --buffer '0=out:o.npy:i32[2]' --constant ";
    good(run + "v=half3:1.5,2,0.5 --constant 1=uchar4:200,0,0,55");
    EXPECT_EQ(bytes_of<int32_t>({4, 255}), tail("o.npy", 2));
    EXPECT_THAT(bad(run + "0=half3:1,2"), HasSubstr("2 elements given, half3 has 3"));
    EXPECT_THAT(bad(run + "0=half3:1,2,3 --constant w=uchar:1"),
                HasSubstr("'w' of type uchar4 was given 1 elements"));
    EXPECT_THAT(bad(run + "1=uchar4:1,2,3,256"), HasSubstr("'256' doesn't fit uchar"));
}

TEST_F(Source, DiagnosticsNameNoFoldersOfTheDevice) {
    source(
        "kernel void k(device atomic<half>* a) { atomic_store_explicit(a, half(1), memory_order_relaxed); }");
    const std::string text = bad("compile k.metal --kernel k");
    EXPECT_THAT(text, HasSubstr("k.metal:3: note: in instantiation of"));
    EXPECT_THAT(text, HasSubstr("ingot_msl/atomic.h:"));
    for (const char* inner : {"stdin", "metal-cache", "cache/headers", "expanded from"})
        EXPECT_THAT(text, ::testing::Not(HasSubstr(inner)));
}

TEST_F(Source, WhatIsMissingIsSaidAlone) {
    source("#include \"missing.h\"\nkernel void k(device int* a) { a[0] = 1; }");
    const std::string text = bad("compile k.metal");
    EXPECT_THAT(text, HasSubstr("k.metal:3: fatal error: 'missing.h' file not found"));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("warning")));
    source("void helper() {}");
    EXPECT_THAT(bad("run k.metal --grid 1 --threads 1"), HasSubstr("k.metal holds no kernel"));
}

TEST_F(Source, StrictMeansNoLockstepAndStatedSpaces) {
    source("kernel void k(device int* a) { int* p = a; p[0] = 1; }");
    const std::string run = "run k.metal --grid 1 --threads 1 --buffer 0=zeros:i32[1] ";
    good(run);
    EXPECT_THAT(bad(run + "--strict"),
                HasSubstr("k.metal:3: error: pointer type must have explicit address space qualifier"));
}

// The loader lists what it loads on stderr.
TEST_F(Source, WhatRunsNoKernelLoadsNoLlvm) {
    source("kernel void k(device int* a) { a[0] = 1; }");
    write_library("add.metallib", add_one_ir());
    const auto loads_llvm = [&](const std::string& command) {
        const Outcome outcome =
            metal("--help > /dev/null 2>&1; LD_DEBUG=libs '" INGOT_PROGRAM "' " + command);
        EXPECT_EQ(0, outcome.status) << outcome.output;
        EXPECT_THAT(outcome.output, HasSubstr("libc.so"));
        return outcome.output.find("LLVM") != std::string::npos;
    };
    const std::string model = INGOT_TEST_DATA "/models/llama.gguf";
    EXPECT_FALSE(loads_llvm("run '" + model + "' -p a -n 2"));
    EXPECT_FALSE(loads_llvm("info '" + model + "'"));
    EXPECT_FALSE(loads_llvm("--help"));
    EXPECT_FALSE(loads_llvm("metal cache"));
    EXPECT_TRUE(loads_llvm("metal run k.metal --grid 1 --threads 1 --buffer 0=zeros:i32[1]"));
}

}  // namespace
}  // namespace ingot::metal::testing

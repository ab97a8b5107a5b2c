// The front end's passes, text in and text out: what each makes of the Metal source, independent of the
// others.
#include "metal/msl/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

struct Parsed {
    Tokens tokens;
    Outline outline;
};

Parsed parse(const std::string& text) {
    auto tokens = Tokens::lex(text, "test.metal");
    EXPECT_TRUE(tokens) << (tokens ? "" : tokens.error().describe());
    auto outline = Outline::parse(*tokens);
    EXPECT_TRUE(outline) << (outline ? "" : outline.error().describe());
    return {*tokens, *outline};
}

// Blanks are what erased words leave: how many says nothing.
std::string one_space(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c != ' ' || (!result.empty() && result.back() != ' ')) result += c;
    }
    return result;
}

template <typename Pass>
std::string apply(Pass pass, const std::string& text) {
    const Parsed parsed = parse(text);
    Edits edits(parsed.tokens);
    pass(Source{parsed.tokens, parsed.outline}, edits);
    return one_space(edits.print());
}

std::string refusal(const std::string& text) {
    const auto program = Program::rewrite(text, "test.metal");
    return program ? "accepted" : program.error().describe();
}

std::vector<std::string> entry_names(const std::string& text) {
    const auto program = Program::rewrite(text, "test.metal");
    std::vector<std::string> names;
    if (!program) return {program.error().describe()};
    for (const EntryPoint& entry : program->entries()) names.push_back(entry.name);
    return names;
}

TEST(AddressSpaces, VanishExceptThatConstantIsConst) {
    EXPECT_EQ("void f( float* a, const int& b, half (&c)[4], uint x);",
              apply(erase_address_spaces,
                    "void f(device float* a, constant int& b, threadgroup half (&c)[4], thread uint x);"));
}

TEST(AddressSpaces, WordsThatOnlyLookAlikeStay) {
    const std::string text = "mem_flags::mem_device; int threadgroups, device_id, constants;";
    EXPECT_EQ(text, apply(erase_address_spaces, text));
}

TEST(Attributes, VanishWithTheirArguments) {
    EXPECT_EQ("void f(int* a , int b ) { x[y[0]] = 1; }",
              apply(erase_attributes,
                    "void f(int* a [[buffer(0), function_constant(g)]], int b [[thread_position_in_grid]]) "
                    "{ x[y[0]] = 1; }"));
}

TEST(Attributes, MayStandAnywhereInAFunctionsHead) {
    for (const char* head : {"[[max_total_threads_per_threadgroup(64)]] kernel void a(int* o)",
                             "kernel [[max_total_threads_per_threadgroup(64)]] void a(int* o)",
                             "kernel void [[max_total_threads_per_threadgroup(64)]] a(int* o)",
                             "kernel void a [[max_total_threads_per_threadgroup(64)]] (int* o)",
                             "kernel void a [[max_total_threads_per_threadgroup(64)]] [[other]] (int* o)",
                             "kernel void a(int* o) [[max_total_threads_per_threadgroup(64)]]"}) {
        EXPECT_THAT(entry_names(std::string(head) + " { *o = 1; }\nkernel void b(int* o) {}"),
                    ElementsAre("a", "b"))
            << head;
    }
}

TEST(Literals, AreFloatOrWhatTheirSuffixSays) {
    EXPECT_EQ(
        "1.5f 2.f 1e3f 0x1p3f 1.5h 1.5h 1.5_bf .5_bf 0x1p3_bf 1e2f 3 0xbf 0x1BF 1.5f",
        apply(give_literals_float, "1.5 2. 1e3 0x1p3 1.5h 1.5H 1.5bf .5BF 0x1p3bf 1e2f 3 0xbf 0x1BF 1.5f"));
}

TEST(Casts, StaticCastBecomesOurs) {
    EXPECT_EQ("::metal::ingot_cast<half>(x)", apply(rewrite_casts, "static_cast<half>(x)"));
}

TEST(Casts, ToHalfAndBfloatTakeEitherOfThem) {
    EXPECT_EQ("a = ::metal::ingot_cast<half>(x.y[2]) * b;", apply(rewrite_casts, "a = (half)x.y[2] * b;"));
    EXPECT_EQ("return ::metal::ingot_cast<bfloat>(-f<int>(x)) + 1;",
              apply(rewrite_casts, "return (bfloat)-f<int>(x) + 1;"));
    EXPECT_EQ("x = ::metal::ingot_cast<half>(::metal::ingot_cast<bfloat>(y++)) < z;",
              apply(rewrite_casts, "x = (half)(bfloat)y++ < z;"));
    EXPECT_EQ("float2{::metal::ingot_cast<half>(x), ::metal::ingot_cast<bfloat>(y)}",
              apply(rewrite_casts, "float2{half(x), bfloat(y)}"));
}

TEST(Casts, InitialisersInBodiesToo) {
    EXPECT_EQ("void f() { half h(::metal::ingot_cast<half>(b)); half g(int); bfloat e(); }",
              apply(rewrite_casts, "void f() { half h(b); half g(int); bfloat e(); }"));
    EXPECT_EQ("half f(T b);", apply(rewrite_casts, "half f(T b);"));
}

TEST(Casts, TypesOfFunctionsAndParametersStay) {
    for (const std::string text :
         {"half f(half) ;", "half (*g)(half, bfloat);", "using F = half(float);",
          "auto h = [](half) { return 1; };", "half (x) = 1;", "h = half();", "S::operator half() const;",
          "sizeof(half) * 2", "constant half (&t)[4] = u;"}) {
        EXPECT_EQ(text, apply(rewrite_casts, text));
    }
}

TEST(Literals, WithoutSuffixAreFloat) {
    EXPECT_EQ("1.5f + 2.f + 1e-3f + 0x1p3f + 3 + 4.0f + 5.0h + 6u + 0xe",
              apply(give_literals_float, "1.5 + 2. + 1e-3 + 0x1p3 + 3 + 4.0f + 5.0h + 6u + 0xe"));
}

TEST(Swizzles, AreReadAndWrittenThroughMemberTemplates) {
    EXPECT_EQ("v.template swizzle_ref<0, 1>() = w.template swizzle<3, 2>();",
              apply(rewrite_swizzles, "v.xy = w.wz;"));
    EXPECT_EQ("p->template swizzle_ref<0, 1, 2>() += q->template swizzle<0, 0, 0>() * 2;",
              apply(rewrite_swizzles, "p->rgb += q->rrr * 2;"));
    EXPECT_EQ("v.template swizzle_ref<0, 1>() >>= 1;", apply(rewrite_swizzles, "v.xy >>= 1;"));
    EXPECT_EQ("v.template swizzle<0, 1>() == w", apply(rewrite_swizzles, "v.xy == w"));
}

TEST(Swizzles, AreTargetsWhereverTheyAreWritten) {
    const std::string two = "template swizzle_ref<0, 1>()";
    EXPECT_EQ("++v." + two + ";", apply(rewrite_swizzles, "++v.xy;"));
    EXPECT_EQ("--a.b[i].f(c)." + two + ";", apply(rewrite_swizzles, "--a.b[i].f(c).xy;"));
    EXPECT_EQ("((v." + two + ")) = w;", apply(rewrite_swizzles, "((v.xy)) = w;"));
    EXPECT_EQ("++(p->v." + two + ");", apply(rewrite_swizzles, "++(p->v.xy);"));
    EXPECT_EQ("v." + two + "[1] = 5;", apply(rewrite_swizzles, "v.xy[1] = 5;"));
    EXPECT_EQ("v." + two + " [1] += 5;", apply(rewrite_swizzles, "v.xy .y += 5;"));
    EXPECT_EQ("v.template swizzle_ref<0, 1, 2>()." + two + " = w;", apply(rewrite_swizzles, "v.xyz.xy = w;"));
    const std::string value = "template swizzle<0, 1>()";
    EXPECT_EQ("f(v." + value + ") = w;", apply(rewrite_swizzles, "f(v.xy) = w;"));
    EXPECT_EQ("if (v." + value + ".x) ++y;", apply(rewrite_swizzles, "if (v.xy.x) ++y;"));
    EXPECT_EQ("w = (v." + value + ") + v." + value + "[0];",
              apply(rewrite_swizzles, "w = (v.xy) + v.xy[0];"));
}

TEST(Swizzles, ComponentsMethodsAndDesignatorsStay) {
    EXPECT_EQ("v.x + v.w", apply(rewrite_swizzles, "v.x + v.w"));
    EXPECT_EQ("v.xy()", apply(rewrite_swizzles, "v.xy()"));
    EXPECT_EQ("v.xg + v.xyzwx", apply(rewrite_swizzles, "v.xg + v.xyzwx"));
    EXPECT_EQ("S s{.xy = 1, .zw = 2};", apply(rewrite_swizzles, "S s{.xy = 1, .zw = 2};"));
}

TEST(Swizzles, AClassWithAMemberOfThatNameGivesItByTheSameFunctions) {
    const std::string text =
        apply(rewrite_swizzles, "struct S { float2 rg; }; float2 f(S s) { return s.rg; }");
    EXPECT_THAT(text,
                HasSubstr("struct S { float2 rg; public: template <int... I> "
                          "requires(::metal::ingot::is_swizzle<::metal::ingot::swizzle_of<0, 1>, I...>) "
                          "constexpr auto swizzle() -> decltype((this->rg)) { return this->rg; }"));
    EXPECT_THAT(text,
                HasSubstr("constexpr auto swizzle_ref() const -> decltype((this->rg)) { return this->rg; }"));
    EXPECT_THAT(text, HasSubstr("return s.template swizzle<0, 1>();"));
    // An anonymous class's members are those of the class around it.
    EXPECT_THAT(apply(rewrite_swizzles, "struct S { union { int a; struct { int xy; }; }; };"),
                ::testing::ContainsRegex("int xy; }; }; *public:"));
}

std::string place_variables(const std::string& text) {
    return apply(
        [](const Source& source, Edits& edits) { EXPECT_TRUE(place_threadgroup_variables(source, edits)); },
        text);
}

TEST(ThreadgroupVariables, GetStorageInAddressSpace3AndAReference) {
    const std::string text = place_variables("void f() { threadgroup float a[4][2]; a[0][0] = 1; }");
    EXPECT_THAT(text, HasSubstr("typedef float ingot_type_0[4][2];"));
    EXPECT_THAT(text, HasSubstr("static __attribute__((address_space(3)"));
    EXPECT_THAT(text, HasSubstr("auto& a = *(ingot_type_0*)(unsigned char*)ingot_threadgroup_0_a;"));
    EXPECT_THAT(text, HasSubstr("a[0][0] = 1;"));
    EXPECT_THAT(text, Not(HasSubstr("threadgroup float")));
}

TEST(ThreadgroupVariables, SeveralInOneDeclarationOfATemplateType) {
    const std::string text = place_variables("void f() { if (x) return; threadgroup vec<T, 4> a[N], b; }");
    EXPECT_THAT(text, HasSubstr("typedef vec<T, 4> ingot_type_0[N];"));
    EXPECT_THAT(text, HasSubstr("typedef vec<T, 4> ingot_type_1;"));
    EXPECT_THAT(text, HasSubstr("auto& b = *(ingot_type_1*)"));
}

TEST(ThreadgroupVariables, PointersAndCastsAreNone) {
    for (const char* text :
         {"void f() { threadgroup float* p = g(); }", "void f() { g((threadgroup int*)p); }",
          "void f() { threadgroup auto& r = x; }", "void f(threadgroup int* p) { }"}) {
        EXPECT_EQ(text, place_variables(text));
    }
}

TEST(ThreadgroupVariables, CanNotBeInitialised) {
    EXPECT_EQ("test.metal:2: error: a threadgroup variable can't be initialised",
              refusal("void f() {\n threadgroup int a = 1; }"));
}

TEST(FunctionConstants, BecomeExternalConstants) {
    const std::string text =
        apply([](const Source& source, Edits& edits) { declare_function_constants(source, edits); },
              "constant bool flag [[function_constant(FIRST + 2)]];\n"
              "static constant constexpr const int n [[function_constant(4)]];\n"
              "bool g() { return is_function_constant_defined(flag); }");
    EXPECT_THAT(text, HasSubstr("extern const bool flag;"));
    EXPECT_THAT(text, HasSubstr("ingot_index_of_flag = unsigned(FIRST + 2)"));
    EXPECT_THAT(text, HasSubstr("extern const int n;"));
    EXPECT_THAT(text, HasSubstr("return (ingot_is_defined_flag);"));
}

TEST(Duplicates, FunctionsThatDifferByAddressSpaceOnlyAreOne) {
    const std::string text = apply(drop_duplicates,
                                   "float get(device const float* p) { return 1; }\n"
                                   "float get(threadgroup const float* q) { return 1; }\n"
                                   "float get(constant float* q) { return 1; }\n"
                                   "float get(device float* p) { return 4; }");
    EXPECT_THAT(text, HasSubstr("return 1;"));
    EXPECT_EQ(text.find("return 1;"), text.rfind("return 1;"));  // constant is const too
    EXPECT_THAT(text, HasSubstr("return 4;"));
}

TEST(Duplicates, MembersAndSpecialisationsToo) {
    const std::string text =
        apply(drop_duplicates,
              "struct A { int get() const device { return 1; } int get() const thread { return 1; } };\n"
              "struct B { int get() const device { return 3; } };\n"
              "template <typename T> struct pointee<device T*> { using type = T; };\n"
              "template <typename T> struct pointee<threadgroup T*> { using type = T; };");
    EXPECT_THAT(text, HasSubstr("return 1;"));
    EXPECT_EQ(text.find("return 1;"), text.rfind("return 1;"));
    EXPECT_THAT(text, HasSubstr("return 3;"));
    EXPECT_THAT(text, HasSubstr("type = T;"));
    EXPECT_EQ(text.find("type = T;"), text.rfind("type = T;"));
}

TEST(Duplicates, OfDifferentMeaningAreRefused) {
    for (const char* text : {
             "int f(device int* p) { return 1; }\nint f(threadgroup int* p) { return 2; }",
             "int f(device int* p, int q) { return q; }\nint f(threadgroup int* q, int p) { return q[0]; }",
             "struct A { int get() const device { return 1; }\nint get() const thread { return 2; } };",
             "struct A { int a; A(int b) device : a(b) {}\nA(int b) thread : a(b + 1) {} };",
             "template <typename T> struct p<device T*> { using type = T; };\n"
             "template <typename T> struct p<threadgroup T*> { using type = int; };",
         }) {
        EXPECT_THAT(refusal(text),
                    HasSubstr("test.metal:2: error: this definition and the one at test.metal:1"))
            << text;
    }
    EXPECT_EQ("accepted",
              refusal("int f(device int* p) { return *p; }\nint f(constant int* q) { return *q; }\n"
                      "int f(threadgroup const int* c) { return *c; }"));
}

TEST(Pragmas, OnlyWhatIsKnownStays) {
    EXPECT_EQ("#pragma unroll(4)\nfor (;;) {\n\n\n#pragma clang loop unroll(full)\nfor (;;); }",
              apply(drop_pragmas,
                    "#pragma unroll(4)\nfor (;;) {\n#pragma unroll (MIN(A, B))\n#pragma clang __debug crash\n"
                    "#pragma clang loop unroll(full)\nfor (;;); }"));
}

TEST(Entries, OfKernelsAndEveryFormOfInstantiation) {
    EXPECT_THAT(entry_names("kernel void plain(device int* a) {}\n"
                            "[[host_name(\"named\")]] kernel void other(device int* a) {}\n"
                            "namespace n { [[kernel]] void inner(device int* a) {} }\n"
                            "template <typename T> kernel void f(device T* a) {}\n"
                            "typedef decltype(f<int>) f_t;\n"
                            "template [[host_name(\"f_\" \"int\")]] kernel f_t f<int>;\n"
                            "template [[host_name(\"f_half\")]] [[kernel]] void f<half>(device half*);\n"
                            "template <int N> struct S { using t = typename A::template b<N>; };\n"
                            "template struct S<1>;\n"),
                ElementsAre("plain", "named", "n::inner", "f_int", "f_half"));
}

TEST(Refusals, NameTheLine) {
    EXPECT_EQ("test.metal:2: error: inline assembly is not accepted", refusal("\nasm(\"nop\");"));
    EXPECT_THAT(refusal("\n\nkernel void f(texture2d<float> t [[texture(0)]]) {}"),
                HasSubstr("test.metal:3: error: textures are not supported"));
    EXPECT_THAT(refusal("vertex float4 f() { return 0; }"), HasSubstr("only kernel functions"));
    EXPECT_EQ("test.metal:2: error: ray tracing is not supported",
              refusal("\nkernel void f() { raytracing::intersection_query<> q; }"));
    EXPECT_THAT(refusal("\nkernel void f(command_buffer b [[buffer(0)]]) {}"),
                HasSubstr("test.metal:2: error: command buffers are not supported"));
    EXPECT_THAT(refusal("double x;"), HasSubstr("double is not a type"));
    EXPECT_THAT(refusal("struct S { virtual void f(); };"), HasSubstr("virtual functions"));
    EXPECT_THAT(refusal("void f() { try { } catch (...) { } }"), HasSubstr("exceptions"));
}

std::string served(const std::string& text) {
    const Parsed parsed = parse(text);
    const Source source{parsed.tokens, parsed.outline};
    const auto unsupported = find_unsupported(source);
    return unsupported ? one_space(without(source, *unsupported)) : unsupported.error().describe();
}

TEST(Unserved, FunctionsAndVariablesStayAsNames) {
    const std::string no_samplers =
        "__attribute__((unavailable(\"samplers are not supported: this device runs compute on buffers\"))) ";
    EXPECT_EQ(no_samplers + "void s(...); int f();", served("constexpr sampler s(a::b); int f();"));
    EXPECT_EQ("extern " + no_samplers + "const int s; int f();",
              served("constant sampler s = sampler(a::b); int f();"));
    EXPECT_THAT(
        served("int a;\ntemplate <int N> float g(texture2d<float> t,\n int b) { return t.f<N>(); }\nint c;"),
        ::testing::MatchesRegex("int a;\n *template <int N> __attribute__.*textures are not.* "
                                "void g\\(\\.\\.\\.\\); *\n *\nint c;"));
    // Methods and types go without a name.
    EXPECT_EQ("int x;", served("struct S { sampler s; }; int x;"));
    EXPECT_EQ("int x;", served("void S::f(texture2d<float> t) {} int x;"));
}

TEST(Unserved, WhatNamesATypeThatGoesGoesToo) {
    EXPECT_EQ("int y;", served("struct S { texture2d<float> t; };struct U { S s; };typedef U V;"
                               "using W = V;namespace n { void W::f() {} }enum { a = sizeof(W) };int y;")
                            .substr(std::string("namespace n { }").size() + 1));
    // A name that is used for something else stays, unless it is a type's.
    EXPECT_THAT(served("constexpr sampler s(a); void f(int s) { s = 1; }"),
                HasSubstr("void f(int s) { s = 1; }"));
}

TEST(Unserved, KernelsAreEntriesThatSayWhy) {
    const auto program = Program::rewrite(
        "struct Args {\n texture2d<float> t;\n};\nkernel void a(constant Args& x) {}\n"
        "kernel void b(device int* x) {}\nkernel void c(texture1d<int> t) {}\n"
        "template <int N> kernel void d(sampler s) {}\n"
        "template [[host_name(\"d1\")]] kernel void d<1>(sampler);\nvertex int v() { return 1; }\n",
        "test.metal");
    ASSERT_TRUE(program) << program.error().describe();
    std::map<std::string, std::string> refusals;
    for (const EntryPoint& entry : program->entries()) refusals[entry.name] = entry.refusal;
    const std::string device = ": this device runs compute on buffers";
    EXPECT_THAT(
        refusals,
        ElementsAre(Pair("a", "test.metal:4: error: 'Args': textures are not supported" + device),
                    Pair("b", ""), Pair("c", "test.metal:6: error: textures are not supported" + device),
                    Pair("d1", "test.metal:7: error: samplers are not supported" + device)));
    const auto unit = program->translation_unit(program->find("c"));
    ASSERT_FALSE(unit);
    EXPECT_EQ(refusals["c"], unit.error().describe());
    EXPECT_TRUE(program->translation_unit(program->find("b")));
}

TEST(Refusals, FollowLineMarkers) {
    EXPECT_EQ("deep/header.h:41: error: goto is not part of the Metal language",
              refusal("int a;\n# 40 \"deep/header.h\" 1\n\nvoid f() { goto x; }\n"));
}

TEST(Lexer, RefusesWhatAPreprocessorShouldHaveConsumed) {
    EXPECT_THAT(refusal("int a;\n  # include \"/etc/passwd\"\n"), HasSubstr("test.metal:2: error: a '#'"));
    EXPECT_THAT(refusal("%:include \"x\"\n"), HasSubstr("digraphs"));
    EXPECT_THAT(refusal("const char* s = \"abc\n;"), HasSubstr("missing terminating"));
    EXPECT_THAT(refusal("void f() { ( }"), HasSubstr("extraneous '}'"));
    EXPECT_THAT(refusal("void f() { "), HasSubstr("never closed"));
}

TEST(Lexer, PrintsTheTextItRead) {
    const std::string text =
        "# 1 \"a.metal\"\n  int x = 0x1p-3f + 1'000; // note\nauto s = R\"(raw \" text)\"; a->*b; x >>= 1;\n";
    const auto tokens = Tokens::lex(text, "a.metal");
    ASSERT_TRUE(tokens) << tokens.error().describe();
    EXPECT_EQ(text, Edits(*tokens).print());
}

TEST(TranslationUnit, HoldsOnlyTheRequestedEntry) {
    const auto program = Program::rewrite(
        "template <int N> [[kernel, max_total_threads_per_threadgroup(N * 2)]] void f(device int* a "
        "[[buffer(N)]], "
        "constant int& b, uint3 p [[thread_position_in_grid]]) {}\n"
        "template [[host_name(\"f1\")]] kernel void f<1>(device int*, constant int&, uint3);\n"
        "template [[host_name(\"f2\")]] kernel void f<2>(device int*, constant int&, uint3);\n",
        "test.metal");
    ASSERT_TRUE(program) << program.error().describe();
    const auto unit = program->translation_unit(program->find("f2"));
    ASSERT_TRUE(unit) << unit.error().describe();
    EXPECT_THAT(*unit, HasSubstr("max_threads = unsigned(N * 2);"));
    EXPECT_THAT(*unit, HasSubstr("slot_0 = unsigned(N);"));
    EXPECT_THAT(*unit, HasSubstr("slot_1 = unsigned(slot_0 + 1);"));
    EXPECT_THAT(*unit, HasSubstr("void (*function)( int*, const int&, uint3) = &f<2>;"));
    EXPECT_THAT(*unit, Not(HasSubstr("&f<1>")));
    EXPECT_THAT(*unit,
                HasSubstr("__attribute__((address_space(1))) void* a0, __attribute__((address_space(2))) "
                          "void* a1, ::ingot_msl::Index3 a2"));
}

TEST(TranslationUnit, ParametersThatNoKernelHasAreNamed) {
    const auto program =
        Program::rewrite("kernel void f(device int* a,\n int b [[color(0)]]) {}", "test.metal");
    ASSERT_TRUE(program) << program.error().describe();
    const auto unit = program->translation_unit(program->find("f"));
    ASSERT_FALSE(unit);
    EXPECT_EQ("test.metal:2: error: parameter 'b': attribute 'color' is not supported",
              unit.error().describe());
}

}  // namespace
}  // namespace ingot::metal::msl

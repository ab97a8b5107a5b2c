// Strict mode: what Apple's compiler says about address spaces, each rule by its message and line.
#include <gmock/gmock.h>

#include "metal/msl/source_library.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string strict_error(const std::string& text) {
    msl::SourceOptions options;
    options.strict = true;
    const auto library =
        msl::SourceLibrary::open("#include <metal_stdlib>\nusing namespace metal;\n" + text, options);
    if (!library) return library.error().describe();
    const auto module = library->compile(library->kernel_names().at(0));
    return module ? "accepted" : module.error().describe();
}

TEST(Strict, PointersAndReferencesStateTheirSpace) {
    EXPECT_EQ("program_source:4: error: pointer type must have explicit address space qualifier",
              strict_error("kernel void f(device float* a) {\n    float* p = a;\n    p[0] = 1;\n}"));
    EXPECT_EQ("program_source:3: error: pointer type must have explicit address space qualifier",
              strict_error("float g(const float* p) { return *p; }\nkernel void f(device float* a) {}"));
    EXPECT_EQ("program_source:3: error: reference type must have explicit address space qualifier",
              strict_error("void g(float& x) { x = 1; }\nkernel void f(device float* a) {}"));
    EXPECT_EQ("program_source:3: error: pointer type must have explicit address space qualifier",
              strict_error("struct S { int n; float* p; };\nkernel void f(device float* a) {}"));
}

TEST(Strict, WhatOnlyLooksLikeAPointerIsNone) {
    EXPECT_EQ("accepted", strict_error("template <typename T> T twice(T x) { return x * 2; }\n"
                                       "struct S { int a, b; int both() const { return a & b; } };\n"
                                       "kernel void f(device float* a, constant S& s) {\n"
                                       "    float x = a[0], y = a[1];\n    a[2] = x * y;\n"
                                       "    if (s.a & s.b) a[3] = twice(x) * s.both();\n"
                                       "    thread auto& r = x; device float* const p = a + 1; *p = r;\n}"));
}

TEST(Strict, ADevicePointerIsNoThreadgroupPointer) {
    EXPECT_EQ("program_source:5: error: 'p' is declared 'device', but points to threadgroup memory",
              strict_error("kernel void f(device float* a) {\n    threadgroup float t[4];\n"
                           "    device float* p = (device float*)t;\n    p[0] = a[0];\n    a[1] = t[2];\n}"));
    EXPECT_EQ("program_source:3: error: 'p' is declared 'threadgroup', but points to device memory",
              strict_error("void put(threadgroup float* p) { p[0] = 1; }\n"
                           "kernel void f(device float* a) { put(a); }"));
}

TEST(Strict, ConstantAndThreadAreSpacesToo) {
    EXPECT_EQ("program_source:3: error: 'p' is declared 'device', but points to constant memory",
              strict_error("float get(device const float* p) { return p[1]; }\n"
                           "constant float table[2] = {1, 2};\n"
                           "kernel void f(device float* a) { a[0] = get(table); }"));
    EXPECT_EQ(
        "program_source:3: error: 'p' is declared 'device', but points to thread memory",
        strict_error("float get(device const float* p) { return p[1]; }\n"
                     "kernel void f(device float* a) { float own[2]; own[1] = a[1]; a[0] = get(own); }"));
    EXPECT_EQ("program_source:3: error: 'r' is declared 'thread', but points to device memory",
              strict_error("void set(thread float& r) { r = 1; }\n"
                           "kernel void f(device float* a) { set(a[2]); }"));
}

TEST(Strict, OverloadsForSeveralSpacesAreFine) {
    EXPECT_EQ("accepted",
              strict_error("float get(device const float* p) { return p[0]; }\n"
                           "float get(threadgroup const float* p) { return p[0]; }\n"
                           "kernel void f(device float* a) { threadgroup float t[2]; t[0] = a[0];\n"
                           "    a[1] = get(t) + get(a); }"));
}

TEST(Strict, NoFunctionCallsItself) {
    const char* const rest = "kernel void f(device int* a) { a[0] = g(a[1]); }";
    for (const char* text : {"int g(int n) { return n < 2 ? 1 : n * g(n - 1); }\n",
                             "int g(int n) { return n == 0 ? 7 : g(n - 1); }\n",
                             "int g(int n) { return n < 2 ? 1 : g(n - 1) + g(n - 2); }\n",
                             "int g(int n);int h(int n) { return g(n - 1); }"
                             "int g(int n) { return n < 0 ? n : h(n); }\n",
                             "template <typename T> T g(T n) { return n < 2 ? 1 : n * g(n - 1); }\n"}) {
        EXPECT_THAT(
            strict_error(std::string(text) + rest),
            AllOf(HasSubstr("program_source:3: error: '"), HasSubstr("calls itself; Metal has no rec")))
            << text;
    }
    // Functions of one name are several.
    EXPECT_EQ("accepted", strict_error("template <int N> int g(int n) { if constexpr (N == 0) return n;\n"
                                       "else return g<N - 1>(n * 2); }\nint g(int n) { return g<4>(n); }\n" +
                                       std::string(rest)));
}

TEST(Strict, WhatMetalLeavesOutOfTheLanguage) {
    const std::pair<const char*, const char*> texts[] = {
        {"struct S { virtual int g() { return 1; } };\n", "program_source:3: error: virtual functions"},
        {"int g() { try { return 1; } catch (...) { return 2; } }\n", "program_source:3: error: exceptions"},
        {"int g() { throw 1; }\n", "program_source:3: error: exceptions"},
        {"int g() { return *new int(1); }\n", "program_source:3: error: new is not part"},
        {"float g(float x) { double y = x; return y; }\n", "program_source:3: error: double is not a type"},
        {"int g() { goto end; end: return 1; }\n", "program_source:3: error: goto"}};
    for (const auto& [text, expected] : texts) {
        EXPECT_THAT(strict_error(std::string(text) + "kernel void f(device int* a) { a[0] = 1; }"),
                    HasSubstr(expected))
            << text;
    }
}

TEST(Strict, TheSameSourceRunsWithoutNotes) {
    msl::SourceOptions options;
    options.strict = true;
    const auto library = msl::SourceLibrary::open(
        "kernel void f(device int* a [[buffer(0)]]) { thread int x = 1; thread int* p = &x; a[0] = *p; }",
        options);
    ASSERT_TRUE(library) << library.error().describe();
    const auto module = library->compile("f");
    ASSERT_TRUE(module) << module.error().describe();
    const auto ir = the_compiler().disassemble(*module, "f", {});
    ASSERT_TRUE(ir);
    EXPECT_THAT(*ir, ::testing::Not(HasSubstr("expect_space")));
}

}  // namespace
}  // namespace ingot::metal::testing

// Modules nobody vouches for: whatever their bytes, compiling one yields a kernel or a message, and the
// process goes on. The child processes that see to it are tested on programs that misbehave.
#include <atomic>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "metal/exec/local_compiler.h"
#include "metal/exec/worker_process.h"
#include "metal/ir_text.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;
using ByteVector = std::vector<std::byte>;

CompileOptions isolated() {
    CompileOptions options;
    options.isolate = true;
    options.use_cache = false;
    return options;
}

std::string error_of(std::span<const std::byte> module) {
    const auto kernel = the_compiler().compile(module, "k", isolated());
    if (kernel) return "";
    const std::string message = kernel.error().describe();
    EXPECT_NE("", message);
    return message;
}
std::string error_of(const std::string& ir) {
    return error_of(std::as_bytes(std::span(ir)));
}

// A small kernel as Apple's compiler wrote it.
ByteVector small_module() {
    const LibraryFunction* function = mlx_library().find("v_Absfloat32float32");
    if (function == nullptr) return {};
    return {function->bitcode.begin(), function->bitcode.end()};
}

TEST(Isolation, AHarmlessModuleCompilesInTheChildAndRunsHere) {
    const auto before = the_compiler().counts();
    const std::string ir = kernel_ir(1, {}, "store i32 77, ptr addrspace(1) %b0, align 4\nret void");
    const auto kernel = the_compiler().compile(std::as_bytes(std::span(ir)), "k", isolated());
    ASSERT_TRUE(kernel) << kernel.error().describe();
    EXPECT_EQ(before.isolated + 1, the_compiler().counts().isolated);
    std::vector<uint32_t> out(1);
    EXPECT_EQ(LaunchStatus::kDone, Dispatch(*kernel).buffer(0, out).groups({1, 1, 1}, {1, 1, 1}).status);
    EXPECT_EQ(77u, out[0]);
}

TEST(Isolation, TruncatedModulesAreRefused) {
    const ByteVector whole = small_module();
    for (size_t i = 0; i < 50; ++i) {
        const size_t size = whole.size() * i / 50;
        EXPECT_NE("", error_of(std::span(whole).first(size))) << size;
    }
}

TEST(Isolation, HundredsOfFlippedBytesNeverEndTheProcess) {
    const ByteVector whole = small_module();
    ASSERT_FALSE(whole.empty());
    std::mt19937 generator(1);
    size_t compiled = 0, refused = 0;
    for (int round = 0; round < 400; ++round) {
        ByteVector broken = whole;
        for (int flips = 0; flips < 1 + round % 3; ++flips) {
            broken[generator() % broken.size()] = std::byte(generator());
        }
        CompileOptions options = isolated();
        options.lower_only = true;
        const auto kernel = the_compiler().compile(broken, "v_Absfloat32float32", options);
        ++(kernel ? compiled : refused);
        EXPECT_TRUE(kernel || !kernel.error().describe().empty());
    }
    EXPECT_GT(compiled, 0u);
    EXPECT_GT(refused, 0u);
}

TEST(Isolation, WhatNoMetalCompilerEmitsIsRefusedByName) {
    EXPECT_THAT(error_of(kernel_ir(1, {}, "call void asm \"nop\", \"\"()\nret void")),
                HasSubstr("inline assembly"));
    EXPECT_THAT(error_of("module asm \"nop\"\n" + kernel_ir(1, {}, "ret void")),
                HasSubstr("inline assembly"));
    EXPECT_THAT(
        error_of(kernel_ir(1, {}, "%r = call i32 @system(ptr null)\nret void", "declare i32 @system(ptr)\n")),
        HasSubstr("'system', which is no function of Metal"));
    for (const std::string own : {"ingot_watch_copy", "ingot.lane", "ingot_no_such_thing"}) {
        EXPECT_THAT(
            error_of(kernel_ir(1, {}, "call void @" + own + "(ptr null, ptr null, i64 4096)\nret void",
                               "declare void @" + own + "(ptr, ptr, i64)\n")),
            HasSubstr("'" + own + "', which is no function of Metal"))
            << "the device's own functions are for its passes";
    }
    EXPECT_THAT(error_of(kernel_ir(1, {}, "%f = load ptr, ptr addrspace(1) %b0\ncall void %f()\nret void")),
                HasSubstr("indirect call"));
    EXPECT_THAT(
        error_of(kernel_ir(1, {}, "%e = load ptr, ptr @environ\nstore ptr %e, ptr addrspace(1) %b0\nret void",
                           "@environ = external global ptr\n")),
        HasSubstr("'environ' from elsewhere"));
    EXPECT_THAT(error_of(kernel_ir(1, {}, "call void @f()\nret void",
                                   "@f = alias void (), ptr @g\ndefine void @g() {\nret void\n}\n")),
                HasSubstr("aliases"));
    EXPECT_THAT(error_of(kernel_ir(1, {}, "ret void", "@t = thread_local global i32 0\n")),
                HasSubstr("thread-local"));
    EXPECT_THAT(error_of(kernel_ir(1, {}, "call void @air.no_such_thing()\nret void",
                                   "declare void @air.no_such_thing()\n")),
                HasSubstr("air.no_such_thing"));
}

TEST(Isolation, EmptyAndForeignBytesAreRefused) {
    EXPECT_NE("", error_of(ByteVector{}));
    EXPECT_NE("", error_of(std::string("MTLB")));
    EXPECT_NE("", error_of(std::string("\x7f"
                                       "ELF")));
    EXPECT_NE("", error_of(std::string(100'000, '\0')));
    EXPECT_NE("", error_of(std::string("BC\xC0\xDE", 4) + std::string(1000, '\xFF')));
    EXPECT_NE("", error_of(std::string(100'000, '(')));
}

TEST(Isolation, ThreadsCompileAtOnceInChildrenOfTheirOwn) {
    std::atomic<int> right{0};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&right, t] {
                for (int i = 0; i < 5; ++i) {
                    const std::string ir = kernel_ir(
                        1, {},
                        "store i32 " + std::to_string(t * 10 + i) + ", ptr addrspace(1) %b0\nret void");
                    const auto kernel = the_compiler().compile(std::as_bytes(std::span(ir)), "k", isolated());
                    right += kernel.has_value();
                }
            });
        }
    }
    EXPECT_EQ(20, right);
}

Error request_error(const std::string& program, std::chrono::milliseconds limit) {
    WorkerPool pool(program);
    const auto answer = pool.request(ByteVector(10), limit);
    EXPECT_FALSE(answer);
    return answer ? Error{} : answer.error();
}

TEST(WorkerPool, AChildThatEndsIsAnError) {
    const Error error = request_error("/bin/true", std::chrono::minutes(1));
    EXPECT_EQ(ErrorKind::kCorrupt, error.kind);
    EXPECT_EQ("it ended", error.message);
}

TEST(WorkerPool, AChildThatDoesNotAnswerIsKilledAtTheLimit) {
    // Reads what it gets and never answers on the socket.
    const Error error = request_error("/bin/cat", std::chrono::milliseconds(200));
    EXPECT_EQ(ErrorKind::kLimit, error.kind);
}

TEST(WorkerPool, AChildThatDoesNotAnswerIsKilledWhenItIsGivenUp) {
    WorkerPool pool("/bin/cat");
    std::stop_source source;
    std::jthread gives_up([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        source.request_stop();
    });
    const auto answer = pool.request(ByteVector(10), std::chrono::hours(1), source.get_token());
    ASSERT_FALSE(answer);
    EXPECT_EQ("it was given up", answer.error().message);
}

TEST(WorkerPool, AProgramThatIsNotThereIsAnErrorThatSaysWhatToBuild) {
    const Error error = request_error("/no/such/program", std::chrono::minutes(1));
    EXPECT_EQ(ErrorKind::kUnsupported, error.kind);
    EXPECT_THAT(error.message, HasSubstr("/no/such/program"));
    EXPECT_THAT(error.message, HasSubstr("ingot_metal_worker"));
}

}  // namespace
}  // namespace ingot::metal::testing

// The fibers executor on small kernels written as IR: grids, barriers, divergence, early return, private
// memory, faults, time limits.
#include <atomic>

#include <gmock/gmock.h>

#include "metal/ir_text.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;

const char* const kBarrier = "declare void @air.wg.barrier(i32, i32) convergent\n";

// b0[thread_position_in_grid] = VALUE, for one index kind.
std::shared_ptr<const Kernel> store_index(const std::string& kind) {
    std::vector<std::string> kinds{"thread_position_in_grid"};
    if (kind != kinds[0]) kinds.push_back(kind);
    return text_kernel(kernel_ir(1, kinds,
                                 "%i = zext i32 %thread_position_in_grid to i64\n"
                                 "%p = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n"
                                 "store i32 %" +
                                     kind + ", ptr addrspace(1) %p, align 4\nret void"));
}

TEST(Executor, IndexArgumentsOfAGridWithAPartialGroup) {
    const uint32_t n = 150, width = 64;
    const auto expect = [&](const std::string& kind, auto value) {
        std::vector<uint32_t> out(n, 12345);
        const auto report =
            Dispatch(store_index(kind)).buffer(0, out).threads_of_grid({n, 1, 1}, {width, 1, 1});
        EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
        for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(value(i), out[i]) << kind << " of thread " << i;
    };
    const auto size_of_group = [&](uint32_t i) { return i / width == n / width ? n % width : width; };
    expect("thread_position_in_grid", [](uint32_t i) { return i; });
    expect("thread_position_in_threadgroup", [&](uint32_t i) { return i % width; });
    expect("thread_index_in_threadgroup", [&](uint32_t i) { return i % width; });
    expect("thread_index_in_simdgroup", [](uint32_t i) { return i % 32; });
    expect("simdgroup_index_in_threadgroup", [&](uint32_t i) { return i % width / 32; });
    expect("thread_index_in_quadgroup", [](uint32_t i) { return i % 4; });
    expect("quadgroup_index_in_threadgroup", [&](uint32_t i) { return i % width / 4; });
    expect("threadgroup_position_in_grid", [&](uint32_t i) { return i / width; });
    expect("threadgroups_per_grid", [](uint32_t) { return 3u; });
    expect("threads_per_grid", [](uint32_t) { return n; });
    expect("threads_per_threadgroup", size_of_group);
    expect("dispatch_threads_per_threadgroup", [&](uint32_t) { return width; });
    expect("simdgroups_per_threadgroup", [&](uint32_t i) { return (size_of_group(i) + 31) / 32; });
    expect("dispatch_simdgroups_per_threadgroup", [](uint32_t) { return 2u; });
    expect("quadgroups_per_threadgroup", [&](uint32_t i) { return (size_of_group(i) + 3) / 4; });
    expect("dispatch_quadgroups_per_threadgroup", [](uint32_t) { return 16u; });
    expect("threads_per_simdgroup", [](uint32_t) { return 32u; });
}

// Each thread writes its index to threadgroup memory, waits, and reads its mirror image's.
std::shared_ptr<const Kernel> reverse_kernel() {
    return text_kernel(kernel_ir(
        1, {"thread_position_in_grid", "thread_index_in_threadgroup", "threads_per_threadgroup"},
        "%t = zext i32 %thread_index_in_threadgroup to i64\n"
        "%slot = getelementptr i32, ptr addrspace(3) @shared, i64 %t\n"
        "store i32 %thread_position_in_grid, ptr addrspace(3) %slot, align 4\n"
        "call void @air.wg.barrier(i32 2, i32 1)\n"
        "%last = sub i32 %threads_per_threadgroup, 1\n"
        "%mirror = sub i32 %last, %thread_index_in_threadgroup\n"
        "%m = zext i32 %mirror to i64\n"
        "%from = getelementptr i32, ptr addrspace(3) @shared, i64 %m\n"
        "%v = load i32, ptr addrspace(3) %from, align 4\n"
        "%g = zext i32 %thread_position_in_grid to i64\n"
        "%to = getelementptr i32, ptr addrspace(1) %b0, i64 %g\n"
        "store i32 %v, ptr addrspace(1) %to, align 4\nret void",
        std::string(kBarrier) + "@shared = internal addrspace(3) global [1024 x i32] undef, align 4\n"));
}

TEST(Executor, BarrierShowsWhatOtherThreadsWroteForEveryGroupSize) {
    const auto kernel = reverse_kernel();
    ASSERT_NE(nullptr, kernel);
    EXPECT_EQ(4096u, kernel->info.static_threadgroup_bytes);
    for (const uint32_t width : {1u, 2u, 31u, 32u, 33u, 64u, 100u, 1023u, 1024u}) {
        const uint32_t groups = 5;
        std::vector<uint32_t> out(width * groups);
        const auto report = Dispatch(kernel).buffer(0, out).groups({groups, 1, 1}, {width, 1, 1});
        EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
        EXPECT_TRUE(report.findings.empty());
        for (uint32_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(i / width * width + width - 1 - i % width, out[i]) << width;
        }
    }
}

TEST(Executor, ThreadsThatReturnedDoNotHoldUpABarrier) {
    // The last ten threads leave before the barrier.
    const auto kernel = text_kernel(kernel_ir(1, {"thread_index_in_threadgroup"},
                                              "%early = icmp uge i32 %thread_index_in_threadgroup, 54\n"
                                              "br i1 %early, label %out, label %work\n"
                                              "work:\n"
                                              "call void @air.wg.barrier(i32 2, i32 1)\n"
                                              "%g = zext i32 %thread_index_in_threadgroup to i64\n"
                                              "%to = getelementptr i32, ptr addrspace(1) %b0, i64 %g\n"
                                              "store i32 1, ptr addrspace(1) %to, align 4\n"
                                              "br label %out\n"
                                              "out:\nret void",
                                              kBarrier));
    std::vector<uint32_t> out(64);
    const auto report = Dispatch(kernel).buffer(0, out).groups({1, 1, 1}, {64, 1, 1});
    EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
    EXPECT_EQ(54, std::count(out.begin(), out.end(), 1u));
}

TEST(Executor, BarrierThatSomeThreadsNeverReachRunsOnAndIsReported) {
    // Even threads meet at one barrier; odd ones wait for something that never comes before theirs.
    const auto kernel =
        text_kernel(kernel_ir(1, {"thread_index_in_threadgroup"},
                              "%bit = and i32 %thread_index_in_threadgroup, 1\n"
                              "%odd = icmp eq i32 %bit, 1\n"
                              "br i1 %odd, label %other, label %first\n"
                              "first:\ncall void @air.wg.barrier(i32 2, i32 1)\nbr label %done\n"
                              "other:\n%s = call float @air.simd_sum.f32(float 1.0)\n"
                              "store float %s, ptr addrspace(1) %b0, align 4\nbr label %done\n"
                              "done:\ncall void @air.wg.barrier(i32 2, i32 1)\nret void",
                              std::string(kBarrier) + "declare float @air.simd_sum.f32(float) convergent\n"));
    std::vector<float> out(1);
    const auto report = Dispatch(kernel).buffer(0, out).groups({1, 1, 1}, {32, 1, 1});
    EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
    EXPECT_EQ(16.0f, out[0]) << "simd_sum covers the active lanes";
}

TEST(Executor, ThreeDimensionalGridsVisitEveryThreadOnce) {
    const auto kernel = text_kernel(
        "define void @k(ptr addrspace(1) %b0, <3 x i32> %p, <3 x i32> %n) {\n"
        "%x = extractelement <3 x i32> %p, i32 0\n%y = extractelement <3 x i32> %p, i32 1\n"
        "%z = extractelement <3 x i32> %p, i32 2\n%nx = extractelement <3 x i32> %n, i32 0\n"
        "%ny = extractelement <3 x i32> %n, i32 1\n%a = mul i32 %z, %ny\n%b = add i32 %a, %y\n%c = mul i32 "
        "%b, %nx\n"
        "%d = add i32 %c, %x\n%i = zext i32 %d to i64\n%q = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n"
        "%old = atomicrmw add ptr addrspace(1) %q, i32 1 monotonic\nret void\n}\n"
        "!air.kernel = !{!0}\n!0 = !{ptr @k, !1, !5}\n!1 = !{}\n"
        "!2 = !{i32 0, !\"air.buffer\", !\"air.location_index\", i32 0, i32 1, !\"air.read_write\", "
        "!\"air.address_space\", i32 1}\n!3 = !{i32 1, !\"air.thread_position_in_grid\"}\n"
        "!4 = !{i32 2, !\"air.threads_per_grid\"}\n!5 = !{!2, !3, !4}\n");
    std::vector<uint32_t> out(13 * 7 * 5);
    Dispatch(kernel).buffer(0, out).threads_of_grid({13, 7, 5}, {4, 4, 2});
    EXPECT_EQ(std::vector<uint32_t>(out.size(), 1), out);
}

TEST(Executor, ManySmallDispatchesReuseTheirWorkers) {
    const auto kernel = reverse_kernel();
    std::vector<uint32_t> out(64);
    for (int i = 0; i < 2000; ++i) Dispatch(kernel).buffer(0, out).groups({1, 1, 1}, {64, 1, 1});
    EXPECT_EQ(63u, out[0]);
}

// private int a[8], every element 7; b0[0] = a[b1[0]]; a[b1[0]] = 9; b0[1] = sum of a.
std::shared_ptr<const Kernel> private_array_kernel() {
    std::string body = "%a = alloca [8 x i32], align 4\n";
    for (int i = 0; i < 8; ++i) {
        const std::string n = std::to_string(i);
        body += "%e" + n + " = getelementptr [8 x i32], ptr %a, i64 0, i64 " + n + "\nstore i32 7, ptr %e" +
                n + "\n";
    }
    body +=
        "%at = load i32, ptr addrspace(1) %b1\n%i = sext i32 %at to i64\n"
        "%p = getelementptr inbounds [8 x i32], ptr %a, i64 0, i64 %i\n%v = load i32, ptr %p\n"
        "store i32 %v, ptr addrspace(1) %b0\nstore i32 9, ptr %p\n";
    std::string sum = "0";
    for (int i = 0; i < 8; ++i) {
        const std::string n = std::to_string(i);
        body += "%l" + n + " = load i32, ptr %e" + n + "\n%s" + n + " = add i32 " + sum + ", %l" + n + "\n";
        sum = "%s" + n;
    }
    body += "%out = getelementptr i32, ptr addrspace(1) %b0, i64 1\nstore i32 " + sum +
            ", ptr addrspace(1) %out\nret void";
    return text_kernel(kernel_ir(2, {}, body));
}

TEST(Executor, PrivateArraysAreFenced) {
    const auto kernel = private_array_kernel();
    for (const int index : {0, 7, 8, -1, -8, 1000, -100000, 1 << 30}) {
        std::vector<int> out(2, -5), at{index};
        const auto report = Dispatch(kernel).buffer(0, out).buffer(1, at).groups({1, 1, 1}, {1, 1, 1});
        EXPECT_EQ(LaunchStatus::kDone, report.status) << index << report.message;
        const bool inside = index >= 0 && index < 8;
        EXPECT_EQ(inside ? 7 : 0, out[0]) << index;
        EXPECT_EQ(inside ? 58 : 56, out[1]) << index;
    }
}

TEST(Executor, ThreadgroupOverrunFaultsInsteadOfTouchingTheRuntime) {
    const auto kernel = text_kernel(
        kernel_ir(2, {},
                  "%at = load i32, ptr addrspace(1) %b1\n%i = zext i32 %at to i64\n"
                  "%p = getelementptr <4 x i32>, ptr addrspace(3) @shared, i64 %i\n"
                  "store <4 x i32> <i32 1, i32 1, i32 1, i32 1>, ptr addrspace(3) %p, align 4\n"
                  "%v = load i32, ptr addrspace(3) @shared\nstore i32 %v, ptr addrspace(1) %b0\nret void",
                  "@shared = internal addrspace(3) global [64 x i32] undef, align 16\n"));
    for (const uint32_t index : {0x10000u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
        std::vector<uint32_t> out(1), at{index};
        const auto report = Dispatch(kernel).buffer(0, out).buffer(1, at).groups({1, 1, 1}, {1, 1, 1});
        EXPECT_EQ(LaunchStatus::kFault, report.status) << index;
    }
}

TEST(Executor, NullPointerIsAnErrorWithKernelAndThreadAndTheProcessGoesOn) {
    const auto kernel = text_kernel(kernel_ir(1, {"thread_position_in_grid"},
                                              "%last = icmp eq i32 %thread_position_in_grid, 37\n"
                                              "br i1 %last, label %bad, label %good\n"
                                              "bad:\nstore i32 1, ptr addrspace(1) %b0\nbr label %good\n"
                                              "good:\nret void"));
    for (int i = 0; i < 3; ++i) {
        const auto report = Dispatch(kernel).groups({2, 1, 1}, {32, 1, 1});
        EXPECT_EQ(LaunchStatus::kFault, report.status);
        EXPECT_THAT(report.message, HasSubstr("kernel 'k', thread (37, 0, 0)"));
    }
    std::vector<uint32_t> out(1);
    EXPECT_EQ(LaunchStatus::kDone, Dispatch(kernel).buffer(0, out).groups({2, 1, 1}, {32, 1, 1}).status);
    EXPECT_EQ(1u, out[0]);
}

TEST(Executor, DivisionTrapIsAnError) {
    const auto kernel = text_kernel(kernel_ir(1, {},
                                              "%d = load i32, ptr addrspace(1) %b0\n%q = sdiv i32 100, %d\n"
                                              "store i32 %q, ptr addrspace(1) %b0\nret void"));
    std::vector<int> zero{0}, five{5};
    const auto report = Dispatch(kernel).buffer(0, zero).groups({1, 1, 1}, {1, 1, 1});
    EXPECT_EQ(LaunchStatus::kFault, report.status);
    EXPECT_THAT(report.message, HasSubstr("division"));
    EXPECT_EQ(LaunchStatus::kDone, Dispatch(kernel).buffer(0, five).groups({1, 1, 1}, {1, 1, 1}).status);
    EXPECT_EQ(20, five[0]);
}

TEST(Executor, EndlessKernelStopsAtItsTimeLimit) {
    // Waits for a flag that nobody sets; with and without other threads at a barrier.
    const std::string loop =
        "br label %again\nagain:\n%v = load volatile i32, ptr addrspace(1) %b0\n"
        "%go = icmp ne i32 %v, 0\nbr i1 %go, label %out, label %again\nout:\n";
    for (const std::string& tail :
         {std::string("ret void"), std::string("call void @air.wg.barrier(i32 2, i32 1)\nret void")}) {
        const auto kernel = text_kernel(kernel_ir(1, {}, loop + tail, kBarrier));
        std::vector<uint32_t> flag{0};
        const auto begin = std::chrono::steady_clock::now();
        const auto report = Dispatch(kernel).buffer(0, flag).time_limit(0.2).groups({4, 1, 1}, {32, 1, 1});
        EXPECT_EQ(LaunchStatus::kTimeLimit, report.status);
        EXPECT_THAT(report.message, HasSubstr("time limit"));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
        flag[0] = 1;
        EXPECT_EQ(LaunchStatus::kDone,
                  Dispatch(kernel).buffer(0, flag).time_limit(60).groups({4, 1, 1}, {32, 1, 1}).status);
    }
}

TEST(Executor, GroupsBeyondTheLimitsAreRefused) {
    const auto kernel = reverse_kernel();
    Launch launch;
    launch.grid_threads = launch.group_threads = {2048, 1, 1};
    const auto report = the_executor().run(*kernel, launch);
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().describe(), HasSubstr("1 to 1024 threads"));
    launch.grid_threads = launch.group_threads = {32, 1, 1};
    launch.threadgroup_bytes[0] = 32 * 1024;
    const auto memory = the_executor().run(*kernel, launch);
    ASSERT_FALSE(memory);
    EXPECT_THAT(memory.error().describe(), HasSubstr("36864 bytes of threadgroup memory"));
}

TEST(Executor, SizesWhoseProductOverflowsAreRefused) {
    const auto kernel = reverse_kernel();
    const Size3 sizes[] = {
        {2977518503, 289529, 21398}, {1u << 31, 1u << 31, 4}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    for (const Size3& size : sizes) {
        Launch launch;
        launch.grid_threads = {5000, 1, 1};
        launch.group_threads = size;
        EXPECT_FALSE(the_executor().run(*kernel, launch)) << size.x;
        launch.grid_threads = size;
        launch.group_threads = {32, 1, 1};
        EXPECT_FALSE(the_executor().run(*kernel, launch)) << size.x;
    }
}

// A trap on fibers, the end of the kernel on vectors; never the code that happens to come next.
TEST(Executor, LeavingDefinedBehaviourEndsTheKernel) {
    for (const char* ending : {"unreachable", "br label %again\nagain:\nunreachable"}) {
        const auto kernel =
            text_kernel(kernel_ir(1, {}, "store i32 7, ptr addrspace(1) %b0\n" + std::string(ending), ""));
        std::vector<uint32_t> out{0};
        const auto report = Dispatch(kernel).buffer(0, out).groups({1, 1, 1}, {1, 1, 1});
        const bool on_fibers = report.executor == ExecutorKind::kFibers;
        EXPECT_EQ(on_fibers ? LaunchStatus::kFault : LaunchStatus::kDone, report.status);
        EXPECT_THAT(report.message, HasSubstr(on_fibers ? "kernel 'k'" : ""));
    }
}

// Eight rounds in which every lane reads shared[0], then lane 0 adds 1 to it: right only in lockstep.
std::shared_ptr<const Kernel> lockstep_kernel(bool reconverge) {
    CompileOptions options;
    options.reconverge = reconverge;
    return text_kernel(
        kernel_ir(
            1, {"thread_index_in_simdgroup"},
            "%first = icmp eq i32 %thread_index_in_simdgroup, 0\n"
            "%lane = zext i32 %thread_index_in_simdgroup to i64\n"
            "%out = getelementptr i32, ptr addrspace(1) %b0, i64 %lane\n"
            "br i1 %first, label %clear, label %start\n"
            "clear:\nstore i32 0, ptr addrspace(3) @shared, align 4\nbr label %start\n"
            "start:\ncall void @air.wg.barrier(i32 2, i32 1)\nbr label %round\n"
            "round:\n%i = phi i32 [0, %start], [%next, %joined]\n%sum = phi i32 [0, %start], [%more, "
            "%joined]\n"
            "%v = load i32, ptr addrspace(3) @shared, align 4\n%more = add i32 %sum, %v\n"
            "br i1 %first, label %write, label %joined\n"
            "write:\n%w = add i32 %v, 1\nstore i32 %w, ptr addrspace(3) @shared, align 4\nbr label %joined\n"
            "joined:\n%next = add i32 %i, 1\n%go = icmp ult i32 %next, 8\nbr i1 %go, label %round, label "
            "%done\n"
            "done:\nstore i32 %more, ptr addrspace(1) %out, align 4\nret void",
            std::string(kBarrier) + "@shared = internal addrspace(3) global [1 x i32] undef, align 4\n"),
        options);
}

TEST(Executor, LanesReconvergeAroundADivergentWriteThatOthersRead) {
    std::vector<uint32_t> out(32);
    Dispatch(lockstep_kernel(true)).buffer(0, out).groups({1, 1, 1}, {32, 1, 1});
    EXPECT_EQ(std::vector<uint32_t>(32, 28), out);  // 0 + 1 + ... + 7
}

TEST(Executor, WithoutReconvergenceTheRaceShows) {
    std::vector<uint32_t> out(32);
    Dispatch(lockstep_kernel(false)).buffer(0, out).groups({1, 1, 1}, {32, 1, 1});
    EXPECT_NE(std::vector<uint32_t>(32, 28), out);
}

}  // namespace
}  // namespace ingot::metal::testing

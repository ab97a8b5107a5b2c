// The vector executor on small kernels in Metal source: every thread's result against the same C++ on the
// host, thread by thread, and the report must say that vectors ran it. Control flow first: where lanes part,
// loop different numbers of rounds, leave early.
#include "metal/exec/device_compiler.h"
#include "metal/exec/local_compiler.h"
#include "metal/ir_text.h"
#include "metal/msl/source_library.h"
#include "metal/support.h"
#include "support/run_program.h"

namespace ingot::metal::testing {
namespace {

std::shared_ptr<const Kernel> source_kernel(const std::string& body) {
    const std::string source = "#include <metal_stdlib>\nusing namespace metal;\n" + body;
    const auto library = msl::SourceLibrary::open(source, {});
    if (!library) {
        ADD_FAILURE() << library.error().describe();
        return nullptr;
    }
    const auto module = library->compile("k");
    if (!module) {
        ADD_FAILURE() << module.error().describe();
        return nullptr;
    }
    auto kernel = the_compiler().compile(*module, "k", {});
    if (!kernel) {
        ADD_FAILURE() << kernel.error().describe();
        return nullptr;
    }
    return *kernel;
}

struct Shape {
    Size3 grid, group;
};

// Full and partial simdgroups, one group and several, lanes along x and not.
const Shape kShapes[] = {{{64, 1, 1}, {64, 1, 1}},  {{1, 1, 1}, {1, 1, 1}},   {{33, 1, 1}, {33, 1, 1}},
                         {{150, 1, 1}, {64, 1, 1}}, {{20, 6, 1}, {10, 3, 1}}, {{64, 4, 1}, {32, 2, 1}},
                         {{6, 5, 4}, {3, 5, 2}},    {{40, 3, 1}, {32, 2, 1}}};

// out[i] = f(i, in[i]) for each thread i of the grid; `body` computes `uint r` from `uint i` and `uint x`.
template <typename Function>
void expect_threads(const std::string& body, Function f) {
    const auto kernel = source_kernel(
        "kernel void k(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],\n"
        "  uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]],\n"
        "  uint3 t [[thread_position_in_threadgroup]]) {\n"
        "  uint i = p.x + n.x * (p.y + n.y * p.z);\n  uint x = in[i];\n  uint r = 0;\n" +
        body + "\n  out[i] = r;\n}\n");
    ASSERT_NE(nullptr, kernel);
    for (const Shape& shape : kShapes) {
        const auto count = size_t(shape.grid.count());
        std::vector<uint32_t> in(count), out(count, 0xDEAD);
        std::mt19937 random(7);
        for (uint32_t& value : in) value = random() % 40;
        const auto report = Dispatch(kernel)
                                .buffer(0, in)
                                .buffer(1, out)
                                .executor(ExecutorKind::kVector)
                                .threads_of_grid(shape.grid, shape.group);
        ASSERT_EQ(LaunchStatus::kDone, report.status) << report.message;
        ASSERT_EQ(ExecutorKind::kVector, report.executor) << report.refusal;
        for (uint32_t i = 0; i < count; ++i)
            ASSERT_EQ(f(i, in[i]), out[i]) << "thread " << i << " of " << count;
    }
}

TEST(VectorExecutor, LanesThatTakeDifferentBranches) {
    expect_threads("if (x % 3 == 0) r = x + 1; else if (x % 3 == 1) r = x * 5; else r = 7;",
                   [](uint32_t, uint32_t x) { return x % 3 == 0   ? x + 1
                                                     : x % 3 == 1 ? x * 5
                                                                  : 7; });
}

TEST(VectorExecutor, LanesThatLoopDifferentNumbersOfRounds) {
    expect_threads("for (uint j = 0; j < x; ++j) r += j * j + i;", [](uint32_t i, uint32_t x) {
        uint32_t r = 0;
        for (uint32_t j = 0; j < x; ++j) r += j * j + i;
        return r;
    });
}

TEST(VectorExecutor, NestedDivergentLoopsWithBreakAndContinueAtBothLevels) {
    const auto host = [](uint32_t i, uint32_t x) {
        uint32_t r = 0;
        for (uint32_t a = 0; a < x; ++a) {
            if ((a ^ i) % 5 == 4) continue;
            for (uint32_t b = a; b < 20; ++b) {
                if ((a + b + x) % 7 == 3) break;
                if (b % 3 == 1) continue;
                r = r * 3 + b + a;
            }
            if (r % 11 == 10) break;
        }
        return r;
    };
    expect_threads(
        "for (uint a = 0; a < x; ++a) { if ((a ^ i) % 5 == 4) continue;\n"
        "  for (uint b = a; b < 20; ++b) { if ((a + b + x) % 7 == 3) break; if (b % 3 == 1) continue; r = r "
        "* 3 + b + a; }\n"
        "  if (r % 11 == 10) break; }",
        host);
}

TEST(VectorExecutor, ThreadsThatReturnEarlyWriteNothing) {
    expect_threads("out[i] = 0xDEAD; if (x < 10) return; r = x;",
                   [](uint32_t, uint32_t x) { return x < 10 ? 0xDEADU : x; });
}

TEST(VectorExecutor, ASwitchWithFallThrough) {
    expect_threads(
        "switch (x % 6) { case 0: r += 1; case 1: r += 10; break; case 4: r = 99; break; default: r = x; }",
        [](uint32_t, uint32_t x) -> uint32_t {
            switch (x % 6) {
                case 0:
                    return 11;
                case 1:
                    return 10;
                case 4:
                    return 99;
                default:
                    return x;
            }
        });
}

TEST(VectorExecutor, AUniformBranchInsideADivergentLoop) {
    // `in[0]` is the same for all threads; which it is the compiler can't know.
    const std::string body =
        "uint u = in[0]; for (uint j = 0; j < x; ++j) { if (u > 20) r += j; else r += 2 * j + u; }";
    const uint32_t first = std::mt19937(7)() % 40;
    expect_threads(body, [&](uint32_t, uint32_t x) {
        uint32_t r = 0;
        for (uint32_t j = 0; j < x; ++j) r += first > 20 ? j : 2 * j + first;
        return r;
    });
}

TEST(VectorExecutor, ALoopThatLanesLeaveAtTwoPlaces) {
    expect_threads(
        "uint j = 0; while (true) { if (j * j > x) { r = 100 + j; break; } if ((j ^ i) == 5) { r = j; break; "
        "} ++j; }",
        [](uint32_t i, uint32_t x) {
            for (uint32_t j = 0;; ++j) {
                if (j * j > x) return 100 + j;
                if ((j ^ i) == 5) return j;
            }
        });
}

TEST(VectorExecutor, AnIndexThatWrapsBelowZeroForSomeLanes) {
    // Lanes 0 to 4 of the first simdgroup wrap to huge indices and are kept from reading by the test.
    expect_threads("uint j = i - 5; if (j < 100000) r = in[j] + 1;", [](uint32_t i, uint32_t) {
        std::mt19937 random(7);
        uint32_t value = 0;
        for (uint32_t k = 0; k + 5 <= i; ++k) value = random() % 40 + 1;
        return value;
    });
}

TEST(VectorExecutor, PrivateArraysIndexedByData) {
    expect_threads(
        "uint a[8]; for (uint j = 0; j < 8; ++j) a[j] = j * x; a[x % 8] += 1000; r = a[(x + 3) % 8] + a[x % "
        "8];",
        [](uint32_t, uint32_t x) { return (x + 3) % 8 * x + x % 8 * x + 1000; });
}

TEST(VectorExecutor, SixteenAndEightBitElementsUnderAMask) {
    const auto kernel = source_kernel(
        "kernel void k(device const ushort* in [[buffer(0)]], device ushort* out [[buffer(1)]], device "
        "uchar* bytes [[buffer(2)]],\n"
        "  uint i [[thread_position_in_grid]]) { if (in[i] % 2 == 1) { out[i] = in[i] * 3; bytes[i] = in[i]; "
        "} }");
    ASSERT_NE(nullptr, kernel);
    std::vector<uint16_t> in(100), out(100, 7);
    std::vector<uint8_t> bytes(100, 9);
    for (uint32_t i = 0; i < 100; ++i) in[i] = uint16_t(i * 37 % 101);
    const auto report = Dispatch(kernel)
                            .buffer(0, in)
                            .buffer(1, out)
                            .buffer(2, bytes)
                            .executor(ExecutorKind::kVector)
                            .threads_of_grid({100, 1, 1}, {64, 1, 1});
    ASSERT_EQ(ExecutorKind::kVector, report.executor) << report.refusal;
    for (uint32_t i = 0; i < 100; ++i) {
        const bool odd = in[i] % 2 == 1;
        EXPECT_EQ(odd ? uint16_t(in[i] * 3) : 7, out[i]) << i;
        EXPECT_EQ(odd ? uint8_t(in[i]) : 9, bytes[i]) << i;
    }
}

TEST(VectorExecutor, SimdgroupFunctionsCoverTheLanesOfTheBranch) {
    const auto kernel = source_kernel(
        "kernel void k(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], uint i "
        "[[thread_position_in_grid]]) {\n"
        "  uint x = in[i]; uint r = simd_max(x); if (x % 2 == 0) r += 100 * simd_sum(x) + "
        "simd_prefix_exclusive_sum(1u);\n"
        "  out[i] = r + 1000000 * simd_shuffle_xor(x, 1); }");
    ASSERT_NE(nullptr, kernel);
    std::vector<uint32_t> in(64), out(64);
    for (uint32_t i = 0; i < 64; ++i) in[i] = i * 29 % 41;
    const auto report = Dispatch(kernel)
                            .buffer(0, in)
                            .buffer(1, out)
                            .executor(ExecutorKind::kVector)
                            .groups({1, 1, 1}, {64, 1, 1});
    ASSERT_EQ(ExecutorKind::kVector, report.executor) << report.refusal;
    for (uint32_t i = 0; i < 64; ++i) {
        uint32_t largest = 0, sum = 0, before = 0;
        for (uint32_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) {
            largest = std::max(largest, in[j]);
            if (in[j] % 2 != 0) continue;
            sum += in[j];
            before += j < i;
        }
        const uint32_t even = in[i] % 2 == 0 ? 100 * sum + before : 0;
        EXPECT_EQ(largest + even + 1000000 * in[i ^ 1], out[i]) << i;
    }
}

TEST(VectorExecutor, BarriersBetweenSimdgroups) {
    const auto kernel = source_kernel(
        "kernel void k(device uint* out [[buffer(0)]], uint t [[thread_index_in_threadgroup]], uint g "
        "[[threadgroup_position_in_grid]],\n"
        "  uint n [[threads_per_threadgroup]]) { threadgroup uint shared[256]; uint sum = 0;\n"
        "  for (uint round = 0; round < 4; ++round) { shared[t] = t * round + g; "
        "threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "    sum += shared[n - 1 - t]; threadgroup_barrier(mem_flags::mem_threadgroup); } out[g * n + t] = "
        "sum; }");
    ASSERT_NE(nullptr, kernel);
    for (const uint32_t width : {32U, 48U, 100U, 256U}) {
        std::vector<uint32_t> out(width * 3);
        const auto report =
            Dispatch(kernel).buffer(0, out).executor(ExecutorKind::kVector).groups({3, 1, 1}, {width, 1, 1});
        ASSERT_EQ(ExecutorKind::kVector, report.executor) << report.refusal;
        for (uint32_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ((width - 1 - i % width) * 6 + 4 * (i / width), out[i]) << width;
        }
    }
}

TEST(VectorExecutor, AtomicsOfAllActiveLanes) {
    const auto kernel = source_kernel(
        "kernel void k(device atomic_uint* bins [[buffer(0)]], device const uint* in [[buffer(1)]], uint i "
        "[[thread_position_in_grid]]) {\n"
        "  if (in[i] != 3) atomic_fetch_add_explicit(&bins[in[i]], 1u, memory_order_relaxed); }");
    ASSERT_NE(nullptr, kernel);
    std::vector<uint32_t> bins(8), in(1000), expected(8);
    for (uint32_t i = 0; i < in.size(); ++i) in[i] = i * i % 8;
    for (const uint32_t value : in) expected[value] += value != 3;
    const auto report = Dispatch(kernel)
                            .buffer(0, bins)
                            .buffer(1, in)
                            .executor(ExecutorKind::kVector)
                            .threads_of_grid({1000, 1, 1}, {128, 1, 1});
    ASSERT_EQ(ExecutorKind::kVector, report.executor) << report.refusal;
    EXPECT_EQ(expected, bins);
}

// out[i] of each thread is the Fibonacci number of i % 8, by a function that calls itself.
std::shared_ptr<const Kernel> recursive_kernel() {
    return text_kernel(kernel_ir(
        1, {"thread_position_in_grid"},
        "%i = zext i32 %thread_position_in_grid to i64\n%p = getelementptr i32, ptr addrspace(1) %b0, i64 "
        "%i\n"
        "%n = urem i32 %thread_position_in_grid, 8\n%r = call i32 @fib(i32 %n)\n"
        "store i32 %r, ptr addrspace(1) %p\nret void",
        "define internal i32 @fib(i32 %n) {\n%small = icmp ult i32 %n, 2\nbr i1 %small, label %done, label "
        "%more\n"
        "done:\nret i32 %n\nmore:\n%n1 = sub i32 %n, 1\n%n2 = sub i32 %n, 2\n%a = call i32 @fib(i32 %n1)\n"
        "%b = call i32 @fib(i32 %n2)\n%s = add i32 %a, %b\nret i32 %s\n}\n"));
}

TEST(VectorExecutor, AKernelItRefusesRunsOnFibersAndTheReportSaysWhy) {
    const auto kernel = recursive_kernel();
    ASSERT_NE(nullptr, kernel);
    std::vector<uint32_t> out(64);
    Launch launch;
    launch.executor = ExecutorKind::kVector;
    launch.grid_threads = launch.group_threads = {64, 1, 1};
    launch.buffers[0] = {out.data(), 4 * out.size()};
    const auto report = the_executor().run(*kernel, launch);
    ASSERT_TRUE(report) << report.error().describe();
    EXPECT_EQ(ExecutorKind::kFibers, report->executor);
    EXPECT_NE(std::string::npos, report->refusal.find("'fib', which calls itself")) << report->refusal;
    EXPECT_EQ(13u, out[7]);
}

// b0[i] += 1
std::string counting_kernel() {
    return kernel_ir(1, {"thread_position_in_grid"},
                     "%i = zext i32 %thread_position_in_grid to i64\n%p = getelementptr i32, ptr "
                     "addrspace(1) %b0, i64 %i\n"
                     "%x = load i32, ptr addrspace(1) %p\n%y = add i32 %x, 1\nstore i32 %y, ptr addrspace(1) "
                     "%p\nret void");
}

// Launches, left to the device, until a vector form ran; how many ran on fibers before.
uint32_t launches_until_vectors(const std::shared_ptr<const Kernel>& kernel, std::vector<uint32_t>& out) {
    constexpr uint32_t kMostDispatches = 1'000'000;
    for (uint32_t before = 0; before < kMostDispatches; ++before) {
        const auto report = Dispatch(kernel)
                                .buffer(0, out)
                                .executor(ExecutorKind::kAuto)
                                .threads_of_grid({uint32_t(out.size()), 1, 1}, {64, 1, 1});
        EXPECT_EQ("", report.refusal);
        if (report.executor == ExecutorKind::kVector) return before;
    }
    ADD_FAILURE() << "never on vectors";
    return kMostDispatches;
}

TEST(Tiers, TakesAHotKernelOverWhereTheDeviceMayChoose) {
    const auto kernel = text_kernel(counting_kernel());
    ASSERT_NE(nullptr, kernel);
    std::vector<uint32_t> out(1 << 14);
    const uint64_t children = the_compiler().counts().isolated;
    const uint32_t on_fibers = launches_until_vectors(kernel, out);
    EXPECT_GT(on_fibers, 0u);
    EXPECT_EQ(children + 1, the_compiler().counts().isolated);
    for (const uint32_t value : out) ASSERT_EQ(on_fibers + 1, value);
}

TEST(Tiers, AVectorFormOnDiskServesTheFirstLaunch) {
    const test::TemporaryFolder folder;
    std::vector<std::unique_ptr<DeviceCompiler>> starts;
    const auto kernel_of_a_start = [&] {
        const auto& compiler = starts.emplace_back(std::make_unique<DeviceCompiler>(
            *local_compiler().value(), compiler_worker_program().value(), folder.file("objects")));
        const std::string ir = counting_kernel();
        return compiler->compile(std::as_bytes(std::span(ir)), "k", {}).value();
    };
    std::vector<uint32_t> out(1 << 14);
    EXPECT_GT(launches_until_vectors(kernel_of_a_start(), out), 0u);
    EXPECT_EQ(0u, launches_until_vectors(kernel_of_a_start(), out));
}

TEST(Tiers, AHotKernelThatIsRefusedStaysOnFibers) {
    const auto kernel = recursive_kernel();
    ASSERT_NE(nullptr, kernel);
    std::vector<uint32_t> out(1 << 14);
    std::string refusal;
    for (uint32_t launch = 0; launch < 1'000'000 && refusal.empty(); ++launch) {
        const auto report = Dispatch(kernel)
                                .buffer(0, out)
                                .executor(ExecutorKind::kAuto)
                                .threads_of_grid({1 << 14, 1, 1}, {64, 1, 1});
        EXPECT_EQ(ExecutorKind::kFibers, report.executor);
        refusal = report.refusal;
    }
    EXPECT_NE(std::string::npos, refusal.find("'fib', which calls itself")) << refusal;
}

TEST(VectorExecutor, AFormThatIsGivenUpLeavesNoRefusal) {
    const auto kernel = text_kernel(counting_kernel());
    ASSERT_NE(nullptr, kernel);
    std::stop_source source;
    source.request_stop();
    const LaneVariant variant{.full = true, .linear = true};
    kernel->lanes->prepare(variant, source.get_token());
    EXPECT_FALSE(kernel->lanes->ready(variant).has_value());
    kernel->lanes->prepare(variant, {});
    const auto made = kernel->lanes->ready(variant);
    ASSERT_TRUE(made.has_value());
    EXPECT_TRUE(made->has_value());
}

}  // namespace
}  // namespace ingot::metal::testing

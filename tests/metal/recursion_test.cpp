// Functions that call themselves (PyTorch's compiled kernels do) stay functions: they get the thread's
// record, may meet other threads, and can be stopped. And what an atomic compare and exchange gives back.
#include <gmock/gmock.h>

#include "metal/ir_text.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

constexpr uint32_t kRecursiveThreads = 64;

const char* const kPrologue =
    "%i = zext i32 %thread_position_in_grid to i64\n"
    "%p = getelementptr i32, ptr addrspace(1) %b0, i64 %i\n";

TEST(Recursion, EachThreadComputesItsFibonacciNumber) {
    const auto kernel =
        text_kernel(kernel_ir(1, {"thread_position_in_grid"},
                              std::string(kPrologue) + "%n = urem i32 %thread_position_in_grid, 16\n"
                                                       "%r = call i32 @fib(i32 %n)\n"
                                                       "store i32 %r, ptr addrspace(1) %p, align 4\nret void",
                              kFibonacci));
    std::vector<uint32_t> out(kRecursiveThreads, 12345);
    const auto report =
        Dispatch(kernel).buffer(0, out).threads_of_grid({kRecursiveThreads, 1, 1}, {32, 1, 1});
    EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
    std::vector<uint32_t> fib = {0, 1};
    while (fib.size() < 16) fib.push_back(fib[fib.size() - 1] + fib[fib.size() - 2]);
    for (uint32_t i = 0; i < kRecursiveThreads; ++i) EXPECT_EQ(fib[i % 16], out[i]) << i;
}

TEST(Recursion, SimdgroupFunctionsMeetInsideOne) {
    // f(n) = simd_sum(n) at the bottom, four levels down; every lane goes as deep.
    const char* const nested =
        "declare i32 @air.simd_sum.u.i32(i32) convergent\n"
        "define internal i32 @down(i32 %levels, i32 %x) convergent {\n"
        "%last = icmp eq i32 %levels, 0\nbr i1 %last, label %sum, label %more\n"
        "sum:\n%s = call i32 @air.simd_sum.u.i32(i32 %x)\nret i32 %s\n"
        "more:\n%l = sub i32 %levels, 1\n%y = add i32 %x, 1\n%r = call i32 @down(i32 %l, i32 %y)\nret i32 "
        "%r\n}\n";
    const auto kernel = text_kernel(kernel_ir(1, {"thread_position_in_grid"},
                                              std::string(kPrologue) +
                                                  "%r = call i32 @down(i32 4, i32 %thread_position_in_grid)\n"
                                                  "store i32 %r, ptr addrspace(1) %p, align 4\nret void",
                                              nested));
    std::vector<uint32_t> out(kRecursiveThreads);
    const auto report =
        Dispatch(kernel).buffer(0, out).threads_of_grid({kRecursiveThreads, 1, 1}, {kRecursiveThreads, 1, 1});
    EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
    for (uint32_t i = 0; i < kRecursiveThreads; ++i)
        EXPECT_EQ(i < 32 ? 31 * 16 + 4 * 32 : 31 * 16 + 36 * 32, out[i]) << i;
}

TEST(Recursion, WithoutAnEndItFaults) {
    const char* const endless =
        "define internal i32 @f(i32 %n) {\n"
        "%m = add i32 %n, 1\n%r = call i32 @f(i32 %m)\n%q = mul i32 %r, %n\n%x = xor i32 %q, %m\nret i32 "
        "%x\n}\n";
    const auto kernel =
        text_kernel(kernel_ir(1, {"thread_position_in_grid"},
                              std::string(kPrologue) + "%r = call i32 @f(i32 %thread_position_in_grid)\n"
                                                       "store i32 %r, ptr addrspace(1) %p, align 4\nret void",
                              endless));
    std::vector<uint32_t> out(kRecursiveThreads);
    const auto report =
        Dispatch(kernel).buffer(0, out).time_limit(5).threads_of_grid({kRecursiveThreads, 1, 1}, {32, 1, 1});
    EXPECT_NE(LaunchStatus::kDone, report.status);
}

TEST(Atomics, CompareExchangeGivesBackWhatWasThere) {
    // Adds 1 to b1[0] the way Apple's compiler writes a loop on a weak compare and exchange: done when the
    // result equals what was expected.
    const char* const declaration =
        "declare float @air.atomic.global.cmpxchg.weak.f32(ptr addrspace(1), ptr, float, i32, i32, i32, "
        "i1)\n";
    const auto kernel = text_kernel(kernel_ir(
        2, {"thread_position_in_grid"},
        std::string(kPrologue) +
            "%e = alloca float, align 4\n%first = load float, ptr addrspace(1) %b1, align 4\n"
            "br label %again\nagain:\n%old = phi float [ %first, %0 ], [ %now, %again ]\n"
            "store float %old, ptr %e, align 4\n%new = fadd float %old, 1.0\n"
            "%was = call float @air.atomic.global.cmpxchg.weak.f32(ptr addrspace(1) %b1, ptr %e, "
            "float %new, i32 0, i32 0, i32 2, i1 true)\n"
            "%ok = fcmp ueq float %old, %was\n%now = load float, ptr %e, align 4\n"
            "br i1 %ok, label %done, label %again\ndone:\n"
            "%bits = bitcast float %was to i32\nstore i32 %bits, ptr addrspace(1) %p, align 4\nret void",
        declaration));
    std::vector<float> before(kRecursiveThreads), counter = {10};
    const auto report = Dispatch(kernel)
                            .buffer(0, before)
                            .buffer(1, counter)
                            .time_limit(5)
                            .threads_of_grid({kRecursiveThreads, 1, 1}, {32, 1, 1});
    EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
    EXPECT_EQ(10 + float(kRecursiveThreads), counter[0]);
    std::ranges::sort(before);
    for (uint32_t i = 0; i < kRecursiveThreads; ++i) EXPECT_EQ(10 + float(i), before[i]) << i;
}

}  // namespace
}  // namespace ingot::metal::testing

// What a kernel must never do to its process: each is an error status that names kernel and thread, or has no
// effect, and the process goes on. (Endless loops, null pointers, division by zero, private and threadgroup
// arrays: executor_test.cpp.)
#include <gmock/gmock.h>

#include "metal/ir_text.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;

// After whatever happened, kernels run as before.
void expect_process_goes_on() {
    const auto kernel = text_kernel(kernel_ir(1, {}, "store i32 77, ptr addrspace(1) %b0\nret void"));
    std::vector<uint32_t> out(1);
    EXPECT_EQ(LaunchStatus::kDone, Dispatch(kernel).buffer(0, out).groups({1, 1, 1}, {1, 1, 1}).status);
    EXPECT_EQ(77u, out[0]);
}

// 64 KiB more of stack each round. Kernels that meet have a fiber each, others share one.
std::string overflow_ir(const std::string& end) {
    return kernel_ir(1, {},
                     "br label %again\nagain:\n%i = phi i32 [0, %0], [%next, %again]\n"
                     "%a = alloca [65536 x i8]\n%p = ptrtoint ptr %a to i64\n"
                     "store volatile i64 %p, ptr addrspace(1) %b0\nstore volatile i8 1, ptr %a\n"
                     "%next = add i32 %i, 1\n%go = icmp ult i32 %next, 16000\n"
                     "br i1 %go, label %again, label %out\nout:\n" +
                         end,
                     "declare void @air.wg.barrier(i32, i32) convergent\n");
}

TEST(Never, AStackThatOverflowsIsAFault) {
    for (const std::string end : {"ret void", "call void @air.wg.barrier(i32 2, i32 1)\nret void"}) {
        const auto kernel = text_kernel(overflow_ir(end));
        ASSERT_NE(nullptr, kernel);
        std::vector<uint64_t> address(1);
        const auto report = Dispatch(kernel).buffer(0, address).groups({2, 1, 1}, {4, 1, 1});
        EXPECT_EQ(LaunchStatus::kFault, report.status);
        EXPECT_THAT(report.message, HasSubstr("kernel 'k', thread ("));
        expect_process_goes_on();
    }
}

TEST(Never, PrivateVariablesOfAVariableSizeAreRefused) {
    const std::string ir =
        kernel_ir(1, {},
                  "%n = load i64, ptr addrspace(1) %b0\n%a = alloca i8, i64 %n\n"
                  "%q = getelementptr i8, ptr %a, i64 %n\nstore volatile i8 1, ptr %q\nret void");
    const auto kernel = the_compiler().compile(std::as_bytes(std::span(ir)), "k", {});
    ASSERT_FALSE(kernel);
    EXPECT_THAT(kernel.error().describe(), HasSubstr("variable size"));
}

TEST(Never, TheLeastIntegerByMinusOneIsADivisionTrap) {
    const auto kernel =
        text_kernel(kernel_ir(1, {"thread_position_in_grid"},
                              "%d = load i32, ptr addrspace(1) %b0\n"
                              "%q = sdiv i32 -2147483648, %d\nstore i32 %q, ptr addrspace(1) %b0\nret void"));
    std::vector<int> minus_one{-1};
    const auto report = Dispatch(kernel).buffer(0, minus_one).groups({1, 1, 1}, {1, 1, 1});
    EXPECT_EQ(LaunchStatus::kFault, report.status);
    EXPECT_THAT(report.message, HasSubstr("division"));
    expect_process_goes_on();
}

TEST(Never, UnreachableCodeThatIsReachedIsAFaultOrNothing) {
    const auto kernel =
        text_kernel(kernel_ir(1, {},
                              "%v = load i32, ptr addrspace(1) %b0\n%bad = icmp eq i32 %v, 0\n"
                              "br i1 %bad, label %trap, label %fine\ntrap:\nunreachable\nfine:\n"
                              "store i32 5, ptr addrspace(1) %b0\nret void"));
    std::vector<uint32_t> value{0};
    Dispatch(kernel).buffer(0, value).groups({1, 1, 1}, {1, 1, 1});
    expect_process_goes_on();
}

// Every word around a private array, far and near, in both directions: written with a pattern that would ruin
// a lane's record or a return address. `stored` keeps the array's address in memory and loads it back, so
// that no pass knows where it points.
std::string overrun_ir(bool stored) {
    const std::string address =
        stored ? "store volatile ptr %a, ptr %slot\n%base = load volatile ptr, ptr %slot\n"
               : "%base = getelementptr i8, ptr %a, i64 0\n";
    return kernel_ir(
        2, {"thread_index_in_threadgroup"},
        "%a = alloca [16 x i32], align 16\n%slot = alloca ptr\n"
        "call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 64, i1 false)\n" +
            address +
            "%from = load i32, ptr addrspace(1) %b1\n%f = sext i32 %from to i64\n"
            "%c = getelementptr i32, ptr addrspace(1) %b1, i64 1\n%count = load i32, ptr addrspace(1) %c\n"
            "%n = zext i32 %count to i64\nbr label %again\n"
            "again:\n%i = phi i64 [%f, %0], [%next, %again]\n"
            "%p = getelementptr i32, ptr %base, i64 %i\nstore i32 1431655765, ptr %p\n"
            "%next = add i64 %i, 1\n%m = sub i64 %next, %f\n%go = icmp ult i64 %m, %n\n"
            "br i1 %go, label %again, label %read\nread:\n"
            "call void @air.wg.barrier(i32 2, i32 1)\n"
            "%t = zext i32 %thread_index_in_threadgroup to i64\n"
            "%q = getelementptr i32, ptr %base, i64 3\n%v = load i32, ptr %q\n"
            "%to = getelementptr i32, ptr addrspace(1) %b0, i64 %t\nstore i32 %v, ptr addrspace(1) %to\n"
            "ret void",
        "declare void @air.wg.barrier(i32, i32) convergent\n"
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n");
}

TEST(Never, APrivateArraysOverrunTouchesNeitherTheRuntimeNorOtherThreads) {
    for (const bool stored : {false, true}) {
        const auto kernel = text_kernel(overrun_ir(stored));
        ASSERT_NE(nullptr, kernel);
        for (const int from : {-1000, -2000, -20000, 16, 500, 14000}) {
            std::vector<uint32_t> out(64, 7);
            std::vector<int> range{from, 1000};
            const auto report =
                Dispatch(kernel).buffer(0, out).buffer(1, range).groups({1, 1, 1}, {64, 1, 1});
            EXPECT_EQ(LaunchStatus::kDone, report.status) << from << " " << stored << ": " << report.message;
            EXPECT_EQ(std::vector<uint32_t>(64, 0), out) << from << " " << stored;
        }
        std::vector<uint32_t> out(64, 7);
        std::vector<int> range{0, 16};
        Dispatch(kernel).buffer(0, out).buffer(1, range).groups({1, 1, 1}, {64, 1, 1});
        EXPECT_EQ(std::vector<uint32_t>(64, 1431655765), out) << "inside, writes arrive";
    }
}

// Threadgroup memory, with 64 GiB on both sides that nobody has: a 32-bit index never reaches anything else.
TEST(Never, AThreadgroupArraysOverrunReachesNothing) {
    const auto kernel =
        text_kernel(kernel_ir(2, {},
                              "%at = load i32, ptr addrspace(1) %b1\n%i = sext i32 %at to i64\n"
                              "%p = getelementptr <4 x float>, ptr addrspace(3) @shared, i64 %i\n"
                              "%v = load <4 x float>, ptr addrspace(3) %p, align 4\n"
                              "store <4 x float> %v, ptr addrspace(3) %p, align 4\n"
                              "store <4 x float> %v, ptr addrspace(1) %b0, align 4\nret void",
                              "@shared = internal addrspace(3) global [64 x i32] undef, align 16\n"));
    for (const int index : {-1, -5000, INT32_MIN, INT32_MAX, 1 << 20}) {
        std::vector<float> out(4);
        std::vector<int> at{index};
        const auto report = Dispatch(kernel).buffer(0, out).buffer(1, at).groups({1, 1, 1}, {1, 1, 1});
        EXPECT_EQ(LaunchStatus::kFault, report.status) << index;
        expect_process_goes_on();
    }
}

}  // namespace
}  // namespace ingot::metal::testing

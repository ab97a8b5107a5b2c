// Every atomic function of the list, called as AIR on device and threadgroup memory by many threads at once.
#include <set>

#include "metal/ir_text.h"
#include "metal/msl/include/ingot_msl/builtins.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

struct ListedAtomic {
    std::string name;
};
const std::vector<ListedAtomic> kListedAtomics{
#define X(metal_name, name) {#name},
    INGOT_ATOMIC_BUILTINS(X)
#undef X
};

// b1[i] = what air.atomic.global.NAME.SUFFIX(b0, b2[i]) returned.
std::string update_ir(const std::string& name, const std::string& suffix, const std::string& type) {
    const std::string function = "air.atomic.global." + name + "." + suffix;
    return kernel_ir(
        3, {"thread_position_in_grid"},
        "%i = zext i32 %thread_position_in_grid to i64\n%p = getelementptr " + type +
            ", ptr addrspace(1) %b2, i64 %i\n%v = load " + type + ", ptr addrspace(1) %p\n%r = call " + type +
            " @" + function + "(ptr addrspace(1) %b0, " + type +
            " %v, i32 0, i32 2, i1 true)\n%q = getelementptr " + type +
            ", ptr addrspace(1) %b1, i64 %i\nstore " + type + " %r, ptr addrspace(1) %q\nret void",
        "declare " + type + " @" + function + "(ptr addrspace(1), " + type + ", i32, i32, i1)\n");
}

template <typename T>
T apply(const std::string& name, T a, T b) {
    if (name == "add") return T(a + b);
    if (name == "sub") return T(a - b);
    if (name == "min") return std::min(a, b);
    if (name == "max") return std::max(a, b);
    if constexpr (std::is_integral_v<T>) {
        if (name == "and") return a & b;
        if (name == "or") return a | b;
        if (name == "xor") return a ^ b;
    }
    return b;
}

// All operations commute, so the end value doesn't depend on the order. Applied again in the order that the
// returned values tell, each thread must have seen what the threads before it left.
template <typename T>
void expect_updates(const std::string& name, const std::string& suffix, const std::string& type, T start) {
    const uint32_t n = 512;
    std::vector<T> cell{start}, before(n), operands(n);
    std::mt19937 generator(4);
    for (T& operand : operands) operand = T(int(generator() % 200) - 100);
    Dispatch(text_kernel(update_ir(name, suffix, type)))
        .buffer(0, cell)
        .buffer(1, before)
        .buffer(2, operands)
        .threads_of_grid({n, 1, 1}, {32, 1, 1});
    T expected = start;
    for (const T operand : operands) expected = apply(name, expected, operand);
    EXPECT_EQ(expected, cell[0]) << name << "." << suffix;
    // What threads saw and what they left are the same values, but for the first and the last.
    std::multiset<T> seen(before.begin(), before.end()), left{start};
    for (uint32_t i = 0; i < n; ++i) left.insert(apply(name, before[i], operands[i]));
    left.erase(left.find(cell[0]));
    EXPECT_EQ(seen, left) << name << "." << suffix;
}

TEST(AtomicBuiltins, UpdatesAreAtomicOnEveryType) {
    for (const ListedAtomic& listed : kListedAtomics) {
        expect_updates<int32_t>(listed.name, "s.i32", "i32", -7);
        expect_updates<uint32_t>(listed.name, "u.i32", "i32", 0xF0F0F0F0u);
        expect_updates<uint64_t>(listed.name, "u.i64", "i64", 0xF0F0F0F0F0F0F0F0u);
        if (listed.name == "add" || listed.name == "sub" || listed.name == "min" || listed.name == "max") {
            expect_updates<float>(listed.name, "f32", "float", 3);
        }
    }
}

TEST(AtomicBuiltins, ExchangeHandsTheValueOn) {
    const uint32_t n = 512;
    std::vector<uint32_t> cell{1000}, before(n), operands(n);
    for (uint32_t i = 0; i < n; ++i) operands[i] = i;
    Dispatch(text_kernel(update_ir("xchg", "i32", "i32")))
        .buffer(0, cell)
        .buffer(1, before)
        .buffer(2, operands)
        .threads_of_grid({n, 1, 1}, {32, 1, 1});
    std::multiset<uint32_t> seen(before.begin(), before.end()), left(operands.begin(), operands.end());
    left.insert(1000);
    left.erase(cell[0]);
    EXPECT_EQ(left, seen);
}

// Counts in a loop of compare-and-exchange, on device and on threadgroup memory.
TEST(AtomicBuiltins, CompareExchangeLosesNoUpdate) {
    const auto ir = [](const std::string& space, const std::string& number, const std::string& pointer) {
        const std::string p = "ptr addrspace(" + number + ")";
        return kernel_ir(
            1, {"thread_position_in_threadgroup"},
            "%expected = alloca i32\n%first = call i32 @air.atomic." + space + ".load.i32(" + p + " " +
                pointer +
                ", i32 0, i32 2, i1 true)\nstore i32 %first, ptr %expected\nbr label %again\nagain:\n%old = "
                "load i32, "
                "ptr %expected\n%new = add i32 %old, 3\n%done = call i1 @air.atomic." +
                space + ".cmpxchg.weak.i32(" + p + " " + pointer +
                ", ptr %expected, i32 %new, i32 0, i32 0, i32 2, i1 true)\nbr i1 %done, label %end, label "
                "%again\nend:\ncall void @air.wg.barrier(i32 2, i32 1)\n%sum = call i32 @air.atomic." +
                space + ".load.i32(" + p + " " + pointer +
                ", i32 0, i32 2, i1 true)\n%i = zext i32 %thread_position_in_threadgroup to i64\n%at = add "
                "i64 %i, "
                "1\n%q = getelementptr i32, ptr addrspace(1) %b0, i64 %at\nstore i32 %sum, ptr addrspace(1) "
                "%q\nret "
                "void",
            "@cell = internal addrspace(3) global i32 undef\ndeclare i32 @air.atomic." + space +
                ".load.i32(" + p + ", i32, i32, i1)\ndeclare i1 @air.atomic." + space + ".cmpxchg.weak.i32(" +
                p + ", ptr, i32, i32, i32, i32, i1)\ndeclare void @air.wg.barrier(i32, i32) convergent\n");
    };
    const uint32_t n = 256;
    std::vector<uint32_t> out(n + 1);
    Dispatch(text_kernel(ir("global", "1", "%b0"))).buffer(0, out).threads_of_grid({n, 1, 1}, {n, 1, 1});
    EXPECT_EQ(3 * n, out[0]);
    EXPECT_EQ(3 * n, out[n]);
    // Threadgroup memory starts undefined: only the growth is known.
    std::vector<uint32_t> local(n + 1);
    Dispatch(text_kernel(ir("local", "3", "@cell"))).buffer(0, local).threads_of_grid({n, 1, 1}, {n, 1, 1});
    for (uint32_t i = 1; i <= n; ++i) EXPECT_EQ(local[1], local[i]);
}

}  // namespace
}  // namespace ingot::metal::testing

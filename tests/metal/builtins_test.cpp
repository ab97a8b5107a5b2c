// Every math built-in of the list, called as AIR: scalars of float, half and bfloat and a vector, against
// double precision within the tolerance that the list states. Also conversions.
#include "metal/ir_text.h"
#include "metal/math_sweep.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

// One kernel for all functions, air.PREFIX NAME.SUFFIX on `type`: function f of the list reads its operands
// in b1, b2 and b3 and writes to b0 at f * `calls` + i.
std::string sweep_ir(const std::string& prefix, const std::string& suffix, const std::string& type,
                     size_t calls) {
    std::string body = "%i = zext i32 %thread_position_in_grid to i64\n", declarations;
    for (size_t f = 0; f < std::size(jit::kMathBuiltins); ++f) {
        const jit::MathBuiltin& builtin = jit::kMathBuiltins[f];
        const std::string id = std::to_string(f), at = "%at" + id;
        const std::string function = "@air." + prefix + std::string(builtin.name) + "." + suffix;
        const auto element = [&](const std::string& name, int buffer) {
            return name + " = getelementptr " + type + ", ptr addrspace(1) %b" + std::to_string(buffer) +
                   ", i64 " + at + "\n";
        };
        body += at + " = add i64 %i, " + std::to_string(f * calls) + "\n";
        std::string values, types;
        for (int a = 0; a < builtin.num_arguments; ++a) {
            const std::string n = id + "_" + std::to_string(a);
            body += element("%p" + n, a + 1) + "%v" + n + " = load " + type + ", ptr addrspace(1) %p" + n +
                    ", align 2\n";
            values += (a ? ", " : "") + type + " %v" + n;
            types += (a ? ", " : "") + type;
        }
        body += "%r" + id + " = call " + type + " " + function + "(" + values + ")\n" +
                element("%q" + id, 0) + "store " + type + " %r" + id + ", ptr addrspace(1) %q" + id +
                ", align 2\n";
        declarations += "declare " + type + " " + function + "(" + types + ")\n";
    }
    return kernel_ir(4, {"thread_position_in_grid"}, body + "ret void", declarations);
}

// `unit` is the unit in the last place of 1. Half a unit is what rounding costs.
template <typename T>
void expect_agreement(const std::string& prefix, const std::string& suffix, const std::string& type,
                      uint32_t per_call, double unit) {
    MathSweep<T> sweep(2048, 1);
    const uint32_t threads = sweep.n / per_call;
    Dispatch dispatch(text_kernel(sweep_ir(prefix, suffix, type, threads)));
    dispatch.buffer(0, sweep.out).buffer(1, sweep.in[0]).buffer(2, sweep.in[1]).buffer(3, sweep.in[2]);
    dispatch.threads_of_grid({threads, 1, 1}, {64, 1, 1});
    sweep.expect_agreement(prefix + "*." + suffix, unit);
}

TEST(Builtins, EveryMathFunctionIsInTheSweep) {
    for (const jit::MathBuiltin& builtin : jit::kMathBuiltins) EXPECT_NO_THROW(math_case(builtin.name));
    EXPECT_EQ(std::size(jit::kMathBuiltins), math_cases().size());
}

TEST(Builtins, MathFunctionsAgreeWithDoublePrecision) {
    expect_agreement<float>("", "f32", "float", 1, 0x1p-23);
    expect_agreement<float>("fast_", "f32", "float", 1, 0x1p-23);
    expect_agreement<float>("", "v4f32", "<4 x float>", 4, 0x1p-23);
    expect_agreement<Half>("", "f16", "half", 1, 0x1p-10);
    expect_agreement<Half>("", "v2f16", "<2 x half>", 2, 0x1p-10);
    expect_agreement<Bfloat>("", "bf16", "bfloat", 1, 0x1p-7);
}

// b0[i] = air.convert.TO.FROM(b1[i])
std::string convert_ir(const std::string& name, const std::string& to, const std::string& from) {
    return kernel_ir(2, {"thread_position_in_grid"},
                     "%i = zext i32 %thread_position_in_grid to i64\n%p = getelementptr " + from +
                         ", ptr addrspace(1) %b1, i64 %i\n%v = load " + from +
                         ", ptr addrspace(1) %p\n%r = call " + to + " @air.convert." + name + "(" + from +
                         " %v)\n%q = getelementptr " + to + ", ptr addrspace(1) %b0, i64 %i\nstore " + to +
                         " %r, ptr addrspace(1) %q\nret void",
                     "declare " + to + " @air.convert." + name + "(" + from + ")\n");
}

TEST(Builtins, FloatToIntegerTruncatesAndSaturatesAndNanIsZero) {
    std::vector<float> in{1.9f, -1.9f, 3e9f, -3e9f, std::nanf(""), 0.49f, 1e30f, -0.0f};
    const uint32_t n = uint32_t(in.size());
    std::vector<int32_t> out(n);
    Dispatch(text_kernel(convert_ir("s.i32.f.f32", "i32", "float")))
        .buffer(0, out)
        .buffer(1, in)
        .threads_of_grid({n, 1, 1}, {8, 1, 1});
    EXPECT_EQ((std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, 0, INT32_MAX, 0}), out);
    std::vector<uint8_t> bytes(n);
    Dispatch(text_kernel(convert_ir("u.i8.f.f32", "i8", "float")))
        .buffer(0, bytes)
        .buffer(1, in)
        .threads_of_grid({n, 1, 1}, {8, 1, 1});
    EXPECT_EQ((std::vector<uint8_t>{1, 0, 255, 0, 0, 0, 255, 0}), bytes);
}

TEST(Builtins, FloatToHalfAndBfloatRoundToNearestEven) {
    auto in = normal_values<float>(4096, 3, 100);
    const uint32_t n = 4096;
    std::vector<Half> half(n);
    std::vector<Bfloat> bfloat(n);
    Dispatch(text_kernel(convert_ir("f.f16.f.f32", "half", "float")))
        .buffer(0, half)
        .buffer(1, in)
        .threads_of_grid({n, 1, 1}, {64, 1, 1});
    Dispatch(text_kernel(convert_ir("f.bf16.f.f32", "bfloat", "float")))
        .buffer(0, bfloat)
        .buffer(1, in)
        .threads_of_grid({n, 1, 1}, {64, 1, 1});
    for (uint32_t i = 0; i < n; ++i) {
        EXPECT_EQ(float_to_half(in[i]), half[i].bits);
        EXPECT_EQ(float_to_bfloat16(in[i]), bfloat[i].bits);
    }
}

}  // namespace
}  // namespace ingot::metal::testing

// Every math built-in of the table, called as AIR: scalars of float, half and bfloat and a vector, against
// double precision within the tolerance that the table states. Also conversions, integers and simdgroup
// functions.
#include <functional>

#include "metal/ir_text.h"
#include "metal/jit/builtins/math_table.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

using Reference = std::function<double(double, double, double)>;

struct MathCase {
    const char* name;
    double low, high;  // of the arguments
    Reference reference;
};

double fract(double x) {
    return std::min(x - std::floor(x), double(0x1.fffffep-1f));
}
const double kPi = std::acos(-1.0);

const std::vector<MathCase>& math_cases() {
    using D = double;
    static const std::vector<MathCase> cases{
        {"acos", -1, 1, [](D x, D, D) { return std::acos(x); }},
        {"acosh", 1, 50, [](D x, D, D) { return std::acosh(x); }},
        {"asin", -1, 1, [](D x, D, D) { return std::asin(x); }},
        {"asinh", -50, 50, [](D x, D, D) { return std::asinh(x); }},
        {"atan", -50, 50, [](D x, D, D) { return std::atan(x); }},
        {"atan2", -9, 9, [](D x, D y, D) { return std::atan2(x, y); }},
        {"atanh", -0.99, 0.99, [](D x, D, D) { return std::atanh(x); }},
        {"ceil", -99, 99, [](D x, D, D) { return std::ceil(x); }},
        {"copysign", -9, 9, [](D x, D y, D) { return std::copysign(x, y); }},
        {"cos", -30, 30, [](D x, D, D) { return std::cos(x); }},
        {"cosh", -9, 9, [](D x, D, D) { return std::cosh(x); }},
        {"cospi", -9, 9, [](D x, D, D) { return std::cos(kPi * std::remainder(x, 2)); }},
        {"exp", -9, 9, [](D x, D, D) { return std::exp(x); }},
        {"exp10", -4, 4, [](D x, D, D) { return std::pow(10, x); }},
        {"exp2", -9, 9, [](D x, D, D) { return std::exp2(x); }},
        {"fabs", -9, 9, [](D x, D, D) { return std::fabs(x); }},
        {"fdim", -9, 9, [](D x, D y, D) { return x > y ? double(float(x - y)) : 0; }},
        {"floor", -99, 99, [](D x, D, D) { return std::floor(x); }},
        {"fma", -9, 9, [](D x, D y, D z) { return x * y + z; }},
        {"fmax", -9, 9, [](D x, D y, D) { return std::fmax(x, y); }},
        {"fmin", -9, 9, [](D x, D y, D) { return std::fmin(x, y); }},
        {"fmod", -9, 9, [](D x, D y, D) { return std::fmod(x, y); }},
        {"fract", -9, 9, [](D x, D, D) { return fract(double(float(x))); }},
        {"log", 0.01, 99, [](D x, D, D) { return std::log(x); }},
        {"log10", 0.01, 99, [](D x, D, D) { return std::log10(x); }},
        {"log2", 0.01, 99, [](D x, D, D) { return std::log2(x); }},
        {"nextafter", -9, 9, [](D x, D y, D) { return double(std::nextafterf(float(x), float(y))); }},
        {"pow", 0.1, 4, [](D x, D y, D) { return std::pow(x, y); }},
        {"powr", 0.1, 4, [](D x, D y, D) { return std::pow(x, y); }},
        {"rint", -99, 99, [](D x, D, D) { return std::nearbyint(x); }},
        {"round", -99, 99, [](D x, D, D) { return std::round(x); }},
        {"rsqrt", 0.01, 99, [](D x, D, D) { return 1 / std::sqrt(x); }},
        {"sin", -30, 30, [](D x, D, D) { return std::sin(x); }},
        {"sinh", -9, 9, [](D x, D, D) { return std::sinh(x); }},
        {"sinpi", -9, 9, [](D x, D, D) { return std::sin(kPi * std::remainder(x, 2)); }},
        {"sqrt", 0, 99, [](D x, D, D) { return std::sqrt(x); }},
        {"tan", -1.5, 1.5, [](D x, D, D) { return std::tan(x); }},
        {"tanh", -9, 9, [](D x, D, D) { return std::tanh(x); }},
        {"tanpi", -0.45, 0.45, [](D x, D, D) { return std::tan(kPi * x); }},
        {"trunc", -99, 99, [](D x, D, D) { return std::trunc(x); }},
    };
    return cases;
}

// b0[i] = air.NAME.SUFFIX(b1[i], ...) for `count` elements of type `type`, `per_call` at once.
std::string elementwise_ir(const std::string& name, const std::string& suffix, const std::string& type,
                           int arguments) {
    std::string body = "%i = zext i32 %thread_position_in_grid to i64\n", types, values;
    for (int a = 0; a < arguments; ++a) {
        const std::string n = std::to_string(a);
        body += "%p" + n + " = getelementptr " + type + ", ptr addrspace(1) %b" + std::to_string(a + 1) +
                ", i64 %i\n";
        body += "%v" + n + " = load " + type + ", ptr addrspace(1) %p" + n + ", align 2\n";
        types += (a ? ", " : "") + type;
        values += (a ? ", " : "") + type + " %v" + n;
    }
    const std::string function = "@air." + name + "." + suffix;
    body += "%r = call " + type + " " + function + "(" + values + ")\n%q = getelementptr " + type +
            ", ptr addrspace(1) %b0, i64 %i\nstore " + type + " %r, ptr addrspace(1) %q, align 2\nret void";
    return kernel_ir(arguments + 1, {"thread_position_in_grid"}, body,
                     "declare " + type + " " + function + "(" + types + ")\n");
}

template <typename T>
double worst_error(const MathCase& c, int arguments, const std::string& suffix, const std::string& type,
                   int per_call, double unit) {
    const size_t n = 4096;
    std::mt19937 generator(1);
    std::uniform_real_distribution<double> uniform(c.low, c.high);
    std::vector<T> in[3], out(n);
    for (auto& values : in) {
        values.resize(n);
        for (T& value : values) value = T(float(uniform(generator)));
    }
    Dispatch dispatch(text_kernel(elementwise_ir(c.name, suffix, type, arguments)));
    dispatch.buffer(0, out);
    for (int a = 0; a < arguments; ++a) dispatch.buffer(uint32_t(a + 1), in[a]);
    dispatch.threads_of_grid({uint32_t(n) / uint32_t(per_call), 1, 1}, {64, 1, 1});
    double worst = 0;
    for (size_t i = 0; i < n; ++i) {
        const double expected = c.reference(double(in[0][i]), double(in[1][i]), double(in[2][i]));
        const double ulp = std::ldexp(unit, std::max(std::ilogb(expected == 0 ? 1e-3 : expected), -12));
        const double error = std::fabs(double(out[i]) - expected) / ulp;
        worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
    return worst;
}

TEST(Builtins, EveryMathFunctionIsInTheSweep) {
    for (const jit::MathBuiltin& builtin : jit::kMathBuiltins) {
        const auto& cases = math_cases();
        EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const MathCase& c) {
            return builtin.name == c.name;
        })) << builtin.name;
    }
    EXPECT_EQ(std::size(jit::kMathBuiltins), math_cases().size());
}

TEST(Builtins, MathFunctionsAgreeWithDoublePrecision) {
    for (const MathCase& c : math_cases()) {
        const auto* builtin = std::find_if(std::begin(jit::kMathBuiltins), std::end(jit::kMathBuiltins),
                                           [&](const jit::MathBuiltin& b) { return b.name == c.name; });
        ASSERT_NE(std::end(jit::kMathBuiltins), builtin) << c.name;
        const int arguments = builtin->num_arguments;
        // Half a unit is what rounding costs.
        const double ulps = builtin->ulps + 0.5000001;
        EXPECT_LE(worst_error<float>(c, arguments, "f32", "float", 1, 0x1p-23), ulps) << c.name;
        EXPECT_LE(worst_error<float>(c, arguments, "v4f32", "<4 x float>", 4, 0x1p-23), ulps) << c.name;
        if (builtin->name == "nextafter") continue;  // a neighbour in float isn't one in half
        EXPECT_LE(worst_error<Half>(c, arguments, "f16", "half", 1, 0x1p-10), 1.0) << c.name;
        EXPECT_LE(worst_error<Bfloat>(c, arguments, "bf16", "bfloat", 1, 0x1p-7), 1.0) << c.name;
    }
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

// b0[i] = air.NAME(b1[i] EXTRA), in simdgroups of 32 threads.
std::string simd_ir(const std::string& name, const std::string& extra = "",
                    const std::string& extra_types = "") {
    return kernel_ir(
        2, {"thread_position_in_grid"},
        "%i = zext i32 %thread_position_in_grid to i64\n%p = getelementptr float, ptr addrspace(1) %b1, "
        "i64 %i\n%v = load float, ptr addrspace(1) %p\n%r = call float @air." +
            name + "(float %v" + extra +
            ")\n%q = getelementptr float, ptr addrspace(1) %b0, i64 %i\nstore float %r, ptr addrspace(1) "
            "%q\nret void",
        "declare float @air." + name + "(float" + extra_types + ") convergent\n");
}

TEST(Builtins, SimdgroupFunctionsCoverTheActiveLanes) {
    const uint32_t n = 80;  // the third simdgroup has 16 lanes
    auto in = normal_values<float>(n, 4);
    const auto expect = [&](const std::string& ir, auto value) {
        std::vector<float> out(n, 77);
        Dispatch(text_kernel(ir)).buffer(0, out).buffer(1, in).threads_of_grid({n, 1, 1}, {n, 1, 1});
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t base = i / 32 * 32, lanes = std::min(32u, n - base);
            EXPECT_NEAR(value(base, lanes, i - base), out[i], 1e-5) << ir.substr(0, 40) << " lane " << i;
        }
    };
    expect(simd_ir("simd_sum.f32"), [&](uint32_t base, uint32_t lanes, uint32_t) {
        double sum = 0;
        for (uint32_t k = 0; k < lanes; ++k) sum += in[base + k];
        return sum;
    });
    expect(simd_ir("simd_max.f32"), [&](uint32_t base, uint32_t lanes, uint32_t) {
        return double(*std::max_element(in.begin() + base, in.begin() + base + lanes));
    });
    expect(simd_ir("quad_sum.f32"), [&](uint32_t base, uint32_t, uint32_t lane) {
        double sum = 0;
        for (uint32_t k = 0; k < 4; ++k) sum += in[base + lane / 4 * 4 + k];
        return sum;
    });
    expect(simd_ir("simd_prefix_exclusive_sum.f32"), [&](uint32_t base, uint32_t, uint32_t lane) {
        double sum = 0;
        for (uint32_t k = 0; k < lane; ++k) sum += in[base + k];
        return sum;
    });
    expect(simd_ir("simd_shuffle_xor.f32", ", i16 5", ", i16"),
           [&](uint32_t base, uint32_t, uint32_t lane) { return double(in[base + (lane ^ 5)]); });
    expect(simd_ir("simd_shuffle_and_fill_up.f32", ", float 9.0, i16 3, i16 8", ", float, i16, i16"),
           [&](uint32_t base, uint32_t, uint32_t lane) {
               return lane % 8 >= 3 ? double(in[base + lane - 3]) : 9.0;
           });
}

}  // namespace
}  // namespace ingot::metal::testing

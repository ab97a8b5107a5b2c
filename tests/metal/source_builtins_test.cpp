// The built-in functions through Metal source: every function of the lists once more, now as the headers of
// the MSL library declare them, and what has no AIR function of its own (relational, geometric, conversions).
#include "metal/math_sweep.h"
#include "metal/simd_cases.h"
#include "metal/source_support.h"

namespace ingot::metal::testing {
namespace {

const char* const kArguments[] = {"x[at]", "x[at], y[at]", "x[at], y[at], z[at]"};

// kernels NAME(out, x, y, z, n): function f of the list reads its operands at f * n + i.
std::string math_kernel(const std::string& name, const std::string& type, const std::string& prefix) {
    std::string body;
    for (size_t f = 0; f < std::size(jit::kMathBuiltins); ++f) {
        const jit::MathBuiltin& builtin = jit::kMathBuiltins[f];
        body += "  { uint at = " + std::to_string(f) + " * n + i; out[at] = " + prefix +
                std::string(builtin.name) + "(" + kArguments[builtin.num_arguments - 1] + "); }\n";
    }
    return "kernel void " + name + "(device " + type + "* out [[buffer(0)]], const device " + type +
           "* x [[buffer(1)]], const device " + type + "* y [[buffer(2)]], const device " + type +
           "* z [[buffer(3)]], constant uint& n [[buffer(4)]], uint i [[thread_position_in_grid]]) {\n" +
           body + "}\n";
}

// Of type T, `lanes` to a value of the kernel's type. `unit` is the unit in the last place of 1.
template <typename T>
void expect_math(const msl::SourceLibrary& library, const std::string& kernel, uint32_t lanes, double unit) {
    MathSweep<T> sweep(256, 7);
    const uint32_t threads = sweep.n / lanes;
    Dispatch dispatch(source_kernel(library, kernel));
    dispatch.buffer(0, sweep.out).buffer(1, sweep.in[0]).buffer(2, sweep.in[1]).buffer(3, sweep.in[2]);
    dispatch.value(4, threads).threads_of_grid({threads, 1, 1}, {32, 1, 1});
    sweep.expect_agreement(kernel, unit);
}

TEST(SourceBuiltins, MathFunctionsAgreeWithDoublePrecision) {
    const auto library = source_library(
        "#include <metal_stdlib>\nusing namespace metal;\n" + math_kernel("of_float", "float", "") +
        math_kernel("of_half", "half", "") + math_kernel("of_bfloat", "bfloat", "") +
        math_kernel("of_float4", "float4", "") + math_kernel("of_half3", "packed_half2", "metal::") +
        math_kernel("of_precise", "float", "precise::") + math_kernel("of_fast", "float2", "fast::"));
    expect_math<float>(library, "of_float", 1, 0x1p-23);
    expect_math<Half>(library, "of_half", 1, 0x1p-10);
    expect_math<Bfloat>(library, "of_bfloat", 1, 0x1p-7);
    expect_math<float>(library, "of_float4", 4, 0x1p-23);
    expect_math<Half>(library, "of_half3", 2, 0x1p-10);
    expect_math<float>(library, "of_precise", 1, 0x1p-23);
    expect_math<float>(library, "of_fast", 2, 0x1p-23);
}

struct IntegerListed {
    std::string name, metal_name, shape;
};
const std::vector<IntegerListed> kIntegers{
#define X(name, metal_name, shape) {#name, #metal_name, #shape},
    INGOT_INTEGER_BUILTINS(X) INGOT_SHARED_INTEGER_BUILTINS(X)
#undef X
};

std::string integer_kernel(const std::string& type) {
    std::string body;
    for (size_t f = 0; f < kIntegers.size(); ++f) {
        const std::string& shape = kIntegers[f].shape;
        const std::string arguments = shape == "UNARY" || shape == "PLAIN" || shape == "COUNT" ? "x[i]"
                                      : shape == "TERNARY" ? "x[i], y[i], z[i]"
                                      : shape == "EXTRACT" ? "x[i], offset[i], count[i]"
                                      : shape == "INSERT"  ? "x[i], y[i], offset[i], count[i]"
                                                           : "x[i], y[i]";
        body += "  out[" + std::to_string(f) + " * n + i] = " + kIntegers[f].metal_name + "(" + arguments +
                ");\n";
    }
    return "kernel void of_" + type + "(device " + type + "* out [[buffer(0)]], const device " + type +
           "* x [[buffer(1)]], const device " + type + "* y [[buffer(2)]], const device " + type +
           "* z [[buffer(3)]], const device uint* offset [[buffer(4)]], const device uint* count "
           "[[buffer(5)]], "
           "constant uint& n [[buffer(6)]], uint i [[thread_position_in_grid]]) {\n" +
           body + "}\n";
}

TEST(SourceBuiltins, IntegerFunctionsAgreeWithWideArithmetic) {
    std::string text = "#include <metal_stdlib>\nusing namespace metal;\n";
    for (const IntegerType& type : integer_types()) text += integer_kernel(type.name);
    const auto library = source_library(text);
    const uint32_t n = 512;
    for (const IntegerType& type : integer_types()) {
        const size_t size = size_t(type.bits) / 8;
        std::vector<uint64_t> values[3];
        std::vector<uint8_t> in[3], out(kIntegers.size() * n * size);
        for (uint32_t a = 0; a < 3; ++a) {
            values[a] = integer_operands(type, n, a + 11);
            in[a].resize(n * size);
            for (uint32_t i = 0; i < n; ++i) std::memcpy(&in[a][i * size], &values[a][i], size);
        }
        std::vector<uint32_t> offset(n), count(n);
        std::mt19937 generator(3);
        for (uint32_t i = 0; i < n; ++i) {
            offset[i] = generator() % uint32_t(type.bits);
            count[i] = generator() % (uint32_t(type.bits) - offset[i] + 1);
        }
        Dispatch dispatch(source_kernel(library, std::string("of_") + type.name));
        dispatch.buffer(0, out).buffer(1, in[0]).buffer(2, in[1]).buffer(3, in[2]).buffer(4, offset).buffer(
            5, count);
        dispatch.value(6, n).threads_of_grid({n, 1, 1}, {64, 1, 1});
        for (size_t f = 0; f < kIntegers.size(); ++f) {
            for (uint32_t i = 0; i < n; ++i) {
                const Wide x = type.value(values[0][i]), y = type.value(values[1][i]),
                           z = type.value(values[2][i]);
                Wide expected = 0;
                if (kIntegers[f].shape == "EXTRACT") {
                    expected = reference_extract_bits(x, offset[i], count[i], type);
                } else if (kIntegers[f].shape == "INSERT") {
                    expected = reference_insert_bits(x, y, offset[i], count[i], type);
                }
                for (const IntegerCase& c : integer_cases()) {
                    if (kIntegers[f].name == c.name) expected = c.reference(x, y, z, type);
                }
                uint64_t actual = 0;
                std::memcpy(&actual, &out[(f * n + i) * size], size);
                ASSERT_EQ(uint64_t(expected) & type.mask(), actual)
                    << kIntegers[f].metal_name << " of " << type.name << " " << values[0][i] << ", "
                    << values[1][i] << ", " << values[2][i];
            }
        }
    }
}

// Types of one lane's value, the scalar that is compared, and how many there are.
struct SimdType {
    const char* name;
    bool is_float, is_signed;
    int bytes;
};

std::string simd_kernel(const SimdType& type) {
    std::string body;
    int f = 0;
    for (const SimdListed& function : simd_functions()) {
        for (const char* group : {"simd_", "quad_"}) {
            const std::string call = group + function.name, amount = group[0] == 's' ? "5" : "1";
            std::string value;
            switch (function.shape) {
                case SimdShape::SHUFFLE:
                    value = call + "(v, " + amount + ")";
                    break;
                case SimdShape::FILL:
                    value = call + "(v, T(9), " + amount + ")";
                    break;
                case SimdShape::VOTE:
                    value = "T(" + call + "(v != T(0)) ? 1 : 0)";
                    break;
                case SimdShape::BALLOT:
                    value = "T(ulong(" + call + "(v != T(0))) % 127)";
                    break;
                case SimdShape::IS_FIRST:
                    value = "T(" + call + "() ? 1 : 0)";
                    break;
                case SimdShape::MASK:
                    value = "T(ulong(" + call + "()) % 127)";
                    break;
                case SimdShape::BITS:
                    if (type.is_float) value = "T(0)";
                    [[fallthrough]];
                default:
                    if (value.empty()) value = call + "(v)";
            }
            body += "  out[" + std::to_string(f++) + " * n + i] = " + value + ";\n";
        }
    }
    return std::string("kernel void of_") + type.name + "(device " + type.name +
           "* out [[buffer(0)]], const device " + type.name +
           "* in [[buffer(1)]], constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n" +
           "  using T = " + type.name + ";\n  T v = in[i];\n" + body + "}\n";
}

TEST(SourceBuiltins, SimdAndQuadFunctionsAgreeWithTheLanes) {
    const std::vector<SimdType> types{{"float", true, true, 4},    {"half", true, true, 2},
                                      {"bfloat", true, true, 2},   {"char", false, true, 1},
                                      {"ushort", false, false, 2}, {"int", false, true, 4},
                                      {"ulong", false, false, 8}};
    std::string text = "#include <metal_stdlib>\nusing namespace metal;\n";
    for (const SimdType& type : types) text += simd_kernel(type);
    const auto library = source_library(text);
    const uint32_t n = 64;
    for (const SimdType& type : types) {
        const auto value = [&](uint32_t i) { return double(i % 23 == 4 ? 2 : i % 3 == 0 ? 1 : i % 13 != 7); };
        std::vector<uint8_t> in(n * 8), out(simd_functions().size() * 2 * n * size_t(type.bytes));
        const auto encode = [&](double x) {
            uint64_t raw = uint64_t(int64_t(x));
            const float f = float(x);
            if (type.is_float && type.bytes == 4) std::memcpy(&raw, &f, 4);
            if (std::string_view(type.name) == "half") raw = float_to_half(f);
            if (std::string_view(type.name) == "bfloat") raw = float_to_bfloat16(f);
            return type.bytes == 8 ? raw : raw & ((uint64_t{1} << (8 * type.bytes)) - 1);
        };
        for (uint32_t i = 0; i < n; ++i) {
            const uint64_t raw = encode(value(i));
            std::memcpy(&in[i * size_t(type.bytes)], &raw, size_t(type.bytes));
        }
        Dispatch(source_kernel(library, std::string("of_") + type.name))
            .buffer(0, out)
            .buffer(1, in)
            .value(2, n)
            .threads_of_grid({n, 1, 1}, {n, 1, 1});
        size_t f = 0;
        for (const SimdListed& function : simd_functions()) {
            for (const uint32_t width : {32u, 4u}) {
                const size_t row = f++;
                if (function.shape == SimdShape::BITS && type.is_float) continue;
                for (uint32_t i = 0; i < n; ++i) {
                    std::vector<double> values(32);
                    for (uint32_t k = 0; k < 32; ++k) values[k] = value(i / 32 * 32 + k);
                    double expected = 0;
                    if (!reference_simd(function.name, values, std::vector<double>(32, 9),
                                        std::vector<bool>(32, true), width, i % 32, width == 32 ? 5 : 1,
                                        expected)) {
                        continue;
                    }
                    if (function.shape == SimdShape::BALLOT || function.shape == SimdShape::MASK) {
                        expected = double(uint64_t(expected) % 127);
                    }
                    uint64_t actual = 0;
                    std::memcpy(&actual, &out[(row * n + i) * size_t(type.bytes)], size_t(type.bytes));
                    ASSERT_EQ(encode(expected), actual) << (width == 32 ? "simd_" : "quad_") << function.name
                                                        << " of " << type.name << " lane " << i;
                }
            }
        }
    }
}

TEST(SourceBuiltins, FunctionsWithTwoResultsGiveBoth) {
    const auto library = source_library(std::string("#include <metal_stdlib>\nusing namespace metal;\n") + R"(
kernel void k(device float* out [[buffer(0)]], device int* ints [[buffer(1)]], const device float* in [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    float cosine, whole; int exponent; float2 wholes; int2 exponents;
    out[8 * i] = sincos(in[i], cosine); out[8 * i + 1] = cosine;
    out[8 * i + 2] = modf(in[i], whole); out[8 * i + 3] = whole;
    out[8 * i + 4] = frexp(in[i], exponent); ints[4 * i] = exponent;
    out[8 * i + 5] = ldexp(in[i], 5); ints[4 * i + 1] = ilogb(in[i]);
    out[8 * i + 6] = modf(float2(in[i], 1.5f), wholes).y + wholes.y; out[8 * i + 7] = frexp(float2(8, in[i]), exponents).x;
    ints[4 * i + 2] = exponents.x; half h; ints[4 * i + 3] = int(100 * modf(half(2.75h), h)) + int(h);
})");
    std::vector<float> in{1.25f, -3.75f, 0.001f, 1e20f, -1e-3f};
    const uint32_t n = uint32_t(in.size());
    std::vector<float> out(8 * n);
    std::vector<int32_t> ints(4 * n);
    Dispatch(source_kernel(library, "k"))
        .buffer(0, out)
        .buffer(1, ints)
        .buffer(2, in)
        .threads_of_grid({n, 1, 1}, {n, 1, 1});
    for (uint32_t i = 0; i < n; ++i) {
        float whole;
        int exponent;
        EXPECT_NEAR(std::sin(double(in[i])), out[8 * i], 1e-6);
        EXPECT_NEAR(std::cos(double(in[i])), out[8 * i + 1], 1e-6);
        EXPECT_EQ(std::modf(in[i], &whole), out[8 * i + 2]);
        EXPECT_EQ(whole, out[8 * i + 3]);
        EXPECT_EQ(std::frexp(in[i], &exponent), out[8 * i + 4]);
        EXPECT_EQ(exponent, ints[4 * i]);
        EXPECT_EQ(in[i] * 32, out[8 * i + 5]);
        EXPECT_EQ(std::ilogb(in[i]), ints[4 * i + 1]);
        EXPECT_EQ(1.5f, out[8 * i + 6]);
        EXPECT_EQ(0.5f, out[8 * i + 7]);
        EXPECT_EQ(4, ints[4 * i + 2]);
        EXPECT_EQ(77, ints[4 * i + 3]);
    }
}

}  // namespace
}  // namespace ingot::metal::testing

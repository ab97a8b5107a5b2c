// PyTorch's elementwise kernels, as Apple's compiler built them: one row a function, in float and half where
// there are kernels. Tolerances name what PyTorch's own approximations cost where they aren't Metal's
// functions.
#include <cmath>

#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

constexpr uint32_t kTorchCount = 3001;
constexpr uint32_t kEach = 4;  // elements of a thread, for functions of one argument

struct TorchUnary {
    const char* name;
    double (*reference)(double);
    double low, high;
    double tolerance = 1e-6;
    double half_tolerance = 0;  // on top, where PyTorch computes in half
};

const std::vector<TorchUnary>& torch_unary_rows() {
    static const std::vector<TorchUnary> rows = {
        {"abs", [](double x) { return std::fabs(x); }, -9, 9, 0},
        {"acos", [](double x) { return std::acos(x); }, -1, 1},
        {"asin", [](double x) { return std::asin(x); }, -1, 1},
        {"atan", [](double x) { return std::atan(x); }, -9, 9},
        {"ceil", [](double x) { return std::ceil(x); }, -9, 9, 0},
        {"cos", [](double x) { return std::cos(x); }, -9, 9},
        {"cosh", [](double x) { return std::cosh(x); }, -5, 5},
        {"erf", [](double x) { return std::erf(x); }, -4, 4},
        {"erfc", [](double x) { return std::erfc(x); }, -2, 2},
        {"exp", [](double x) { return std::exp(x); }, -9, 6},
        {"exp2", [](double x) { return std::exp2(x); }, -9, 6},
        {"expm1", [](double x) { return std::expm1(x); }, -4, 4, 2e-5},
        {"floor", [](double x) { return std::floor(x); }, -9, 9, 0},
        {"hardsigmoid", [](double x) { return std::fmin(std::fmax(x + 3, 0), 6) / 6; }, -5, 5},
        {"hardswish", [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }, -5, 5},
        {"log", [](double x) { return std::log(x); }, 0.01, 90},
        {"log10", [](double x) { return std::log10(x); }, 0.01, 90},
        {"log1p", [](double x) { return std::log1p(x); }, -0.9, 9},
        {"log2", [](double x) { return std::log2(x); }, 0.01, 90},
        {"lgamma", [](double x) { return std::lgamma(x); }, 0.5, 30, 1e-5},
        {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -5, 5},
        {"neg", [](double x) { return -x; }, -9, 9, 0},
        {"reciprocal", [](double x) { return 1 / x; }, 0.1, 9},
        {"round", [](double x) { return std::nearbyint(x); }, -9, 9, 0},
        {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.1, 90},
        {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -20, 20},
        {"silu", [](double x) { return x / (1 + std::exp(-x)); }, -9, 9},
        {"sin", [](double x) { return std::sin(x); }, -9, 9},
        {"sinc", [](double x) { return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x); }, -9, 9},
        {"sinh", [](double x) { return std::sinh(x); }, -5, 5},
        {"sqr", [](double x) { return x * x; }, -9, 9, 0},
        {"sqrt", [](double x) { return std::sqrt(x); }, 0, 90},
        {"tan", [](double x) { return std::tan(x); }, -1.4, 1.4, 2e-6},
        {"tanh", [](double x) { return std::tanh(x); }, -5, 5},
        {"trunc", [](double x) { return std::trunc(x); }, -9, 9, 0},
        {"entr", [](double x) { return x == 0 ? 0 : -x * std::log(x); }, 0.01, 9},
        // The first two call themselves for arguments below 0. Beyond 5 they subtract the phase in half: half
        // a unit of 16 to 20, times the amplitude there.
        {"bessel_j0_forward", [](double x) { return std::cyl_bessel_j(0, std::fabs(x)); }, -20, 20, 1e-5,
         2e-3},
        {"bessel_j1_forward",
         [](double x) { return std::copysign(1, x) * std::cyl_bessel_j(1, std::fabs(x)); }, -20, 20, 1e-5,
         2e-3},
        {"bessel_y0_forward", [](double x) { return std::cyl_neumann(0, x); }, 0.1, 20, 1e-5, 2e-3},
        {"modified_bessel_i0_forward", [](double x) { return std::cyl_bessel_i(0, std::fabs(x)); }, -5, 5,
         1e-5},
        {"modified_bessel_k0_forward", [](double x) { return std::cyl_bessel_k(0, x); }, 0.1, 9, 1e-5},
        {"spherical_bessel_j0", [](double x) { return std::sin(x) / x; }, 0.1, 9, 1e-5},
    };
    return rows;
}

struct TorchBinary {
    const char* name;
    double (*reference)(double, double);
    double low, high;
    double tolerance = 1e-6;
};

const std::vector<TorchBinary>& torch_binary_rows() {
    static const std::vector<TorchBinary> rows = {
        {"add", [](double a, double b) { return a + b; }, -9, 9},
        {"atan2", [](double a, double b) { return std::atan2(a, b); }, -9, 9},
        {"copysign", [](double a, double b) { return std::copysign(a, b); }, -9, 9, 0},
        {"fmax", [](double a, double b) { return std::fmax(a, b); }, -9, 9, 0},
        {"fmin", [](double a, double b) { return std::fmin(a, b); }, -9, 9, 0},
        {"fmod", [](double a, double b) { return std::fmod(a, b); }, 1, 90, 1e-5},
        {"hypot", [](double a, double b) { return std::hypot(a, b); }, -9, 9},
        {"logaddexp",
         [](double a, double b) { return std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b))); }, -9, 9},
        {"maximum", [](double a, double b) { return std::fmax(a, b); }, -9, 9, 0},
        {"minimum", [](double a, double b) { return std::fmin(a, b); }, -9, 9, 0},
        {"mul", [](double a, double b) { return a * b; }, -9, 9},
        {"pow", [](double a, double b) { return std::pow(a, b); }, 0.3, 3, 3e-6},
        {"sub", [](double a, double b) { return a - b; }, -9, 9},
        {"xlogy", [](double a, double b) { return a * std::log(b); }, 0.1, 9},
    };
    return rows;
}

std::string suffix(Type type) {
    return type == kF32 ? "_dense_float_float" : "_dense_half_half";
}

void add_torch_unary(Cases& cases, const TorchUnary& row, Type type) {
    const std::string name = row.name + suffix(type);
    cases.push_back(
        {"unary", name, "", [=, &row](Session& session) {
             Array x = uniform_array(type, kTorchCount, 1, row.low, row.high), y(type, kTorchCount);
             std::vector<double> expected(kTorchCount);
             for (uint32_t i = 0; i < kTorchCount; ++i) expected[i] = row.reference(x.get(i));
             session.kernel(name)
                 .buffer(0, y)
                 .buffer(1, x)
                 .value(2, kTorchCount)
                 .threads({(kTorchCount + kEach - 1) / kEach, 1, 1}, {256, 1, 1});
             session.near(y, expected,
                          row.tolerance + (type == kF16 ? row.half_tolerance : 0) + rounding(type));
         }});
}

void add_torch_binary(Cases& cases, const TorchBinary& row, Type type) {
    const std::string name = row.name + suffix(type);
    cases.push_back({"binary", name, "", [=, &row](Session& session) {
                         Array a = uniform_array(type, kTorchCount, 2, row.low, row.high),
                               b = uniform_array(type, kTorchCount, 3, row.low, row.high),
                               y(type, kTorchCount);
                         std::vector<double> expected(kTorchCount);
                         for (uint32_t i = 0; i < kTorchCount; ++i)
                             expected[i] = row.reference(a.get(i), b.get(i));
                         session.kernel(name).buffer(0, y).buffer(1, a).buffer(2, b).threads(
                             {kTorchCount, 1, 1}, {256, 1, 1});
                         session.near(y, expected, row.tolerance + rounding(type));
                     }});
}

}  // namespace

Cases torch_cases() {
    Cases cases;
    for (const TorchUnary& row : torch_unary_rows()) {
        add_torch_unary(cases, row, kF32);
        add_torch_unary(cases, row, kF16);
    }
    for (const TorchBinary& row : torch_binary_rows()) {
        add_torch_binary(cases, row, kF32);
        add_torch_binary(cases, row, kF16);
    }
    return cases;
}

}  // namespace ingot::metal::conformance

// Operands for every math built-in of the list and the check of what a kernel made of them, whatever door the
// kernel came through: results against double precision within the tolerance that the list states.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "metal/builtin_cases.h"
#include "metal/jit/builtins/math_table.h"

namespace ingot::metal::testing {

inline const MathCase& math_case(std::string_view name) {
    for (const MathCase& c : math_cases()) {
        if (name == c.name) return c;
    }
    throw std::out_of_range(std::string(name));
}

// Every finite value of a 16-bit float, in order.
template <typename T>
const std::vector<double>& all_values() {
    static const std::vector<double> values = [] {
        std::vector<double> all;
        for (uint32_t bits = 0; bits <= UINT16_MAX; ++bits) {
            T value;
            value.bits = uint16_t(bits);
            if (std::isfinite(double(value))) all.push_back(double(value));
        }
        std::sort(all.begin(), all.end());
        return all;
    }();
    return values;
}

// The neighbour of x on the way to y, among the values of T.
template <typename T>
double neighbour(double x, double y) {
    if constexpr (std::is_same_v<T, float>) {
        return std::nextafterf(float(x), float(y));
    } else {
        const auto& all = all_values<T>();
        if (x == y) return y;
        return x < y ? *std::upper_bound(all.begin(), all.end(), x)
                     : *std::prev(std::lower_bound(all.begin(), all.end(), x));
    }
}

// Function f of the list reads three operands at f * n + i and writes its result there.
template <typename T>
struct MathSweep {
    MathSweep(uint32_t calls, uint32_t seed) : n(calls), out(std::size(jit::kMathBuiltins) * n) {
        std::mt19937 generator(seed);
        for (auto& values : in) {
            for (const jit::MathBuiltin& builtin : jit::kMathBuiltins) {
                const MathCase& c = math_case(builtin.name);
                std::uniform_real_distribution<double> uniform(c.low, c.high);
                for (uint32_t i = 0; i < n; ++i) values.push_back(T(float(uniform(generator))));
            }
        }
        // A tiny number is what the edges of these two are about: among the first operands.
        for (size_t f = 0; f < std::size(jit::kMathBuiltins); ++f) {
            const std::string_view name = jit::kMathBuiltins[f].name;
            if (name == "fract" || name == "nextafter") in[0][f * n] = T(-0x1p-24f);
        }
    }

    // `unit` is the unit in the last place of 1. Half a unit is what rounding costs.
    void expect_agreement(const std::string& where, double unit) const {
        for (size_t f = 0; f < std::size(jit::kMathBuiltins); ++f) {
            const jit::MathBuiltin& builtin = jit::kMathBuiltins[f];
            double worst = 0;
            for (size_t at = f * n; at < (f + 1) * n; ++at) {
                const double expected =
                    reference(builtin.name, double(in[0][at]), double(in[1][at]), double(in[2][at]));
                const double ulp =
                    std::ldexp(unit, std::max(std::ilogb(expected == 0 ? 1e-3 : expected), -12));
                const double error = std::fabs(double(out[at]) - expected) / ulp;
                worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
            }
            const double tolerance = sizeof(T) == 4      ? builtin.ulps + 0.5000001
                                     : builtin.ulps == 0 ? 0.51
                                                         : 1.0;
            EXPECT_LE(worst, tolerance) << where << " " << builtin.name;
        }
    }

    // Two functions depend on which numbers a type has.
    static double reference(std::string_view name, double x, double y, double z) {
        const double value = math_case(name).reference(x, y, z);
        if (name == "nextafter") return neighbour<T>(x, y);
        return name == "fract" ? std::min(value, neighbour<T>(1, 0)) : value;
    }

    uint32_t n;
    std::vector<T> in[3], out;
};

}  // namespace ingot::metal::testing

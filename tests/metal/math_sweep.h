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
    }

    // `unit` is the unit in the last place of 1. Half a unit is what rounding costs.
    void expect_agreement(const std::string& where, double unit) const {
        for (size_t f = 0; f < std::size(jit::kMathBuiltins); ++f) {
            const jit::MathBuiltin& builtin = jit::kMathBuiltins[f];
            if (builtin.name == "nextafter" && sizeof(T) == 2)
                continue;  // a neighbour in float isn't one in half
            double worst = 0;
            for (size_t at = f * n; at < (f + 1) * n; ++at) {
                const double expected =
                    math_case(builtin.name)
                        .reference(double(in[0][at]), double(in[1][at]), double(in[2][at]));
                const double ulp =
                    std::ldexp(unit, std::max(std::ilogb(expected == 0 ? 1e-3 : expected), -12));
                const double error = std::fabs(double(out[at]) - expected) / ulp;
                worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
            }
            EXPECT_LE(worst, sizeof(T) == 2 ? 1.0 : builtin.ulps + 0.5000001) << where << " " << builtin.name;
        }
    }

    uint32_t n;
    std::vector<T> in[3], out;
};

}  // namespace ingot::metal::testing

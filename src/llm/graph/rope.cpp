#include "llm/graph/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace ingot::graph {
namespace {

// YaRN: the pair (as a real number) that turns `rotations` times over the original context.
double pair_of_rotations(const RopeParams& p, double rotations) {
    const double wavelength = p.original_context / (rotations * 2.0 * std::numbers::pi);
    return p.dims * std::log(wavelength) / (2.0 * std::log(double(p.base)));
}

}  // namespace

double yarn_magnitude(float factor) {
    return std::max(1.0, 1.0 + 0.1 * std::log(double(factor)));
}

RopeTable rope_table(const RopeParams& p, std::span<const float> factors) {
    const size_t pairs = p.dims / 2;
    INGOT_CHECK(factors.empty() || factors.size() == pairs, "{} factors for {} pairs", factors.size(), pairs);
    RopeTable table{.frequencies = {}, .magnitude = p.attn_factor};
    table.frequencies.resize(pairs);
    double low = 0.0, high = 0.0;
    if (p.scaling == RopeScaling::kYarn) {
        low = std::max(0.0, std::floor(pair_of_rotations(p, p.beta_fast)));
        high = std::min(double(p.dims) - 1.0, std::ceil(pair_of_rotations(p, p.beta_slow)));
        table.magnitude = float(p.attn_factor * yarn_magnitude(p.factor));
    }
    for (size_t i = 0; i < pairs; ++i) {
        double frequency = std::pow(double(p.base), -2.0 * double(i) / p.dims);
        if (!factors.empty()) frequency /= factors[i];
        if (p.scaling == RopeScaling::kLinear) frequency /= p.factor;
        if (p.scaling == RopeScaling::kYarn) {
            // 1: a fast pair, kept; 0: a slow pair, stretched by the full factor.
            const double keep = 1.0 - std::clamp((double(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
            frequency = frequency * keep + frequency / p.factor * (1.0 - keep);
        }
        table.frequencies[i] = float(frequency);
    }
    return table;
}

}  // namespace ingot::graph

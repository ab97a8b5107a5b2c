#include "llm/quant/search.h"

#include <algorithm>

namespace ingot::quant {
namespace {

// Sums of weight * code, weight * code^2 and weight * code * value.
struct CodeSums {
    float code = 0.0f;
    float code_squared = 0.0f;
    float code_value = 0.0f;
};

void assign_codes(const float* values, size_t count, float inverse, float low, int max_code, int* codes) {
    for (size_t i = 0; i < count; ++i)
        codes[i] = std::clamp(round_to_int(inverse * (values[i] - low)), 0, max_code);
}

CodeSums sum_codes(const float* values, const float* weights, size_t count, const int* codes) {
    CodeSums sums;
    for (size_t i = 0; i < count; ++i) {
        const float code = float(codes[i]);
        sums.code += weights[i] * code;
        sums.code_squared += weights[i] * code * code;
        sums.code_value += weights[i] * code * values[i];
    }
    return sums;
}

float weighted_error(const float* values, const float* weights, size_t count, const int* codes, float scale,
                     float low, bool absolute) {
    float error = 0.0f;
    for (size_t i = 0; i < count; ++i) {
        const float difference = scale * float(codes[i]) + low - values[i];
        error += weights[i] * (absolute ? std::fabs(difference) : difference * difference);
    }
    return error;
}

// Weighted least squares without an offset, weights value^2.
struct SignedSums {
    float code_value = 0.0f;
    float code_squared = 0.0f;

    void add(float value, int code, float sign = 1.0f) {
        const float weight = value * value * sign;
        code_value += weight * value * float(code);
        code_squared += weight * float(code) * float(code);
    }
    bool explains_more_than(const SignedSums& other) const {
        return code_value * code_value * other.code_squared >
               other.code_value * other.code_value * code_squared;
    }
};

SignedSums assign_signed_codes(const float* values, size_t count, float inverse, int half, int* codes) {
    SignedSums sums;
    for (size_t i = 0; i < count; ++i) {
        codes[i] = std::clamp(round_to_int(inverse * values[i]), -half, half - 1);
        sums.add(values[i], codes[i]);
    }
    return sums;
}

// One pass over the codes; whether any has changed.
bool improve_signed_codes(const float* values, size_t count, int half, int* codes, SignedSums& sums) {
    bool changed = false;
    for (size_t i = 0; i < count; ++i) {
        SignedSums trial = sums;
        trial.add(values[i], codes[i], -1.0f);
        if (!(trial.code_value > 0.0f)) continue;
        const int code =
            std::clamp(round_to_int(values[i] * trial.code_squared / trial.code_value), -half, half - 1);
        if (code == codes[i]) continue;
        trial.add(values[i], code);
        if (trial.code_squared > 0.0f && trial.explains_more_than(sums)) {
            codes[i] = code;
            sums = trial;
            changed = true;
        }
    }
    return changed;
}

}  // namespace

float extreme_of(const float* values, size_t count) {
    float extreme = 0.0f;
    for (size_t i = 0; i < count; ++i) {
        if (std::fabs(values[i]) > std::fabs(extreme)) extreme = values[i];
    }
    return extreme;
}

MinFit fit_above_min(const float* values, const float* weights, size_t count, const MinSearch& search,
                     int* codes) {
    constexpr float kShiftStep = 0.1f;
    float low = values[0], high = values[0];
    float sum_weights = weights[0], sum_values = weights[0] * values[0];
    for (size_t i = 1; i < count; ++i) {
        low = std::min(low, values[i]);
        high = std::max(high, values[i]);
        sum_weights += weights[i];
        sum_values += weights[i] * values[i];
    }
    low = std::min(low, 0.0f);
    if (high == low) {
        std::fill_n(codes, count, 0);
        return {0.0f, -low};
    }
    const auto error_of = [&](const int* trial_codes, float scale, float trial_low) {
        return weighted_error(values, weights, count, trial_codes, scale, trial_low, search.absolute_error);
    };
    const float inverse = float(search.max_code) / (high - low);
    float scale = 1.0f / inverse;
    assign_codes(values, count, inverse, low, search.max_code, codes);
    float best_error = error_of(codes, scale, low);
    int trial_codes[kMostInGroup];
    for (int step = 0; step <= search.num_steps; ++step) {
        // A trial that was better has moved `low`, and with it the range of the next trials.
        const float steps = search.first_shift + kShiftStep * float(step) + float(search.max_code);
        assign_codes(values, count, steps / (high - low), low, search.max_code, trial_codes);
        const CodeSums sums = sum_codes(values, weights, count, trial_codes);
        const float determinant = sum_weights * sums.code_squared - sums.code * sums.code;
        if (!(determinant > 0.0f)) continue;
        float trial_scale = (sum_weights * sums.code_value - sum_values * sums.code) / determinant;
        float trial_low = (sums.code_squared * sum_values - sums.code * sums.code_value) / determinant;
        if (trial_low > 0.0f) {
            trial_low = 0.0f;
            trial_scale = sums.code_value / sums.code_squared;
        }
        const float error = error_of(trial_codes, trial_scale, trial_low);
        if (error < best_error) {
            std::copy_n(trial_codes, count, codes);
            best_error = error;
            scale = trial_scale;
            low = trial_low;
        }
    }
    return {scale, -low};
}

float fit_signed_by_scan(const float* values, size_t count, int half, int* codes) {
    constexpr int kTries = 9;
    constexpr float kShiftStep = 0.1f;
    const float extreme = extreme_of(values, count);
    std::fill_n(codes, count, -half);
    if (std::fabs(extreme) < kNegligible) return 0.0f;
    SignedSums sums = assign_signed_codes(values, count, float(-half) / extreme, half, codes);
    float scale = sums.code_squared != 0.0f ? sums.code_value / sums.code_squared : 0.0f;
    float explained = scale * sums.code_value;
    int trial_codes[kMostInGroup];
    for (int shift = -kTries; shift <= kTries; ++shift) {
        if (shift == 0) continue;
        const float steps = float(half) + kShiftStep * float(shift);
        sums = assign_signed_codes(values, count, -steps / extreme, half, trial_codes);
        if (sums.code_squared > 0.0f && sums.code_value * sums.code_value > explained * sums.code_squared) {
            std::copy_n(trial_codes, count, codes);
            scale = sums.code_value / sums.code_squared;
            explained = scale * sums.code_value;
        }
    }
    return scale;
}

float fit_signed_by_descent(const float* values, size_t count, int half, int* codes) {
    constexpr int kMostPasses = 5;
    const float extreme = extreme_of(values, count);
    std::fill_n(codes, count, -half);
    if (std::fabs(extreme) < kNegligible) return 0.0f;
    SignedSums sums = assign_signed_codes(values, count, float(-half) / extreme, half, codes);
    for (int pass = 0; pass < kMostPasses; ++pass) {
        if (!improve_signed_codes(values, count, half, codes, sums)) break;
    }
    return sums.code_squared > 0.0f ? sums.code_value / sums.code_squared : 0.0f;
}

}  // namespace ingot::quant

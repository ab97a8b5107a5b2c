// Rotary position embedding: its parameters as a node carries them, and the one place that turns them into a
// frequency per pair. Backends multiply a position by the frequency; they know nothing of scaling schemes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::graph {

enum class RopeStyle : uint8_t {
    kInterleaved,  // pairs (2i, 2i+1): llama
    kNeox,         // pairs (i, i + dims/2): qwen, gemma
};

enum class RopeScaling : uint8_t {
    kNone,
    kLinear,  // every frequency divided by `factor`
    kYarn,    // blends scaled and unscaled frequencies per pair and scales the magnitude (Peng et al. 2023)
};
// llama3 scaling needs no row: its per-pair divisors are a tensor of the file, the node's `factors` weight.

struct RopeParams {
    RopeStyle style = RopeStyle::kNeox;
    uint32_t dims = 0;  // leading elements of each head that rotate; even, at most head_dim
    float base = 10000.0f;
    RopeScaling scaling = RopeScaling::kNone;
    float factor = 1.0f;            // how many times longer than the original context
    uint32_t original_context = 0;  // yarn: the context length the model was first trained for
    float beta_fast = 32.0f,
          beta_slow = 1.0f;    // yarn: rotations over the original context that bound the blend
    float attn_factor = 1.0f;  // multiplies the magnitude
    bool operator==(const RopeParams&) const = default;
};

struct RopeTable {
    std::vector<float> frequencies;  // [dims/2], radians per position
    float magnitude = 1.0f;          // multiplies sine and cosine
};

// What YaRN multiplies sine and cosine by for a context `factor` times the original: 1 + 0.1 ln(factor), at
// least 1.
double yarn_magnitude(float factor);

// `factors`: [dims/2] divisors of the unscaled frequencies, or empty.
RopeTable rope_table(const RopeParams& params, std::span<const float> factors = {});

}  // namespace ingot::graph

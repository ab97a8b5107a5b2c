// Chooses the next token from logits. Order of the steps: logit bias, penalties, then greedy, or top-k, typical,
// top-p, min-p, temperature, draw. A given seed gives the same tokens on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "llm/text/tokenizer.h"

namespace ingot {

struct SamplerOptions {
    bool greedy = false;
    float temperature = 0.8f;       // 0 is greedy
    int32_t top_k = 40;             // 0: off
    float top_p = 0.95f;            // 1: off
    float min_p = 0.05f;            // 0: off
    float typical_p = 1.0f;         // 1: off
    float repeat_penalty = 1.0f;    // 1: off; divides positive logits, multiplies negative ones
    float presence_penalty = 0.0f;  // 0: off
    float frequency_penalty = 0.0f;
    int32_t penalty_last_n = 64;    // how many of the last tokens the penalties look at; -1: all
    uint64_t seed = 0;
    std::vector<std::pair<TokenId, float>> logit_bias;

    // kInvalidArgument names the option, its value and the accepted range.
    Result<void> validate() const;
};

class Sampler {
  public:
    explicit Sampler(SamplerOptions options);

    // Tokens that are already in the context and count for the penalties.
    void accept(TokenId token);
    // Logits are [vocab_size]; NaN anywhere is an Error (kCorrupt) that names the first index.
    Result<TokenId> sample(std::span<const float> logits);
    const SamplerOptions& options() const { return options_; }

  private:
    SamplerOptions options_;
    uint64_t rng_state_;
    std::vector<TokenId> history_;
};

}  // namespace ingot

// Chooses the next token from logits. Order of the steps: logit bias, penalties, then greedy, or top-k,
// typical, top-p, min-p, temperature, draw. A given seed gives the same tokens for the same logits on every
// machine. The model is not its business, nor when to stop (stop.h, engine/generate.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
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
    int32_t penalty_last_n = 64;  // how many of the last tokens the penalties look at; -1: all
    uint64_t seed = 0;
    std::vector<std::pair<TokenId, float>> logit_bias;  // -infinity bans a token

    // kInvalidArgument names the option, its value and the accepted range.
    Result<void> validate() const;
};

// One numeric option: what users call it, where it is kept and which values are accepted. The only source of
// command line flags and range checks.
struct SamplerField {
    std::string_view name;  // "top-k"
    std::string_view help;
    std::variant<float SamplerOptions::*, int32_t SamplerOptions::*> member;
    double min, max;  // both accepted
};

std::span<const SamplerField> sampler_fields();

class Sampler {
  public:
    // `options` have passed validate().
    explicit Sampler(SamplerOptions options);

    // Tokens that are already in the context and count for the penalties.
    void accept(TokenId token);
    // Forgets all but the first `count` accepted tokens, if there are more.
    void truncate(size_t count);
    // Logits are [vocab_size]. kCorrupt: a NaN or +infinity (its index is named), or nothing left but
    // -infinity; kInvalidArgument: a bias for an id outside the vocabulary. The chosen token is not accepted
    // by itself.
    Result<TokenId> sample(std::span<const float> logits);

  private:
    struct Candidate {
        TokenId id;
        float logit;
        double weight;  // probability times a common factor
    };
    static bool more_likely(const Candidate& a, const Candidate& b);

    Result<void> adjust(std::span<const float> logits);
    Result<void> change(TokenId id, float logit);
    Result<void> apply_penalties();
    void take_candidates(float top);
    float least_useful(float top);
    void weigh(double temperature);
    void keep_typical();
    void keep_top_p();
    void keep_min_p();
    TokenId draw();

    SamplerOptions options_;
    uint64_t rng_state_;
    std::vector<TokenId> history_;
    std::vector<float> logits_;   // of this step, biased and penalized
    std::vector<float> weights_;  // e^(logit - largest) of them, if their sum was needed
    std::vector<Candidate> candidates_, head_;
    bool by_id_ = true;  // candidates_ come in the order of their ids
    // Weight of all logits if top-p needed it, and of those that are no candidates because no step keeps
    // them.
    double whole_ = 0, dropped_ = 0;
};

}  // namespace ingot

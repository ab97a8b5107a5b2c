#include "llm/text/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/check.h"
#include "llm/text/logit_scan.h"

namespace ingot {
namespace {

constexpr SamplerField kFields[] = {
    {"temp", "Temperature of the draw; 0 is greedy", &SamplerOptions::temperature, 0, 1000},
    {"top-k", "Keep the K most likely tokens; 0: all", &SamplerOptions::top_k, 0, 1 << 30},
    {"top-p", "Keep the most likely tokens that hold this much probability; 1: all", &SamplerOptions::top_p,
     0, 1},
    {"min-p", "Drop tokens less likely than this part of the best one; 0: none", &SamplerOptions::min_p, 0,
     1},
    {"typical", "Keep tokens of typical surprise that hold this much probability; 1: all",
     &SamplerOptions::typical_p, 0, 1},
    {"repeat-penalty", "Divide the logits of recent tokens by this; 1: off", &SamplerOptions::repeat_penalty,
     0.1, 100},
    {"presence-penalty", "Take this off the logit of each recent token; 0: off",
     &SamplerOptions::presence_penalty, -100, 100},
    {"frequency-penalty", "The same for each time it occurred; 0: off", &SamplerOptions::frequency_penalty,
     -100, 100},
    {"penalty-last-n", "How many tokens back the penalties look; -1: all", &SamplerOptions::penalty_last_n,
     -1, 1 << 30},
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// SplitMix64 (Steele, Lea, Flood 2014): one word of state, and every seed is a good one.
uint64_t next_random(uint64_t& state) {
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// In [0, 1), a multiple of 2^-53.
double next_uniform(uint64_t& state) {
    return double(next_random(state) >> 11) * 0x1p-53;
}

}  // namespace

std::span<const SamplerField> sampler_fields() {
    return kFields;
}

Result<void> SamplerOptions::validate() const {
    for (const SamplerField& field : kFields) {
        const double value = std::visit([&](auto member) { return double(this->*member); }, field.member);
        if (!(value >= field.min && value <= field.max))
            return fail(ErrorKind::kInvalidArgument, "{} is {:g}; accepted are {:g} to {:g}", field.name,
                        value, field.min, field.max);
    }
    for (const auto& [id, bias] : logit_bias) {
        if (id < 0) return fail(ErrorKind::kInvalidArgument, "logit-bias names token {}; ids start at 0", id);
        if (std::isnan(bias) || bias == kInfinity)
            return fail(ErrorKind::kInvalidArgument,
                        "logit-bias of token {} is {}; accepted are finite numbers and -inf", id, bias);
    }
    return {};
}

Sampler::Sampler(SamplerOptions options) : options_(std::move(options)), rng_state_(options_.seed) {
    INGOT_CHECK(options_.validate().has_value(), "{}", options_.validate().error().describe());
}

void Sampler::accept(TokenId token) {
    history_.push_back(token);
}

void Sampler::truncate(size_t count) {
    history_.resize(std::min(count, history_.size()));
}

bool Sampler::more_likely(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

Result<TokenId> Sampler::sample(std::span<const float> logits) {
    INGOT_TRY(adjust(logits));
    const size_t best = index_of_largest(logits_);
    if (logits_[best] == -kInfinity)
        return fail(ErrorKind::kCorrupt, "all {} logits are -inf", logits_.size());
    if (options_.greedy || options_.temperature == 0) return TokenId(best);

    take_candidates(logits_[best]);
    weigh(1.0);
    keep_typical();
    keep_top_p();
    keep_min_p();
    weigh(options_.temperature);
    return draw();
}

// Copies the logits and applies what works on single tokens.
Result<void> Sampler::adjust(std::span<const float> logits) {
    if (logits.empty()) return fail(ErrorKind::kInvalidArgument, "no logits to sample from");
    if (const size_t i = first_unusable(logits); i < logits.size())
        return fail(ErrorKind::kCorrupt, "logit {} of {} is {}; the model's weights or the file are damaged",
                    i, logits.size(), logits[i]);
    logits_.assign(logits.begin(), logits.end());
    for (const auto& [id, bias] : options_.logit_bias) {
        if (size_t(id) >= logits_.size())
            return fail(ErrorKind::kInvalidArgument,
                        "logit-bias names token {}; the vocabulary has {} tokens", id, logits_.size());
        INGOT_TRY(change(id, logits_[size_t(id)] + bias));
    }
    return apply_penalties();
}

// A finite logit may leave the range of floats upwards, where nothing can be weighed any more.
Result<void> Sampler::change(TokenId id, float logit) {
    if (!(logit < kInfinity))
        return fail(ErrorKind::kInvalidArgument,
                    "logit-bias and penalties take the logit of token {} from {} to {}; smaller ones are "
                    "accepted",
                    id, logits_[size_t(id)], logit);
    logits_[size_t(id)] = logit;
    return {};
}

Result<void> Sampler::apply_penalties() {
    const bool repeat = options_.repeat_penalty != 1.0f;
    if (!repeat && options_.presence_penalty == 0 && options_.frequency_penalty == 0) return {};
    size_t first = 0;
    if (options_.penalty_last_n >= 0 && history_.size() > size_t(options_.penalty_last_n))
        first = history_.size() - size_t(options_.penalty_last_n);
    std::unordered_map<TokenId, int> counts;
    for (size_t i = first; i < history_.size(); ++i) ++counts[history_[i]];
    for (const auto& [id, count] : counts) {
        if (id < 0 || size_t(id) >= logits_.size()) continue;
        float logit = logits_[size_t(id)];
        if (repeat) logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
        logit -= float(count) * options_.frequency_penalty + options_.presence_penalty;
        INGOT_TRY(change(id, logit));
    }
    return {};
}

void Sampler::take_candidates(float top) {
    candidates_.clear();
    whole_ = 0;
    by_id_ = options_.top_k == 0 || size_t(options_.top_k) >= logits_.size();
    const float least = by_id_ ? least_useful(top) : 0;
    for (const size_t i :
         by_id_ ? indices_at_least(logits_, least) : indices_of_largest(logits_, size_t(options_.top_k)))
        candidates_.push_back({TokenId(i), logits_[i], 0});
    dropped_ = whole_;
    if (whole_ > 0) {
        for (const Candidate& c : candidates_) dropped_ -= double(weights_[size_t(c.id)]);
    }
}

// A logit below which none outlives top-p and min-p, found without weighing the whole vocabulary in full
// precision; a little lower than need be, since those steps decide.
float Sampler::least_useful(float top) {
    constexpr size_t kSmall = 1024;  // fewer are weighed one by one
    constexpr float kMargin = 1e-3f;
    if (options_.typical_p < 1 || logits_.size() <= kSmall) return -kInfinity;
    float least = -kInfinity;
    if (options_.min_p > 0) least = top + std::log(options_.min_p) - kMargin;
    if (options_.top_p >= 1) return least;
    weights_.resize(logits_.size());
    whole_ = weights_below(logits_, top, weights_);
    // How far down top-p reaches, in steps of half a unit: what lies above must hold enough whatever the
    // rounding.
    const double enough = options_.top_p * whole_ * (1 + 1e-5);
    int low = 0, high = 2 * 80;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sum_at_least(weights_, std::exp(-float(middle) / 2)) >= enough) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low < 2 * 80) least = std::max(least, top - float(low) / 2 - kMargin);
    return least;
}

// weight = exp((logit - best) / temperature): 1 for the best candidate, so nothing overflows.
void Sampler::weigh(double temperature) {
    const auto best = std::min_element(candidates_.begin(), candidates_.end(), more_likely);
    const double top = best->logit;
    for (Candidate& c : candidates_) c.weight = std::exp((c.logit - top) / temperature);
}

// Locally typical sampling (Meister et al. 2022): tokens whose surprise is closest to the entropy come first.
void Sampler::keep_typical() {
    if (options_.typical_p >= 1) return;
    double total = 0;
    for (const Candidate& c : candidates_) total += c.weight;
    double entropy = 0;
    for (const Candidate& c : candidates_) {
        const double p = c.weight / total;
        if (p > 0) entropy -= p * std::log(p);
    }
    const auto distance = [&](const Candidate& c) { return std::abs(-std::log(c.weight / total) - entropy); };
    std::sort(candidates_.begin(), candidates_.end(), [&](const Candidate& a, const Candidate& b) {
        const double da = distance(a), db = distance(b);
        return da != db ? da < db : a.id < b.id;
    });
    double held = 0;
    size_t keep = 0;
    while (keep < candidates_.size()) {
        held += candidates_[keep++].weight / total;
        if (held > options_.typical_p) break;
    }
    candidates_.resize(keep);
    by_id_ = false;
}

void Sampler::keep_top_p() {
    if (options_.top_p >= 1) return;
    double total = std::max(dropped_, 0.0);
    for (const Candidate& c : candidates_) total += c.weight;
    // The last one that is kept: the half in which it lies, over and over, and then in order.
    head_ = candidates_;
    auto begin = head_.begin(), end = head_.end();
    double left = options_.top_p * total;
    while (end - begin > 32) {
        const auto middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, more_likely);
        double held = 0;
        for (auto c = begin; c != middle; ++c) held += c->weight;
        if (held >= left) {
            end = middle;
        } else {
            left -= held;
            begin = middle;
        }
    }
    std::sort(begin, end, more_likely);
    while (begin != end && begin->weight < left) left -= (begin++)->weight;
    if (begin == end) --begin;  // by rounding
    std::erase_if(candidates_, [last = *begin](const Candidate& c) { return more_likely(last, c); });
}

void Sampler::keep_min_p() {
    if (options_.min_p <= 0) return;
    // Relative to the best one that is left: typical may have dropped the most likely token of all.
    const auto best = std::min_element(candidates_.begin(), candidates_.end(), more_likely);
    const double least = options_.min_p * best->weight;
    std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < least; });
}

// Walks the ids upwards, whatever steps came before.
TokenId Sampler::draw() {
    if (!by_id_) std::ranges::sort(candidates_, {}, &Candidate::id);
    double total = 0;
    for (const Candidate& c : candidates_) total += c.weight;
    double left = next_uniform(rng_state_) * total;
    for (const Candidate& c : candidates_) {
        left -= c.weight;
        if (left < 0) return c.id;
    }
    // Rounding left nothing over: the last candidate that can be drawn at all.
    const auto last =
        std::find_if(candidates_.rbegin(), candidates_.rend(), [](auto& c) { return c.weight > 0; });
    return last->id;
}

}  // namespace ingot

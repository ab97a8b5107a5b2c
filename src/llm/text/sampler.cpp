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

    take_top_k();
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

void Sampler::take_top_k() {
    candidates_.clear();
    sorted_ = options_.top_k != 0 && size_t(options_.top_k) < logits_.size();
    if (!sorted_) {
        for (size_t i = 0; i < logits_.size(); ++i) candidates_.push_back({TokenId(i), logits_[i], 0});
        return;
    }
    for (const size_t i : indices_of_largest(logits_, size_t(options_.top_k)))
        candidates_.push_back({TokenId(i), logits_[i], 0});
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
    std::sort(candidates_.begin(), candidates_.end(), more_likely);
    sorted_ = true;
}

void Sampler::keep_top_p() {
    if (options_.top_p >= 1) return;
    double total = 0;
    for (const Candidate& c : candidates_) total += c.weight;
    // Sorting a whole vocabulary is dear and a short head nearly always holds enough: sort growing heads.
    size_t head = sorted_ ? candidates_.size() : std::min<size_t>(256, candidates_.size());
    for (;; head = std::min(head * 8, candidates_.size())) {
        const auto end = candidates_.begin() + std::ptrdiff_t(head);
        if (!sorted_) std::partial_sort(candidates_.begin(), end, candidates_.end(), more_likely);
        double held = 0;
        for (size_t i = 0; i < head; ++i) {
            held += candidates_[i].weight;
            if (held < options_.top_p * total) continue;
            candidates_.resize(i + 1);
            sorted_ = true;
            return;
        }
        if (head == candidates_.size()) return;
    }
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
    if (sorted_) std::ranges::sort(candidates_, {}, &Candidate::id);
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

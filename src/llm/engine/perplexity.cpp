#include "llm/engine/perplexity.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace ingot {
namespace {

// Sums over the scored tokens.
struct Score {
    double sum = 0.0, sum_of_squares = 0.0;
    size_t count = 0;

    void add(double value) {
        sum += value;
        sum_of_squares += value * value;
        ++count;
    }
    double perplexity() const { return std::exp(sum / double(count)); }
    double deviation() const {
        if (count < 2) return 0.0;
        const double mean = sum / double(count);
        const double variance = sum_of_squares / double(count) - mean * mean;
        return std::sqrt(std::max(0.0, variance) / double(count - 1)) * perplexity();
    }
};

Result<void> score_chunk(Engine& engine, std::span<const TokenId> chunk, TokenId bos, Score& score) {
    std::vector<TokenId> input(chunk.begin(), chunk.end());
    if (bos >= 0) input.front() = bos;
    engine.truncate(0);
    // The last token's logits predict what is not in the chunk.
    return engine.forward_all(input, input.size() / 2, [&](size_t index, std::span<const float> logits) {
        if (index + 1 < chunk.size()) score.add(negative_log_likelihood(logits, chunk[index + 1]));
    });
}

}  // namespace

double negative_log_likelihood(std::span<const float> logits, TokenId target) {
    INGOT_CHECK(target >= 0 && size_t(target) < logits.size(), "target {} of {} logits", target,
                logits.size());
    const float max = *std::ranges::max_element(logits);
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(logit - max);
    return std::log(sum) - double(logits[size_t(target)] - max);
}

Result<Perplexity> perplexity(Engine& engine, std::span<const TokenId> tokens,
                              const PerplexityOptions& options) {
    const size_t length = options.context;
    if (length < 4)
        return fail(ErrorKind::kInvalidArgument, "a context of {} tokens; 4 or more are accepted", length);
    if (length > engine.context()) {
        return fail(ErrorKind::kLimit, "chunks of {} tokens don't fit the engine's context of {}", length,
                    engine.context());
    }
    const size_t chunks = tokens.size() / length;
    if (chunks == 0) {
        return fail(ErrorKind::kInvalidArgument,
                    "the text has {} tokens; a chunk of the context length needs {}", tokens.size(), length);
    }
    for (const TokenId token : tokens) {
        if (token >= 0 && uint32_t(token) < engine.vocab_size()) continue;
        return fail(ErrorKind::kInvalidArgument, "token id {} is outside the vocabulary of {}", token,
                    engine.vocab_size());
    }
    Score score;
    for (size_t i = 0; i < chunks; ++i) {
        INGOT_TRY(score_chunk(engine, tokens.subspan(i * length, length), options.bos, score));
        if (!std::isfinite(score.sum)) {
            return fail(ErrorKind::kCorrupt,
                        "the logits of chunk {} are not finite; the model's weights are damaged or too large",
                        i + 1);
        }
        if (options.progress && !options.progress(i + 1, chunks, score.perplexity())) {
            return fail(ErrorKind::kCancelled, "stopped after {} of {} chunks", i + 1, chunks);
        }
    }
    return Perplexity{score.perplexity(), score.deviation(), chunks, score.count};
}

}  // namespace ingot

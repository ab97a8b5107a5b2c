// How well a model predicts a text, by llama.cpp's definition: the text is cut into chunks of the context
// length, a rest is dropped, each chunk is run on its own, and its second half is scored. Text to ids is the
// caller's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "llm/engine/engine.h"

namespace ingot {

struct PerplexityOptions {
    uint32_t context = 512;  // tokens in a chunk
    TokenId bos = -1;  // takes the place of every chunk's first token; -1 for a vocabulary that adds none
    // Called after each chunk with the chunks done, all chunks, and the perplexity so far; false cancels.
    std::function<bool(size_t, size_t, double)> progress = {};
};

struct Perplexity {
    double value = 0.0;
    double deviation = 0.0;  // standard error of `value`
    size_t chunks = 0;
    size_t scored_tokens = 0;
};

// Forgets what the engine holds. kInvalidArgument if there is not one whole chunk of tokens, kLimit if a
// chunk doesn't fit the engine's context.
Result<Perplexity> perplexity(Engine& engine, std::span<const TokenId> tokens,
                              const PerplexityOptions& options = {});

// -log of the probability that softmax(logits) gives to `target`.
double negative_log_likelihood(std::span<const float> logits, TokenId target);

}  // namespace ingot

// The streamed generation loop: prompt in, tokens out, text as whole UTF-8 characters through a callback.
// Joins Engine, Tokenizer, Sampler, stop strings and cancellation; knows neither chat turns nor terminals.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "llm/engine/engine.h"
#include "llm/text/sampler.h"
#include "llm/text/tokenizer.h"

namespace ingot {

struct GenerateOptions {
    uint32_t max_tokens = 0;  // 0: until the model ends its answer or the context is full
    // When the context is full, forget the older half of what follows its first `shift_keep` tokens and go
    // on; none: stop. Keys are turned to their new positions, values stay what they were: what is left still
    // knows of what is gone, as far as it had seen it.
    std::optional<uint32_t> shift_keep = {};
    std::vector<std::string> stop;
    // Called with text that is final, never empty and never part of a stop string.
    std::function<void(std::string_view)> on_text;
    // Looked at before each step and each part of a long prompt; may be set by a signal handler.
    const std::atomic<bool>* cancel = nullptr;
};

enum class FinishReason {
    kEndOfText,    // the model chose an end-of-generation token
    kStopString,   // a stop string appeared
    kMaxTokens,    // max_tokens were generated
    kContextFull,  // no cell is left for the next token
    kCancelled,    // `cancel` was set
};

struct Generation {
    std::string text;             // all that on_text was called with
    std::vector<TokenId> tokens;  // chosen ones, the end-of-generation token not among them
    FinishReason finish = FinishReason::kEndOfText;
    // Cached tokens [begin, end) that were forgotten to make room, one time after the other.
    std::vector<std::pair<uint32_t, uint32_t>> forgotten = {};
    double prompt_seconds = 0;       // evaluating the prompt
    double first_token_seconds = 0;  // from the call to the first chosen token
    double decode_seconds = 0;       // evaluating chosen tokens
    uint32_t prompt_tokens = 0, decode_steps = 0;

    double prompt_rate() const { return prompt_seconds > 0 ? prompt_tokens / prompt_seconds : 0; }
    double decode_rate() const { return decode_seconds > 0 ? decode_steps / decode_seconds : 0; }
};

// Runs `prompt` after what the engine holds and generates until one of the reasons above. Afterwards the
// engine holds the tokens it had before, then `prompt`, then `tokens` in order, less what was `forgotten`,
// but not always the last of them: the difference of engine.num_tokens() tells how many. The sampler's
// penalties follow: tokens that the engine no longer holds are forgotten first, then `prompt` and `tokens`
// are accepted. kInvalidArgument: an empty prompt; kLimit: a prompt that the context has no room for (nothing
// is run).
Result<Generation> generate(Engine& engine, const Tokenizer& tokenizer, Sampler& sampler,
                            std::span<const TokenId> prompt, const GenerateOptions& options);

}  // namespace ingot

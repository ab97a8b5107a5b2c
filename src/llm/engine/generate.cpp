#include "llm/engine/generate.h"

#include <algorithm>
#include <chrono>

#include "llm/text/stop.h"

namespace ingot {
namespace {

// A long prompt is run in parts of this many tokens, so that cancelling takes effect in between.
constexpr size_t kPromptPart = 512;

class Stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

// Tokens to text that is final: stop strings first, then whole characters.
class TextSink {
  public:
    TextSink(const GenerateOptions& options, std::string& text)
        : filter_(options.stop), on_text_(options.on_text), text_(text) {}

    void push(std::string_view piece) { show(utf8_.push(filter_.push(piece))); }
    bool stopped() const { return filter_.stopped(); }
    void finish() {
        show(utf8_.push(filter_.flush()));
        // A character whose rest never came is shown as one replacement character.
        if (!utf8_.flush().empty()) show("\uFFFD");
    }

  private:
    void show(std::string_view part) {
        if (part.empty()) return;
        text_ += part;
        if (on_text_) on_text_(part);
    }

    StopFilter filter_;
    Utf8Stream utf8_;
    const std::function<void(std::string_view)>& on_text_;
    std::string& text_;
};

class Loop {
  public:
    Loop(Engine& engine, const Tokenizer& tokenizer, Sampler& sampler, const GenerateOptions& options)
        : engine_(engine),
          tokenizer_(tokenizer),
          sampler_(sampler),
          options_(options),
          sink_(options, result_.text) {}

    Result<Generation> run(std::span<const TokenId> prompt) {
        sampler_.truncate(engine_.num_tokens());
        result_.prompt_tokens = uint32_t(prompt.size());
        INGOT_ASSIGN(const bool evaluated, evaluate(prompt));
        if (evaluated) INGOT_TRY(decode());
        sink_.finish();
        return std::move(result_);
    }

  private:
    bool cancelled() const { return options_.cancel && options_.cancel->load(std::memory_order_relaxed); }

    // False if cancelled on the way.
    Result<bool> evaluate(std::span<const TokenId> prompt) {
        for (size_t begin = 0; begin < prompt.size(); begin += kPromptPart) {
            if (cancelled()) {
                result_.finish = FinishReason::kCancelled;
                return false;
            }
            const auto part = prompt.subspan(begin, std::min(kPromptPart, prompt.size() - begin));
            INGOT_ASSIGN(logits_, engine_.forward(part));
            for (const TokenId token : part) sampler_.accept(token);
        }
        result_.prompt_seconds = watch_.seconds();
        return true;
    }

    Result<void> decode() {
        for (;;) {
            INGOT_ASSIGN(const TokenId token, sampler_.sample(logits_));
            if (result_.tokens.empty()) result_.first_token_seconds = watch_.seconds();
            if (tokenizer_.is_end_of_generation(token)) return {};
            sampler_.accept(token);
            result_.tokens.push_back(token);
            sink_.push(tokenizer_.piece(token));
            if (const auto reason = reason_to_stop()) {
                result_.finish = *reason;
                return {};
            }
            INGOT_TRY(make_room());
            const Stopwatch step;
            INGOT_ASSIGN(logits_, engine_.forward({&token, 1}));
            result_.decode_seconds += step.seconds();
            ++result_.decode_steps;
        }
    }

    bool is_full() const { return engine_.num_tokens() >= engine_.context(); }

    // How many tokens can be forgotten; 0 unless asked for.
    uint32_t num_forgettable() const {
        const uint32_t keep = options_.shift_keep.value_or(engine_.num_tokens());
        return (engine_.num_tokens() - std::min(engine_.num_tokens(), keep) + 1) / 2;
    }

    Result<void> make_room() {
        if (!is_full()) return {};
        const uint32_t begin = *options_.shift_keep, end = begin + num_forgettable();
        INGOT_TRY(engine_.remove(begin, end));
        result_.forgotten.emplace_back(begin, end);
        return {};
    }

    std::optional<FinishReason> reason_to_stop() const {
        if (sink_.stopped()) return FinishReason::kStopString;
        if (options_.max_tokens != 0 && result_.tokens.size() >= options_.max_tokens)
            return FinishReason::kMaxTokens;
        if (cancelled()) return FinishReason::kCancelled;
        if (is_full() && num_forgettable() == 0) return FinishReason::kContextFull;
        return std::nullopt;
    }

    Engine& engine_;
    const Tokenizer& tokenizer_;
    Sampler& sampler_;
    const GenerateOptions& options_;
    Generation result_;
    TextSink sink_;
    Stopwatch watch_;
    std::span<const float> logits_;
};

}  // namespace

Result<Generation> generate(Engine& engine, const Tokenizer& tokenizer, Sampler& sampler,
                            std::span<const TokenId> prompt, const GenerateOptions& options) {
    if (prompt.empty()) return fail(ErrorKind::kInvalidArgument, "the prompt is empty: it holds no token");
    const size_t room = engine.context() - engine.num_tokens();
    if (prompt.size() > room) {
        const std::string held =
            engine.num_tokens() ? fmt::format(", of which {} are taken", engine.num_tokens()) : std::string();
        return fail(ErrorKind::kLimit, "the prompt has {} tokens, but the context has {}{}", prompt.size(),
                    engine.context(), held);
    }
    return Loop(engine, tokenizer, sampler, options).run(prompt);
}

}  // namespace ingot

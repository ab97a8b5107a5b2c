// The loop with a scripted engine: its logits make greedy sampling choose a given text, byte by byte. The
// vocabulary is that of a tiny model, where token N (< 256) is the byte N.
#include "llm/engine/generate.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/engine/chat.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr TokenId kEnd = 500;  // <eos> of the vocabulary

gguf::File vocabulary() {
    return gguf::File::open(INGOT_TEST_DATA "/models/llama.gguf").value();
}

std::vector<TokenId> bytes_of(std::string_view text) {
    std::vector<TokenId> ids;
    for (const char c : text) ids.push_back(TokenId(static_cast<unsigned char>(c)));
    return ids;
}

class ScriptedEngine : public Engine {
  public:
    ScriptedEngine(std::vector<TokenId> script, uint32_t context)
        : script_(std::move(script)), context_(context), file_(vocabulary()) {}

    const gguf::File& file() const override { return file_; }
    uint32_t vocab_size() const override { return 501; }
    uint32_t context() const override { return context_; }
    uint32_t num_tokens(kv::SequenceId = 0) const override { return uint32_t(held_.size()); }
    uint32_t threads() const override { return 1; }
    Stats stats() const override { return {}; }
    Result<void> forward_batch(std::span<const SequenceTokens>,
                               const std::function<void(size_t, std::span<const float>)>&) override {
        return unused();
    }
    Result<void> share(kv::SequenceId, kv::SequenceId, uint32_t) override { return unused(); }
    void truncate(uint32_t count, kv::SequenceId = 0) override { held_.resize(count); }
    Result<void> remove(uint32_t begin, uint32_t end) override {
        held_.erase(held_.begin() + begin, held_.begin() + end);
        return {};
    }
    Result<void> save_session(const std::string&, std::span<const TokenId>, std::string_view) override {
        return unused();
    }
    Result<SavedText> load_session(const std::string&) override { return unused(); }
    Result<uint32_t> load_session(const std::string&, std::span<const TokenId>) override { return unused(); }

    Result<std::span<const float>> forward(std::span<const TokenId> tokens) override {
        calls_.push_back(tokens.size());
        held_.insert(held_.end(), tokens.begin(), tokens.end());
        EXPECT_LE(held_.size(), context_);
        logits_.assign(vocab_size(), 0.0f);
        if (calls_.size() > good_calls_) logits_[0] = std::numeric_limits<float>::quiet_NaN();
        const bool last_of_prompt = tokens.size() == 1 || tokens.size() < 512;
        if (last_of_prompt && next_ < script_.size()) logits_[size_t(script_[next_++])] = 10.0f;
        return logits_;
    }
    Result<void> forward_all(std::span<const TokenId>, size_t,
                             const std::function<void(size_t, std::span<const float>)>&) override {
        return fail(ErrorKind::kUnsupported, "not scripted");
    }

    std::vector<TokenId> held_;
    std::vector<size_t> calls_;  // tokens of each forward()
    size_t good_calls_ = 1000;   // of those that come after, logits are no numbers

  private:
    static Failure unused() { return fail(ErrorKind::kUnsupported, "not part of these tests"); }

    std::vector<TokenId> script_;
    size_t next_ = 0;
    uint32_t context_;
    gguf::File file_;
    std::vector<float> logits_;
};

class Generate : public testing::Test {
  protected:
    Generate() {
        options_.on_text = [this](std::string_view part) { parts_.emplace_back(part); };
        SamplerOptions greedy;
        greedy.greedy = true;
        sampler_.emplace(greedy);
    }

    Result<Generation> run(ScriptedEngine& engine, std::string_view prompt = "ab") {
        return generate(engine, tokenizer_, *sampler_, bytes_of(prompt), options_);
    }
    std::string shown() const {
        std::string all;
        for (const std::string& part : parts_) all += part;
        return all;
    }
    static ScriptedEngine saying(std::string_view text, uint32_t context = 100) {
        auto script = bytes_of(text);
        script.push_back(kEnd);
        return {std::move(script), context};
    }

    Tokenizer tokenizer_ = Tokenizer::from_gguf(vocabulary()).value();
    std::optional<Sampler> sampler_;
    GenerateOptions options_;
    std::vector<std::string> parts_;
};

TEST_F(Generate, StreamsUntilTheModelEndsItsAnswer) {
    ScriptedEngine engine = saying("xyz");
    const Generation generation = run(engine).value();
    EXPECT_EQ(FinishReason::kEndOfText, generation.finish);
    EXPECT_THAT(parts_, ElementsAre("x", "y", "z"));
    EXPECT_EQ("xyz", generation.text);
    EXPECT_EQ(bytes_of("xyz"), generation.tokens) << "the end-of-generation token is not one of them";
    EXPECT_EQ(bytes_of("abxyz"), engine.held_);
    EXPECT_EQ(2u, generation.prompt_tokens);
    EXPECT_EQ(3u, generation.decode_steps);
}

TEST_F(Generate, AnAnswerThatFailsLeavesNoTokensThatTheConversationDoesNotKnow) {
    ScriptedEngine engine = saying("xyz");
    engine.good_calls_ = 2;
    ChatSession session(*ChatTemplate::parse("{% for m in messages %}{{ m.content }}{% endfor %}"),
                        nlohmann::ordered_json::object(),
                        [](std::string_view text) -> Result<std::vector<TokenId>> { return bytes_of(text); });
    session.add_user("ab");
    const auto failed = answer(engine, tokenizer_, *sampler_, session, options_);
    ASSERT_FALSE(failed);
    EXPECT_EQ(ErrorKind::kCorrupt, failed.error().kind);
    EXPECT_THAT(parts_, ElementsAre("x", "y"));
    EXPECT_EQ(bytes_of("ab"), engine.held_);
    EXPECT_EQ(engine.held_, session.cached_tokens());
}

TEST_F(Generate, AMultiByteCharacterIsNeverSplitOverTwoEvents) {
    ScriptedEngine engine = saying("h\u00e9\U0001F600!");
    EXPECT_EQ("h\u00e9\U0001F600!", run(engine)->text);
    EXPECT_THAT(parts_, ElementsAre("h", "\u00e9", "\U0001F600", "!"));
}

TEST_F(Generate, ACharacterThatNeverEndsBecomesOneReplacementCharacter) {
    ScriptedEngine engine = saying("a\xF0\x9F\x98");
    EXPECT_EQ("a\uFFFD", run(engine)->text);
    EXPECT_EQ("a\uFFFD", shown());
}

TEST_F(Generate, StopStringsThatSpanTokensEndTheAnswer) {
    options_.stop = {"\nUser:"};
    ScriptedEngine engine = saying("Hi.\nUse it.\nUser: more");
    const Generation generation = run(engine).value();
    EXPECT_EQ(FinishReason::kStopString, generation.finish);
    EXPECT_EQ("Hi.\nUse it.", generation.text);
    EXPECT_EQ("Hi.\nUse it.", shown());
}

TEST_F(Generate, HeldBackTextComesOutAtTheEnd) {
    options_.stop = {"\nUser:"};
    ScriptedEngine engine = saying("Hi.\nUs");
    EXPECT_EQ("Hi.\nUs", run(engine)->text);
    EXPECT_EQ("Hi.\nUs", shown());
}

TEST_F(Generate, MaxTokensLeavesTheLastOneOutOfTheEngine) {
    options_.max_tokens = 2;
    ScriptedEngine engine = saying("xyz");
    const Generation generation = run(engine).value();
    EXPECT_EQ(FinishReason::kMaxTokens, generation.finish);
    EXPECT_EQ("xy", generation.text);
    EXPECT_EQ(bytes_of("abx"), engine.held_);
}

TEST_F(Generate, StopsWhenTheContextIsFull) {
    ScriptedEngine engine = saying("vwxyz", 4);
    const Generation generation = run(engine).value();
    EXPECT_EQ(FinishReason::kContextFull, generation.finish);
    EXPECT_EQ("vwx", generation.text);
    EXPECT_EQ(4u, engine.num_tokens());
}

TEST_F(Generate, AFullContextForgetsTheOlderHalfAndGoesOn) {
    ScriptedEngine engine = saying("cdefghij", 6);
    options_.shift_keep = 1;
    const auto generation = run(engine);
    ASSERT_TRUE(generation) << generation.error().describe();
    EXPECT_EQ("cdefghij", shown());
    EXPECT_EQ(FinishReason::kEndOfText, generation->finish);
    // abcdef is full: bcd go, and once more with aefghi: efg go.
    EXPECT_EQ((std::vector<std::pair<uint32_t, uint32_t>>{{1, 4}, {1, 4}}), generation->forgotten);
    EXPECT_EQ(bytes_of("ahij"), engine.held_);
}

TEST_F(Generate, AContextOfWhichAllIsKeptIsFull) {
    ScriptedEngine engine = saying("cdefghij", 6);
    options_.shift_keep = 6;
    EXPECT_EQ(FinishReason::kContextFull, run(engine)->finish);
    EXPECT_EQ(bytes_of("abcdef"), engine.held_);
}

TEST_F(Generate, CancellingEndsItAfterTheTokenAtHand) {
    std::atomic<bool> cancel{false};
    options_.cancel = &cancel;
    options_.on_text = [&](std::string_view part) {
        parts_.emplace_back(part);
        if (part == "y") cancel = true;
    };
    ScriptedEngine engine = saying("xyz");
    const Generation generation = run(engine).value();
    EXPECT_EQ(FinishReason::kCancelled, generation.finish);
    EXPECT_EQ("xy", generation.text);
}

TEST_F(Generate, ALongPromptRunsInPartsAndCanBeCancelledBefore) {
    ScriptedEngine engine = saying("x", 2000);
    EXPECT_EQ("x", run(engine, std::string(1100, 'a'))->text);
    EXPECT_THAT(engine.calls_, ElementsAre(512, 512, 76, 1));

    std::atomic<bool> cancel{true};
    options_.cancel = &cancel;
    ScriptedEngine untouched = saying("x", 2000);
    EXPECT_EQ(FinishReason::kCancelled, run(untouched, std::string(1100, 'a'))->finish);
    EXPECT_EQ(0u, untouched.num_tokens());
}

TEST_F(Generate, APromptThatDoesNotFitRunsNothing) {
    ScriptedEngine engine = saying("x", 4);
    const auto result = run(engine, "abcde");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(ErrorKind::kLimit, result.error().kind);
    EXPECT_THAT(result.error().message, HasSubstr("5 tokens, but the context has 4"));
    EXPECT_TRUE(engine.calls_.empty());

    engine.held_ = bytes_of("abc");
    EXPECT_THAT(run(engine, "de").error().message, HasSubstr("of which 3 are taken"));
}

TEST_F(Generate, AnEmptyPromptIsRefused) {
    ScriptedEngine engine = saying("x");
    const auto result = run(engine, "");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(ErrorKind::kInvalidArgument, result.error().kind);
}

TEST_F(Generate, PenaltiesForgetTokensThatTheEngineForgot) {
    // 'x' has logit 10, everything else 0: a presence penalty of 20 forbids it as soon as it has been seen.
    SamplerOptions options;
    options.greedy = true;
    options.presence_penalty = 20;
    options.penalty_last_n = -1;
    sampler_.emplace(options);
    options_.max_tokens = 1;
    ScriptedEngine engine = saying("xxx");
    EXPECT_EQ("x", run(engine)->text);
    EXPECT_NE("x", run(engine, "x")->text) << "'x' is part of this prompt";
    engine.truncate(0);
    EXPECT_EQ("x", run(engine)->text) << "an empty engine: nothing has been seen";
}

}  // namespace
}  // namespace ingot

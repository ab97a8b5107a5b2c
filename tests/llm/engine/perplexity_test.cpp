// Perplexity against closed forms, with an engine whose logits are known.
#include "llm/engine/perplexity.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"

namespace ingot {
namespace {

// Logits depend on the token alone: `favoured` times 1 at the token's successor (id + 1), 0 elsewhere.
class SuccessorEngine : public Engine {
  public:
    SuccessorEngine(uint32_t vocab, float favoured) : vocab_(vocab), favoured_(favoured) {}

    const gguf::File& file() const override { check_failed("", 0, "", "no file"); }
    uint32_t vocab_size() const override { return vocab_; }
    uint32_t context() const override { return 64; }
    uint32_t num_tokens(kv::SequenceId = 0) const override { return cached_; }
    uint32_t threads() const override { return 1; }
    Result<std::span<const float>> forward(std::span<const TokenId>) override {
        return fail(ErrorKind::kUnsupported, "not used");
    }
    Result<void> forward_all(std::span<const TokenId> tokens, size_t first_output,
                             const std::function<void(size_t, std::span<const float>)>& row) override {
        chunks_.emplace_back(tokens.begin(), tokens.end());
        EXPECT_EQ(cached_, 0u) << "each chunk starts from an empty cache";
        cached_ += uint32_t(tokens.size());
        for (size_t i = first_output; i < tokens.size(); ++i) {
            std::vector<float> logits(vocab_, 0.0f);
            logits[size_t(tokens[i] + 1) % vocab_] = favoured_;
            row(i, logits);
        }
        return {};
    }
    Result<void> forward_batch(std::span<const SequenceTokens>,
                               const std::function<void(size_t, std::span<const float>)>&) override {
        return unused();
    }
    Result<void> share(kv::SequenceId, kv::SequenceId, uint32_t) override { return unused(); }
    void truncate(uint32_t count, kv::SequenceId = 0) override { cached_ = count; }
    Result<void> remove(uint32_t, uint32_t) override { return unused(); }
    Result<void> save_session(const std::string&, std::span<const TokenId>, std::string_view) override {
        return unused();
    }
    Result<SavedText> load_session(const std::string&) override { return unused(); }
    Result<uint32_t> load_session(const std::string&, std::span<const TokenId>) override { return unused(); }
    Stats stats() const override { return {}; }

    const std::vector<std::vector<TokenId>>& chunks() const { return chunks_; }

  private:
    static Failure unused() { return fail(ErrorKind::kUnsupported, "not part of these tests"); }

    uint32_t vocab_, cached_ = 0;
    float favoured_;
    std::vector<std::vector<TokenId>> chunks_;
};

std::vector<TokenId> counting(size_t count, uint32_t vocab) {
    std::vector<TokenId> tokens(count);
    for (size_t i = 0; i < count; ++i) tokens[i] = TokenId(i % vocab);
    return tokens;
}

TEST(Perplexity, OfEqualLogitsIsTheSizeOfTheVocabulary) {
    SuccessorEngine engine(10, 0.0f);
    const auto result = perplexity(engine, counting(40, 10), {.context = 16});
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_NEAR(result->value, 10.0, 1e-5);
    EXPECT_NEAR(result->deviation, 0.0, 1e-3);
    EXPECT_EQ(result->chunks, 2u) << "the rest of 8 tokens is dropped";
    EXPECT_EQ(result->scored_tokens, 2u * 7u) << "positions 8..14 of each chunk predict a token of the chunk";
}

TEST(Perplexity, OfAPredictableTextFollowsTheLogit) {
    SuccessorEngine engine(10, 3.0f);
    const auto result = perplexity(engine, counting(32, 10), {.context = 32});
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_NEAR(result->value, (std::exp(3.0) + 9.0) / std::exp(3.0), 1e-5);
}

TEST(Perplexity, ReplacesTheFirstTokenOfEachChunkByBos) {
    SuccessorEngine engine(10, 1.0f);
    ASSERT_TRUE(perplexity(engine, counting(16, 10), {.context = 8, .bos = 7}));
    ASSERT_EQ(engine.chunks().size(), 2u);
    EXPECT_THAT(engine.chunks()[0], testing::ElementsAre(7, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_THAT(engine.chunks()[1], testing::ElementsAre(7, 9, 0, 1, 2, 3, 4, 5));
}

TEST(Perplexity, ReportsProgressAndStopsWhenAsked) {
    SuccessorEngine engine(10, 1.0f);
    size_t calls = 0;
    const auto result =
        perplexity(engine, counting(64, 10), {.context = 8, .progress = [&](size_t done, size_t all, double) {
                                                  ++calls;
                                                  EXPECT_EQ(all, 8u);
                                                  return done < 3;
                                              }});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::kCancelled);
    EXPECT_EQ(calls, 3u);
}

TEST(Perplexity, RefusesWhatItCannotScore) {
    SuccessorEngine engine(10, 1.0f);
    const auto message = [&](std::vector<TokenId> tokens, uint32_t context) {
        const auto result = perplexity(engine, tokens, {.context = context});
        return result ? std::string("accepted") : result.error().message;
    };
    EXPECT_EQ(message(counting(7, 10), 8), "the text has 7 tokens; a chunk of the context length needs 8");
    EXPECT_EQ(message(counting(200, 10), 128), "chunks of 128 tokens don't fit the engine's context of 64");
    EXPECT_EQ(message(counting(200, 10), 2), "a context of 2 tokens; 4 or more are accepted");
    EXPECT_EQ(message({1, 2, 3, 4, 5, 6, 7, 11}, 8), "token id 11 is outside the vocabulary of 10");
}

TEST(Perplexity, OfLogitsThatAreNotFiniteIsAnErrorThatNamesTheChunk) {
    SuccessorEngine engine(10, std::numeric_limits<float>::infinity());
    const auto result = perplexity(engine, counting(16, 10), {.context = 8});
    ASSERT_FALSE(result);
    EXPECT_EQ(ErrorKind::kCorrupt, result.error().kind);
    EXPECT_EQ(result.error().message,
              "the logits of chunk 1 are not finite; the model's weights are damaged or too large");
}

TEST(Perplexity, OfLargeLogitsDoesNotOverflow) {
    const std::vector<float> logits = {1000.0f, 999.0f, -1000.0f};
    EXPECT_NEAR(negative_log_likelihood(logits, 0), std::log1p(std::exp(-1.0)), 1e-6);
    EXPECT_NEAR(negative_log_likelihood(logits, 2), 2000.0 + std::log1p(std::exp(-1.0)), 1e-3);
}

}  // namespace
}  // namespace ingot

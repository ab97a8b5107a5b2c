// A tiny model's engine held against what transformers says of it (golden.h), whatever the backend.
#pragma once

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "golden.h"
#include "llm/engine/engine.h"

namespace ingot {

constexpr float kTolerance = 2e-4f;
// Keys and values rounded to 11 bits, several layers deep.
constexpr float kF16KvTolerance = 2e-2f;
// Rounded by up to 1/254 of the largest of 32: sixteen times as much as that one loses in half precision.
constexpr float kQ8KvTolerance = 16 * kF16KvTolerance;

inline std::unique_ptr<Engine> load_tiny(const std::string& name, EngineOptions options = {}) {
    if (!options.kv_format) options.kv_format = kv::Format::kF32;
    auto engine = Engine::load(tiny_model_path(name), options);
    EXPECT_TRUE(engine) << engine.error().describe();
    return std::move(*engine);
}

// Of a test whose parameter is a tiny model.
inline std::string tiny_model_name(const testing::TestParamInfo<const char*>& test) {
    std::string name = test.param;
    std::ranges::replace(name, '-', '_');
    return name;
}

inline TokenId argmax(std::span<const float> logits) {
    return TokenId(std::ranges::max_element(logits) - logits.begin());
}

// Prefill and greedy decode of one golden prompt, from an empty context.
inline void expect_golden(Engine& engine, const Golden& golden, TokenId length,
                          float tolerance = kTolerance) {
    SCOPED_TRACE(fmt::format("prompt of {} tokens", length));
    engine.truncate(0);
    const std::vector<TokenId> greedy = golden.greedy(length);
    auto logits = engine.forward(golden.prompt(length));
    for (size_t step = 0;; ++step) {
        ASSERT_TRUE(logits) << logits.error().describe();
        ASSERT_LE(max_difference(*logits, golden.logits(length, step)), tolerance) << "decode step " << step;
        ASSERT_EQ(argmax(*logits), greedy[step]) << "decode step " << step;
        if (step + 1 == greedy.size()) break;
        logits = engine.forward(std::span(&greedy[step], 1));
    }
    EXPECT_EQ(engine.num_tokens(), uint32_t(length) + greedy.size() - 1);
}

// The same for several prompts at once, each a sequence of its own; the context stays as it is between their
// steps.
inline void expect_golden_together(Engine& engine, const Golden& golden, const std::vector<TokenId>& lengths,
                                   float tolerance = kTolerance) {
    std::vector<std::vector<TokenId>> greedy, prompts;
    std::vector<SequenceTokens> batch;
    for (const TokenId length : lengths) {
        greedy.push_back(golden.greedy(length));
        prompts.push_back(golden.prompt(length));
    }
    for (uint32_t i = 0; i < lengths.size(); ++i) batch.push_back({10 + i, prompts[i]});
    for (size_t step = 0; step < greedy[0].size(); ++step) {
        size_t rows = 0;
        const auto ran = engine.forward_batch(batch, [&](size_t i, std::span<const float> logits) {
            ++rows;
            EXPECT_LE(max_difference(logits, golden.logits(lengths[i], step)), tolerance)
                << "prompt of " << lengths[i] << ", decode step " << step;
            EXPECT_EQ(argmax(logits), greedy[i][step]) << "prompt of " << lengths[i];
        });
        ASSERT_TRUE(ran) << ran.error().describe();
        ASSERT_EQ(lengths.size(), rows);
        for (size_t i = 0; i < batch.size(); ++i) batch[i].tokens = std::span(&greedy[i][step], 1);
    }
    for (size_t i = 0; i < lengths.size(); ++i)
        EXPECT_EQ(uint32_t(lengths[i]) + greedy[i].size() - 1, engine.num_tokens(batch[i].sequence));
}

}  // namespace ingot

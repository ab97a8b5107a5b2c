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

inline std::unique_ptr<Engine> load_tiny(const std::string& name, EngineOptions options = {}) {
    if (!options.kv_format) options.kv_format = kv::Format::kF32;
    auto engine = Engine::load(tiny_model_path(name), options);
    EXPECT_TRUE(engine) << engine.error().describe();
    return std::move(*engine);
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

}  // namespace ingot

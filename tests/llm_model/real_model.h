// The two real models that tests run, and where their files are: `make model` and `make model-gemma3` fetch
// them, tests/data/golden has what llama.cpp says about them (tools/oracle/make_real_golden.py).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "llm/engine/engine.h"
#include "llm/engine/perplexity.h"
#include "llm/text/tokenizer.h"

namespace ingot {

constexpr double kNearTie = 0.05;  // logits closer than this may be ordered either way

struct RealModel {
    const char* name;
    const char* file;
    const char* golden;  // NAME.json, and NAME-f32.json for the weights decoded to F32
    const char* fetched_by;
};
inline const auto kRealModels =
    testing::Values(RealModel{"SmolLM2", "SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2", "make model"},
                    RealModel{"Gemma3", "gemma-3-270m-q4_k_m.gguf", "gemma3", "make model-gemma3"});

inline void PrintTo(const RealModel& model, std::ostream* out) {
    *out << model.name;
}

inline std::string cached_model(const RealModel& model) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const std::filesystem::path root =
        cache && *cache ? std::filesystem::path(cache) : std::filesystem::path(home ? home : "") / ".cache";
    return root / "ingot" / "models" / model.file;
}

inline std::string test_data(const std::string& name) {
    return std::string(INGOT_TEST_DATA) + "/" + name;
}

inline TokenId argmax(std::span<const float> logits) {
    return TokenId(std::ranges::max_element(logits) - logits.begin());
}

// Runs a golden prompt and calls check(step, our choice) for each step of its continuation. llama.cpp's
// choice is followed even if ours differs, so that all later steps are compared too.
template <typename Check>
void follow(Engine& engine, const nlohmann::json& prompt, Check check) {
    const auto ids = prompt["ids"].get<std::vector<TokenId>>();
    const auto continuation = prompt["continuation"].get<std::vector<TokenId>>();
    engine.truncate(0);
    auto logits = engine.forward(ids);
    for (size_t step = 0; step < continuation.size(); ++step) {
        ASSERT_TRUE(logits) << logits.error().describe();
        check(step, argmax(*logits));
        logits = engine.forward(std::span(&continuation[step], 1));
    }
}

// An engine on the file at `path`, its tokenizer and a golden file.
class RealModelFixture : public testing::TestWithParam<RealModel> {
  protected:
    void load(const std::string& path, const std::string& golden, EngineOptions options) {
        std::ifstream(test_data("golden/" + golden)) >> golden_;
        options.context = 1024;
        auto engine = Engine::load(path, std::move(options));
        ASSERT_TRUE(engine) << engine.error().describe();
        engine_ = std::move(*engine);
        auto tokenizer = Tokenizer::from_gguf(engine_->file());
        ASSERT_TRUE(tokenizer) << tokenizer.error().describe();
        tokenizer_ = std::make_unique<Tokenizer>(std::move(*tokenizer));
        ASSERT_EQ(golden_["prompts"].size(), 10u);
    }
    static void assert_fetched() {
        const std::string path = cached_model(GetParam());
        ASSERT_TRUE(std::filesystem::exists(path))
            << path << " is missing; '" << GetParam().fetched_by << "' gets it";
    }

    // Of tests/data/text/alice.txt; within `share` of llama.cpp's.
    void expect_golden_perplexity(double share) {
        std::ifstream file(test_data("text/alice.txt"));
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const auto tokens = tokenizer_->encode(text);
        ASSERT_TRUE(tokens) << tokens.error().describe();
        EXPECT_GT(tokens->size(), 4096u);
        const auto result =
            perplexity(*engine_, *tokens, {.bos = tokenizer_->adds_bos() ? tokenizer_->bos() : -1});
        ASSERT_TRUE(result) << result.error().describe();
        EXPECT_EQ(result->scored_tokens, golden_["scored"].get<size_t>());
        RecordProperty("perplexity", std::to_string(result->value));
        const double expected = golden_["perplexity"].get<double>();
        EXPECT_NEAR(result->value, expected, share * expected);
    }

    nlohmann::json golden_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace ingot

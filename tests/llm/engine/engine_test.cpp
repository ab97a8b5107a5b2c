// The engine's contract: limits, errors, options, graph reuse. Numbers are golden_test.cpp's business.
#include "llm/engine/engine.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/cpu_topology.h"
#include "llm/model/patched_model.h"

namespace ingot {
namespace {

using testing::HasSubstr;

std::unique_ptr<Engine> load(EngineOptions options = {}) {
    auto engine = Engine::load(tiny_model_path("llama"), std::move(options));
    EXPECT_TRUE(engine) << engine.error().describe();
    return std::move(*engine);
}

std::vector<TokenId> some_tokens(size_t count) {
    std::vector<TokenId> tokens(count);
    for (size_t i = 0; i < count; ++i) tokens[i] = TokenId(i * 37 % 501);
    return tokens;
}

TEST(Engine, TellsWhatItLoaded) {
    const auto engine = load();
    EXPECT_EQ(engine->vocab_size(), 501u);
    EXPECT_EQ(engine->context(), 160u) << "the training context, which is below 4096";
    EXPECT_EQ(engine->num_tokens(), 0u);
    EXPECT_EQ(engine->threads(), default_num_threads());
    EXPECT_EQ(*engine->file().get_string("general.architecture"), "llama");
    const Engine::Stats stats = engine->stats();
    EXPECT_THAT(stats.backend, testing::StartsWith("cpu"));
    EXPECT_GT(stats.weight_bytes, 0u);
    EXPECT_EQ(stats.kv_bytes, 2u * 2 * 160 * 16 * 4) << "K and V, 2 layers, 160 cells of 16 f32";
    EXPECT_GE(stats.load_seconds, 0.0);
}

TEST(Engine, DecodeStepsReuseOneGraph) {
    const auto engine = load();
    ASSERT_TRUE(engine->forward(some_tokens(20)));
    const uint64_t after_prompt = engine->stats().graphs_built;
    for (int step = 0; step < 16; ++step) ASSERT_TRUE(engine->forward(std::vector<TokenId>{step}));
    EXPECT_EQ(engine->stats().graphs_built, after_prompt) << "the decode graph is built at load";
    engine->truncate(0);
    ASSERT_TRUE(engine->forward(some_tokens(20)));
    EXPECT_EQ(engine->stats().graphs_built, after_prompt) << "the same length again, at other positions";
    ASSERT_TRUE(engine->forward(some_tokens(20)));
    EXPECT_EQ(engine->stats().graphs_built, after_prompt);
}

TEST(Engine, RunsNothingThatDoesNotFitTheContext) {
    const auto engine = load({.context = 32});
    EXPECT_EQ(engine->context(), 32u);
    ASSERT_TRUE(engine->forward(some_tokens(30)));
    const auto refused = engine->forward(some_tokens(3));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kLimit);
    EXPECT_EQ(refused.error().message, "3 tokens don't fit: 30 of the context's 32 are taken");
    EXPECT_EQ(engine->num_tokens(), 30u);
    EXPECT_TRUE(engine->forward(some_tokens(2))) << "the last two cells";
    EXPECT_EQ(engine->num_tokens(), 32u);
}

TEST(Engine, RefusesInputThatMeansNothing) {
    const auto engine = load();
    const auto empty = engine->forward({});
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().kind, ErrorKind::kInvalidArgument);
    EXPECT_EQ(empty.error().message, "no tokens to run; one or more are accepted");
    for (const TokenId id : {-1, 501}) {
        const auto outside = engine->forward(std::vector<TokenId>{0, id});
        ASSERT_FALSE(outside);
        EXPECT_EQ(outside.error().kind, ErrorKind::kInvalidArgument);
        EXPECT_EQ(outside.error().message, fmt::format("token id {} is outside the vocabulary of 501", id));
    }
    EXPECT_EQ(engine->num_tokens(), 0u);
    const auto rows = engine->forward_all(some_tokens(4), 4, [](size_t, std::span<const float>) {});
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().message, "the first output is 4 of 4 tokens; one of them is accepted");
}

TEST(Engine, RefusesOptionsItCannotServe) {
    const auto message = [](EngineOptions options) {
        const auto engine = Engine::load(tiny_model_path("llama"), std::move(options));
        return engine ? std::string("accepted") : engine.error().message;
    };
    EXPECT_THAT(message({.device = "abacus"}),
                HasSubstr("device 'abacus' is unknown; cpu and metal are accepted"));
    EXPECT_THAT(message({.threads = 100000}), HasSubstr("100000 threads; 1 to 1024 are accepted"));
    EXPECT_THAT(message({.batch = 0}), HasSubstr("a batch of 0 tokens"));
    EXPECT_THAT(message({.context = 2000000000}), HasSubstr("a context of 2000000000 tokens"));
}

TEST(Engine, LoadReportsProgressAndCanBeCancelled) {
    std::vector<float> seen;
    load({.progress = [&](float fraction) {
        seen.push_back(fraction);
        return true;
    }});
    ASSERT_FALSE(seen.empty());
    EXPECT_TRUE(std::ranges::is_sorted(seen));
    EXPECT_GE(seen.front(), 0.0f);
    EXPECT_FLOAT_EQ(seen.back(), 1.0f);
    const auto cancelled = Engine::load(tiny_model_path("llama"), {.progress = [](float) { return false; }});
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().kind, ErrorKind::kCancelled);
}

TEST(Engine, LoadFailsWithTheNameOfTheFileAndTheTensor) {
    const std::string path = testing::TempDir() + "ingot-engine-broken.gguf";
    PatchedModel("llama").rename("blk.1.attn_k.weight", "blk.1.attn_X.weight").write(path);
    const auto engine = Engine::load(path);
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().kind, ErrorKind::kNotFound);
    EXPECT_THAT(engine.error().describe(), testing::AllOf(HasSubstr(path), HasSubstr("blk.1.attn_k.weight")));
    EXPECT_FALSE(Engine::load("/nonexistent.gguf"));
}

TEST(Engine, DumpsAndTracesWhereAsked) {
    const std::string dot = testing::TempDir() + "ingot-engine.dot",
                      trace = testing::TempDir() + "ingot-engine.json";
    std::filesystem::remove(dot);
    std::filesystem::remove(trace);
    const auto engine = load({.dump_graph = dot, .trace = trace});
    ASSERT_TRUE(engine->forward(some_tokens(5)));
    std::ifstream dot_file(dot), trace_file(trace);
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(dot_file), {}), HasSubstr("digraph"));
    EXPECT_TRUE(nlohmann::json::accept(trace_file));
}

}  // namespace
}  // namespace ingot

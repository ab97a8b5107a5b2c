// Chat with the demo model: turns through the engine, and through the program as a user runs it.
#include "llm/engine/chat.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_program.h"

namespace ingot {
namespace {

using test::run_program;
using testing::HasSubstr;
using testing::StartsWith;

// How llama.cpp's greedy answer to this question begins, with the same template and file.
constexpr const char* kQuestion = "What is the capital of France?";
constexpr const char* kAnswerStart = "L'Étoile, la";

std::string demo_model() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const std::string base = cache && *cache ? cache : std::string(std::getenv("HOME")) + "/.cache";
    return base + "/ingot/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

struct Loaded {
    std::unique_ptr<Engine> engine;
    Tokenizer tokenizer;
    Sampler sampler;
};

GenerateOptions at_most(uint32_t tokens) {
    GenerateOptions options;
    options.max_tokens = tokens;
    return options;
}

Result<Loaded> load() {
    EngineOptions options;
    options.threads = 2;
    options.context = 1024;
    SamplerOptions greedy;
    greedy.greedy = true;
    INGOT_ASSIGN(auto engine, Engine::load(demo_model(), options));
    INGOT_ASSIGN(auto tokenizer, Tokenizer::from_gguf(engine->file()));
    return Loaded{std::move(engine), std::move(tokenizer), Sampler(greedy)};
}

ChatSession open(const Loaded& model) {
    auto chat_template = load_chat_template(model.engine->file());
    EXPECT_TRUE(chat_template) << chat_template.error().describe();
    return open_chat(*std::move(chat_template), model.tokenizer);
}

TEST(ChatWithModel, TheTemplatesPromptHasItsSpecialTokensOnce) {
    auto model = load();
    ASSERT_TRUE(model) << model.error().describe();
    ChatSession session = open(*model);
    session.add_user("Hi");
    const auto prefill = session.prefill(1024);
    ASSERT_TRUE(prefill) << prefill.error().describe();
    const TokenId start = model->tokenizer.find("<|im_start|>");
    ASSERT_GE(start, 0);
    EXPECT_EQ(3, std::ranges::count(prefill->delta, start)) << "system, user, assistant; no BOS beside them";
    EXPECT_EQ(start, prefill->delta.front());
}

// The second turn evaluates its delta only; its answer is that of an engine which evaluates the whole prompt.
TEST(ChatWithModel, AnIncrementalTurnAnswersAsAFreshEngineDoes) {
    auto model = load();
    auto fresh = load();
    ASSERT_TRUE(model && fresh);
    ChatSession session = open(*model);
    const GenerateOptions options = at_most(12);
    session.add_user(kQuestion);
    const auto first = answer(*model->engine, model->tokenizer, model->sampler, session, options);
    ASSERT_TRUE(first) << first.error().describe();
    EXPECT_THAT(first->text, StartsWith(kAnswerStart));
    session.add_user("And of Italy?");
    const std::string whole = *session.prompt();
    const auto second = answer(*model->engine, model->tokenizer, model->sampler, session, options);
    ASSERT_TRUE(second) << second.error().describe();
    const auto tokens = fresh->tokenizer.encode(whole, {.add_special = false});
    ASSERT_TRUE(tokens);
    EXPECT_LT(second->prompt_tokens + 20, tokens->size()) << "the first turn is not evaluated again";
    const auto expected = generate(*fresh->engine, fresh->tokenizer, fresh->sampler, *tokens, options);
    ASSERT_TRUE(expected) << expected.error().describe();
    EXPECT_EQ(expected->tokens, second->tokens);
    EXPECT_EQ(session.cached_tokens().size(), model->engine->num_tokens());
}

TEST(ChatWithModel, ACancelledTurnLeavesTheConversationUsable) {
    auto model = load();
    ASSERT_TRUE(model);
    ChatSession session = open(*model);
    std::atomic<bool> cancel{true};
    GenerateOptions options = at_most(12);
    options.cancel = &cancel;
    session.add_user(kQuestion);
    const auto cancelled = answer(*model->engine, model->tokenizer, model->sampler, session, options);
    ASSERT_TRUE(cancelled);
    EXPECT_EQ(FinishReason::kCancelled, cancelled->finish);
    EXPECT_EQ(1u, session.messages().size());
    cancel = false;
    const auto again = answer(*model->engine, model->tokenizer, model->sampler, session, options);
    ASSERT_TRUE(again);
    EXPECT_THAT(again->text, StartsWith(kAnswerStart));
}

TEST(ChatProgram, AnswersEachLineOfAPipeAndPrintsNothingElseOnStdout) {
    const auto result = run_program({"chat", demo_model(), "--greedy", "-n", "12", "-c", "512", "--stats"},
                                    {std::string(kQuestion) + "\n\n/system Be brief.\n/regen\n/help\n", {}});
    EXPECT_EQ(0, result.exit_code) << result.err;
    EXPECT_EQ(2, std::ranges::count(result.out, '\n')) << result.out;
    EXPECT_THAT(result.out, StartsWith(kAnswerStart));
    EXPECT_THAT(result.err, HasSubstr("/regen"));
    EXPECT_THAT(result.err, HasSubstr("tokens/s"));
}

TEST(ChatProgram, ATemplatesOwnRefusalAndTextThatIsNotUtf8AreShown) {
    const test::TemporaryFolder folder;
    const auto chat = [&](const std::string& source, const std::string& question) {
        const auto result = run_program(
            {"chat", demo_model(), "-n", "2", "-c", "64", "--template", folder.write("t", source)},
            {question, {}});
        EXPECT_EQ(1, result.exit_code);
        EXPECT_EQ("", result.out);
        return result.err;
    };
    EXPECT_THAT(chat("{{ raise_exception('Only tools here') }}", "Hi\n"), HasSubstr("Only tools here"));
    EXPECT_THAT(chat("{{ messages[0].content }}", "a\xFF\n"), HasSubstr("isn't valid UTF-8 at byte 1"));
}

TEST(ChatProgram, AFullContextIsSaidAndEndsAPipe) {
    const auto result = run_program({"chat", demo_model(), "--greedy", "-n", "4", "-c", "64"},
                                    {"Hi\n" + std::string(400, 'x') + "\nHi\n", {}});
    EXPECT_EQ(1, result.exit_code);
    EXPECT_THAT(result.err, HasSubstr("leaves no room for an answer in a context of 64"));
    EXPECT_EQ(1, std::ranges::count(result.out, '\n')) << result.out;
}

}  // namespace
}  // namespace ingot

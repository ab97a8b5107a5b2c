// The conversation logic with a tokenizer that makes one id of each byte, so that ids can be read as text.
#include "llm/text/chat_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::HasSubstr;

constexpr std::string_view kPlainTemplate =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt "
    "%}<assistant>{% endif %}";
// Thinking is shown for the last message only, as many templates do.
constexpr std::string_view kThinking =
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and '</think>' in m.content %}"
    "{{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %}{{ '\n' }}{% endfor "
    "%}<assistant>";

std::vector<TokenId> ids(std::string_view text) {
    std::vector<TokenId> result;
    for (const char c : text) result.push_back(static_cast<unsigned char>(c));
    return result;
}

std::string text_of(const std::vector<TokenId>& tokens) {
    return {tokens.begin(), tokens.end()};
}

// Stands in for the engine: a cache that is truncated and appended to, and a count of evaluated tokens.
class Cache {
  public:
    explicit Cache(std::string_view source, uint32_t context = 1000)
        : session(*ChatTemplate::parse(source), nlohmann::ordered_json::object(),
                  [](std::string_view text) -> Result<std::vector<TokenId>> { return ids(text); }),
          context_(context) {}

    // One turn: returns the text that had to be evaluated. Leaves `lost` generated tokens out of the cache.
    std::string turn(const std::string& question, const std::string& answer, uint32_t lost = 1) {
        session.add_user(question);
        return again(answer, lost);
    }
    std::string again(const std::string& answer, uint32_t lost = 1) {
        const auto prefill = session.prefill(context_);
        if (!prefill) return "error: " + prefill.error().message;
        held_.resize(prefill->keep);
        held_.insert(held_.end(), prefill->delta.begin(), prefill->delta.end());
        EXPECT_EQ(*session.prompt(), text_of(held_)) << "the cache doesn't hold the prompt";
        const auto generated = ids(answer);
        held_.insert(held_.end(), generated.begin(), generated.end() - lost);
        session.cached(*prefill, generated, static_cast<uint32_t>(held_.size()));
        EXPECT_EQ(held_, session.cached_tokens());
        session.add_assistant(answer);
        return text_of(prefill->delta);
    }

    ChatSession session;

  private:
    uint32_t context_;
    std::vector<TokenId> held_;
};

TEST(ChatSession, ATurnPrefillsOnlyItsDelta) {
    Cache chat(kPlainTemplate);
    EXPECT_EQ("<user>Hi\n<assistant>", chat.turn("Hi", "Hello!"));
    EXPECT_EQ("!\n<user>More\n<assistant>", chat.turn("More", "Sure."));
    EXPECT_EQ("\n<user>And\n<assistant>", chat.turn("And", "Yes", 0).substr(1))
        << "all but the last token was cached";
    EXPECT_EQ("\n<user>Bye\n<assistant>", chat.turn("Bye", "Bye"));
}

// traps.md: "A template's thinking block changes the rendered history of earlier turns, so the delta is
// wrong".
TEST(ChatSession, ATemplatesThinkingBlockChangesTheRenderedHistoryOfEarlierTurns) {
    Cache chat(kThinking);
    EXPECT_EQ("<user>Why?\n<assistant>", chat.turn("Why?", "<think>hm</think>Because."));
    // The cache holds "<think>hm</think>Because"; the new prompt has "Because." in its place.
    EXPECT_EQ("Because.\n<user>Sure?\n<assistant>", chat.turn("Sure?", "<think>yes</think>Yes."));
    EXPECT_EQ("<user>Why?\n<assistant>Because.\n<user>Sure?\n<assistant>Yes.\n<user>Ok\n<assistant>", [&] {
        chat.session.add_user("Ok");
        return *chat.session.prompt();
    }());
}

TEST(ChatSession, ASystemMessageIsPutInFrontAndItsChangeEvaluatesWhatFollows) {
    Cache chat(kPlainTemplate);
    chat.session.set_system("Be kind");
    EXPECT_EQ("<system>Be kind\n<user>Hi\n<assistant>", chat.turn("Hi", "Hello!"));
    chat.session.set_system("Be terse");
    EXPECT_EQ("terse\n<user>Hi\n<assistant>Hello!\n<user>Go\n<assistant>", chat.turn("Go", "Ok"));
    chat.session.set_system("");
    EXPECT_EQ("user>Hi\n<assistant>Hello!\n<user>Go\n<assistant>Ok\n<user>On\n<assistant>",
              chat.turn("On", "Ok"));
}

TEST(ChatSession, MakingAnAnswerAgainEvaluatesOneTokenOnly) {
    Cache chat(kPlainTemplate);
    chat.turn("Hi", "Hello!");
    ASSERT_TRUE(chat.session.take_back_answer());
    EXPECT_EQ(">", chat.again("Hey there"));
    ASSERT_EQ(2u, chat.session.messages().size());
    EXPECT_EQ("Hey there", chat.session.messages().back().content);
}

TEST(ChatSession, AnAnswerThatCannotBeMadeAgainIsRestoredWithItsQuestion) {
    Cache chat(kPlainTemplate);
    chat.turn("Hi", "Hello!");
    const std::vector<ChatMessage> before = chat.session.messages();
    ASSERT_TRUE(chat.session.take_back_answer());
    chat.session.restore(before);
    EXPECT_EQ("!\n<user>More\n<assistant>", chat.turn("More", "Sure."));
    ASSERT_EQ(4u, chat.session.messages().size());
    EXPECT_EQ("Hello!", chat.session.messages()[1].content);
}

TEST(ChatSession, NothingCanBeMadeAgainBeforeTheFirstQuestion) {
    Cache chat(kPlainTemplate);
    EXPECT_FALSE(chat.session.take_back_answer());
    chat.turn("Hi", "Hello!");
    chat.session.clear();
    EXPECT_FALSE(chat.session.take_back_answer());
}

TEST(ChatSession, AfterClearingTheCommonStartIsUsedAgain) {
    Cache chat(kPlainTemplate);
    chat.session.set_system("Be kind");
    chat.turn("Hi", "Hello!");
    chat.session.clear();
    EXPECT_EQ("Yo\n<assistant>", chat.turn("Yo", "Hey"));
}

TEST(ChatSession, ACacheThatLostItsEndIsFilledAgain) {
    Cache chat(kPlainTemplate);
    chat.turn("Hi", "Hello!", 6);  // stopped before any answer token was evaluated
    EXPECT_EQ("Hello!\n<user>More\n<assistant>", chat.turn("More", "Sure."));
}

TEST(ChatSession, AFullContextIsAnErrorThatSaysSoAndDropsNothing) {
    Cache chat(kPlainTemplate, 40);
    EXPECT_EQ("<user>Hi\n<assistant>", chat.turn("Hi", "Hello!"));
    EXPECT_THAT(chat.turn("What now?", "?"),
                HasSubstr("has 54 tokens, which leaves no room for an answer in a context of 40"));
    EXPECT_EQ(3u, chat.session.messages().size());
    chat.session.clear();
    EXPECT_EQ("Yo\n<assistant>", chat.turn("Yo", "Hey"));
}

TEST(ChatSession, ATemplatesRefusalComesThrough) {
    Cache chat("{{ raise_exception('No questions please') }}");
    chat.session.add_user("Hi");
    const auto prefill = chat.session.prefill(100);
    ASSERT_FALSE(prefill);
    EXPECT_EQ("No questions please", prefill.error().message);
}

TEST(ChatSession, AnEmptyPromptIsRefused) {
    Cache chat("{# nothing #}");
    EXPECT_THAT(chat.turn("Hi", "x"), HasSubstr("empty prompt"));
}

TEST(ChatSession, IsTextForALaterProcess) {
    Cache first(kPlainTemplate), second(kPlainTemplate);
    first.session.set_system("Be \"brief\"");
    first.turn("Ü?", "yes\n");
    ASSERT_TRUE(second.session.restore_saved(first.session.saved()));
    EXPECT_EQ(*first.session.prompt(), *second.session.prompt());
    EXPECT_EQ("Be \"brief\"", second.session.system());
    second.session.set_cached(first.session.cached_tokens());
    for (Cache* cache : {&first, &second}) cache->session.add_user("And?");
    EXPECT_EQ(first.session.prefill(1000)->delta, second.session.prefill(1000)->delta);
    EXPECT_EQ(first.session.prefill(1000)->keep, second.session.prefill(1000)->keep);
    for (const char* text : {"", "{", "[]", "{}", "{\"system\":1,\"messages\":[]}", "{\"system\":\"\"}",
                             "{\"system\":\"\",\"messages\":{}}", "{\"system\":\"\",\"messages\":[1]}",
                             "{\"system\":\"\",\"messages\":[{\"role\":\"user\"}]}"}) {
        const auto restored = second.session.restore_saved(text);
        ASSERT_FALSE(restored) << text;
        EXPECT_EQ(ErrorKind::kCorrupt, restored.error().kind);
        EXPECT_EQ(3u, second.session.messages().size()) << "as before";
    }
}

}  // namespace
}  // namespace ingot

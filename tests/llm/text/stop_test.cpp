// Oracle: the definition applied to the whole text at once, with std::string::find.
#include "llm/text/stop.h"

#include <random>

#include <gtest/gtest.h>

namespace ingot {
namespace {

struct Outcome {
    std::string text;
    bool stopped;
    bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
    *out << "'" << outcome.text << "'" << (outcome.stopped ? " stopped" : "");
}

// Pushes `text` in pieces of `piece_size` bytes; also checks that nothing comes out after the stop.
Outcome stream(const std::vector<std::string>& stops, std::string_view text, size_t piece_size) {
    StopFilter filter(stops);
    std::string shown;
    for (size_t i = 0; i < text.size(); i += piece_size) {
        const bool was_stopped = filter.stopped();
        const std::string part = filter.push(text.substr(i, piece_size));
        EXPECT_TRUE(part.empty() || !was_stopped) << part;
        shown += part;
    }
    shown += filter.flush();
    return {shown, filter.stopped()};
}

// The end that comes first decides; among stop strings with that end, the longest.
Outcome expected(const std::vector<std::string>& stops, const std::string& text) {
    size_t best_end = std::string::npos, best_begin = 0;
    for (const std::string& stop : stops) {
        const size_t begin = text.find(stop);
        if (begin == std::string::npos) continue;
        const size_t end = begin + stop.size();
        if (end < best_end || (end == best_end && begin < best_begin)) best_end = end, best_begin = begin;
    }
    if (best_end == std::string::npos) return {text, false};
    return {text.substr(0, best_begin), true};
}

TEST(StopFilter, FindsStopStringsThatSpanTokens) {
    StopFilter filter({"</answer>"});
    EXPECT_EQ("Yes. ", filter.push("Yes. <"));
    EXPECT_EQ("", filter.push("/ans"));
    EXPECT_EQ("", filter.push("wer"));
    EXPECT_FALSE(filter.stopped());
    EXPECT_EQ("", filter.push(">\nmore"));
    EXPECT_TRUE(filter.stopped());
    EXPECT_EQ("", filter.push("and more"));
    EXPECT_EQ("", filter.flush());
}

TEST(StopFilter, HeldBackTextIsNeitherRepeatedNorLost) {
    StopFilter filter({"User:"});
    EXPECT_EQ("", filter.push("Use"));
    EXPECT_EQ("Useful", filter.push("ful"));
    EXPECT_EQ("", filter.push("U"));
    EXPECT_EQ("U", filter.flush());
    EXPECT_FALSE(filter.stopped());
}

TEST(StopFilter, SelfOverlappingStopStrings) {
    EXPECT_EQ((Outcome{"a", true}), stream({"aab"}, "aaab", 1));
    EXPECT_EQ((Outcome{"ab", true}), stream({"abac"}, "ababac", 1));
    EXPECT_EQ((Outcome{"\n", true}), stream({"\n\nUser"}, "\n\n\nUser", 1));
}

TEST(StopFilter, WithoutStopStringsEverythingPassesAtOnce) {
    StopFilter filter({"", ""});
    EXPECT_EQ("abc", filter.push("abc"));
    EXPECT_FALSE(filter.stopped());
}

TEST(StopFilter, AgreesWithASearchOfTheWholeTextHoweverItIsCut) {
    std::mt19937 random(5);
    const auto word = [&](size_t longest) {
        std::string s(1 + random() % longest, 'a');
        for (char& c : s) c = char('a' + random() % 2);
        return s;
    };
    int stopped = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::string> stops(1 + random() % 3);
        for (std::string& stop : stops) stop = word(9);
        const std::string text = word(40);
        const Outcome whole = expected(stops, text);
        stopped += whole.stopped;
        for (const size_t piece : {1, 2, 3, 7, 100})
            ASSERT_EQ(whole, stream(stops, text, piece))
                << text << " cut by " << piece << ", stop " << stops[0];
    }
    EXPECT_GT(stopped, 200);
    EXPECT_LT(stopped, 1990);
}

}  // namespace
}  // namespace ingot

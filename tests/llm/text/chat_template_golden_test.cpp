// Templates against what Python's jinja2 makes of them (tests/data/template/golden.json, written by
// tools/oracle/make_template_golden.py): equal text, or an error where jinja2 raises one, at the same line.
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "llm/text/chat_template.h"
#include "llm/text/jinja/builtin.h"
#include "support/reference_time.h"

namespace ingot {
namespace {

using Json = nlohmann::ordered_json;

const Json& golden() {
    static const Json data = [] {
        std::ifstream file(INGOT_TEST_DATA "/template/golden.json");
        return Json::parse(file);
    }();
    return data;
}

Result<std::string> render_case(const std::string& source) {
    INGOT_ASSIGN(const ChatTemplate parsed, ChatTemplate::parse(source));
    return parsed.render(golden()["variables"], test::reference_time());
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, AgreesWithPython) {
    size_t seen = 0;
    for (const Json& expected : golden()["cases"]) {
        if (expected["group"] != GetParam()) continue;
        ++seen;
        const std::string source = expected["source"];
        SCOPED_TRACE(source);
        const Result<std::string> text = render_case(source);
        if (expected.contains("text")) {
            ASSERT_TRUE(text) << text.error().describe();
            EXPECT_EQ(expected["text"].get<std::string>(), *text);
            continue;
        }
        ASSERT_FALSE(text) << "Python raises " << expected["raises"] << ", Ingot renders: " << *text;
        const std::string message = text.error().describe();
        if (expected.contains("line")) {
            const std::string place = "line " + std::to_string(expected["line"].get<int>()) + ", column ";
            EXPECT_NE(message.find(place), message.npos) << message << " (expected " << place << ")";
        } else {
            EXPECT_NE(message.find("line "), message.npos) << message;
        }
    }
    EXPECT_GT(seen, 10u) << "the golden file has lost a group";
}

INSTANTIATE_TEST_SUITE_P(ChatTemplate, Golden,
                         testing::Values("output", "whitespace", "statements", "operators", "filters", "json",
                                         "tests", "methods", "undefined", "raises", "syntax"),
                         [](const auto& group) { return std::string(group.param); });

// Every row of the tables appears in the golden templates, unless it only refuses by name.
TEST(ChatTemplateGolden, CoversEveryFilterTestMethodAndFunction) {
    std::string sources;
    for (const Json& expected : golden()["cases"]) sources += expected["source"].get<std::string>() + '\n';
    const std::set<std::string_view> refused = {
        "striptags", "pprint",     "filesizeformat", "random",    "urlize",    "wordwrap",     "xmlattr",
        "encode",    "expandtabs", "format_map",     "maketrans", "translate", "isidentifier", "lipsum"};
    const auto check = [&](std::span<const jinja::Builtin> table, std::string_view before) {
        for (const jinja::Builtin& row : table) {
            if (refused.contains(row.name)) continue;
            const std::string use = std::string(before) + std::string(row.name);
            EXPECT_NE(sources.find(use), sources.npos) << use << " has no golden template";
        }
    };
    check(jinja::text_filters(), "| ");
    check(jinja::sequence_filters(), "| ");
    check(jinja::selection_filters(), "| ");
    check(jinja::value_filters(), "| ");
    check(jinja::text_methods(), ".");
    check(jinja::text_search_methods(), ".");
    check(jinja::globals(), "");
    for (const jinja::Builtin& row : jinja::tests()) {
        if (!std::isalpha(static_cast<unsigned char>(row.name[0])))
            continue;  // "==" and its like have a name too
        const std::string name(row.name);
        EXPECT_TRUE(sources.find("is " + name) != sources.npos ||
                    sources.find("is not " + name) != sources.npos)
            << name;
    }
}

}  // namespace
}  // namespace ingot

#include "llm/text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ingot {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

Result<std::string> render(std::string_view source, const Json& variables = Json::object(),
                           ChatTemplateLimits limits = {}) {
    INGOT_ASSIGN(const ChatTemplate parsed, ChatTemplate::parse(source, limits));
    return parsed.render(variables);
}

Error error_of(std::string_view source, ChatTemplateLimits limits = {}) {
    const auto result = render(source, Json::object(), limits);
    if (result) ADD_FAILURE() << "renders: " << result->substr(0, 200);
    return result ? Error{} : result.error();
}

TEST(ChatTemplate, AParseErrorNamesLineAndColumn) {
    const Error error = error_of("line one\n{% if x %}\n  {{ 1 + }}\n{% endif %}");
    EXPECT_EQ(ErrorKind::kCorrupt, error.kind);
    EXPECT_EQ("chat template: line 3, column 10: unexpected end of print statement", error.describe());
}

TEST(ChatTemplate, ColumnsCountCharactersNotBytes) {
    EXPECT_EQ("chat template: line 1, column 7", error_of("你好 {{ ! }}").where);
}

TEST(ChatTemplate, ARuntimeErrorNamesThePlaceOfTheExpression) {
    const Error error = error_of("a\nb {{ 'x' ~ missing.field }}");
    EXPECT_EQ(ErrorKind::kInvalidArgument, error.kind);
    EXPECT_EQ("chat template: line 2, column 19: 'missing' is undefined", error.describe());
}

TEST(ChatTemplate, RaiseExceptionGivesTheTemplatesOwnMessage) {
    const Error error = error_of("{{ raise_exception('Roles must alternate') }}");
    EXPECT_EQ(ErrorKind::kInvalidArgument, error.kind);
    EXPECT_EQ("Roles must alternate", error.message);
}

TEST(ChatTemplate, ConstructsForWebSitesAreRefusedByName) {
    for (const char* tag :
         {"block x", "extends 'a'", "include 'a'", "import 'a' as b", "from 'a' import b"}) {
        const Error error = error_of(std::string("{% ") + tag + " %}");
        EXPECT_EQ(ErrorKind::kUnsupported, error.kind);
        EXPECT_THAT(error.message, HasSubstr(std::string(tag).substr(0, std::string_view(tag).find(' '))));
    }
    EXPECT_EQ(ErrorKind::kUnsupported, error_of("{{ 'a' | pprint }}").kind);
    EXPECT_EQ(ErrorKind::kUnsupported, error_of("{{ 'a'.encode() }}").kind);
}

TEST(ChatTemplate, IntegersThatDoNotFitAreRefusedNotWrapped) {
    EXPECT_EQ("9223372036854775807", *render("{{ 9223372036854775807 }}"));
    EXPECT_EQ(ErrorKind::kUnsupported, error_of("{{ 9223372036854775807 + 1 }}").kind);
    EXPECT_EQ(ErrorKind::kUnsupported, error_of("{{ 3 ** 99 }}").kind);
    EXPECT_EQ(ErrorKind::kUnsupported, error_of("{{ -9223372036854775807 * 2 }}").kind);
    EXPECT_EQ(ErrorKind::kCorrupt, error_of("{{ 9223372036854775808 }}").kind);
    const auto unsigned_number = render("{{ x }}", Json{{"x", 18446744073709551615u}});
    ASSERT_FALSE(unsigned_number);
    EXPECT_THAT(unsigned_number.error().message, HasSubstr("18446744073709551615"));
}

TEST(ChatTemplate, TextThatIsNotUtf8IsRefused) {
    EXPECT_THAT(error_of("a\xFF").message, HasSubstr("byte 1"));
    const auto result = render("{{ x }}", Json{{"x", "ab\xC3"}});
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("byte 2"));
}

TEST(ChatTemplate, VariablesMustBeAnObject) {
    EXPECT_EQ(ErrorKind::kInvalidArgument, render("x", Json::array()).error().kind);
}

TEST(ChatTemplate, StepsAreLimited) {
    const std::string loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    const Error error = error_of(loops, {.max_steps = 100'000});
    EXPECT_EQ(ErrorKind::kLimit, error.kind);
    EXPECT_THAT(error.describe(), HasSubstr("100000 steps"));
    EXPECT_THAT(error.describe(), HasSubstr("line 1"));
}

TEST(ChatTemplate, OutputAndValuesAreLimited) {
    const ChatTemplateLimits small{.max_output_bytes = 10'000};
    EXPECT_EQ(ErrorKind::kLimit, error_of("{% for a in range(9999) %}xyz{% endfor %}", small).kind);
    for (const char* bomb :
         {"{{ 'x' * 100000000000 }}", "{{ [0] * 100000000000 }}", "{{ '%999999d' % 1 }}",
          "{{ '{:999999}'.format(1) }}", "{{ 'x'.center(999999999) }}", "{{ 'x' | center(999999999) }}",
          "{{ 'a\nb' | indent(999999999) }}", "{{ [[1]] | tojson(indent=999999999) }}",
          "{{ ('x' * 5000).replace('', 'y' * 5000) }}", "{{ [1] | batch(999999999, 0) | list }}",
          "{{ ('x' * 5000) | replace('x', 'y' * 5000) }}", "{{ ['x' * 9000, 'y' * 9000] | join }}",
          "{{ 'x'.zfill(999999999) }}", "{{ '%.999999f' % 1.5 }}",
          "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor "
          "%}"}) {
        EXPECT_EQ(ErrorKind::kLimit, error_of(bomb, small).kind) << bomb;
    }
}

TEST(ChatTemplate, MemoryIsLimited) {
    const ChatTemplateLimits small{.max_heap_bytes = 1 << 20};
    const Error error = error_of(
        "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l, 'x' ~ i] "
        "%}{% endfor %}",
        small);
    EXPECT_EQ(ErrorKind::kLimit, error.kind);
    EXPECT_THAT(error.message, HasSubstr("memory"));
}

std::string nested(std::string_view open, std::string_view middle, std::string_view close, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += open;
    text += middle;
    for (int i = 0; i < times; ++i) text += close;
    return text;
}

TEST(ChatTemplate, DepthIsLimitedEverywhere) {
    const std::vector<std::string> deep = {
        "{{ " + nested("(", "1", ")", 20'000) + " }}",
        "{{ " + nested("[", "", "]", 20'000) + " }}",
        "{{ " + nested("{1:", "2", "}", 20'000) + " }}",
        "{{ " + nested("not ", "1", "", 20'000) + " }}",
        "{{ " + nested("-", "1", "", 20'000) + " }}",
        "{{ x" + nested("", "", ".y", 20'000) + " }}",
        "{{ x" + nested("", "", "[0]", 20'000) + " }}",
        "{{ x" + nested("", "", "|trim", 20'000) + " }}",
        "{{ x" + nested("", "", "()", 20'000) + " }}",
        "{{ " + nested("1 if ", "1", "", 20'000) + " }}",
        "{{ " + nested("1 if 1 else ", "1", "", 20'000) + " }}",
        "{{ 1" + nested("", "", " is sameas x", 20'000) + " }}",
        nested("{% if x %}", "", "{% endif %}", 20'000),
        "{% for " + nested("(", "x", ")", 20'000) + " in y %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x "
        "}}",
        "{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | "
        "tojson }}",
        "{% set a = namespace(x=1) %}{% set b = namespace(x=1) %}{% for i in range(9999) %}{% set a.x = "
        "[a.x] %}"
        "{% set b.x = [b.x] %}{% endfor %}{{ a.x == b.x }}",
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}",
        "{% set a = namespace(x=1) %}{% set b = namespace(x=1) %}{% for i in range(90) %}{% set a.x = [a.x, "
        "a.x] %}"
        "{% set b.x = [b.x, b.x] %}{% endfor %}{{ a.x == b.x }}",
    };
    for (const std::string& source : deep) {
        const Error error = error_of(source, {.max_steps = 300'000});
        EXPECT_EQ(ErrorKind::kLimit, error.kind) << source.substr(0, 60) << ": " << error.describe();
    }
    Json variables;
    for (int i = 0; i < 500; ++i) variables = Json{{"x", variables}};
    EXPECT_EQ(ErrorKind::kLimit, render("x", variables).error().kind);
}

TEST(ChatTemplate, LongFlatExpressionsAndBranchesAreNotDeep) {
    std::string sum = "{{ 0";
    std::string text = "{{ ''";
    std::string chain = "{% if x == 0 %}";
    for (int i = 1; i < 2'000; ++i) {
        sum += " + 1";
        text += " ~ 'a'";
        chain += "{% elif x == " + std::to_string(i) + " %}" + std::to_string(i);
    }
    EXPECT_EQ("1999", *render(sum + " }}"));
    EXPECT_EQ(std::string(1999, 'a'), *render(text + " }}"));
    EXPECT_EQ("1999", *render(chain + "{% endif %}", Json{{"x", 1999}}));
}

TEST(ChatTemplate, RendersTwiceAndAfterAMove) {
    ChatTemplate parsed = *ChatTemplate::parse("{% for m in messages %}{{ m.content }};{% endfor %}");
    const Json variables = {{"messages", {{{"content", "a"}}, {{"content", "b"}}}}};
    EXPECT_EQ("a;b;", *parsed.render(variables));
    const ChatTemplate moved = std::move(parsed);
    EXPECT_EQ("a;b;", *moved.render(variables));
}

}  // namespace
}  // namespace ingot

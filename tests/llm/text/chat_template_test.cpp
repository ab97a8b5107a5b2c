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
    for (const char* format : {"{{ '{:z}'.format(-0.0) }}", "{{ '{!a}'.format('x') }}", "{{ '%a' % 'x' }}"})
        EXPECT_EQ(ErrorKind::kUnsupported, error_of(format).kind) << format;
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

// Sizes whose bytes are a multiple of 2^64, or just behind it, and the least number of all.
TEST(ChatTemplate, SizesThatDoNotFit64BitsAreLimitedToo) {
    for (const char* bomb :
         {"{{ 'x'.center(4611686018427387905) }}", "{{ 'x' | center(4611686018427387905) }}",
          "{{ 'x'.ljust(4611686018427387905) }}", "{{ 'x'.rjust(9223372036854775807) }}",
          "{{ 'x'.zfill(4611686018427387906) }}", "{{ 'a\nb' | indent(9223372036854775807) }}",
          "{{ '%*d' % (4611686018427387904, 1) }}", "{{ '%*d' % (-9223372036854775807 - 1, 1) }}",
          "{{ '%.*f' % (9223372036854775807, 1.5) }}", "{{ [[1]] | tojson(indent=288230376151711744) }}",
          "{{ [1] | batch(1152921504606846976, 0) | list }}",
          "{{ [1] | slice(288230376151711744) | list }}"}) {
        EXPECT_EQ(ErrorKind::kLimit, error_of(bomb).kind) << bomb;
    }
    const std::string least = "(-9223372036854775807 - 1)";
    for (const char* method : {"center", "ljust", "rjust", "zfill"})
        EXPECT_EQ("-x", *render(fmt::format("{{{{ '-x'.{}({}) }}}}", method, least)));
    EXPECT_EQ("-x", *render("{{ '-x' | center(" + least + ") }}"));
}

TEST(ChatTemplate, SlicesOfRangesDoNotWrap) {
    for (const char* source :
         {"{{ range(0, 1152921504606846976, 1152921504606846976)[::1099511627776] | list }}",
          "{{ range(0, 1152921504606846976, 1152921504606846976)[::16] | list }}",
          "{{ range(9)[::9223372036854775807][::3] | length }}"}) {
        EXPECT_EQ(ErrorKind::kUnsupported, error_of(source).kind) << source;
    }
    EXPECT_EQ("[0]", *render("{{ range(9)[::9223372036854775807] | list }}"));
    EXPECT_EQ("[8]", *render("{{ range(9)[::-9223372036854775807 - 1] | list }}"));
}

std::string repeated(const std::string& expression) {
    return "{% set x = 'x' * 100000 %}{% set y = 'x' * 99999 ~ 'y' %}{% for i in range(200) %}{{ " +
           expression + " }}{% endfor %}";
}

// 200 looks at 100,000 bytes are more than 300,000 steps, one for each 64 bytes.
TEST(ChatTemplate, WorkOnLargeTextTakesSteps) {
    const ChatTemplateLimits limits{.max_steps = 100'000};
    EXPECT_TRUE(render(repeated("i"), Json::object(), limits));
    for (const char* look : {"x | length",
                             "x.find('y')",
                             "x.rfind('y')",
                             "x.count('xy')",
                             "x.startswith('y')",
                             "x.endswith('y')",
                             "x.isalpha()",
                             "x.islower()",
                             "x.isprintable()",
                             "x.isascii()",
                             "x.partition('y')[1]",
                             "x.split('y') | length",
                             "x.replace('y', '')[:0]",
                             "x == y",
                             "x != y",
                             "x < y",
                             "x <= y",
                             "[x] == [y]",
                             "{1: x} == {1: y}",
                             "x in [y]",
                             "x is sameas y",
                             "{y: 1}[x]",
                             "'y' in x"}) {
        const Error error = error_of(repeated(look), limits);
        EXPECT_EQ(ErrorKind::kLimit, error.kind) << look;
        EXPECT_THAT(error.message, HasSubstr("steps")) << look;
    }
    EXPECT_EQ(ErrorKind::kLimit,
              error_of("{{ ('x' * 500000 ~ 'y') in 'x' * 1000000 }}", {.max_steps = 10'000'000}).kind)
        << "a search may compare each byte of one with each of the other";
}

TEST(ChatTemplate, LookingForANameAmongManyTakesSteps) {
    std::string names;
    for (int i = 0; i < 2000; ++i) names += "{% set a" + std::to_string(i) + " = 1 %}";
    const std::string uses = "{% for i in range(9999) %}{{ zz }}{% endfor %}";
    const ChatTemplateLimits limits{.max_steps = 1'000'000};
    EXPECT_TRUE(render(names, Json::object(), limits));
    EXPECT_TRUE(render(uses, Json::object(), limits));
    EXPECT_EQ(ErrorKind::kLimit, error_of(names + uses, limits).kind);
}

TEST(ChatTemplate, LongTextIsSplitFromTheRightAsFromTheLeft) {
    EXPECT_EQ("200000", *render("{{ ('word ' * 200000).rsplit() | length }}"));
    EXPECT_EQ("True", *render("{% set x = 'ab \u3000c\n' * 5000 %}{{ x.rsplit() == x.split() }}"));
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

// Python's two ways to format text: "%s is %d" % values, and "{} is {name}".format(...).
#pragma once

#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

// `pattern` % `values`: values is a tuple, a dict for %(name)s, or a single value.
Result<Value> format_percent(Heap& heap, const Value& pattern, const Value& values);
// pattern.format(*positional, **named)
Result<Value> format_braces(Interpreter& interpreter, Heap& heap, const Value& pattern,
                            const Arguments& arguments);

// What both have in common. A width or precision beyond any output is kLimit; digits are read from `pos` on.
inline constexpr int64_t kMostFormatNumber = 9'999'999;
Failure too_wide_format();
Result<int64_t> read_format_number(std::string_view text, size_t& pos);
Result<void> refuse_markup_format(const Value& pattern);

// [[fill]align][sign][#][0][width][,][.precision][type], or the flags of a % conversion in the same terms. 0
// and -1 stand for what isn't there.
struct FormatSpec {
    char32_t fill = 0;
    char align = 0;  // < > ^ =
    char sign = 0;   // + - or a space
    bool alternate = false;
    bool zero = false;
    char grouping = 0;  // , _
    int64_t width = 0;
    int64_t precision = -1;
    int64_t min_digits = -1;  // of an integer: what the precision of a % conversion means
    char type = 0;

    bool operator==(const FormatSpec&) const = default;
};
Result<FormatSpec> parse_format_spec(std::string_view spec);
Result<std::string> format_value(Heap& heap, const FormatSpec& spec, const Value& value);
// The same for an integer, a real or a boolean as one.
Result<std::string> format_number(Heap& heap, const FormatSpec& spec, const Value& value);

// What the spec asks for where it leaves something out.
struct SpecPadding {
    char32_t fill;
    char align;
};
SpecPadding padding_of(const FormatSpec& spec, char default_align);
// `prefix` and `text` widened to spec.width characters; '=' puts the filling between the two.
Result<std::string> lay_out(Heap& heap, const FormatSpec& spec, const std::string& prefix,
                            const std::string& text, char default_align);
// The character with this code point, as %c shows it.
Result<std::string> character_text(int64_t code);

}  // namespace ingot::jinja

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

// [[fill]align][sign][#][0][width][,][.precision][type], or the flags of a % conversion in the same terms.
struct FormatSpec {
    char32_t fill = ' ';
    char align = 0;  // < > ^ =
    char sign = '-';
    bool alternate = false;
    bool zero = false;
    char grouping = 0;
    int64_t width = 0;
    int64_t precision = -1;
    char type = 0;
};
Result<FormatSpec> parse_format_spec(std::string_view spec);
Result<std::string> format_value(Heap& heap, const FormatSpec& spec, const Value& value);

}  // namespace ingot::jinja

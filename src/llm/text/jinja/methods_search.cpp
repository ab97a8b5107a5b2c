// Methods of str that ask something about the text.
#include <algorithm>

#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

// The part of the text that the arguments `start` and `end` select, as characters.
struct Window {
    std::string_view text;
    int64_t start;  // in characters
    bool valid;     // false if start lies behind the end of the text
};

Result<Window> window(Call& call, size_t first_argument) {
    const std::string_view text = call.self.bytes();
    INGOT_TRY(call.heap.step(text.size() / 64));
    const auto length = static_cast<int64_t>(count_chars(text));
    int64_t bounds[2] = {0, length};
    for (size_t i = 0; i < 2; ++i) {
        const Value& value = call.args[first_argument + i];
        if (value.missing() || value.is(Kind::kNone)) continue;
        INGOT_ASSIGN(bounds[i], integer_argument(value, "a position"));
        if (bounds[i] < 0) bounds[i] = std::max<int64_t>(bounds[i] + length, 0);
    }
    const bool valid = bounds[0] <= length && bounds[0] <= bounds[1];
    const int64_t end = std::min(bounds[1], length);
    if (!valid) return Window{{}, bounds[0], false};
    const size_t from = byte_offset(text, static_cast<size_t>(bounds[0]));
    const size_t to = byte_offset(text, static_cast<size_t>(std::max(end, bounds[0])));
    return Window{text.substr(from, to - from), bounds[0], true};
}

Result<int64_t> position_of(Call& call, bool from_right) {
    INGOT_ASSIGN(const std::string_view what, text_argument(call.args[0], "find: the substring"));
    INGOT_ASSIGN(const Window in, window(call, 1));
    INGOT_TRY(call.heap.search(in.text.size(), what.size()));
    const size_t found = from_right ? in.text.rfind(what) : in.text.find(what);
    if (!in.valid || found == in.text.npos) return -1;
    return in.start + static_cast<int64_t>(count_chars(in.text.substr(0, found)));
}

Result<Value> find(Call& call) {
    INGOT_ASSIGN(const int64_t position, position_of(call, false));
    return Value::integer(position);
}

Result<Value> rfind(Call& call) {
    INGOT_ASSIGN(const int64_t position, position_of(call, true));
    return Value::integer(position);
}

Result<Value> index_from(Call& call, bool from_right) {
    INGOT_ASSIGN(const int64_t position, position_of(call, from_right));
    if (position < 0) return fail(ErrorKind::kInvalidArgument, "substring not found");
    return Value::integer(position);
}

Result<Value> index(Call& call) {
    return index_from(call, false);
}
Result<Value> rindex(Call& call) {
    return index_from(call, true);
}

Result<Value> count(Call& call) {
    INGOT_ASSIGN(const std::string_view what, text_argument(call.args[0], "count: the substring"));
    INGOT_ASSIGN(const Window in, window(call, 1));
    if (!in.valid) return Value::integer(0);
    INGOT_TRY(call.heap.search(in.text.size(), what.size()));
    if (what.empty()) return Value::integer(static_cast<int64_t>(count_chars(in.text)) + 1);
    int64_t times = 0;
    for (size_t at = 0; (at = in.text.find(what, at)) != in.text.npos; at += what.size()) ++times;
    return Value::integer(times);
}

Result<Value> starts_or_ends(Call& call, bool starts) {
    INGOT_ASSIGN(const Window in, window(call, 1));
    const auto matches = [&](std::string_view affix) {
        return in.valid && (starts ? in.text.starts_with(affix) : in.text.ends_with(affix));
    };
    const Value& what = call.args[0];
    if (!what.is(Kind::kTuple)) {
        INGOT_ASSIGN(const std::string_view affix,
                     text_argument(what, starts ? "startswith: prefix" : "endswith: suffix"));
        return Value::boolean(matches(affix));
    }
    for (const Value& item : what.sequence().items) {
        INGOT_ASSIGN(const std::string_view affix, text_argument(item, "an item of the tuple"));
        INGOT_TRY(call.heap.step(affix.size() / 64));
        if (matches(affix)) return Value::boolean(true);
    }
    return Value::boolean(false);
}

Result<Value> startswith(Call& call) {
    return starts_or_ends(call, true);
}
Result<Value> endswith(Call& call) {
    return starts_or_ends(call, false);
}

template <CharClass Class>
Result<Value> all_are(Call& call) {
    INGOT_TRY(call.heap.step(call.self.bytes().size() / 64));
    return Value::boolean(all_chars_are(call.self.bytes(), Class));
}

Result<Value> is_printable(Call& call) {
    INGOT_TRY(call.heap.step(call.self.bytes().size() / 64));
    return Value::boolean(call.self.bytes().empty() ||
                          all_chars_are(call.self.bytes(), CharClass::kPrintable));
}

Result<Value> is_ascii(Call& call) {
    const std::string_view text = call.self.bytes();
    INGOT_TRY(call.heap.step(text.size() / 64));
    return Value::boolean(
        std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

// Some letter is of the case, and none is of the other.
Result<Value> is_case(Call& call, CharClass wanted, CharClass other) {
    const std::string_view text = call.self.bytes();
    INGOT_TRY(call.heap.step(text.size() / 64));
    bool any = false;
    for (size_t i = 0; i < text.size();) {
        const char32_t code = next_char(text, i);
        if (char_is(code, other) || char_is(code, CharClass::kTitle)) return Value::boolean(false);
        any |= char_is(code, wanted);
    }
    return Value::boolean(any);
}

Result<Value> is_lower(Call& call) {
    return is_case(call, CharClass::kLower, CharClass::kUpper);
}
Result<Value> is_upper(Call& call) {
    return is_case(call, CharClass::kUpper, CharClass::kLower);
}

// Upper case only at the beginning of words, lower case only inside of them.
Result<Value> is_title(Call& call) {
    const std::string_view text = call.self.bytes();
    INGOT_TRY(call.heap.step(text.size() / 64));
    bool inside = false;
    bool any = false;
    for (size_t i = 0; i < text.size();) {
        const char32_t code = next_char(text, i);
        const bool upper = char_is(code, CharClass::kUpper) || char_is(code, CharClass::kTitle);
        const bool lower = char_is(code, CharClass::kLower);
        if ((upper && inside) || (lower && !inside)) return Value::boolean(false);
        inside = upper || lower;
        any |= inside;
    }
    return Value::boolean(any);
}

constexpr Builtin kMethods[] = {
    builtin("find", find, 1, {"", "", ""}),
    builtin("rfind", rfind, 1, {"", "", ""}),
    builtin("index", index, 1, {"", "", ""}),
    builtin("rindex", rindex, 1, {"", "", ""}),
    builtin("count", count, 1, {"", "", ""}),
    builtin("startswith", startswith, 1, {"", "", ""}),
    builtin("endswith", endswith, 1, {"", "", ""}),
    builtin("isalpha", all_are<CharClass::kAlpha>),
    builtin("isalnum", all_are<CharClass::kAlnum>),
    builtin("isdecimal", all_are<CharClass::kDecimal>),
    builtin("isdigit", all_are<CharClass::kDigit>),
    builtin("isnumeric", all_are<CharClass::kNumeric>),
    builtin("isspace", all_are<CharClass::kSpace>),
    builtin("isprintable", is_printable),
    builtin("isascii", is_ascii),
    builtin("islower", is_lower),
    builtin("isupper", is_upper),
    builtin("istitle", is_title),
};

}  // namespace

std::span<const Builtin> text_search_methods() {
    return kMethods;
}

}  // namespace ingot::jinja

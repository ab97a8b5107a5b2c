// Methods of str that change or take apart text.
#include <algorithm>

#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/format.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/text_tools.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

std::string_view self_text(const Call& call) {
    return call.self.bytes();
}
bool self_markup(const Call& call) {
    return call.self.text().markup;
}
bool absent(const Value& value) {
    return value.missing() || value.is(Kind::kNone);
}

// Markup escapes what its methods mix in. No template is known to depend on that, so it is refused.
Result<void> refuse_markup(const Call& call) {
    if (!self_markup(call)) return {};
    return fail(ErrorKind::kUnsupported, "this method isn't supported on escaped text");
}

template <std::string (*Change)(std::string_view)>
Result<Value> changed(Call& call) {
    INGOT_TRY(call.heap.step(self_text(call).size() / 64));
    return call.heap.text(Change(self_text(call)), self_markup(call));
}

std::string swap_case(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        const char32_t code = next_char(text, i);
        const std::string_view one = text.substr(start, i - start);
        if (char_is(code, CharClass::kUpper))
            out += to_lower(one);
        else if (char_is(code, CharClass::kLower))
            out += to_upper(one);
        else
            out += one;
    }
    return out;
}

// str.title: words are runs of letters that have a case.
std::string title_letters(std::string_view text) {
    std::string out;
    bool inside = false;
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        const char32_t code = next_char(text, i);
        const bool letter = char_is(code, CharClass::kLower) || char_is(code, CharClass::kUpper) ||
                            char_is(code, CharClass::kTitle);
        const std::string_view one = text.substr(start, i - start);
        out += inside ? to_lower(one) : to_capitalized(one);
        inside = letter;
    }
    return out;
}

Result<Value> strip_sides(Call& call, bool left, bool right) {
    std::string_view text = self_text(call);
    std::string_view chars;
    const std::string_view* set = nullptr;
    if (!absent(call.args[0])) {
        INGOT_ASSIGN(chars, text_argument(call.args[0], "strip: chars"));
        set = &chars;
    }
    INGOT_TRY(call.heap.step(1 + text.size() / 64));
    if (left) text = strip_left(text, set);
    if (right) text = strip_right(text, set);
    return call.heap.borrowed(text, self_markup(call));
}

Result<Value> strip(Call& call) {
    return strip_sides(call, true, true);
}
Result<Value> lstrip(Call& call) {
    return strip_sides(call, true, false);
}
Result<Value> rstrip(Call& call) {
    return strip_sides(call, false, true);
}

// At most `limit` cuts, from the left or the right; the pieces in order.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t limit,
                                       bool from_right) {
    std::vector<std::string_view> parts;
    while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
        const size_t found = from_right ? text.rfind(separator) : text.find(separator);
        if (found == text.npos) break;
        if (from_right) {
            parts.push_back(text.substr(found + separator.size()));
            text = text.substr(0, found);
        } else {
            parts.push_back(text.substr(0, found));
            text.remove_prefix(found + separator.size());
        }
    }
    parts.push_back(text);
    if (from_right) std::reverse(parts.begin(), parts.end());
    return parts;
}

size_t first_word_end(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        if (char_is(next_char(text, i), CharClass::kSpace)) return start;
    }
    return text.size();
}

size_t last_word_start(std::string_view text) {
    size_t end = text.size();
    while (end > 0) {
        const size_t start = last_char_start(text.substr(0, end));
        size_t i = start;
        if (char_is(next_char(text, i), CharClass::kSpace)) return end;
        end = start;
    }
    return 0;
}

// The same at runs of white space; no piece is empty.
std::vector<std::string_view> split_at_space(std::string_view text, int64_t limit, bool from_right) {
    std::vector<std::string_view> parts;
    text = from_right ? strip_right(text) : strip_left(text);
    while (!text.empty()) {
        if (limit >= 0 && static_cast<int64_t>(parts.size()) >= limit) {
            parts.push_back(text);
            break;
        }
        const size_t cut = from_right ? last_word_start(text) : first_word_end(text);
        parts.push_back(from_right ? text.substr(cut) : text.substr(0, cut));
        text = from_right ? strip_right(text.substr(0, cut)) : strip_left(text.substr(cut));
    }
    if (from_right) std::reverse(parts.begin(), parts.end());
    return parts;
}

Result<Value> texts(Call& call, const std::vector<std::string_view>& parts) {
    INGOT_TRY(call.heap.claim(parts.size() * (sizeof(Value) + sizeof(Text))));
    Values items = call.heap.values();
    for (const std::string_view part : parts) items.push_back(call.heap.borrowed(part, self_markup(call)));
    return call.heap.list(std::move(items));
}

Result<Value> split_from(Call& call, bool from_right) {
    int64_t limit = -1;
    if (call.args.has(1)) {
        INGOT_ASSIGN(limit, integer_argument(call.args[1], "split: maxsplit"));
    }
    INGOT_TRY(call.heap.step(1 + self_text(call).size() / 64));
    if (absent(call.args[0])) return texts(call, split_at_space(self_text(call), limit, from_right));
    INGOT_ASSIGN(const std::string_view separator, text_argument(call.args[0], "split: sep"));
    if (separator.empty()) return fail(ErrorKind::kInvalidArgument, "empty separator");
    INGOT_TRY(call.heap.search(self_text(call).size(), separator.size()));
    return texts(call, split_at(self_text(call), separator, limit, from_right));
}

Result<Value> split(Call& call) {
    return split_from(call, false);
}
Result<Value> rsplit(Call& call) {
    return split_from(call, true);
}

Result<Value> splitlines(Call& call) {
    return texts(call, split_lines(self_text(call), call.args.has(0) && truthy(call.args[0])));
}

Result<Value> partition_from(Call& call, bool from_right) {
    INGOT_ASSIGN(const std::string_view separator, text_argument(call.args[0], "partition: sep"));
    if (separator.empty()) return fail(ErrorKind::kInvalidArgument, "empty separator");
    const std::string_view text = self_text(call);
    INGOT_TRY(call.heap.search(text.size(), separator.size()));
    const size_t found = from_right ? text.rfind(separator) : text.find(separator);
    std::string_view parts[3] = {text, {}, {}};
    if (found != text.npos) {
        parts[0] = text.substr(0, found);
        parts[1] = separator;
        parts[2] = text.substr(found + separator.size());
    } else if (from_right) {
        std::swap(parts[0], parts[2]);
    }
    Values items = call.heap.values();
    for (const std::string_view part : parts) items.push_back(call.heap.borrowed(part, self_markup(call)));
    return call.heap.tuple(std::move(items));
}

Result<Value> partition(Call& call) {
    return partition_from(call, false);
}
Result<Value> rpartition(Call& call) {
    return partition_from(call, true);
}

Result<Value> replace(Call& call) {
    INGOT_TRY(refuse_markup(call));
    INGOT_ASSIGN(const std::string_view from, text_argument(call.args[0], "replace: old"));
    INGOT_ASSIGN(const std::string_view to, text_argument(call.args[1], "replace: new"));
    int64_t count = -1;
    if (call.args.has(2)) {
        INGOT_ASSIGN(count, integer_argument(call.args[2], "replace: count"));
    }
    INGOT_ASSIGN(const std::string replaced, replace_text(call.heap, self_text(call), from, to, count));
    return call.heap.text(replaced);
}

Result<Value> join(Call& call) {
    INGOT_TRY(refuse_markup(call));
    INGOT_ASSIGN(const std::span<const Value> items, items_of(call.heap, call.args[0]));
    std::string out;
    for (size_t i = 0; i < items.size(); ++i) {
        if (!items[i].is_text()) {
            return fail(ErrorKind::kInvalidArgument, "sequence item {}: expected str instance, {} found", i,
                        type_name(items[i]));
        }
        if (i > 0) out += self_text(call);
        out += items[i].bytes();
        INGOT_TRY(call.heap.step(1 + items[i].bytes().size() / 64));
        if (out.size() > call.heap.limits().max_output_bytes) INGOT_TRY(call.heap.claim(out.size()));
    }
    return call.heap.text(out);
}

Result<Value> format(Call& call) {
    return format_braces(call.interpreter, call.heap, call.self, call.args.rest);
}

Result<Value> padded(Call& call, Padding side) {
    INGOT_TRY(refuse_markup(call));
    INGOT_ASSIGN(const int64_t width, integer_argument(call.args[0], "width"));
    char32_t fill = U' ';
    if (call.args.has(1)) {
        INGOT_ASSIGN(const std::string_view text, text_argument(call.args[1], "fillchar"));
        if (count_chars(text) != 1) {
            return fail(ErrorKind::kInvalidArgument, "The fill character must be exactly one character long");
        }
        size_t offset = 0;
        fill = next_char(text, offset);
    }
    INGOT_ASSIGN(const std::string text, pad_text(call.heap, self_text(call), width, fill, side));
    return call.heap.text(text);
}

Result<Value> center(Call& call) {
    return padded(call, Padding::kBoth);
}
Result<Value> ljust(Call& call) {
    return padded(call, Padding::kRight);
}
Result<Value> rjust(Call& call) {
    return padded(call, Padding::kLeft);
}

Result<Value> zfill(Call& call) {
    INGOT_ASSIGN(const int64_t width, integer_argument(call.args[0], "zfill: width"));
    const std::string_view text = self_text(call);
    const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    const int64_t rest = std::max<int64_t>(width, 1) - static_cast<int64_t>(sign);
    INGOT_ASSIGN(const std::string padded_text,
                 pad_text(call.heap, text.substr(sign), rest, U'0', Padding::kLeft));
    return call.heap.text(std::string(text.substr(0, sign)) + padded_text);
}

Result<Value> removeprefix(Call& call) {
    INGOT_ASSIGN(const std::string_view prefix, text_argument(call.args[0], "removeprefix: prefix"));
    const std::string_view text = self_text(call);
    return call.heap.borrowed(text.starts_with(prefix) ? text.substr(prefix.size()) : text,
                              self_markup(call));
}

Result<Value> removesuffix(Call& call) {
    INGOT_ASSIGN(const std::string_view suffix, text_argument(call.args[0], "removesuffix: suffix"));
    const std::string_view text = self_text(call);
    const bool match = text.ends_with(suffix);
    return call.heap.borrowed(match ? text.substr(0, text.size() - suffix.size()) : text, self_markup(call));
}

Result<Value> refused(Call&) {
    return fail(ErrorKind::kUnsupported, "this method of str isn't supported");
}

constexpr Builtin kMethods[] = {
    builtin("upper", changed<to_upper>),
    builtin("lower", changed<to_lower>),
    builtin("casefold", changed<to_folded>),
    builtin("capitalize", changed<to_capitalized>),
    builtin("title", changed<title_letters>),
    builtin("swapcase", changed<swap_case>),
    builtin("strip", strip, 0, {""}),
    builtin("lstrip", lstrip, 0, {""}),
    builtin("rstrip", rstrip, 0, {""}),
    builtin("split", split, 0, {"sep", "maxsplit"}),
    builtin("rsplit", rsplit, 0, {"sep", "maxsplit"}),
    builtin("splitlines", splitlines, 0, {"keepends"}),
    builtin("partition", partition, 1, {""}),
    builtin("rpartition", rpartition, 1, {""}),
    builtin("replace", replace, 2, {"", "", "count"}),
    builtin("join", join, 1, {""}),
    variadic("format", format),
    builtin("center", center, 1, {"", ""}),
    builtin("ljust", ljust, 1, {"", ""}),
    builtin("rjust", rjust, 1, {"", ""}),
    builtin("zfill", zfill, 1, {""}),
    builtin("removeprefix", removeprefix, 1, {""}),
    builtin("removesuffix", removesuffix, 1, {""}),
    variadic("encode", refused),
    variadic("expandtabs", refused),
    variadic("format_map", refused),
    variadic("maketrans", refused),
    variadic("translate", refused),
    variadic("isidentifier", refused),
};

}  // namespace

std::span<const Builtin> text_methods() {
    return kMethods;
}

}  // namespace ingot::jinja

// Filters on text. Like Jinja's, they print what isn't text first.
#include <algorithm>

#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/format.h"
#include "llm/text/jinja/operators.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/text_tools.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

// The filtered value as text, and whether it is markup.
struct Input {
    std::string_view bytes;
    bool markup;
};

Result<Input> input(Call& call) {
    INGOT_ASSIGN(const Value text, to_text_value(call.heap, call.self));
    return Input{text.bytes(), text.text().markup};
}

template <typename Change>
Result<Value> changed(Call& call, Change change) {
    INGOT_ASSIGN(const Input text, input(call));
    INGOT_TRY(call.heap.step(text.bytes.size() / 64));
    return call.heap.text(change(text.bytes), text.markup);
}

Result<Value> upper(Call& call) {
    return changed(call, to_upper);
}
Result<Value> lower(Call& call) {
    return changed(call, to_lower);
}
Result<Value> capitalize(Call& call) {
    return changed(call, to_capitalized);
}
Result<Value> title(Call& call) {
    return changed(call, title_words);
}

Result<Value> trim(Call& call) {
    INGOT_ASSIGN(const Input text, input(call));
    if (!call.args.has(0) || call.args[0].is(Kind::kNone)) {
        return call.heap.borrowed(strip_right(strip_left(text.bytes)), text.markup);
    }
    INGOT_ASSIGN(const std::string_view chars, text_argument(call.args[0], "trim: chars"));
    return call.heap.borrowed(strip_right(strip_left(text.bytes, &chars), &chars), text.markup);
}

Result<Value> replace(Call& call) {
    INGOT_ASSIGN(const std::string text, to_text(call.heap, call.self));
    INGOT_ASSIGN(const std::string from, to_text(call.heap, call.args[0]));
    INGOT_ASSIGN(const std::string to, to_text(call.heap, call.args[1]));
    int64_t count = -1;
    if (call.args.has(2) && !call.args[2].is(Kind::kNone)) {
        INGOT_ASSIGN(count, integer_argument(call.args[2], "replace: count"));
    }
    INGOT_ASSIGN(const std::string replaced, replace_text(call.heap, text, from, to, count));
    return call.heap.text(replaced);
}

Result<Value> string(Call& call) {
    return to_text_value(call.heap, call.self);
}

Result<Value> safe(Call& call) {
    INGOT_ASSIGN(const Input text, input(call));
    return call.heap.borrowed(call.heap.keep(text.bytes), true);
}

Result<Value> escape(Call& call) {
    INGOT_ASSIGN(const Input text, input(call));
    if (text.markup) return call.self;
    return call.heap.text(escape_html(text.bytes), true);
}

Result<Value> force_escape(Call& call) {
    INGOT_ASSIGN(const Input text, input(call));
    return call.heap.text(escape_html(text.bytes), true);
}

Result<Value> center(Call& call) {
    INGOT_ASSIGN(const Input text, input(call));
    int64_t width = 80;
    if (call.args.has(0)) {
        INGOT_ASSIGN(width, integer_argument(call.args[0], "center: width"));
    }
    INGOT_ASSIGN(const std::string padded, pad_text(call.heap, text.bytes, width, U' ', Padding::kBoth));
    return call.heap.text(padded, text.markup);
}

// All lines but the first (and with `blank`, the empty ones too) move to the right.
Result<Value> indent(Call& call) {
    if (call.self.is_undefined()) return undefined_error(call.self);
    INGOT_ASSIGN(const std::string_view text, text_argument(call.self, "indent: the value"));
    std::string indention = "    ";
    if (call.args.has(0) && call.args[0].is_text()) {
        indention = call.args[0].bytes();
    } else if (call.args.has(0)) {
        INGOT_ASSIGN(const int64_t width, integer_argument(call.args[0], "indent: width"));
        INGOT_TRY(call.heap.claim(static_cast<uint64_t>(std::max<int64_t>(width, 0))));
        indention.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
    const bool first = truthy(call.args[1]);
    const bool blank = truthy(call.args[2]);
    const std::string terminated = std::string(text) + '\n';
    const auto lines = split_lines(terminated);
    INGOT_TRY(call.heap.claim(lines.size(), indention.size()));
    INGOT_TRY(call.heap.claim(text.size()));
    std::string out;
    for (size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) out += '\n';
        if (i == 0 ? first : blank || !lines[i].empty()) out += indention;
        out += lines[i];
    }
    return call.heap.text(out, call.self.text().markup);
}

Result<Value> format(Call& call) {
    INGOT_ASSIGN(const Value pattern, to_text_value(call.heap, call.self));
    const Arguments& arguments = call.args.rest;
    if (!arguments.positional.empty() && !arguments.named.empty()) {
        return fail(ErrorKind::kInvalidArgument,
                    "can't handle positional and keyword arguments at the same time");
    }
    if (!arguments.named.empty()) {
        std::pmr::vector<Entry> entries(call.heap.arena());
        for (const NamedValue& argument : arguments.named) {
            entries.push_back({call.heap.text(argument.name), argument.value});
        }
        return format_percent(call.heap, pattern, call.heap.dict(std::move(entries)));
    }
    Values items = call.heap.values();
    items.assign(arguments.positional.begin(), arguments.positional.end());
    return format_percent(call.heap, pattern, call.heap.tuple(std::move(items)));
}

Result<Value> truncate(Call& call) {
    INGOT_ASSIGN(const std::string_view text, text_argument(call.self, "truncate: the value"));
    int64_t length = 255;
    int64_t leeway = 5;
    std::string_view end = "...";
    if (call.args.has(0)) {
        INGOT_ASSIGN(length, integer_argument(call.args[0], "truncate: length"));
    }
    if (call.args.has(2)) {
        INGOT_ASSIGN(end, text_argument(call.args[2], "truncate: end"));
    }
    if (call.args.has(3) && !call.args[3].is(Kind::kNone)) {
        INGOT_ASSIGN(leeway, integer_argument(call.args[3], "truncate: leeway"));
    }
    const auto end_length = static_cast<int64_t>(count_chars(end));
    if (length < end_length || leeway < 0) {
        return fail(ErrorKind::kInvalidArgument,
                    "truncate: expected length >= {} and leeway >= 0, got {} and {}", end_length, length,
                    leeway);
    }
    if (static_cast<int64_t>(count_chars(text)) - leeway <= length) return call.self;
    std::string_view kept = text.substr(0, byte_offset(text, static_cast<size_t>(length - end_length)));
    if (!truthy(call.args[1])) kept = kept.substr(0, kept.rfind(' '));
    return call.heap.text(std::string(kept) + std::string(end));
}

Result<Value> word_count(Call& call) {
    INGOT_ASSIGN(const Input text, input(call));
    int64_t words = 0;
    bool inside = false;
    for (size_t i = 0; i < text.bytes.size();) {
        const bool word = char_is(next_char(text.bytes, i), CharClass::kWord);
        words += word && !inside;
        inside = word;
    }
    return Value::integer(words);
}

Result<Value> strip_tags(Call& call) {
    INGOT_ASSIGN(const Input text, input(call));
    return fail(ErrorKind::kUnsupported, "the filter 'striptags' isn't supported ({} bytes of text given)",
                text.bytes.size());
}

Result<Value> url_encode(Call& call) {
    if (call.self.is(Kind::kDict) || call.self.is_sequence()) {
        return fail(ErrorKind::kUnsupported, "the filter 'urlencode' isn't supported for '{}'",
                    type_name(call.self));
    }
    INGOT_ASSIGN(const Input text, input(call));
    std::string out;
    for (const char c : text.bytes) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           std::string_view("_.-~/").find(c) != std::string_view::npos;
        if (plain) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return call.heap.text(out);
}

constexpr Builtin kFilters[] = {
    builtin("upper", upper),
    builtin("lower", lower),
    builtin("capitalize", capitalize),
    builtin("title", title),
    builtin("trim", trim, 0, {"chars"}),
    builtin("replace", replace, 2, {"old", "new", "count"}),
    builtin("string", string),
    builtin("safe", safe),
    builtin("escape", escape),
    builtin("e", escape),
    builtin("forceescape", force_escape),
    builtin("center", center, 0, {"width"}),
    builtin("indent", indent, 0, {"width", "first", "blank"}),
    variadic("format", format),
    builtin("truncate", truncate, 0, {"length", "killwords", "end", "leeway"}),
    builtin("wordcount", word_count),
    builtin("striptags", strip_tags),
    builtin("urlencode", url_encode),
};

}  // namespace

std::span<const Builtin> text_filters() {
    return kFilters;
}

}  // namespace ingot::jinja

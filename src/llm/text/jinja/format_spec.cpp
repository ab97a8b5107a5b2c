// The format mini-language: reading a FormatSpec, and one value laid out by it.
#include <algorithm>

#include "llm/text/jinja/format.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

bool is_align(char32_t c) {
    return c == '<' || c == '>' || c == '^' || c == '=';
}

Result<std::string> format_text(Heap& heap, const FormatSpec& spec, std::string text) {
    if (spec.type != 0 && spec.type != 's') {
        return fail(ErrorKind::kInvalidArgument, "Unknown format code '{}' for object of type 'str'",
                    spec.type);
    }
    if (spec.sign != 0) {
        return fail(ErrorKind::kInvalidArgument, "{} not allowed in string format specifier",
                    spec.sign == ' ' ? "Space" : "Sign");
    }
    if (spec.alternate) {
        return fail(ErrorKind::kInvalidArgument, "Alternate form (#) not allowed in string format specifier");
    }
    if (spec.align == '=') {
        return fail(ErrorKind::kInvalidArgument, "'=' alignment not allowed in string format specifier");
    }
    if (spec.grouping != 0) {
        return fail(ErrorKind::kInvalidArgument, "Cannot specify '{}' with 's'.", spec.grouping);
    }
    if (spec.precision >= 0) text.resize(byte_offset(text, static_cast<size_t>(spec.precision)));
    return lay_out(heap, spec, {}, text, '<');
}

class SpecReader {
  public:
    explicit SpecReader(std::string_view text) : text_(text) {}

    Result<FormatSpec> run() {
        FormatSpec spec;
        fill_and_align(spec);
        spec.sign = take("+- ");
        if (take("z") != 0)
            return fail(ErrorKind::kUnsupported, "the option 'z' of a format isn't supported");
        spec.alternate = take("#") != 0;
        spec.zero = take("0") != 0;
        spec.width = std::max<int64_t>(number(), 0);
        spec.grouping = take(",_");
        if (spec.grouping != 0 && pos_ < text_.size() && text_[pos_] == (spec.grouping == ',' ? '_' : ',')) {
            return fail(ErrorKind::kInvalidArgument, "Cannot specify both ',' and '_'.");
        }
        if (take(".") != 0) {
            spec.precision = number();
            if (spec.precision < 0)
                return fail(ErrorKind::kInvalidArgument, "Format specifier missing precision");
        }
        if (pos_ < text_.size()) spec.type = text_[pos_++];
        if (pos_ < text_.size() || spec.width > kMostFormatNumber || spec.precision > kMostFormatNumber) {
            return fail(ErrorKind::kInvalidArgument, "Invalid format specifier '{}'", text_);
        }
        return spec;
    }

  private:
    void fill_and_align(FormatSpec& spec) {
        if (text_.empty()) return;
        size_t after = 0;
        const char32_t first = next_char(text_, after);
        if (after < text_.size() && is_align(static_cast<unsigned char>(text_[after]))) {
            spec.fill = first;
            spec.align = text_[after];
            pos_ = after + 1;
        } else if (is_align(first)) {
            spec.align = text_[0];
            pos_ = 1;
        }
    }

    char take(std::string_view accepted) {
        if (pos_ < text_.size() && accepted.find(text_[pos_]) != accepted.npos) return text_[pos_++];
        return 0;
    }

    // -1 where there is none.
    int64_t number() {
        if (pos_ >= text_.size() || !is_digit(text_[pos_])) return -1;
        int64_t value = 0;
        for (; pos_ < text_.size() && is_digit(text_[pos_]) && value <= kMostFormatNumber; ++pos_) {
            value = value * 10 + (text_[pos_] - '0');
        }
        return value;
    }

    std::string_view text_;
    size_t pos_ = 0;
};

}  // namespace

Result<void> refuse_markup_format(const Value& pattern) {
    if (!pattern.text().markup) return {};
    return fail(ErrorKind::kUnsupported, "formatting escaped text isn't supported");
}

Failure too_wide_format() {
    return fail(ErrorKind::kLimit, "a width or precision of more than 7 digits");
}

Result<int64_t> read_format_number(std::string_view text, size_t& pos) {
    int64_t number = 0;
    for (; pos < text.size() && is_digit(text[pos]); ++pos) {
        number = number * 10 + (text[pos] - '0');
        if (number > kMostFormatNumber) return too_wide_format();
    }
    return number;
}

Result<FormatSpec> parse_format_spec(std::string_view text) {
    return SpecReader(text).run();
}

SpecPadding padding_of(const FormatSpec& spec, char default_align) {
    char align = spec.align;
    if (align == 0) align = spec.zero && default_align == '>' ? '=' : default_align;
    return {spec.fill != 0 ? spec.fill : spec.zero ? U'0' : U' ', align};
}

Result<std::string> lay_out(Heap& heap, const FormatSpec& spec, const std::string& prefix,
                            const std::string& text, char default_align) {
    INGOT_TRY(heap.claim(static_cast<uint64_t>(spec.width), 4));
    const auto [fill, align] = padding_of(spec, default_align);
    const auto width = static_cast<size_t>(spec.width);
    const size_t have = prefix.size() + count_chars(text);
    const size_t missing = width > have ? width - have : 0;
    const auto filling = [with = fill](size_t count) {
        std::string out;
        for (size_t i = 0; i < count; ++i) append_char(out, with);
        return out;
    };
    switch (align) {
        case '<':
            return prefix + text + filling(missing);
        case '^':
            return filling(missing / 2) + prefix + text + filling(missing - missing / 2);
        case '=':
            return prefix + filling(missing) + text;
        default:
            return filling(missing) + prefix + text;
    }
}

Result<std::string> format_value(Heap& heap, const FormatSpec& spec, const Value& value) {
    if (value.is(Kind::kInt) || value.is(Kind::kFloat)) return format_number(heap, spec, value);
    const bool plain = spec == FormatSpec{};
    if (value.is(Kind::kBool) && !plain) {
        if (spec.type == 's') {
            return fail(ErrorKind::kInvalidArgument, "Unknown format code 's' for object of type 'bool'");
        }
        return format_number(heap, spec, value);
    }
    INGOT_ASSIGN(std::string text, to_text(heap, value));
    if (value.is_text() || plain) return format_text(heap, spec, std::move(text));
    return fail(ErrorKind::kInvalidArgument, "unsupported format string passed to {}.__format__",
                type_name(value));
}

}  // namespace ingot::jinja

// The format mini-language: one value laid out by a FormatSpec.
#include <algorithm>
#include <cmath>

#include "llm/text/jinja/format.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

bool is_align(char32_t c) {
    return c == '<' || c == '>' || c == '^' || c == '=';
}

// Thousands separators in a run of digits.
std::string group_digits(std::string_view digits, char separator) {
    std::string out;
    for (size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) out += separator;
        out += digits[i];
    }
    return out;
}

std::string integer_digits(const FormatSpec& spec, uint64_t magnitude) {
    switch (spec.type) {
        case 'x':
            return (spec.alternate ? "0x" : "") + fmt::format("{:x}", magnitude);
        case 'X':
            return (spec.alternate ? "0X" : "") + fmt::format("{:X}", magnitude);
        case 'o':
            return (spec.alternate ? "0o" : "") + fmt::format("{:o}", magnitude);
        case 'b':
            return (spec.alternate ? "0b" : "") + fmt::format("{:b}", magnitude);
        default: {
            const std::string digits = std::to_string(magnitude);
            return spec.grouping ? group_digits(digits, spec.grouping) : digits;
        }
    }
}

Result<std::string> real_digits(const FormatSpec& spec, double magnitude) {
    const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
    std::string digits;
    switch (spec.type) {
        case 0:
            if (spec.precision < 0) {
                digits = format_float(magnitude);
                break;
            }
            digits = fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
            if (digits.find_first_of(".en") == digits.npos) digits += ".0";
            break;
        case 'f':
        case 'F':
            digits = fmt::format("{:.{}f}", magnitude, precision);
            break;
        case 'e':
            digits = fmt::format("{:.{}e}", magnitude, precision);
            break;
        case 'E':
            digits = fmt::format("{:.{}E}", magnitude, precision);
            break;
        case 'g':
            digits = fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
            break;
        case 'G':
            digits = fmt::format("{:.{}G}", magnitude, std::max(precision, 1));
            break;
        case '%':
            digits = fmt::format("{:.{}f}%", magnitude * 100, precision);
            break;
        default:
            return fail(ErrorKind::kInvalidArgument, "Unknown format code '{}' for object of type 'float'",
                        spec.type);
    }
    if (spec.grouping) {
        const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
        digits = group_digits(digits.substr(0, end), spec.grouping) + digits.substr(end);
    }
    return digits;
}

// `text` widened to spec.width characters; `prefix` (a sign) stays in front of '=' padding.
Result<std::string> pad(Heap& heap, const FormatSpec& spec, std::string prefix, std::string text,
                        char default_align) {
    INGOT_TRY(heap.claim(static_cast<uint64_t>(std::max<int64_t>(spec.width, 0)) * 4 + text.size()));
    const auto width = static_cast<size_t>(std::max<int64_t>(spec.width, 0));
    const size_t have = prefix.size() + count_chars(text);
    const size_t missing = width > have ? width - have : 0;
    char align = spec.align ? spec.align : default_align;
    char32_t fill = spec.fill;
    if (spec.zero && !spec.align) {
        align = '=';
        fill = U'0';
    }
    const auto filling = [&](size_t count) {
        std::string out;
        for (size_t i = 0; i < count; ++i) append_char(out, fill);
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

std::string sign_of(const FormatSpec& spec, bool negative) {
    if (negative) return "-";
    return spec.sign == '-' ? std::string() : std::string(1, spec.sign);
}

Result<std::string> format_number(Heap& heap, const FormatSpec& spec, const Value& value) {
    const bool real =
        value.is(Kind::kFloat) ||
        (spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos);
    if (real) {
        if (spec.precision > 1000)
            return fail(ErrorKind::kLimit, "a precision of {}, at most 1000 accepted", spec.precision);
        const double number = value.as_real();
        INGOT_ASSIGN(std::string digits, real_digits(spec, std::abs(number)));
        return pad(heap, spec, sign_of(spec, std::signbit(number)), std::move(digits), '>');
    }
    const int64_t number = value.as_int();
    if (spec.type == 'c') {
        if (number < 0 || number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) {
            return fail(ErrorKind::kInvalidArgument, "%c arg not in range(0x110000)");
        }
        std::string text;
        append_char(text, static_cast<char32_t>(number));
        return pad(heap, spec, {}, std::move(text), '>');
    }
    if (spec.type != 0 && std::string_view("dxXobn").find(spec.type) == std::string_view::npos) {
        return fail(ErrorKind::kInvalidArgument, "Unknown format code '{}' for object of type 'int'",
                    spec.type);
    }
    const auto magnitude = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    std::string digits = integer_digits(spec, magnitude);
    if (spec.precision > static_cast<int64_t>(digits.size())) {
        INGOT_TRY(heap.claim(static_cast<uint64_t>(spec.precision)));
        digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    }
    return pad(heap, spec, sign_of(spec, number < 0), std::move(digits), '>');
}

}  // namespace

Result<FormatSpec> parse_format_spec(std::string_view text) {
    FormatSpec spec;
    size_t pos = 0;
    if (!text.empty()) {
        size_t after = 0;
        const char32_t first = next_char(text, after);
        if (after < text.size() && is_align(static_cast<unsigned char>(text[after]))) {
            spec.fill = first;
            spec.align = text[after];
            pos = after + 1;
        } else if (is_align(first)) {
            spec.align = text[0];
            pos = 1;
        }
    }
    const auto take = [&](std::string_view accepted) -> char {
        if (pos < text.size() && accepted.find(text[pos]) != accepted.npos) return text[pos++];
        return 0;
    };
    const auto number = [&](int64_t& out) {
        for (out = 0; pos < text.size() && text[pos] >= '0' && text[pos] <= '9' && out < 10'000'000; ++pos) {
            out = out * 10 + (text[pos] - '0');
        }
    };
    if (const char sign = take("+- ")) spec.sign = sign;
    spec.alternate = take("#") != 0;
    spec.zero = take("0") != 0;
    number(spec.width);
    spec.grouping = take(",_");
    if (take(".")) {
        if (pos >= text.size() || text[pos] < '0' || text[pos] > '9') {
            return fail(ErrorKind::kInvalidArgument, "Format specifier missing precision");
        }
        number(spec.precision);
    }
    if (pos < text.size()) spec.type = text[pos++];
    if (pos < text.size() || spec.width >= 10'000'000) {
        return fail(ErrorKind::kInvalidArgument, "Invalid format specifier '{}'", text);
    }
    return spec;
}

Result<std::string> format_value(Heap& heap, const FormatSpec& spec, const Value& value) {
    if (value.is(Kind::kInt) || value.is(Kind::kFloat) ||
        (value.is(Kind::kBool) && spec.type != 0 && spec.type != 's')) {
        return format_number(heap, spec, value);
    }
    const bool plain = value.is_text() || (value.is(Kind::kBool) && spec.width == 0);
    INGOT_ASSIGN(std::string text, to_text(heap, value));
    const bool empty_spec = spec.width == 0 && spec.precision < 0 && spec.type == 0 && spec.align == 0;
    if (!plain && !empty_spec) {
        return fail(ErrorKind::kInvalidArgument, "unsupported format string passed to {}.__format__",
                    type_name(value));
    }
    if (spec.type != 0 && spec.type != 's') {
        return fail(ErrorKind::kInvalidArgument, "Unknown format code '{}' for object of type 'str'",
                    spec.type);
    }
    if (spec.precision >= 0) text.resize(byte_offset(text, static_cast<size_t>(spec.precision)));
    return pad(heap, spec, {}, std::move(text), '<');
}

}  // namespace ingot::jinja

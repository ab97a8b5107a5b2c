// The format mini-language on numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "llm/text/jinja/format.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

constexpr int64_t kMostPrecision = 1000;

bool is_among(char type, std::string_view types) {
    return type != 0 && types.find(type) != types.npos;
}

// A number in parts: only `digits` are grouped, and zeros are filled in between it and `prefix`.
struct NumberText {
    std::string prefix;  // sign, "0x"
    std::string digits;  // in front of a point
    std::string rest;
};

// A separator between each `size` digits from the right. Zeros in front until the text has `min_width`
// characters, and more than that where a separator would be the first.
std::string group_digits(std::string digits, char separator, size_t size, size_t min_width) {
    size_t count = digits.size();
    while (count + (count - 1) / size < min_width) ++count;
    digits.insert(0, count - digits.size(), '0');
    std::string out;
    for (size_t i = 0; i < count; ++i) {
        if (i > 0 && (count - i) % size == 0) out += separator;
        out += digits[i];
    }
    return out;
}

Result<std::string> lay_out_number(Heap& heap, const FormatSpec& spec, NumberText number) {
    if (spec.grouping != 0 && !number.digits.empty()) {
        const auto [fill, align] = padding_of(spec, '>');
        size_t min_width = 0;
        if (fill == U'0' && align == '=') {
            const size_t others = number.prefix.size() + number.rest.size();
            min_width = static_cast<size_t>(spec.width) - std::min(static_cast<size_t>(spec.width), others);
            INGOT_TRY(heap.claim(min_width));
        }
        const size_t size = is_among(spec.type, "xXob") ? 4 : 3;
        number.digits = group_digits(std::move(number.digits), spec.grouping, size, min_width);
    }
    return lay_out(heap, spec, number.prefix, number.digits + number.rest, '>');
}

std::string sign_of(const FormatSpec& spec, bool negative) {
    if (negative) return "-";
    return spec.sign == '+' || spec.sign == ' ' ? std::string(1, spec.sign) : std::string();
}

// As C prints it, which is what Python's presentations are made of.
std::string print_real(const FormatSpec& spec, char type, double value, int precision) {
    const char pattern[] = {'%', '#', '.', '*', type, 0};
    const char plain[] = {'%', '.', '*', type, 0};
    const char* format = spec.alternate ? pattern : plain;
    std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, format, precision, value)), ' ');
    std::snprintf(text.data(), text.size() + 1, format, precision, value);
    return text;
}

// No presentation type but a precision: like 'g', but a whole number that takes all its digits has an
// exponent, and another one a fraction.
std::string shortest_digits(const FormatSpec& spec, double magnitude, int precision) {
    precision = std::max(precision, 1);
    const std::string digits = print_real(spec, 'g', magnitude, precision);
    const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    const bool is_whole = whole == digits.size() || (digits[whole] == '.' && whole + 1 == digits.size());
    if (!is_whole) return digits;
    if (whole < static_cast<size_t>(precision)) return digits.substr(0, whole) + ".0";
    const std::string scientific = print_real(spec, 'e', magnitude, precision - 1);
    const size_t exponent = scientific.find('e');
    size_t kept = exponent;
    if (!spec.alternate && scientific.find('.') < exponent) {
        kept = scientific.find_last_not_of('0', exponent - 1) + 1;
        if (scientific[kept - 1] == '.') --kept;
    }
    return scientific.substr(0, kept) + scientific.substr(exponent);
}

Result<std::string> real_digits(const FormatSpec& spec, double magnitude) {
    const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
    switch (spec.type) {
        case 0:
            if (spec.precision < 0) return format_float(magnitude);
            return shortest_digits(spec, magnitude, precision);
        case 'f':
        case 'F':
        case 'e':
        case 'E':
            return print_real(spec, spec.type, magnitude, precision);
        case 'g':
        case 'G':
            return print_real(spec, spec.type, magnitude, std::max(precision, 1));
        case 'n':
            return print_real(spec, 'g', magnitude, std::max(precision, 1));
        case '%':
            return print_real(spec, 'f', magnitude * 100, precision) + '%';
        default:
            return fail(ErrorKind::kInvalidArgument, "Unknown format code '{}' for object of type 'float'",
                        spec.type);
    }
}

Result<std::string> format_real(Heap& heap, const FormatSpec& spec, double number) {
    if (spec.precision > kMostPrecision) {
        return fail(ErrorKind::kLimit, "a precision of {}, at most {} accepted", spec.precision,
                    kMostPrecision);
    }
    INGOT_ASSIGN(const std::string text, real_digits(spec, std::abs(number)));
    const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    return lay_out_number(heap, spec,
                          {sign_of(spec, std::signbit(number)), text.substr(0, end), text.substr(end)});
}

Result<std::string> format_character(Heap& heap, const FormatSpec& spec, int64_t code) {
    if (spec.sign != 0) {
        return fail(ErrorKind::kInvalidArgument, "Sign not allowed with integer format specifier 'c'");
    }
    if (spec.alternate) {
        return fail(ErrorKind::kInvalidArgument,
                    "Alternate form (#) not allowed with integer format specifier 'c'");
    }
    INGOT_ASSIGN(const std::string text, character_text(code));
    return lay_out(heap, spec, {}, text, '>');
}

Result<std::string> format_integer(Heap& heap, const FormatSpec& spec, int64_t number) {
    if (spec.precision >= 0) {
        return fail(ErrorKind::kInvalidArgument, "Precision not allowed in integer format specifier");
    }
    if (spec.type == 'c') return format_character(heap, spec, number);
    const auto magnitude = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    NumberText text{sign_of(spec, number < 0), {}, {}};
    switch (spec.type) {
        case 0:
        case 'd':
        case 'n':
            text.digits = std::to_string(magnitude);
            break;
        case 'x':
            text.digits = fmt::format("{:x}", magnitude);
            break;
        case 'X':
            text.digits = fmt::format("{:X}", magnitude);
            break;
        case 'o':
            text.digits = fmt::format("{:o}", magnitude);
            break;
        case 'b':
            text.digits = fmt::format("{:b}", magnitude);
            break;
        default:
            return fail(ErrorKind::kInvalidArgument, "Unknown format code '{}' for object of type 'int'",
                        spec.type);
    }
    if (spec.alternate && is_among(spec.type, "xXob")) text.prefix += {'0', spec.type};
    if (spec.min_digits > static_cast<int64_t>(text.digits.size())) {
        INGOT_TRY(heap.claim(static_cast<uint64_t>(spec.min_digits)));
        text.digits.insert(0, static_cast<size_t>(spec.min_digits) - text.digits.size(), '0');
    }
    return lay_out_number(heap, spec, std::move(text));
}

}  // namespace

Result<std::string> character_text(int64_t code) {
    if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        return fail(ErrorKind::kInvalidArgument, "%c arg not in range(0x110000)");
    }
    std::string text;
    append_char(text, static_cast<char32_t>(code));
    return text;
}

Result<std::string> format_number(Heap& heap, const FormatSpec& spec, const Value& value) {
    const bool groups = spec.type == 0 || is_among(spec.type, "deEfFgG%") ||
                        (spec.grouping == '_' && is_among(spec.type, "xXob"));
    if (spec.grouping != 0 && !groups) {
        return fail(ErrorKind::kInvalidArgument, "Cannot specify '{}' with '{}'.", spec.grouping, spec.type);
    }
    if (value.is(Kind::kFloat) || is_among(spec.type, "eEfFgG%"))
        return format_real(heap, spec, value.as_real());
    return format_integer(heap, spec, value.as_int());
}

}  // namespace ingot::jinja

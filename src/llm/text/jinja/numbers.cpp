#include "llm/text/jinja/numbers.h"

#include <charconv>
#include <cmath>
#include <string>

#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

// Removes single underscores between digits; nullopt where Python refuses one.
std::optional<std::string> without_underscores(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_') {
            out += text[i];
        } else if (i == 0 || i + 1 == text.size() || text[i + 1] == '_' ||
                   !isalnum(static_cast<unsigned char>(text[i - 1]))) {
            return std::nullopt;
        }
    }
    return out;
}

}  // namespace

Result<std::optional<int64_t>> parse_integer(std::string_view written, int64_t base) {
    if (base != 0 && (base < 2 || base > 36)) {
        return fail(ErrorKind::kInvalidArgument, "int() base must be >= 2 and <= 36, or 0, not {}", base);
    }
    const std::string ascii = ascii_digits(written);
    std::string_view text = strip_right(strip_left(ascii));
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const auto prefixed = [&](char letter, int64_t radix) {
        const bool match = text.size() > 1 && text[0] == '0' && (text[1] | 0x20) == letter;
        if (!match || (base != 0 && base != radix)) return false;
        text.remove_prefix(2);
        if (text.starts_with('_')) text.remove_prefix(1);
        base = radix;
        return true;
    };
    if (!prefixed('x', 16) && !prefixed('o', 8) && !prefixed('b', 2) && base == 0) {
        if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != text.npos)
            return std::nullopt;
        base = 10;
    }
    const auto digits = without_underscores(text);
    if (!digits || digits->empty() || (*digits)[0] == '-') return std::nullopt;
    const std::string with_sign = (negative ? "-" : "") + *digits;
    int64_t value = 0;
    const char* end = with_sign.data() + with_sign.size();
    const auto [stop, error] = std::from_chars(with_sign.data(), end, value, static_cast<int>(base));
    if (error == std::errc::result_out_of_range && stop == end) {
        return fail(ErrorKind::kUnsupported, "the integer {} doesn't fit 64 bits", with_sign);
    }
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

std::optional<double> parse_real(std::string_view text) {
    const std::string ascii = ascii_digits(text);
    const auto digits = without_underscores(strip_right(strip_left(ascii)));
    if (!digits || digits->empty()) return std::nullopt;
    std::string_view rest = *digits;
    const bool negative = rest[0] == '-';
    if (negative || rest[0] == '+') rest.remove_prefix(1);
    if (rest.empty() || rest[0] == '-' || rest[0] == '+' || rest.find('(') != rest.npos) return std::nullopt;
    double value = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (stop != rest.data() + rest.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range)
        value = std::strtod(std::string(rest).c_str(), nullptr);
    else if (error != std::errc())
        return std::nullopt;
    return negative ? -value : value;
}

double round_half_even(double value, int64_t precision) {
    if (!std::isfinite(value) || precision > 308) return value;
    if (precision < -308) return std::copysign(0.0, value);
    if (precision >= 0) {
        // Printing rounds the exact binary value correctly, ties to even.
        const std::string text = fmt::format("{:.{}f}", value, precision);
        double rounded = value;
        std::from_chars(text.data(), text.data() + text.size(), rounded);
        return rounded;
    }
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(value / scale) * scale;
}

}  // namespace ingot::jinja

// Text to numbers and rounding, as Python's int(), float() and round() do it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace ingot::jinja {

// nullopt if the text isn't an integer of that base; kUnsupported if it is one of more than 64 bits.
Result<std::optional<int64_t>> parse_integer(std::string_view text, int64_t base);
std::optional<double> parse_real(std::string_view text);
// Correctly rounded to `precision` decimals (negative: to tens, hundreds, ...), ties to even.
double round_half_even(double value, int64_t precision);

}  // namespace ingot::jinja

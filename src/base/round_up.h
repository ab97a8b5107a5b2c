// The least multiple of `unit` that is no less than `value`. unit > 0; the caller knows that the sum fits.
#pragma once

#include <type_traits>

namespace ingot {

template <typename T>
constexpr T round_up(T value, std::type_identity_t<T> unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace ingot

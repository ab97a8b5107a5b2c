#include "llm/gguf/value_types.h"

#include <type_traits>

namespace ingot::gguf {

std::string type_name(const Value& value) {
    return std::visit(
        [](const auto& held) -> std::string {
            using T = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<T, Array>) {
                return std::visit(
                    [](const auto& items) {
                        using Item = typename std::decay_t<decltype(items)>::value_type;
                        return fmt::format("array of {}", kTypeName<Item>);
                    },
                    held.items);
            } else {
                return std::string(kTypeName<T>);
            }
        },
        value.value);
}

std::optional<uint64_t> as_uint(const Value& value) {
    return std::visit(
        [](const auto& held) -> std::optional<uint64_t> {
            using T = std::decay_t<decltype(held)>;
            if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
                if (held >= T{0}) return uint64_t(held);
            }
            return std::nullopt;
        },
        value.value);
}

std::optional<double> as_float(const Value& value) {
    if (const float* held = std::get_if<float>(&value.value)) return double(*held);
    if (const double* held = std::get_if<double>(&value.value)) return *held;
    return std::nullopt;
}

}  // namespace ingot::gguf

#include "tile/ir/types.h"

#include <bit>
#include <cmath>

#include "base/half.h"

namespace ingot::tile {

std::optional<DType> type_named(std::string_view name) {
    for (const TypeFacts& t : kTypes)
        if (t.name == name) return t.type;
    return std::nullopt;
}

DType promote(DType a, DType b) {
    if (a == b) return a;
    if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
    if (is_float(a)) return DType::kF32;
    if (size_bytes(a) != size_bytes(b)) return size_bytes(a) > size_bytes(b) ? a : b;
    return facts(a).cls == TypeClass::kUnsigned ? a : b;
}

double wrap(DType type, double value) {
    const TypeFacts& t = facts(type);
    if (t.cls == TypeClass::kFloat) return value;
    if (t.cls == TypeClass::kBool) return value != 0;
    const double limit = 9.2e18;
    const int64_t whole = std::isnan(value) ? 0 : int64_t(std::min(std::max(value, -limit), limit));
    const uint64_t mask = (uint64_t{1} << t.bits) - 1;
    const uint64_t low = uint64_t(whole) & mask;
    if (t.cls == TypeClass::kSigned && (low >> (t.bits - 1)) != 0) return double(int64_t(low | ~mask));
    return double(low);
}

uint32_t to_bits(DType type, double value) {
    switch (type) {
        case DType::kF32:
            return std::bit_cast<uint32_t>(float(value));
        case DType::kF16:
            return float_to_half(float(value));
        case DType::kBF16:
            return float_to_bfloat16(float(value));
        default:
            return uint32_t(int64_t(wrap(type, value))) &
                   uint32_t((uint64_t{1} << (8 * size_bytes(type))) - 1);
    }
}

double from_bits(DType type, uint32_t bits) {
    switch (type) {
        case DType::kF32:
            return std::bit_cast<float>(bits);
        case DType::kF16:
            return half_to_float(uint16_t(bits));
        case DType::kBF16:
            return bfloat16_to_float(uint16_t(bits));
        default:
            return wrap(type, double(bits));
    }
}

}  // namespace ingot::tile

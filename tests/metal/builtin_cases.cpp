#include "metal/builtin_cases.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace ingot::metal::testing {
namespace {

using D = double;
const double kPi = std::acos(-1.0);

double clamp01(double x) {
    return std::fmin(std::fmax(x, 0), 1);
}
double median(double x, double y, double z) {
    return std::fmax(std::fmin(x, y), std::fmin(std::fmax(x, y), z));
}
double smoothstep(double low, double high, double x) {
    const double t = clamp01((x - low) / (high - low));
    return t * t * (3 - 2 * t);
}

Wide clamp_to(Wide x, const IntegerType& type) {
    return std::clamp(x, type.min(), type.max());
}
// Rounded down.
Wide half_of(Wide x) {
    return x >= 0 ? x / 2 : -((1 - x) / 2);
}
uint64_t raw(Wide x, const IntegerType& type) {
    return uint64_t(x) & type.mask();
}
int count_from(Wide x, const IntegerType& type, bool from_top) {
    int count = 0;
    for (int i = 0; i < type.bits; ++i, ++count) {
        if (raw(x, type) >> (from_top ? type.bits - 1 - i : i) & 1) break;
    }
    return count;
}
// The high half of an exact product, rounded down.
Wide high_product(Wide x, Wide y, const IntegerType& type) {
    if (type.bits < 64) return (x * y) >> type.bits;
    if (type.is_signed) return (x * y) >> 64;
    return Wide((static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y)) >> 64);
}
// x * y + z saturated; unsigned 64-bit products pass what Wide holds.
Wide saturated_sum(Wide x, Wide y, Wide z, const IntegerType& type) {
    if (type.bits < 64 || type.is_signed) return clamp_to(x * y + z, type);
    const auto product = static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y);
    return product > ~uint64_t{0} || product + uint64_t(z) > ~uint64_t{0} ? Wide(~uint64_t{0})
                                                                          : Wide(product) + z;
}
// The low 24 bits.
Wide low_24(Wide x, const IntegerType& type) {
    if (type.bits <= 24) return x;
    const Wide low = x & 0xFFFFFF;
    return type.is_signed && (low & 0x800000) ? low - 0x1000000 : low;
}
Wide rotated(Wide x, Wide n, const IntegerType& type) {
    uint64_t value = raw(x, type);
    for (uint64_t k = raw(n, type) % uint64_t(type.bits); k > 0; --k) {
        value = ((value << 1) | (value >> (type.bits - 1))) & type.mask();
    }
    return type.value(value);
}

}  // namespace

const std::vector<MathCase>& math_cases() {
    static const std::vector<MathCase> cases{
        {"acos", -1, 1, [](D x, D, D) { return std::acos(x); }},
        {"acosh", 1, 50, [](D x, D, D) { return std::acosh(x); }},
        {"asin", -1, 1, [](D x, D, D) { return std::asin(x); }},
        {"asinh", -50, 50, [](D x, D, D) { return std::asinh(x); }},
        {"atan", -50, 50, [](D x, D, D) { return std::atan(x); }},
        {"atan2", -9, 9, [](D x, D y, D) { return std::atan2(x, y); }},
        {"atanh", -0.99, 0.99, [](D x, D, D) { return std::atanh(x); }},
        {"ceil", -99, 99, [](D x, D, D) { return std::ceil(x); }},
        {"clamp", -9, 9, [](D x, D low, D high) { return std::fmin(std::fmax(x, low), high); }},
        {"copysign", -9, 9, [](D x, D y, D) { return std::copysign(x, y); }},
        {"cos", -30, 30, [](D x, D, D) { return std::cos(x); }},
        {"cosh", -9, 9, [](D x, D, D) { return std::cosh(x); }},
        {"cospi", -9, 9, [](D x, D, D) { return std::cos(kPi * std::remainder(x, 2)); }},
        {"divide", 0.5, 9, [](D x, D y, D) { return x / y; }},
        {"exp", -9, 9, [](D x, D, D) { return std::exp(x); }},
        {"exp10", -4, 4, [](D x, D, D) { return std::pow(10, x); }},
        {"exp2", -9, 9, [](D x, D, D) { return std::exp2(x); }},
        {"fabs", -9, 9, [](D x, D, D) { return std::fabs(x); }},
        {"fdim", -9, 9, [](D x, D y, D) { return x > y ? double(float(x - y)) : 0; }},
        {"floor", -99, 99, [](D x, D, D) { return std::floor(x); }},
        {"fma", -9, 9, [](D x, D y, D z) { return x * y + z; }},
        {"fmax", -9, 9, [](D x, D y, D) { return std::fmax(x, y); }},
        {"fmax3", -9, 9, [](D x, D y, D z) { return std::fmax(std::fmax(x, y), z); }},
        {"fmedian3", -9, 9, median},
        {"fmin", -9, 9, [](D x, D y, D) { return std::fmin(x, y); }},
        {"fmin3", -9, 9, [](D x, D y, D z) { return std::fmin(std::fmin(x, y), z); }},
        {"fmod", -9, 9, [](D x, D y, D) { return std::fmod(x, y); }},
        {"fract", -9, 9, [](D x, D, D) { return x - std::floor(x); }},
        {"log", 0.01, 99, [](D x, D, D) { return std::log(x); }},
        {"log10", 0.01, 99, [](D x, D, D) { return std::log10(x); }},
        {"log2", 0.01, 99, [](D x, D, D) { return std::log2(x); }},
        {"mix", -9, 9, [](D x, D y, D a) { return x + double(float(y - x)) * a; }},
        {"nextafter", -9, 9, [](D x, D y, D) { return std::nextafter(x, y); }},  // the sweep knows the type
        {"pow", 0.1, 4, [](D x, D y, D) { return std::pow(x, y); }},
        {"powr", 0.1, 4, [](D x, D y, D) { return std::pow(x, y); }},
        {"rint", -99, 99, [](D x, D, D) { return std::nearbyint(x); }},
        {"round", -99, 99, [](D x, D, D) { return std::round(x); }},
        {"rsqrt", 0.01, 99, [](D x, D, D) { return 1 / std::sqrt(x); }},
        {"saturate", -2, 2, [](D x, D, D) { return clamp01(x); }},
        {"sign", -2, 2, [](D x, D, D) { return x > 0   ? 1
                                               : x < 0 ? -1
                                                       : 0; }},
        {"sin", -30, 30, [](D x, D, D) { return std::sin(x); }},
        {"sinh", -9, 9, [](D x, D, D) { return std::sinh(x); }},
        {"sinpi", -9, 9, [](D x, D, D) { return std::sin(kPi * std::remainder(x, 2)); }},
        {"smoothstep", -9, 9, smoothstep},
        {"sqrt", 0, 99, [](D x, D, D) { return std::sqrt(x); }},
        {"step", -9, 9, [](D edge, D x, D) { return x < edge ? 0 : 1; }},
        {"tan", -1.5, 1.5, [](D x, D, D) { return std::tan(x); }},
        {"tanh", -9, 9, [](D x, D, D) { return std::tanh(x); }},
        {"tanpi", -0.45, 0.45, [](D x, D, D) { return std::tan(kPi * x); }},
        {"trunc", -99, 99, [](D x, D, D) { return std::trunc(x); }},
    };
    return cases;
}

Wide IntegerType::value(uint64_t raw) const {
    raw &= mask();
    const bool is_negative = is_signed && (raw >> (bits - 1) & 1);
    return is_negative ? Wide(raw) - (Wide(1) << bits) : Wide(raw);
}

const std::vector<IntegerType>& integer_types() {
    static const std::vector<IntegerType> types{
        {"char", "s.i8", 8, true},      {"uchar", "u.i8", 8, false},   {"short", "s.i16", 16, true},
        {"ushort", "u.i16", 16, false}, {"int", "s.i32", 32, true},    {"uint", "u.i32", 32, false},
        {"long", "s.i64", 64, true},    {"ulong", "u.i64", 64, false},
    };
    return types;
}

const std::vector<IntegerCase>& integer_cases() {
    using T = const IntegerType&;
    static const std::vector<IntegerCase> cases{
        {"abs", [](Wide x, Wide, Wide, T) { return x < 0 ? -x : x; }},
        {"abs_diff", [](Wide x, Wide y, Wide, T) { return x < y ? y - x : x - y; }},
        {"add_sat", [](Wide x, Wide y, Wide, T t) { return clamp_to(x + y, t); }},
        {"clamp", [](Wide x, Wide y, Wide z, T) { return std::min(std::max(x, y), z); }},
        {"clz", [](Wide x, Wide, Wide, T t) { return Wide(count_from(x, t, true)); }},
        {"ctz", [](Wide x, Wide, Wide, T t) { return Wide(count_from(x, t, false)); }},
        {"hadd", [](Wide x, Wide y, Wide, T) { return half_of(x + y); }},
        {"mad24", [](Wide x, Wide y, Wide z, T t) { return low_24(x, t) * low_24(y, t) + z; }},
        {"mad_hi", [](Wide x, Wide y, Wide z, T t) { return high_product(x, y, t) + z; }},
        {"mad_sat", saturated_sum},
        {"max", [](Wide x, Wide y, Wide, T) { return std::max(x, y); }},
        {"max3", [](Wide x, Wide y, Wide z, T) { return std::max({x, y, z}); }},
        {"median3",
         [](Wide x, Wide y, Wide z, T) { return std::max(std::min(x, y), std::min(std::max(x, y), z)); }},
        {"min", [](Wide x, Wide y, Wide, T) { return std::min(x, y); }},
        {"min3", [](Wide x, Wide y, Wide z, T) { return std::min({x, y, z}); }},
        {"mul24", [](Wide x, Wide y, Wide, T t) { return low_24(x, t) * low_24(y, t); }},
        {"mul_hi", [](Wide x, Wide y, Wide, T t) { return high_product(x, y, t); }},
        {"popcount",
         [](Wide x, Wide, Wide, T t) {
             int count = 0;
             for (int i = 0; i < t.bits; ++i) count += raw(x, t) >> i & 1;
             return Wide(count);
         }},
        {"reverse_bits",
         [](Wide x, Wide, Wide, T t) {
             uint64_t result = 0;
             for (int i = 0; i < t.bits; ++i) result |= (raw(x, t) >> i & 1) << (t.bits - 1 - i);
             return t.value(result);
         }},
        {"rhadd", [](Wide x, Wide y, Wide, T) { return half_of(x + y + 1); }},
        {"rotate", [](Wide x, Wide n, Wide, T t) { return rotated(x, n, t); }},
        {"sub_sat", [](Wide x, Wide y, Wide, T t) { return clamp_to(x - y, t); }},
    };
    return cases;
}

Wide reference_extract_bits(Wide x, uint32_t offset, uint32_t count, const IntegerType& type) {
    uint64_t result = 0;
    for (uint32_t i = 0; i < count; ++i) result |= (raw(x, type) >> (offset + i) & 1) << i;
    if (type.is_signed && count > 0 && (result >> (count - 1) & 1)) {
        for (uint32_t i = count; i < uint32_t(type.bits); ++i) result |= uint64_t{1} << i;
    }
    return type.value(result);
}

Wide reference_insert_bits(Wide base, Wide insert, uint32_t offset, uint32_t count, const IntegerType& type) {
    uint64_t result = raw(base, type);
    for (uint32_t i = 0; i < count; ++i) {
        result &= ~(uint64_t{1} << (offset + i));
        result |= (raw(insert, type) >> i & 1) << (offset + i);
    }
    return type.value(result);
}

std::vector<uint64_t> integer_operands(const IntegerType& type, size_t count, uint32_t seed) {
    std::mt19937_64 generator(seed);
    std::vector<uint64_t> values;
    while (values.size() < count) {
        const int shift = int(generator() % uint64_t(type.bits));
        const uint64_t power = uint64_t{1} << shift;
        const uint64_t choices[] = {
            0,     1,         ~uint64_t{0}, uint64_t(type.min()), uint64_t(type.max()),
            power, power - 1, ~power,       generator(),          generator() >> shift};
        values.push_back(choices[generator() % std::size(choices)] & type.mask());
    }
    return values;
}

}  // namespace ingot::metal::testing

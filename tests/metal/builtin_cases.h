// What each built-in function gives, independently of how the device computes it: math in double precision,
// integers in 128 bits or bit by bit. By the names of AIR. Tests fail if a list and the device's differ.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ingot::metal::testing {

struct MathCase {
    const char* name;
    double low, high;  // of the arguments
    std::function<double(double, double, double)> reference;
};
const std::vector<MathCase>& math_cases();

using Wide = __int128;

// Operands hold values of a type of `bits` bits, sign- or zero-extended; the result is taken modulo 2^bits.
struct IntegerType {
    const char* name;    // "int"
    const char* suffix;  // "s.i32"
    int bits;
    bool is_signed;
    Wide min() const { return is_signed ? -(Wide(1) << (bits - 1)) : 0; }
    Wide max() const { return (Wide(1) << (is_signed ? bits - 1 : bits)) - 1; }
    uint64_t mask() const { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
    // The value that the low bits of `raw` stand for.
    Wide value(uint64_t raw) const;
};
const std::vector<IntegerType>& integer_types();

struct IntegerCase {
    const char* name;
    std::function<Wide(Wide x, Wide y, Wide z, const IntegerType& type)> reference;
};
const std::vector<IntegerCase>& integer_cases();
// extract_bits and insert_bits.
Wide reference_extract_bits(Wide x, uint32_t offset, uint32_t count, const IntegerType& type);
Wide reference_insert_bits(Wide base, Wide insert, uint32_t offset, uint32_t count, const IntegerType& type);

// Operands that meet every edge of a type: extremes, powers of two and their neighbours, random bits.
std::vector<uint64_t> integer_operands(const IntegerType& type, size_t count, uint32_t seed);

}  // namespace ingot::metal::testing

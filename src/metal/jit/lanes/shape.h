// How a value differs between the lanes of a simdgroup: what the vector executor's analysis computes for
// every instruction. Uniform, strided and pattern values are held as one scalar, lane 0's; only varying ones
// take a vector. Offsets are exact modulo 2^64 and stand for the value's own width.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>

#include "metal/exec/launch.h"

namespace ingot::metal::jit::lanes {

constexpr unsigned kLanes = kSimdWidth;
// What each lane adds to lane 0's value.
using Offsets = std::array<int64_t, kLanes>;

enum class ShapeKind : uint8_t {
    kNone,     // not seen yet
    kUniform,  // the same in all active lanes
    kStrided,  // lane 0's + lane * stride
    kPattern,  // lane 0's + a constant of each lane
    kVarying,
};

struct Shape {
    ShapeKind kind = ShapeKind::kNone;
    int64_t stride = 0;
    const Offsets* pattern = nullptr;  // interned, for kPattern
    std::optional<int64_t> first;      // lane 0's value where it is a constant
    uint8_t trailing_zeros = 0;        // of lane 0's value, at least
    // An extension to more bits is part of it, and it isn't proved that no lane wraps before: the shape holds
    // where a test at run time says so.
    bool assumed = false;

    bool operator==(const Shape&) const = default;
    bool is_scalar() const { return kind != ShapeKind::kVarying; }
    bool is_uniform() const { return kind == ShapeKind::kUniform; }
    bool is_affine() const { return kind == ShapeKind::kStrided || kind == ShapeKind::kPattern; }
    int64_t offset(unsigned lane) const;
    int64_t least_offset() const;
    int64_t greatest_offset() const;
    unsigned zeros() const;  // trailing zeros, a constant's known exactly
};

inline Shape uniform_shape() {
    return {.kind = ShapeKind::kUniform, .pattern = nullptr, .first = {}};
}
inline Shape varying_shape() {
    return {.kind = ShapeKind::kVarying, .pattern = nullptr, .first = {}};
}
inline Shape strided_shape(int64_t stride) {
    if (stride == 0) return uniform_shape();
    return {.kind = ShapeKind::kStrided, .stride = stride, .pattern = nullptr, .first = {}};
}

// The shape of a value that is one or the other.
Shape join(const Shape& a, const Shape& b);

// Makes shapes; owns the patterns they point to.
class ShapeTable {
  public:
    // The simplest shape with these offsets (the first must be 0).
    Shape from_offsets(const Offsets& offsets);
    // factor_a * a + factor_b * b.
    Shape combine(const Shape& a, int64_t factor_a, const Shape& b, int64_t factor_b);

  private:
    std::set<Offsets> patterns_;
};

}  // namespace ingot::metal::jit::lanes

#include "metal/jit/lanes/shape.h"

#include <algorithm>
#include <bit>

namespace ingot::metal::jit::lanes {
namespace {

constexpr unsigned kAllZero = 63;  // trailing zeros of 0, enough for any shift

// Wraps as the machine does.
int64_t multiply(int64_t a, int64_t b) {
    return int64_t(uint64_t(a) * uint64_t(b));
}
int64_t add(int64_t a, int64_t b) {
    return int64_t(uint64_t(a) + uint64_t(b));
}

}  // namespace

int64_t Shape::offset(unsigned lane) const {
    if (kind == ShapeKind::kStrided) return multiply(stride, lane);
    return kind == ShapeKind::kPattern ? (*pattern)[lane] : 0;
}

int64_t Shape::least_offset() const {
    int64_t least = 0;
    for (unsigned lane = 1; lane < kLanes; ++lane) least = std::min(least, offset(lane));
    return least;
}

int64_t Shape::greatest_offset() const {
    int64_t greatest = 0;
    for (unsigned lane = 1; lane < kLanes; ++lane) greatest = std::max(greatest, offset(lane));
    return greatest;
}

unsigned Shape::zeros() const {
    if (!first) return trailing_zeros;
    return *first == 0 ? kAllZero : unsigned(std::countr_zero(uint64_t(*first)));
}

Shape join(const Shape& a, const Shape& b) {
    if (a.kind == ShapeKind::kNone) return b;
    if (b.kind == ShapeKind::kNone) return a;
    if (a.kind != b.kind || a.stride != b.stride || a.pattern != b.pattern) return varying_shape();
    Shape result = a;
    result.trailing_zeros = uint8_t(std::min(a.zeros(), b.zeros()));
    if (a.first != b.first) result.first.reset();
    result.assumed = a.assumed || b.assumed;
    return result;
}

Shape ShapeTable::from_offsets(const Offsets& offsets) {
    bool linear = true;
    for (unsigned lane = 0; lane < kLanes; ++lane) linear &= offsets[lane] == multiply(offsets[1], lane);
    if (linear) return strided_shape(offsets[1]);
    return {.kind = ShapeKind::kPattern, .pattern = &*patterns_.insert(offsets).first, .first = {}};
}

Shape ShapeTable::combine(const Shape& a, int64_t factor_a, const Shape& b, int64_t factor_b) {
    Offsets offsets;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        offsets[lane] = add(multiply(a.offset(lane), factor_a), multiply(b.offset(lane), factor_b));
    }
    Shape result = from_offsets(offsets);
    result.assumed = a.assumed || b.assumed;
    return result;
}

}  // namespace ingot::metal::jit::lanes

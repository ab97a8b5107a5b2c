// What is known of the values a kernel's variables take, and proofs from it: affine forms over bounded
// integers with floor-division and remainder by constants, intervals and divisibility. `true` means proved;
// `false` means unknown, never disproved. tests/tile/domain_test.cpp holds each query against enumeration.
#pragma once

#include <map>
#include <optional>

#include "tile/ir/ir.h"

namespace ingot::tile {

// Whole numbers lo <= x <= hi; the limits of int64 stand for unbounded.
struct Interval {
    int64_t lo, hi;

    static Interval all();
    bool is_point() const { return lo == hi; }
    bool operator==(const Interval&) const = default;
};

// constant + sum of coefficient * term; a term is an expression that isn't itself a sum or a multiple.
struct Affine {
    int64_t constant = 0;
    std::map<ExprId, int64_t> terms;

    bool operator==(const Affine&) const = default;
};

class Domain {
  public:
    // Variables are unbounded until they are bounded; dims are at least 0.
    explicit Domain(const Kernel& k) : k_(&k) {}

    // 0 <= v < extent, where the variable lives. An extent that isn't constant bounds by its interval.
    void bound(VarId v, ExprId extent);
    void bound_grid();
    // The indices of all loops. Inside of them they are so; elsewhere they don't occur.
    void bound_loops();
    // What a condition that holds says; it is used by proves_less in either order of its sides.
    void assume(ExprId condition);
    // What was assumed can't hold: nothing here is ever reached.
    bool is_empty() const { return empty_; }

    Affine affine(ExprId e) const;
    Interval interval(ExprId e) const;
    Interval interval(const Affine& a) const;
    // The largest known d with e % d == 0; 0 divides by everything (e is 0).
    int64_t divisor(ExprId e) const;
    int64_t divisor(const Affine& a) const;

    bool proves_non_negative(ExprId e) const { return interval(e).lo >= 0; }
    // offset + span <= limit for all values, span >= 0.
    bool proves_within(ExprId offset, int64_t span, ExprId limit) const;
    // Is it sure to fail whenever it is reached: no value of `e` lies in [0, limit)?
    bool disproves_index(ExprId e, ExprId limit) const;
    // The two are never equal.
    bool proves_different(ExprId a, ExprId b) const;

  private:
    void bound_loops(const Block& body);
    void add(Affine& out, ExprId e, int64_t factor) const;
    Interval term_interval(ExprId e) const;
    int64_t term_divisor(ExprId e) const;

    const Kernel* k_;
    bool empty_ = false;
    std::map<VarId, Interval> vars_;
    std::map<VarId, ExprId> extents_;  // for extents that aren't constant
};

}  // namespace ingot::tile

#include "tile/plan/work_model.h"

#include <algorithm>
#include <cmath>

namespace ingot::tile {
namespace {

constexpr uint64_t kAtomSide = 8, kOperationDepth = 16;
constexpr uint32_t kScalarsPerMatrix = 2;  // 64 elements on 32 lanes

// A product of whole numbers that remembers if it didn't fit.
class Total {
  public:
    explicit Total(bool& overflow) : overflow_(&overflow) {}

    uint64_t operator()(std::initializer_list<uint64_t> factors) const {
        uint64_t out = 1;
        for (const uint64_t f : factors) *overflow_ |= __builtin_mul_overflow(out, f, &out);
        return out;
    }

  private:
    bool* overflow_;
};

bool is_mpp(CostBasis basis) {
    return basis != CostBasis::kSimdgroupReference;
}

double doublings(double a, double b) {
    return std::abs(std::log2(a / b));
}

Result<void> check_product(const ProductWork& w, const Partition& p) {
    if (w.m == 0 || w.n == 0 || w.k == 0 || w.m % kAtomSide != 0 || w.n % kAtomSide != 0 ||
        w.k % kAtomSide != 0)
        return fail(ErrorKind::kInvalidArgument, "a product of {} x {} x {}; multiples of 8 are accepted",
                    w.m, w.n, w.k);
    if (uint64_t{p.rows} * p.atom_m != w.m || uint64_t{p.columns} * p.atom_n != w.n)
        return fail(ErrorKind::kInvalidArgument, "{} x {} atoms of {} x {} for a product of {} x {}", p.rows,
                    p.columns, p.atom_m, p.atom_n, w.m, w.n);
    if (w.executions == 0 || w.recurrence == 0 || w.executions % w.recurrence != 0)
        return fail(ErrorKind::kInvalidArgument, "{} executions in recurrences of {}", w.executions,
                    w.recurrence);
    return {};
}

}  // namespace

uint32_t scalars_per_lane(CostBasis basis, const Realization& r) {
    const Partition& p = r.partition;
    const uint32_t m = p.atom_m / kAtomSide, n = p.atom_n / kAtomSide;
    if (is_mpp(basis)) return kScalarsPerMatrix * p.atoms_each() * m * n;
    if (p.rectangle) return kScalarsPerMatrix * (p.rm * p.rn + p.rm + p.rn);
    // In turn: one of A, one of B, and of C all that stay or the one at hand.
    return kScalarsPerMatrix * (2 + (r.accumulator == Accumulator::kShared ? 1 : p.atoms_each()));
}

uint32_t least_scalars_per_lane(CostBasis basis) {
    constexpr uint32_t kLeastTensor = 4, kLeastMatrices = 6;  // an 8x16 output; 8x8 of A, B and C
    return is_mpp(basis) ? kLeastTensor : kLeastMatrices;
}

Result<Features> features_of(CostBasis basis, const ProductWork& w, const Realization& r) {
    const Partition& p = r.partition;
    INGOT_TRY(check_product(w, p));
    bool overflow = false;
    const Total total(overflow);
    const uint64_t U = w.m / kAtomSide, V = w.n / kAtomSide, Q = w.k / kAtomSide, E = w.executions,
                   recurrences = E / w.recurrence;
    Features f;
    const uint64_t issues = total({U, V, Q, E});
    f.nominal_matrix_issues = double(issues);
    f.matrix_issues = f.nominal_matrix_issues;
    if (basis == CostBasis::kMppMemoryV3 && w.physical_k.total != 0)
        f.matrix_issues = double(total({U, V, E})) * w.physical_k.value() / double(kAtomSide);
    if (is_mpp(basis))
        f.tensor_operations = double(total({p.simdgroups, (w.k + kOperationDepth - 1) / kOperationDepth, E}));
    // 8x8 matrices of A, and of B, that the simdgroups take for one step of K.
    const uint64_t per_m = p.atom_m / kAtomSide, per_n = p.atom_n / kAtomSide;
    const uint64_t inputs =
        p.rectangle ? total({p.simdgroups, p.rm * per_m + p.rn * per_n}) : total({2, U, V});
    f.input_transfers = double(total({inputs, Q, E}));
    f.lhs_footprint = double(total({U, Q, E}));
    f.rhs_footprint = double(total({V, Q, E}));
    const bool stays = r.accumulator != Accumulator::kShared;
    const uint64_t loads = stays      ? w.loads.value_or(recurrences)
                           : w.clears ? 0
                                      : E,
                   stores = stays ? w.stores.value_or(recurrences) : E;
    if (r.accumulator == Accumulator::kDirect) {
        f.direct_stores = w.stored_by_elements ? 0 : double(total({U, V, stores}));
    } else {
        f.accumulator_transfers = double(total({U, V, loads})) + double(total({U, V, stores}));
    }
    if (!w.overwrites) f.initializations = double(total({U, V, recurrences}));
    f.scalars_per_lane = scalars_per_lane(basis, r);
    if (stays && basis != CostBasis::kMppMemoryV2) {
        uint64_t removed = w.resident_elements;
        if (r.accumulator == Accumulator::kDirect)
            overflow |= __builtin_add_overflow(removed, w.direct_elements, &removed);
        f.removed_elements = double(removed);
    }
    if (overflow)
        return fail(ErrorKind::kLimit, "what a product of {} x {} x {} does {} times doesn't fit 64 bits",
                    w.m, w.n, w.k, E);
    return f;
}

Result<Priced> price(CostBasis basis, const ProductWork& w, const Realization& r, const Costs& c) {
    INGOT_ASSIGN(const Features f, features_of(basis, w, r));
    const Partition& p = r.partition;
    const double G = p.simdgroups;
    std::vector<PricedPart> parts;
    if (!is_mpp(basis)) {
        const double atoms = double(w.m / kAtomSide) * double(w.n / kAtomSide);
        const double pressure = std::max(1.0, f.scalars_per_lane / c.simdgroup_preferred_scalars);
        const double parallel = std::max(1.0, std::min(c.simdgroup_preferred_subgroups, atoms) / G);
        const double each = pressure * parallel, transfer = c.simdgroup_fragment_transfer * each;
        parts = {{"matrix_issues", f.matrix_issues * c.simdgroup_matrix_issue * each},
                 {"input_transfers", f.input_transfers * transfer},
                 {"accumulator_transfers", f.accumulator_transfers * transfer},
                 {"direct_stores", f.direct_stores * transfer},
                 {"removed_elements", -f.removed_elements * c.simdgroup_element}};
    } else {
        const double each = std::max(1.0, f.scalars_per_lane / c.mpp_preferred_scalars) / G;
        const double local = doublings(p.rm * p.atom_m, p.rn * p.atom_n);
        parts = {{"matrix_issues", f.matrix_issues * c.mpp_matrix_issue * each},
                 {"tensor_operations", f.tensor_operations * c.mpp_operation * each},
                 {"input_transfers", f.input_transfers * c.mpp_fragment_read * each},
                 {"lhs_footprint", f.lhs_footprint * c.mpp_lhs_footprint * each},
                 {"rhs_footprint", f.rhs_footprint * c.mpp_rhs_footprint * each},
                 {"initializations", f.initializations * c.mpp_accumulator_initialization * each},
                 {"direct_stores", f.direct_stores * c.mpp_direct_store * each},
                 {"accumulator_transfers", f.accumulator_transfers * c.mpp_shared_transfer * each},
                 {"tile_aspect", f.matrix_issues * doublings(w.m, w.n) * c.mpp_tile_aspect * each},
                 {"local_aspect", f.matrix_issues * local * c.mpp_local_aspect * each},
                 {"removed_elements", -f.removed_elements * c.mpp_element / G}};
    }
    std::erase_if(parts, [](const PricedPart& x) { return x.cost == 0; });
    double score = 0;
    for (const PricedPart& x : parts) score += x.cost;
    return Priced{f, std::move(parts), score};
}

Result<void> check_elements(const GroupWork& group, std::span<const ProductWork> products) {
    uint64_t left = group.independent_elements;
    for (const ProductWork& p : products) {
        for (const uint64_t part : {p.resident_elements, p.direct_elements}) {
            if (part > left)
                return fail(ErrorKind::kInvalidArgument,
                            "products do without more than the group's {} elements",
                            group.independent_elements);
            left -= part;
        }
    }
    return {};
}

GroupPrice price_group(CostBasis basis, const GroupWork& group, uint32_t simdgroups, const Costs& c) {
    const double elements = double(group.independent_elements), G = simdgroups;
    const double programs = double(group.programs);
    if (!is_mpp(basis))
        return {elements * c.simdgroup_element + G * c.simdgroup_setup,
                std::max(1.0, programs / c.simdgroup_preferred_programs)};
    return {elements * c.mpp_element / G + c.mpp_group_setup,
            std::max(1.0, programs * G / c.mpp_concurrent_subgroups)};
}

}  // namespace ingot::tile

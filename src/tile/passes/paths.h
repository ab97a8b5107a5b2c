// Which path a matrix product can take, in two stages: the instruction by accumulator, target, shape and
// types, then the dataflow by where the operands are. Pure functions of the statement; nothing is recognised
// by name.
#pragma once

#include "tile/passes/plan.h"

namespace ingot::tile {

// M, N and K of a product; K is 0 where it isn't constant.
struct GemmShape {
    uint32_t m, n, k;
};
GemmShape shape_of(const Kernel& k, const Stmt& gemm);

// An Error if options.path asks for one that isn't legal here; it says why.
Result<GemmPlan> choose_path(const Kernel& k, const Stmt& gemm, const PlanOptions& options);

// Why operands of a product in tensors can't be brought to shared memory in steps of K; empty if they can.
std::string why_not_staged(const Kernel& k, const Stmt& gemm);

// The element stride between neighbours along a region's last kept dimension is 1 (so rows can be read as
// vectors).
bool has_unit_rows(const Kernel& k, const Region& r);

}  // namespace ingot::tile

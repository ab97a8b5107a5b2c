// The passes, in the order in which pipeline.cpp runs them. Each takes a kernel and gives a new one, which
// means the same (tests/tile/passes_test.cpp: the interpreter before equals the interpreter after) and is
// verified.
#pragma once

#include "base/result.h"
#include "tile/ir/ir.h"
#include "tile/passes/plan.h"

namespace ingot::tile {

// Gives dims their values. Unknown names are an Error.
Result<Kernel> specialise(const Kernel& k, const std::map<std::string, int64_t>& dims);

// Turns element loops that sum products of elements into matrix products where these have a matrix path:
//   parallel i, j { for k carry s = 0 -> t { yield s + A[i, k] * B[k, j] }; ... t ... }
// Nothing is recognised by a name; loops that stay say why.
Result<Kernel> form_products(const Kernel& k, const PlanOptions& options, Plan& plan);

// Lets products read tensors where shared tiles only held copies of them for the product, on targets whose
// cooperative tensors can. A staging that means more stays, and a note says what.
Result<Kernel> bypass_staging(const Kernel& k, const PlanOptions& options, Plan& plan);

// fill C = 0; gemm C += A @ B  becomes  gemm C = A @ B, where nothing sees what was filled and the product
// runs once for it.
Result<Kernel> overwrite_accumulators(const Kernel& k, const PlanOptions& options, Plan& plan);

// Chooses each product's path, and rewrites those whose operands or accumulator the path can't take where
// they are: into a fragment for C, and a loop over K that stages A and B in shared memory, edges filled with
// 0.
Result<Kernel> select_paths(const Kernel& k, const PlanOptions& options, Plan& plan);

// Computes what an element loop puts into a shared tile where other element loops take it from there.
Result<Kernel> fuse_epilogues(const Kernel& k, const PlanOptions& options, Plan& plan);

// Lets products whose accumulator is in shared memory accumulate in a fragment, where the plan wants it and
// accumulators.h proves it.
Result<Kernel> promote_accumulators(const Kernel& k, const PlanOptions& options, Plan& plan);

// Gives pipelined loops as many versions of the tiles that their copies fill as they have stages, and copies
// ahead.
Result<Kernel> pipeline_loops(const Kernel& k, const PlanOptions& options, Plan& plan);

// Decides which fragments live in simdgroup matrices; the others become shared memory.
Result<Kernel> place_fragments(const Kernel& k, const PlanOptions& options, Plan& plan);

// Lays shared memory out: padding; tiles take turns in one place where they don't fit side by side. Refuses
// what the target hasn't.
Result<Kernel> lay_out(const Kernel& k, const PlanOptions& options, Plan& plan);

// Puts barriers where an effect of one thread must be seen by, or wait for, another.
Result<Kernel> insert_barriers(const Kernel& k, const PlanOptions& options, Plan& plan);

}  // namespace ingot::tile

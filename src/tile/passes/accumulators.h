// Accumulators in shared memory that could stay in the simdgroups' registers over a loop: the proof. A closed
// recurrence is a loop in which nothing but one product touches the accumulator, C += A @ B, or which carries
// it through a second tile, D = C; D += A @ B; C = D, or which hands on each step's, D += A @ B; C = D,
// though only the last one's is read. promote_accumulators (passes.h) rewrites what the planner chooses among
// proved ones.
#pragma once

#include <string>

#include "tile/ir/ir.h"

namespace ingot::tile {

struct AccumulatorProof {
    // Why the accumulator can't stay in registers over the loop, and why it can't be stored from there;
    // empty: it is proved that it can.
    std::string not_resident, not_direct;
    BufferId accumulator;
    StmtId loop;                 // the outermost one of the recurrence
    BufferId carry;              // the second tile, if there is one
    StmtId carry_in, carry_out;  // its copies
    BufferId published;          // the tile that each step's sum is handed on to, if there is one
    StmtId publish;              // the copy that does
    StmtId initializer, sink;  // of a direct one: the literal fill, and the copy to a tensor or element loop
};

// Of a product whose accumulator is in shared memory. `epilogues`: an element loop at its own place may take
// what a copy to a tensor would.
AccumulatorProof prove_accumulator(const Kernel& k, StmtId gemm, bool epilogues);

}  // namespace ingot::tile

// What the compiler decided: for each matrix product its path and how the simdgroups divide it, for each
// fragment where it lives. A plan never changes what a program means; the emitter follows it (emit/),
// --explain prints it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "tile/api/target.h"
#include "tile/ir/ir.h"

namespace ingot::tile {

// How a matrix product is computed.
#define INGOT_TILE_PATHS(X)                                                                 \
    X(DirectCooperative, "direct", "cooperative tensors, operands read from device memory") \
    X(SharedCooperative, "shared", "cooperative tensors, operands in threadgroup memory")   \
    X(Simdgroup, "simdgroup", "8x8 simdgroup matrices, operands in threadgroup memory")     \
    X(Scalar, "scalar", "one element a thread, for what no matrix instruction takes")

enum class Path : uint8_t {
#define X(id, ...) k##id,
    INGOT_TILE_PATHS(X)
#undef X
};
inline constexpr std::string_view kPathNames[] = {
#define X(id, name, meaning) name,
    INGOT_TILE_PATHS(X)
#undef X
};

// Division of an M x N tile among the simdgroups of a group, in atoms of atom_m x atom_n. A rectangle gives
// each simdgroup rm x rn neighbouring atoms, gm x gn of them; otherwise atoms go round in turn, the last
// round part-filled.
struct Partition {
    uint32_t atom_m = 8, atom_n = 8;
    uint32_t rows = 1, columns = 1;  // atoms of the tile
    uint32_t simdgroups = 1;
    bool rectangle = true;
    uint32_t gm = 1, gn = 1, rm = 1, rn = 1;

    uint32_t atoms_each() const {
        return rectangle ? rm * rn : (rows * columns + simdgroups - 1) / simdgroups;
    }
    bool operator==(const Partition&) const = default;
};

// The rectangle that reads least for a step in K, near square on a tie; policies fix gm or gn. Without a
// legal rectangle: in turn.
Partition divide(uint32_t m, uint32_t n, uint32_t atom_m, uint32_t atom_n, uint32_t simdgroups,
                 Policy policy);

// Where a product's accumulator lives.
enum class Accumulator : uint8_t {
    kShared,    // loaded and stored at each execution
    kResident,  // in the simdgroups' registers for all of a recurrence; from and to shared memory around it
    kDirect     // in registers, and used from there
};
inline constexpr std::string_view kAccumulatorNames[] = {"shared", "resident", "direct"};

// How the planner wants one product done (plan/). It is followed where the path takes such a partition.
struct ProductChoice {
    Partition partition;
    Accumulator accumulator = Accumulator::kDirect;
};

struct GemmPlan {
    Path path = Path::kScalar;
    Partition partition;
    std::string reason;  // why not a path higher in the list
};

// Something that a pass could have done, and the proof that failed.
struct Refusal {
    std::string where, what, why;
};

struct Plan {
    std::map<StmtId, GemmPlan> gemms;
    std::map<BufferId, Partition> fragments;    // that live in simdgroup matrices
    std::map<StmtId, BufferId> scratch;         // of reductions across simdgroups
    std::map<BufferId, int64_t> row_stride;     // of padded shared memory, in elements
    std::map<BufferId, int64_t> shared_bytes;   // of each shared tile, padding included
    std::map<BufferId, int64_t> shared_offset;  // in one piece of memory; empty where each has its own
    std::vector<std::string> notes;             // for --explain, in the order of the decisions
    std::vector<Refusal> refusals;
    int64_t forwarded_bytes = 0;          // of tiles that aren't staged any more
    uint32_t formed_products = 0;         // element loops that became products
    bool independent_simdgroups = false;  // proved: none needs to wait for another
    int64_t threadgroup_bytes = 0;
    uint32_t max_copy_batch = 1;  // values that a thread may read before it stores them to shared memory

    // Different tiles that lie in the same memory.
    bool share_memory(BufferId a, BufferId b) const;
};

struct PlanOptions {
    const Target* target = nullptr;
    // Refuse everything but this path where a product could take several (tests, --path).
    std::optional<Path> path;
    bool form_products = false;  // element loops that sum products of elements become matrix products
    bool bypass_staging = true;
    bool bounded_views = true;            // bypassing may follow copies that fill in zeros past an edge
    bool bounded_stores = true;           // accumulators in registers may be stored past an edge of a tensor
    bool overwrite_accumulators = false;  // a product after a fill with 0 stores instead of adding
    bool fuse_epilogues = false;          // tiles between element loops behind a product go
    bool elide_independent_barriers = false;  // those of a group whose simdgroups are proved independent
    // By Stmt::product - 1. Products without a number, and all if this is empty, are done as divide() says,
    // fragments in registers wherever they can be.
    std::vector<ProductChoice> choices;
    bool pipeline_loops = true;
    bool pad_shared_rows = true;
    // Barriers only where accesses conflict; otherwise one between any two statements that touch memory.
    bool coalesce_barriers = true;
    uint32_t max_copy_batch = 1;

    const ProductChoice* choice(const Stmt& gemm) const {
        return gemm.product == 0 || gemm.product > choices.size() ? nullptr : &choices[gemm.product - 1];
    }
};

}  // namespace ingot::tile

// Who computes which part of a tile: the maps between (simdgroup, its fragment) and the atom of the tile, in
// both directions, and the legal members of the family. A Partition (passes/plan.h) is one member; atoms are
// 8x8 for simdgroup matrices and 16x32 for cooperative tensors. Which member is best is for work_model.h and
// solver.h; where operands lie in memory is nobody's business here.
#pragma once

#include <optional>
#include <vector>

#include "tile/passes/plan.h"

namespace ingot::tile {

// An atom of the tile, and the simdgroup that holds it as its fragment-th.
struct AtomPlace {
    uint32_t row, column;

    bool operator==(const AtomPlace&) const = default;
};
struct AtomOwner {
    uint32_t simdgroup, fragment;

    bool operator==(const AtomOwner&) const = default;
};

// Nothing where the fragment is past the tail of the last round of atoms in turn.
std::optional<AtomPlace> atom_of(const Partition& p, AtomOwner owner);
AtomOwner owner_of(const Partition& p, AtomPlace atom);

// Every division into equal rectangles, gm ascending: gm * gn = simdgroups, gm * rm = rows, gn * rn =
// columns.
std::vector<Partition> rectangles(uint32_t m, uint32_t n, uint32_t atom_m, uint32_t atom_n,
                                  uint32_t simdgroups);
// Atoms go round in turn; legal for any number of simdgroups.
Partition in_turn(uint32_t m, uint32_t n, uint32_t atom_m, uint32_t atom_n, uint32_t simdgroups);

// How the simdgroups of a group take part in matrix operations: all in one of the tile's size, or each in
// its own of tile_m x tile_n, rows x columns of them.
struct Cohort {
    enum class Scope : uint8_t { kWholeGroup, kSimdgroup } scope = Scope::kSimdgroup;
    uint32_t rows = 1, columns = 1;     // simdgroups; 1 x 1 operations for a whole group
    uint32_t tile_m = 16, tile_n = 32;  // of one operation
};

// Element of the output that element (i, j) of the operation of this simdgroup (0 for a whole group) of this
// group is, and back.
struct OutputElement {
    uint64_t m, n;

    bool operator==(const OutputElement&) const = default;
};
struct OperationElement {
    uint64_t group_m, group_n;
    uint32_t simdgroup, i, j;

    bool operator==(const OperationElement&) const = default;
};
OutputElement output_of(const Cohort& c, const OperationElement& e);
OperationElement operation_of(const Cohort& c, OutputElement e);

}  // namespace ingot::tile

#include "tile/plan/execution_map.h"

#include <algorithm>

namespace ingot::tile {

std::optional<AtomPlace> atom_of(const Partition& p, AtomOwner owner) {
    if (p.rectangle)
        return AtomPlace{owner.simdgroup / p.gn * p.rm + owner.fragment / p.rn,
                         owner.simdgroup % p.gn * p.rn + owner.fragment % p.rn};
    const uint32_t place = owner.fragment * p.simdgroups + owner.simdgroup;
    if (place >= p.rows * p.columns) return std::nullopt;
    return AtomPlace{place / p.columns, place % p.columns};
}

AtomOwner owner_of(const Partition& p, AtomPlace atom) {
    if (p.rectangle)
        return {atom.row / p.rm * p.gn + atom.column / p.rn, atom.row % p.rm * p.rn + atom.column % p.rn};
    const uint32_t place = atom.row * p.columns + atom.column;
    return {place % p.simdgroups, place / p.simdgroups};
}

std::vector<Partition> rectangles(uint32_t m, uint32_t n, uint32_t atom_m, uint32_t atom_n,
                                  uint32_t simdgroups) {
    if (m % atom_m != 0 || n % atom_n != 0 || simdgroups == 0) return {};
    std::vector<uint32_t> divisors;
    for (uint32_t d = 1; uint64_t{d} * d <= simdgroups; ++d) {
        if (simdgroups % d != 0) continue;
        divisors.push_back(d);
        if (d != simdgroups / d) divisors.push_back(simdgroups / d);
    }
    std::ranges::sort(divisors);
    std::vector<Partition> out;
    for (const uint32_t gm : divisors) {
        Partition p = in_turn(m, n, atom_m, atom_n, simdgroups);
        p.gm = gm, p.gn = simdgroups / gm;
        if (p.rows % p.gm != 0 || p.columns % p.gn != 0) continue;
        p.rectangle = true;
        p.rm = p.rows / p.gm, p.rn = p.columns / p.gn;
        out.push_back(p);
    }
    return out;
}

Partition in_turn(uint32_t m, uint32_t n, uint32_t atom_m, uint32_t atom_n, uint32_t simdgroups) {
    return {.atom_m = atom_m,
            .atom_n = atom_n,
            .rows = m / atom_m,
            .columns = n / atom_n,
            .simdgroups = simdgroups,
            .rectangle = false};
}

OutputElement output_of(const Cohort& c, const OperationElement& e) {
    const uint64_t row = e.simdgroup / c.columns, column = e.simdgroup % c.columns;
    return {(e.group_m * c.rows + row) * c.tile_m + e.i, (e.group_n * c.columns + column) * c.tile_n + e.j};
}

OperationElement operation_of(const Cohort& c, OutputElement e) {
    const uint64_t row = e.m / c.tile_m, column = e.n / c.tile_n;
    return {row / c.rows, column / c.columns, uint32_t(row % c.rows * c.columns + column % c.columns),
            uint32_t(e.m % c.tile_m), uint32_t(e.n % c.tile_n)};
}

}  // namespace ingot::tile

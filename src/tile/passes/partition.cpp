#include "tile/passes/plan.h"

namespace ingot::tile {

Partition divide(uint32_t m, uint32_t n, uint32_t atom_m, uint32_t atom_n, uint32_t simdgroups,
                 Policy policy) {
    Partition best{.atom_m = atom_m,
                   .atom_n = atom_n,
                   .rows = m / atom_m,
                   .columns = n / atom_n,
                   .simdgroups = simdgroups,
                   .rectangle = false};
    uint64_t least = ~uint64_t{0};
    for (uint32_t gm = 1; gm <= simdgroups; ++gm) {
        if (simdgroups % gm != 0) continue;
        const uint32_t gn = simdgroups / gm;
        if (best.rows % gm != 0 || best.columns % gn != 0) continue;
        if (policy == Policy::kFullRow && gn != 1) continue;
        if (policy == Policy::kFullCol && gm != 1) continue;
        const uint64_t reads = uint64_t(m / gm) + n / gn;
        const uint64_t lopsided = gm > gn ? gm - gn : gn - gm;
        const uint64_t cost = (reads << 16) + (lopsided << 1) + (gm > gn);
        if (cost >= least) continue;
        least = cost;
        best.rectangle = true;
        best.gm = gm, best.gn = gn, best.rm = best.rows / gm, best.rn = best.columns / gn;
    }
    return best;
}

bool Plan::share_memory(BufferId a, BufferId b) const {
    const auto x = shared_offset.find(a), y = shared_offset.find(b);
    if (a == b || x == shared_offset.end() || y == shared_offset.end()) return false;
    return x->second < y->second + shared_bytes.at(b) && y->second < x->second + shared_bytes.at(a);
}

}  // namespace ingot::tile

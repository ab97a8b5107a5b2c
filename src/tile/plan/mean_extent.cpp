#include "tile/plan/mean_extent.h"

#include <limits>

namespace ingot::tile {
namespace {

using Wide = __int128;

// first + (first + step) + ..., n of them.
Wide progression(Wide first, Wide step, Wide n) {
    return n * first + step * (n * (n - 1) / 2);
}

}  // namespace

std::optional<MeanExtent> mean_capped(int64_t first, int64_t step, int64_t count,
                                      std::optional<int64_t> cap) {
    constexpr int64_t kLimit = int64_t{1} << 40;  // keeps the sums inside of 128 bits
    if (count < 1 || count > kLimit || (cap && *cap < 1)) return std::nullopt;
    if (first > kLimit || first < -kLimit || step > kLimit || step < -kLimit) return std::nullopt;
    // Ascending from here on: the same values the other way round have the same sum.
    Wide low = first, rise = step;
    if (rise < 0) low += rise * (count - 1), rise = -rise;
    if (low < 1) return std::nullopt;
    Wide below = count;  // values that the cap leaves alone
    if (cap && low > *cap) {
        below = 0;
    } else if (cap && rise > 0) {
        below = std::min<Wide>(count, (*cap - low) / rise + 1);
    }
    const Wide total = progression(low, rise, below) + Wide(count - below) * cap.value_or(0);
    if (total > Wide(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return MeanExtent{uint64_t(total), uint64_t(count)};
}

MeanExtent mean_inside(const Kernel& k, const Region& r, size_t d,
                       const std::map<VarId, std::optional<int64_t>>& loops) {
    const auto nominal = constant_int(k, r.sizes[d]);
    const Domain domain(k);
    Affine room = domain.affine(k[r.buffer].shape[d]);
    const Affine offset = domain.affine(r.offsets[d]);
    room.constant -= offset.constant;
    for (const auto& [term, factor] : offset.terms)
        if ((room.terms[term] -= factor) == 0) room.terms.erase(term);
    const MeanExtent whole{uint64_t(nominal.value_or(0)), 1};
    if (room.terms.size() > 1) return whole;
    if (room.terms.empty()) return mean_capped(room.constant, 0, 1, nominal).value_or(whole);
    const auto& [term, factor] = *room.terms.begin();
    if (k[term].op != ExprOp::kVar) return whole;
    const auto loop = loops.find(VarId(k[term].ref));
    if (loop == loops.end() || !loop->second) return whole;
    return mean_capped(room.constant, factor, *loop->second, nominal).value_or(whole);
}

}  // namespace ingot::tile

// Simdgroup functions, matrix operations and simdgroup barriers that some lanes of a simdgroup skip. Lanes
// that never come to a call make its result cover fewer lanes than it seems to; matrix operations and
// barriers need all of them. Told by how often each lane ran the code where they stand: in uniform code all
// lanes of a simdgroup ran it equally often. Shuffles from lanes that give nothing are told by whoever
// shuffles.
#include <algorithm>
#include <array>

#include "metal/check/checkers.h"
#include "metal/check/describe.h"

namespace ingot::metal::check {
namespace {

class Simd final : public Listener {
  public:
    explicit Simd(Findings& findings) : findings_(findings) {}

    void launch_begins(const LaunchEvent& event) override { sites_ = &event.kernel.instrumentation.sites; }
    bool is_quiet(const MemoryObject&) const override { return true; }
    bool hears_calls() const override { return false; }
    void stray_shuffle(const StrayShuffle& shuffle) override;
    void group_ends(const GroupEvent& event) override;

  private:
    void check(uint32_t site, const GroupEvent& event, uint32_t first);

    Findings& findings_;
    const std::vector<Site>* sites_ = nullptr;
};

// Functions that ask who is there are meant for divergent code.
bool asks_who_is_active(const Site& site) {
    return site.function == "simd_active_threads_mask" || site.function == "simd_is_first" ||
           site.function == "quad_active_threads_mask" || site.function == "quad_is_first";
}

FindingKind kind_of(const Site& site) {
    switch (site.kind) {
        case SiteKind::kSimdFunction:
            return FindingKind::kDivergentSimdFunction;
        case SiteKind::kSimdgroupBarrier:
            return FindingKind::kDivergentSimdgroupBarrier;
        default:
            return FindingKind::kDivergentMatrix;
    }
}

std::string times(uint64_t count) {
    if (count == 0) return "never";
    return count == 1 ? "once" : fmt::format("{} times", count);
}

bool needs_all_lanes(const Site& site) {
    switch (site.kind) {
        case SiteKind::kSimdgroupBarrier:
        case SiteKind::kMatrixProduct:
        case SiteKind::kMatrixLoad:
        case SiteKind::kMatrixStore:
            return true;
        case SiteKind::kSimdFunction:
            return !asks_who_is_active(site);
        default:
            return false;
    }
}

void Simd::stray_shuffle(const StrayShuffle& shuffle) {
    const FindingKind kind =
        shuffle.exists ? FindingKind::kShuffleInactiveLane : FindingKind::kShuffleOutOfRange;
    Finding* finding = findings_.add(kind, shuffle.site_number);
    if (finding == nullptr) return;
    finding->thread = shuffle.thread->position;
    finding->group = shuffle.thread->group_position;
    const std::string who = describe(*shuffle.thread);
    finding->text =
        shuffle.exists
            ? fmt::format("{} reads lane {} by {}, but that lane takes no part. What it gets is undefined.",
                          who, shuffle.source, shuffle.site->function)
            : fmt::format("{} gives {} the number {}, for which there is no lane. What it gets is undefined.",
                          who, shuffle.site->function, shuffle.source);
}

// The simdgroup whose first thread is `first`.
void Simd::check(uint32_t site_number, const GroupEvent& event, uint32_t first) {
    const Site& site = (*sites_)[site_number];
    const uint32_t num_lanes = std::min(kSimdWidth, event.num_threads - first);
    std::array<uint64_t, kSimdWidth> runs;
    for (uint32_t lane = 0; lane < num_lanes; ++lane) runs[lane] = event.runs(first + lane, site.block);
    const auto begin = runs.begin(), end = begin + num_lanes;
    const auto [least, most] = std::minmax_element(begin, end);
    if (*least == *most) return;
    Finding* finding = findings_.add(kind_of(site), site_number);
    if (finding == nullptr) return;
    const auto skipping = std::count_if(begin, end, [&](uint64_t n) { return n < *most; });
    finding->group = event.position;
    const std::string what = site.function.empty() ? std::string("a simdgroup matrix is loaded or stored")
                                                   : fmt::format("{} is called", site.function);
    const char* rule = site.kind == SiteKind::kSimdFunction ? "Its result covers the lanes that are there."
                                                            : "All lanes of a simdgroup must take part.";
    finding->text = fmt::format(
        "{} here {} by lane {} of simdgroup {} of threadgroup {}, but {} by lane {}; {} of {} lanes skip it "
        "at least "
        "once. {}",
        what, times(*most), most - begin, first / kSimdWidth, describe(event.position), times(*least),
        least - begin, skipping, num_lanes, rule);
}

void Simd::group_ends(const GroupEvent& event) {
    for (uint32_t site = 0; site < sites_->size(); ++site) {
        if (!needs_all_lanes((*sites_)[site])) continue;
        for (uint32_t first = 0; first < event.num_threads; first += kSimdWidth) check(site, event, first);
    }
}

}  // namespace

std::unique_ptr<Listener> make_simd(Findings& findings) {
    return std::make_unique<Simd>(findings);
}

}  // namespace ingot::metal::check

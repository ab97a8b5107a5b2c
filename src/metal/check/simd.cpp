// Simdgroup functions, matrix operations and simdgroup barriers that some lanes of a simdgroup skip. Lanes
// that never come to a call make its result cover fewer lanes than it seems to; matrix operations and
// barriers need all of them. Told by counting: in uniform code all lanes of a simdgroup come to a call
// equally often. Shuffles from lanes that give nothing are told by whoever shuffles.
#include <algorithm>
#include <map>

#include "metal/check/checkers.h"
#include "metal/check/describe.h"

namespace ingot::metal::check {
namespace {

class Simd final : public Listener {
  public:
    explicit Simd(Findings& findings) : findings_(findings) {}

    void launch_begins(const LaunchEvent& event) override { sites_ = &event.kernel.instrumentation.sites; }
    void group_begins(const GroupEvent& event) override {
        event_ = event;
        counts_.clear();
    }
    void call(const Call& call) override;
    void access(const Access& access) override;
    void stray_shuffle(const StrayShuffle& shuffle) override;
    void group_ends(const GroupEvent& event) override;

  private:
    void count(uint32_t site, const Thread& thread);
    void check(uint32_t site, uint32_t simdgroup, const uint32_t* begin, uint32_t num_lanes);

    Findings& findings_;
    const std::vector<Site>* sites_ = nullptr;
    GroupEvent event_{};
    std::map<uint32_t, std::vector<uint32_t>> counts_;  // site -> how often each thread came
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

std::string times(uint32_t count) {
    if (count == 0) return "never";
    return count == 1 ? "once" : fmt::format("{} times", count);
}

void Simd::count(uint32_t site, const Thread& thread) {
    std::vector<uint32_t>& counts = counts_[site];
    if (counts.empty()) counts.resize(event_.num_threads);
    ++counts[thread.index];
}

void Simd::call(const Call& call) {
    const SiteKind kind = call.site->kind;
    const bool meets = kind == SiteKind::kSimdFunction || kind == SiteKind::kSimdgroupBarrier ||
                       kind == SiteKind::kMatrixProduct;
    if (meets && !asks_who_is_active(*call.site)) count(call.site_number, *call.thread);
}

void Simd::access(const Access& access) {
    const SiteKind kind = access.site->kind;
    if (kind == SiteKind::kMatrixLoad || kind == SiteKind::kMatrixStore)
        count(access.site_number, *access.thread);
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

void Simd::check(uint32_t site_number, uint32_t simdgroup, const uint32_t* begin, uint32_t num_lanes) {
    const uint32_t* end = begin + num_lanes;
    const auto [least, most] = std::minmax_element(begin, end);
    if (*least == *most) return;
    const Site& site = (*sites_)[site_number];
    Finding* finding = findings_.add(kind_of(site), site_number);
    if (finding == nullptr) return;
    const auto skipping = uint32_t(std::count_if(begin, end, [&](uint32_t n) { return n < *most; }));
    finding->group = event_.position;
    const std::string what = site.function.empty() ? std::string("a simdgroup matrix is loaded or stored")
                                                   : fmt::format("{} is called", site.function);
    const char* rule = site.kind == SiteKind::kSimdFunction ? "Its result covers the lanes that are there."
                                                            : "All lanes of a simdgroup must take part.";
    finding->text = fmt::format(
        "{} here {} by lane {} of simdgroup {} of threadgroup {}, but {} by lane {}; {} of {} lanes skip it "
        "at least "
        "once. {}",
        what, times(*most), most - begin, simdgroup, describe(event_.position), times(*least), least - begin,
        skipping, num_lanes, rule);
}

void Simd::group_ends(const GroupEvent& event) {
    for (const auto& [site, counts] : counts_) {
        for (uint32_t first = 0; first < event.num_threads; first += kSimdWidth) {
            check(site, first / kSimdWidth, counts.data() + first,
                  std::min(kSimdWidth, event.num_threads - first));
        }
    }
}

}  // namespace

std::unique_ptr<Listener> make_simd(Findings& findings) {
    return std::make_unique<Simd>(findings);
}

}  // namespace ingot::metal::check

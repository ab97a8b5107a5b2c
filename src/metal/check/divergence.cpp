// Barriers that not all threads of a threadgroup reach: some returned, or took another way. Metal leaves that
// undefined; here the others run on. The k-th barrier of each thread is one meeting, so threads must come to
// the same number of barriers, each time to the same one.
#include <algorithm>

#include "metal/check/checkers.h"
#include "metal/check/describe.h"

namespace ingot::metal::check {
namespace {

// Who came to a meeting first, and where.
struct Meeting {
    uint32_t site = 0;
    uint32_t thread = 0;
};

class Divergence final : public Listener {
  public:
    explicit Divergence(Findings& findings) : findings_(findings) {}

    bool is_quiet(const MemoryObject&) const override { return true; }
    void launch_begins(const LaunchEvent& event) override { sites_ = &event.kernel.instrumentation.sites; }
    void group_begins(const GroupEvent& event) override {
        num_passed_.assign(event.num_threads, 0);
        positions_.resize(event.num_threads);
        meetings_.clear();
    }
    void call(const Call& call) override;
    void thread_ends(const Thread& thread) override { positions_[thread.index] = thread.position; }
    void group_ends(const GroupEvent& event) override;

  private:
    Findings& findings_;
    const std::vector<Site>* sites_ = nullptr;
    std::vector<uint32_t> num_passed_;  // barriers, of each thread
    std::vector<Position> positions_;
    std::vector<Meeting> meetings_;
};

void Divergence::call(const Call& call) {
    if (call.site->kind != SiteKind::kBarrier) return;
    const Thread& thread = *call.thread;
    positions_[thread.index] = thread.position;
    const uint32_t number = num_passed_[thread.index]++;
    if (number == meetings_.size()) meetings_.push_back({call.site_number, thread.index});
    const Meeting& meeting = meetings_[number];
    if (meeting.site == call.site_number) return;
    const Site& other = (*sites_)[meeting.site];
    Finding* finding = findings_.add_pair(FindingKind::kDifferentBarriers, call.site_number, meeting.site);
    if (finding == nullptr) return;
    finding->thread = thread.position;
    finding->group = thread.group_position;
    finding->text = fmt::format(
        "{} comes to this barrier while thread {} waits at the one at {}: threads of a group must meet at "
        "the same one.",
        describe(thread), describe(positions_[meeting.thread]), describe(other));
}

void Divergence::group_ends(const GroupEvent& event) {
    const auto [least, most] = std::ranges::minmax(num_passed_);
    if (least == most) return;
    // The first meeting that somebody missed.
    const Meeting& meeting = meetings_[least];
    Finding* finding = findings_.add(FindingKind::kBarrierDivergence, meeting.site);
    if (finding == nullptr) return;
    const auto missing = std::ranges::find(num_passed_, least);
    const auto came = uint32_t(std::ranges::count_if(num_passed_, [&](uint32_t n) { return n > least; }));
    finding->thread = positions_[size_t(missing - num_passed_.begin())];
    finding->group = event.position;
    finding->text = fmt::format(
        "{} of the {} threads of threadgroup {} come to this barrier, thread {} doesn't: it returned or took "
        "another "
        "way. All threads of a threadgroup must reach a barrier.",
        came, event.num_threads, describe(event.position), describe(*finding->thread));
}

}  // namespace

std::unique_ptr<Listener> make_divergence(Findings& findings) {
    return std::make_unique<Divergence>(findings);
}

}  // namespace ingot::metal::check

// Index arithmetic that wraps around in 32 bits. Off unless asked for: unsigned numbers may wrap on purpose.
#include "metal/check/checkers.h"
#include "metal/check/describe.h"

namespace ingot::metal::check {
namespace {

class Overflow final : public Listener {
  public:
    explicit Overflow(Findings& findings) : findings_(findings) {}

    bool is_quiet(const MemoryObject&) const override { return true; }
    void call(const Call& call) override {
        if (call.site->kind != SiteKind::kOverflow) return;
        Finding* finding = findings_.add(FindingKind::kIndexOverflow, call.site_number);
        if (finding == nullptr) return;
        finding->thread = call.thread->position;
        finding->group = call.thread->group_position;
        finding->text = fmt::format("{} computes an index whose {} wraps around; it needs 64 bits.",
                                    describe(*call.thread), call.site->function);
    }

  private:
    Findings& findings_;
};

}  // namespace

std::unique_ptr<Listener> make_overflow(Findings& findings) {
    return std::make_unique<Overflow>(findings);
}

}  // namespace ingot::metal::check

// What threads do with cooperative tensors: elements past the capacity, places of elements that stand for
// nothing, tensors that were made as one operand and multiplied as another (their elements may lie
// elsewhere). Whether results depend on the layout is told by running a launch in each (layouts.h).
#include <map>

#include "metal/check/checkers.h"
#include "metal/check/describe.h"
#include "metal/exec/fibers/cooperative_layout.h"

namespace ingot::metal::check {
namespace {

class Tensor final : public Listener {
  public:
    explicit Tensor(Findings& findings) : findings_(findings) {}

    bool is_quiet(const MemoryObject&) const override { return true; }
    bool hears_calls() const override { return false; }
    void launch_begins(const LaunchEvent& event) override { sites_ = &event.kernel.instrumentation.sites; }
    void group_begins(const GroupEvent&) override { made_.clear(); }
    void tensor(const TensorEvent& event) override;

  private:
    struct Made {
        uint32_t operand;
        int32_t rows, columns;
        uint32_t threads, site;
    };
    void make(const TensorEvent& event);
    void check_element(const TensorEvent& event);
    void check_operand(const TensorEvent& event);
    Finding* add(FindingKind kind, const TensorEvent& event);

    Findings& findings_;
    const std::vector<Site>* sites_ = nullptr;
    std::map<std::pair<uint32_t, const void*>, Made> made_;  // by thread and address
};

constexpr uint32_t kDestination = 2;

const char* operand_name(uint32_t operand) {
    constexpr const char* kNames[] = {"left operand", "right operand", "destination"};
    return kNames[std::min(operand, kDestination)];
}

void Tensor::tensor(const TensorEvent& event) {
    const TensorUse& use = event.use;
    switch (use.what) {
        case TensorUse::kBegins:
            return make(event);
        case TensorUse::kElement:
        case TensorUse::kPlace:
            return check_element(event);
        case TensorUse::kOperand:
            return check_operand(event);
    }
}

// Tensors move when functions return them: what is loaded or multiplied into one counts as its beginning too.
void Tensor::make(const TensorEvent& event) {
    const TensorUse& use = event.use;
    made_[{event.thread->index, use.elements}] = {use.operand, use.rows, use.columns, use.threads,
                                                  event.site_number};
}

Finding* Tensor::add(FindingKind kind, const TensorEvent& event) {
    Finding* finding = findings_.add(kind, event.site_number);
    if (finding == nullptr) return nullptr;
    finding->thread = event.thread->position;
    finding->group = event.thread->group_position;
    return finding;
}

void Tensor::check_element(const TensorEvent& event) {
    const TensorUse& use = event.use;
    const fibers::CooperativeShape shape{use.layout, int(use.threads), use.rows, use.columns};
    const std::string what =
        fmt::format("{} asks for element {} of a cooperative tensor of {} x {} ({} of a matmul2d)",
                    describe(*event.thread), use.element, use.rows, use.columns, operand_name(use.operand));
    if (use.element < 0 || use.element >= shape.capacity()) {
        if (Finding* finding = add(FindingKind::kTensorCapacity, event))
            finding->text = fmt::format("{}, of which it holds {}.", what, shape.capacity());
        return;
    }
    if (use.what != TensorUse::kPlace) return;
    const fibers::Place place = fibers::place_of(shape, int(event.thread->index % use.threads), use.element);
    if (place.row < use.rows) return;
    if (Finding* finding = add(FindingKind::kInvalidElement, event))
        finding->text = fmt::format("{}, which stands for nothing: ask is_valid_element() before.", what);
}

void Tensor::check_operand(const TensorEvent& event) {
    const TensorUse& use = event.use;
    if (use.operand == kDestination) return make(event);
    const auto found = made_.find({event.thread->index, use.elements});
    if (found == made_.end()) return;
    const Made& made = found->second;
    if (made.operand == use.operand && made.rows == use.rows && made.columns == use.columns &&
        made.threads == use.threads)
        return;
    Finding* finding = add(FindingKind::kMixedLayouts, event);
    if (finding == nullptr) return;
    finding->text = fmt::format(
        "{} multiplies a cooperative tensor as {} of {} x {} by {} threads, which was made at {} as {} of {} "
        "x "
        "{} by {} threads: its elements may lie elsewhere.",
        describe(*event.thread), operand_name(use.operand), use.rows, use.columns, use.threads,
        describe((*sites_)[made.site]), operand_name(made.operand), made.rows, made.columns, made.threads);
}

}  // namespace

std::unique_ptr<Listener> make_tensor(Findings& findings) {
    return std::make_unique<Tensor>(findings);
}

}  // namespace ingot::metal::check

// Accesses outside of what they mean. An access that the code ties to one buffer or variable must lie in that
// one: an overrun into a neighbour counts. Where the code doesn't say which is meant, any bound buffer will
// do.
#include "metal/check/checkers.h"
#include "metal/check/describe.h"

namespace ingot::metal::check {
namespace {

class Bounds : public Listener {
  public:
    explicit Bounds(Findings& findings) : findings_(findings) {}

    std::unique_ptr<Listener> fork() const override;
    void join(const Listener& other) override { findings_.join(static_cast<const Bounds&>(other).findings_); }
    bool is_quiet(const MemoryObject&) const override { return true; }
    bool hears_calls() const override { return false; }
    void group_begins(const GroupEvent& event) override { findings_.at_group(event.number); }
    void launch_begins(const LaunchEvent& event) override {
        launch_ = &event.launch;
        for (const Argument& argument : event.kernel.info.arguments) {
            if (argument.guarded && argument.kind == ArgumentKind::kBuffer)
                may_be_missing_[argument.slot] = true;
        }
    }
    void access(const Access& access) override {
        if (!access.inside) return is_read_ahead(access) ? void() : report(access);
        if (access.address % access.site->align_bytes != 0) report_misaligned(access);
    }
    // Happens in any case.
    void tensor_access(const TensorAccess& access) override {
        if (access.inside()) return;
        Site site;
        report(access.as_access(site));
    }

  private:
    bool is_read_ahead(const Access& access) const;
    void report(const Access& access);
    void report_misaligned(const Access& access);
    std::string neighbour(const Access& access) const;

    Findings& findings_;
    const Launch* launch_ = nullptr;
    std::array<bool, kNumBufferSlots> may_be_missing_{};  // by slot: only a function constant asks for it
};

FindingKind kind_of(const Access& access) {
    if (access.region == nullptr) return FindingKind::kUnknownAddress;
    switch (access.region->object.kind) {
        case ObjectKind::kPrivateVariable:
            return FindingKind::kPrivateBounds;
        case ObjectKind::kProgramConstant:
            return FindingKind::kConstantBounds;
        case ObjectKind::kThreadgroupSlot:
        case ObjectKind::kThreadgroupVariable:
        case ObjectKind::kSomeThreadgroup:
            return FindingKind::kThreadgroupBounds;
        default:
            return FindingKind::kBufferBounds;
    }
}

// "which has 4000 bytes: 4 past its end"
std::string distance(const Access& access) {
    const Region& region = *access.region;
    const int64_t offset = access.offset(), size = int64_t(region.size_bytes);
    if (region.begin == 0) return "where nothing is bound";
    std::string text = fmt::format("which has {} bytes: ", size);
    if (offset < 0) return text + fmt::format("it begins {} before the first", -offset);
    return text + fmt::format("it ends {} past the last", offset + int64_t(access.size_bytes) - size);
}

// Whose memory an access hits instead.
std::string Bounds::neighbour(const Access& access) const {
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot) {
        const BufferBinding& bound = launch_->buffers[slot];
        const uint64_t begin = reinterpret_cast<uintptr_t>(bound.address);
        if (bound.address == nullptr || access.address - begin >= bound.size_bytes) continue;
        if (access.region != nullptr && begin == access.region->begin) continue;
        return fmt::format(" What is there belongs to buffer {}.", slot);
    }
    return {};
}

// Compilers read an argument ahead of the branch that it belongs to: if a function constant switched that
// off, nothing is bound and what is read isn't used.
bool Bounds::is_read_ahead(const Access& access) const {
    const Region* region = access.region;
    return region != nullptr && region->begin == 0 && region->object.kind == ObjectKind::kBuffer &&
           !access.site->writes && may_be_missing_[region->object.slot];
}

void Bounds::report(const Access& access) {
    Finding* finding = findings_.add(kind_of(access), access.site_number);
    if (finding == nullptr) return;
    set_access(*finding, access);
    if (access.region == nullptr) {
        finding->text = fmt::format("{} {} at an address outside of all buffers of the launch.",
                                    describe(*access.thread), describe_deed(access));
        return;
    }
    finding->text = fmt::format("{} {} at {}, {}.{}", describe(*access.thread), describe_deed(access),
                                describe_memory(access), distance(access), neighbour(access));
}

void Bounds::report_misaligned(const Access& access) {
    Finding* finding = findings_.add(FindingKind::kMisaligned, access.site_number);
    if (finding == nullptr) return;
    set_access(*finding, access);
    finding->text = fmt::format("{} {} at {}; the address isn't a multiple of {}, which this type needs.",
                                describe(*access.thread), describe_deed(access), describe_memory(access),
                                access.site->align_bytes);
}

// With findings of its own.
struct OwnFindings {
    Findings own;
};
class ForkedBounds final : OwnFindings, public Bounds {
  public:
    explicit ForkedBounds(const Kernel& kernel) : Bounds(own) { own.begin(kernel); }
};

std::unique_ptr<Listener> Bounds::fork() const {
    return std::make_unique<ForkedBounds>(findings_.kernel());
}

}  // namespace

std::unique_ptr<Listener> make_bounds(Findings& findings) {
    return std::make_unique<Bounds>(findings);
}

}  // namespace ingot::metal::check

// Reads of what nobody wrote: threadgroup memory, which holds anything when a threadgroup starts, and buffers
// that the host handed over without contents. What another thread writes later, without a barrier between, is
// a race and not reported here. Copies of whole structs may take padding along, so a copy counts as a read
// only where nobody wrote any of what it takes.
#include "metal/check/checkers.h"
#include "metal/check/describe.h"
#include "metal/check/shadow.h"

namespace ingot::metal::check {
namespace {

// An object in threadgroup memory.
struct Stretch {
    const Region* region = nullptr;
    uint64_t missing_bytes = 0;  // that the running group didn't write so far, as far as is known
};

struct Written {
    uint32_t group = 0;  // number of the last threadgroup that wrote the piece, plus 1
    uint32_t read = 0;   // number of the read that came too early, plus 1
};

// A read of what nobody had written.
struct EarlyRead {
    Access access;  // of a region that lasts; its thread is the copy
    Thread thread;
    bool threadgroup = false, raced = false;
    uint32_t previous = 0;  // number of another early read of the same place, plus 1
};

class Uninitialised final : public Listener {
  public:
    explicit Uninitialised(Findings& findings) : findings_(findings) {}

    bool is_quiet(const MemoryObject& object) const override {
        return object.space == MemorySpace::kPrivate || object.space == MemorySpace::kConstant ||
               (object.kind == ObjectKind::kBuffer && initialised_[object.slot]);
    }
    void launch_begins(const LaunchEvent& event) override {
        for (const Region& region : event.regions)
            if (region.object.kind == ObjectKind::kBuffer)
                initialised_[region.object.slot] = region.initialised;
        stretches_.clear();
        for (const Region& region : event.regions) stretches_.push_back({.region = &region});
    }
    void group_begins(const GroupEvent&) override {
        for (Stretch& stretch : stretches_) stretch.missing_bytes = stretch.region->size_bytes;
    }
    void access(const Access& access) override;
    void call(const Call& call) override;
    void tensor_access(const TensorAccess& access) override;
    void launch_ends() override;

  private:
    [[gnu::noinline]] void access_pieces(const Access& access, Stretch* stretch);
    void visit(Written& piece, const Access& access, bool reads, uint32_t& number);
    bool all_missing(const Access& access);

    Findings& findings_;
    std::array<bool, kNumBufferSlots> initialised_{};  // by slot
    std::vector<Stretch> stretches_;                   // by object
    Shadow<Written> written_;
    std::vector<EarlyRead> reads_;
};

bool is_threadgroup(const Site& site) {
    return site.space == MemorySpace::kThreadgroup;
}

uint32_t epoch_of(const Site& site, const Thread& thread) {
    return is_threadgroup(site) ? thread.threadgroup_epoch : thread.device_epoch;
}

// Whether one thread's access comes before another's by more than chance.
bool is_ordered(const Site& site, const Thread& before, const Thread& after) {
    const bool threadgroup = is_threadgroup(site);
    if (before.group != after.group) return threadgroup;
    if (before.index == after.index || epoch_of(site, before) != epoch_of(site, after)) return true;
    if (before.simdgroup != after.simdgroup) return false;
    return threadgroup ? before.threadgroup_simdgroup_epoch != after.threadgroup_simdgroup_epoch
                       : before.device_simdgroup_epoch != after.device_simdgroup_epoch;
}

// Whether nobody wrote what the access could see.
bool is_missing(const Written& piece, const Access& access) {
    return piece.group == 0 || (is_threadgroup(*access.site) && piece.group != access.thread->group + 1);
}

void Uninitialised::access(const Access& access) {
    if (!access.inside || access.region->initialised) return;
    Stretch* stretch = nullptr;
    if (is_threadgroup(*access.site)) {
        Stretch& known = stretches_[access.site->object];
        if (known.region == access.region) {
            // Nothing is missed any more where the group wrote everything.
            if (known.missing_bytes == 0) return;
            stretch = &known;
        }
    } else if (access.site->space != MemorySpace::kDevice) {
        return;
    }
    access_pieces(access, stretch);
}

void Uninitialised::access_pieces(const Access& access, Stretch* stretch) {
    const bool reads = access.site->reads && (access.site->kind != SiteKind::kCopy || all_missing(access));
    const bool writes = access.site->writes;
    uint32_t number = 0;  // of this read, once a piece is missing
    written_.for_each(access.address, access.size_bytes, [&](Written& piece, uint64_t, uint32_t bytes) {
        if (stretch != nullptr && writes && piece.group != access.thread->group + 1)
            stretch->missing_bytes -= bytes;
        // As nearly always: a read of what was written, or a write of what nobody missed.
        if (reads && !writes && !is_missing(piece, access)) return;
        if (writes && !reads && piece.read == 0) {
            piece.group = access.thread->group + 1;
        } else {
            visit(piece, access, reads, number);
        }
    });
}

bool Uninitialised::all_missing(const Access& access) {
    bool all = true;
    written_.for_each(access.address, access.size_bytes,
                      [&](const Written& piece, uint64_t, uint32_t) { all &= is_missing(piece, access); });
    return all;
}

void Uninitialised::visit(Written& piece, const Access& access, bool reads, uint32_t& number) {
    if (reads && is_missing(piece, access)) {
        if (number == 0) {
            reads_.push_back(
                {.access = access, .thread = *access.thread, .threadgroup = is_threadgroup(*access.site)});
            reads_.back().access.site = &findings_.kernel().instrumentation.sites[access.site_number];
            number = uint32_t(reads_.size());
        }
        EarlyRead& read = reads_[number - 1];
        if (!access.site->writes && piece.read != number) {
            if (read.previous == 0) read.previous = piece.read;
            piece.read = number;
        }
    }
    if (!access.site->writes) return;
    for (uint32_t early = piece.read; early != 0 && !reads_[early - 1].raced;
         early = reads_[early - 1].previous) {
        EarlyRead& read = reads_[early - 1];
        read.raced = !is_ordered(*access.site, read.thread, *access.thread);
    }
    piece = {.group = access.thread->group + 1, .read = 0};
}

void Uninitialised::tensor_access(const TensorAccess& access) {
    Site site;
    this->access(access.as_access(site));
}

// Instrumented code knows which variables have no value.
void Uninitialised::call(const Call& call) {
    if (call.site->kind != SiteKind::kUndefinedUse) return;
    Finding* finding = findings_.add(FindingKind::kUninitialisedLocal, call.site_number);
    if (finding == nullptr) return;
    finding->thread = call.thread->position;
    finding->group = call.thread->group_position;
    finding->text = fmt::format("{} uses a variable that nothing was assigned to, {}.",
                                describe(*call.thread), call.site->function);
}

void Uninitialised::launch_ends() {
    for (EarlyRead& read : reads_) {
        if (read.raced) continue;
        const bool threadgroup = read.threadgroup;
        Finding* finding = findings_.add(
            threadgroup ? FindingKind::kUninitialisedThreadgroup : FindingKind::kUninitialisedBuffer,
            read.access.site_number);
        if (finding == nullptr) continue;
        read.access.thread = &read.thread;
        set_access(*finding, read.access);
        finding->text =
            fmt::format("{} {} at {}, which {}.", describe(read.thread), describe_deed(read.access),
                        describe_memory(read.access),
                        threadgroup ? "no thread of the group wrote before" : "nobody wrote before");
    }
}

}  // namespace

std::unique_ptr<Listener> make_uninitialised(Findings& findings) {
    return std::make_unique<Uninitialised>(findings);
}

}  // namespace ingot::metal::check

// Races: two threads access one place, one of them writes, and nothing orders the two. In a threadgroup
// threadgroup_barrier orders the memory that its flags name; between threadgroups nothing does within a
// launch (a kernel with atomic_thread_fence may pass data on by atomics: there, accesses of different
// threadgroups aren't compared). Two atomic accesses don't race, nor do two writes of the same value. Threads
// of one simdgroup that no simdgroup_barrier orders, at different places of the code, rely on lockstep: a
// finding of its own kind. What matmul2d reads and writes counts as its simdgroup's, whose lanes it brings
// together.
#include <algorithm>
#include <cstring>
#include <optional>

#include "metal/check/checkers.h"
#include "metal/check/describe.h"
#include "metal/check/shadow.h"

namespace ingot::metal::check {
namespace {

// An access in the past.
struct Record {
    uint32_t epoch = 0;  // 0: none
    uint32_t group = 0;
    uint16_t thread = 0, simdgroup_epoch = 0;
    uint32_t site = 0;
};

// The last write; and of the reads since then one, and one by another thread, of another simdgroup if there
// is any.
struct Cell {
    Record write, read, other_read;
};

class Race final : public Listener {
  public:
    explicit Race(Findings& findings) : findings_(findings) {}

    bool is_quiet(const MemoryObject& object) const override {
        return object.space == MemorySpace::kPrivate || object.space == MemorySpace::kConstant;
    }
    void launch_begins(const LaunchEvent& event) override;
    void group_begins(const GroupEvent& event) override { positions_.push_back(event.position); }
    void access(const Access& access) override;
    void tensor_access(const TensorAccess& access) override;

  private:
    Record record_of(const Access& access) const;
    bool in_one_simdgroup(const Record& a, const Record& b) const;
    // What is wrong with two accesses one after the other; nothing if they are ordered.
    std::optional<FindingKind> race_of(const Record& past, const Record& now, bool device) const;
    void compare(const Record& past, const Record& now, const Access& access, uint64_t address,
                 bool past_writes = false);
    void write(Cell& cell, const Record& now, const Access& access, uint64_t address, uint32_t bytes);
    void read(Cell& cell, const Record& now, const Access& access, uint64_t address);
    Position position(uint16_t thread) const;
    std::string advice(FindingKind kind, bool writes) const;

    Findings& findings_;
    const std::vector<Site>* sites_ = nullptr;
    Size3 group_threads_;
    bool has_fences_ = false;
    std::vector<Position> positions_;  // of threadgroups
    Shadow<Cell> shadow_;
};

void Race::launch_begins(const LaunchEvent& event) {
    sites_ = &event.kernel.instrumentation.sites;
    group_threads_ = event.launch.group_threads;
    has_fences_ =
        std::ranges::any_of(*sites_, [](const Site& site) { return site.kind == SiteKind::kFence; });
}

Record Race::record_of(const Access& access) const {
    const Thread& thread = *access.thread;
    const bool device = access.site->space == MemorySpace::kDevice;
    return {.epoch = device ? thread.device_epoch : thread.threadgroup_epoch,
            .group = thread.group,
            .thread = uint16_t(thread.index),
            .simdgroup_epoch = device ? thread.device_simdgroup_epoch : thread.threadgroup_simdgroup_epoch,
            .site = access.site_number};
}

bool Race::in_one_simdgroup(const Record& a, const Record& b) const {
    return a.group == b.group && a.thread / kSimdWidth == b.thread / kSimdWidth;
}

bool is_tensor_operation(const Site& site) {
    return site.kind == SiteKind::kTensorOperation;
}

std::optional<FindingKind> Race::race_of(const Record& past, const Record& now, bool device) const {
    if (past.epoch == 0 || (past.group == now.group && past.thread == now.thread)) return std::nullopt;
    if ((*sites_)[past.site].is_atomic && (*sites_)[now.site].is_atomic) return std::nullopt;
    if (past.group != now.group)
        return device && !has_fences_ ? std::optional(FindingKind::kGroupRace) : std::nullopt;
    if (past.epoch != now.epoch) return std::nullopt;
    if (in_one_simdgroup(past, now)) {
        if (is_tensor_operation((*sites_)[past.site]) != is_tensor_operation((*sites_)[now.site]))
            return std::nullopt;
        if (past.simdgroup_epoch != now.simdgroup_epoch) return std::nullopt;
        if (past.site != now.site) return FindingKind::kLockstep;
    }
    return device ? FindingKind::kDeviceRace : FindingKind::kThreadgroupRace;
}

void Race::tensor_access(const TensorAccess& access) {
    Site site;
    this->access(access.as_access(site));
}

void Race::access(const Access& access) {
    const Site& site = *access.site;
    if (!access.inside || site.space == MemorySpace::kPrivate || site.space == MemorySpace::kConstant) return;
    const Record now = record_of(access);
    shadow_.for_each(access.address, access.size_bytes, [&](Cell& cell, uint64_t address, uint32_t bytes) {
        if (site.writes) {
            write(cell, now, access, address, bytes);
        } else {
            read(cell, now, access, address);
        }
    });
}

// Whether a store brings what the write before it brought.
bool brings_same(const Access& access, uint64_t address, uint32_t bytes) {
    const uint64_t offset = address - access.address;
    if (access.brings != nullptr) {
        const auto* brings = static_cast<const char*>(access.brings) + offset;
        return std::memcmp(brings, reinterpret_cast<const void*>(address), bytes) == 0;
    }
    if (access.site->kind != SiteKind::kStore && access.site->kind != SiteKind::kMatrixStore) return false;
    if (offset + bytes > sizeof access.value_low * 2) return false;
    const uint64_t value[2] = {access.value_low, access.value_high};
    return std::memcmp(reinterpret_cast<const char*>(value) + offset, reinterpret_cast<const void*>(address),
                       bytes) == 0;
}

void Race::write(Cell& cell, const Record& now, const Access& access, uint64_t address, uint32_t bytes) {
    if (!brings_same(access, address, bytes)) compare(cell.write, now, access, address, true);
    compare(cell.read, now, access, address);
    compare(cell.other_read, now, access, address);
    cell = {.write = now, .read = {}, .other_read = {}};
}

void Race::read(Cell& cell, const Record& now, const Access& access, uint64_t address) {
    compare(cell.write, now, access, address, true);
    Record &first = cell.read, &second = cell.other_read;
    const auto is_of = [](const Record& a, const Record& b) { return a.thread == b.thread; };
    if (first.epoch != now.epoch || first.group != now.group) {
        first = now;
        second = {};
    } else if (is_of(first, now)) {
        first = now;
    } else if (second.epoch == 0 || is_of(second, now) || in_one_simdgroup(first, second)) {
        second = now;
    }
}

Position Race::position(uint16_t thread) const {
    const Size3& size = group_threads_;
    return {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
}

std::string Race::advice(FindingKind kind, bool writes) const {
    switch (kind) {
        case FindingKind::kThreadgroupRace:
            return "no threadgroup_barrier(mem_flags::mem_threadgroup) stands between the two";
        case FindingKind::kDeviceRace:
            return "no threadgroup_barrier(mem_flags::mem_device) stands between the two";
        case FindingKind::kGroupRace:
            return writes ? "nothing orders threadgroups of one dispatch"
                          : "nothing orders threadgroups of one dispatch: split the kernel in two";
        default:
            return "only the lockstep of their simdgroup orders the two, no simdgroup_barrier does";
    }
}

void Race::compare(const Record& past, const Record& now, const Access& access, uint64_t address,
                   bool past_writes) {
    const bool device = access.site->space == MemorySpace::kDevice;
    const std::optional<FindingKind> found = race_of(past, now, device);
    if (!found) return;
    const Site& other = (*sites_)[past.site];
    Finding* finding = findings_.add_pair(*found, now.site, past.site);
    if (finding == nullptr) return;
    set_access(*finding, access);
    finding->offset_bytes = int64_t(address - access.region->begin);
    std::string who = fmt::format("thread {}", describe(position(past.thread)));
    if (past.group != now.group) who += fmt::format(" of threadgroup {}", describe(positions_[past.group]));
    finding->text = fmt::format("{} {} at byte {} of {}, which {} {} at {}; {}.", describe(*access.thread),
                                describe_deed(access), finding->offset_bytes, describe(access.region->object),
                                who, past_writes ? other.reads ? "updated" : "wrote" : "read",
                                describe(other), advice(*found, access.site->writes));
}

}  // namespace

std::unique_ptr<Listener> make_race(Findings& findings) {
    return std::make_unique<Race>(findings);
}

}  // namespace ingot::metal::check

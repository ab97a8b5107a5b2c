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

#include "base/check.h"
#include "metal/check/checkers.h"
#include "metal/check/describe.h"
#include "metal/check/shadow.h"

namespace ingot::metal::check {
namespace {

constexpr uint32_t kThreadBits = 10;
static_assert(kMaxThreadsPerThreadgroup == 1 << kThreadBits);

// An access in the past.
struct Record {
    uint32_t epoch = 0;  // 0: none; tells its threadgroup, too
    uint32_t place = 0;  // site and thread
    uint16_t simdgroup_epoch = 0;

    uint32_t thread() const { return place % (1 << kThreadBits); }
    uint32_t site() const { return place >> kThreadBits; }
};

// The last write; and of the reads since then one, and one by another thread, of another simdgroup if there
// is any. There is a cell for each word of memory, so the three are packed.
class alignas(32) Cell {
  public:
    enum Which { kWrite, kRead, kOtherRead };

    uint32_t epoch(Which which) const { return epochs_[which]; }
    Record operator[](Which which) const {
        return {
            .epoch = epochs_[which], .place = places_[which], .simdgroup_epoch = simdgroup_epochs_[which]};
    }
    void set(Which which, const Record& record) {
        epochs_[which] = record.epoch;
        places_[which] = record.place;
        simdgroup_epochs_[which] = record.simdgroup_epoch;
    }

  private:
    std::array<uint32_t, 3> epochs_{}, places_{};
    std::array<uint16_t, 3> simdgroup_epochs_{};
};
static_assert(sizeof(Cell) == 32);

bool is_tensor_operation(const Site& site) {
    return site.kind == SiteKind::kTensorOperation;
}

class Race final : public Listener {
  public:
    explicit Race(Findings& findings) : findings_(findings) {}

    bool is_quiet(const MemoryObject& object) const override {
        return object.space == MemorySpace::kPrivate || object.space == MemorySpace::kConstant ||
               (object.kind == ObjectKind::kBuffer && only_read_[object.slot]);
    }
    void launch_begins(const LaunchEvent& event) override;
    void group_begins(const GroupEvent& event) override {
        groups_.push_back({.first_epoch = event.first_epoch, .position = event.position});
    }
    void access(const Access& access) override;
    void tensor_access(const TensorAccess& access) override;

  private:
    struct Group {
        uint32_t first_epoch;
        Position position;
    };

    void find_only_read(const Launch& launch);
    Record record_of(const Access& access) const;
    [[gnu::noinline]] void access_pieces(const Record& now, const Access& access);
    // The one that ran in that epoch.
    const Group& group_of(uint32_t epoch) const;
    // Whether the two may race: most are ordered by an epoch, or are of one thread.
    bool may_race(const Record& past, const Record& now) const {
        if (past.epoch == now.epoch) return past.thread() != now.thread();
        return past.epoch - 1 < num_foreign_;
    }
    // What is wrong with two accesses one after the other; nothing if they are ordered.
    std::optional<FindingKind> race_of(const Record& past, const Record& now, bool device) const;
    [[gnu::noinline, gnu::cold]] void compare(const Record& past, const Record& now, const Access& access,
                                              uint64_t address, bool past_writes = false);
    void write(Cell& cell, const Record& now, const Access& access, uint64_t address, uint32_t bytes);
    void read(Cell& cell, const Record& now, const Access& access, uint64_t address);
    Position position(uint32_t thread) const;
    std::string advice(FindingKind kind, bool writes) const;

    Findings& findings_;
    const std::vector<Site>* sites_ = nullptr;
    Size3 group_threads_;
    bool has_fences_ = false;
    std::array<bool, kNumBufferSlots> only_read_{};  // what is bound there, by whatever argument
    std::vector<Group> groups_;                      // in the order in which they ran
    // Of the access at hand: how many of the first epochs are of other threadgroups that it may race with.
    uint32_t num_foreign_ = 0;
    Shadow<Cell> shadow_;
};

void Race::launch_begins(const LaunchEvent& event) {
    sites_ = &event.kernel.instrumentation.sites;
    INGOT_CHECK(sites_->size() < size_t{1} << (32 - kThreadBits));
    group_threads_ = event.launch.group_threads;
    has_fences_ =
        std::ranges::any_of(*sites_, [](const Site& site) { return site.kind == SiteKind::kFence; });
    find_only_read(event.launch);
}

// A kernel doesn't race in memory that it writes nowhere.
void Race::find_only_read(const Launch& launch) {
    only_read_ = {};
    const std::vector<MemoryObject>& objects = findings_.kernel().instrumentation.objects;
    std::vector<const BufferBinding*> written;
    for (const Site& site : *sites_) {
        if (is_tensor_operation(site) || site.kind == SiteKind::kTensorCopy) return;
        if (!site.writes) continue;
        if (objects[site.object].kind == ObjectKind::kSomeBuffer) return;
        if (objects[site.object].kind == ObjectKind::kBuffer)
            written.push_back(&launch.buffers[objects[site.object].slot]);
    }
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot) {
        only_read_[slot] = std::ranges::none_of(
            written, [&](const BufferBinding* binding) { return overlap(*binding, launch.buffers[slot]); });
    }
}

Record Race::record_of(const Access& access) const {
    const Thread& thread = *access.thread;
    const bool device = access.site->space == MemorySpace::kDevice;
    return {.epoch = device ? thread.device_epoch : thread.threadgroup_epoch,
            .place = access.site_number << kThreadBits | thread.index,
            .simdgroup_epoch = device ? thread.device_simdgroup_epoch : thread.threadgroup_simdgroup_epoch};
}

const Race::Group& Race::group_of(uint32_t epoch) const {
    return *std::prev(std::ranges::upper_bound(groups_, epoch, {}, &Group::first_epoch));
}

// Of two in one threadgroup.
bool in_one_simdgroup(const Record& a, const Record& b) {
    return a.thread() / kSimdWidth == b.thread() / kSimdWidth;
}

std::optional<FindingKind> Race::race_of(const Record& past, const Record& now, bool device) const {
    const Site &before = (*sites_)[past.site()], &here = (*sites_)[now.site()];
    if (before.is_atomic && here.is_atomic) return std::nullopt;
    if (past.epoch != now.epoch) return FindingKind::kGroupRace;
    if (in_one_simdgroup(past, now)) {
        if (is_tensor_operation(before) != is_tensor_operation(here)) return std::nullopt;
        if (past.simdgroup_epoch != now.simdgroup_epoch) return std::nullopt;
        if (past.site() != now.site()) return FindingKind::kLockstep;
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
    const bool across_groups = site.space == MemorySpace::kDevice && !has_fences_;
    num_foreign_ = across_groups ? groups_.back().first_epoch - 1 : 0;
    Cell* word = access.size_bytes == 4 ? shadow_.word(access.address) : nullptr;
    if (word == nullptr) return access_pieces(now, access);
    if (site.writes) {
        write(*word, now, access, access.address, 4);
    } else {
        read(*word, now, access, access.address);
    }
}

void Race::access_pieces(const Record& now, const Access& access) {
    if (access.site->writes) {
        shadow_.for_each(
            access.address, access.size_bytes,
            [&](Cell& cell, uint64_t address, uint32_t bytes) { write(cell, now, access, address, bytes); });
    } else {
        shadow_.for_each(access.address, access.size_bytes,
                         [&](Cell& cell, uint64_t address, uint32_t) { read(cell, now, access, address); });
    }
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

inline void Race::write(Cell& cell, const Record& now, const Access& access, uint64_t address,
                        uint32_t bytes) {
    const Record before = cell[Cell::kWrite], read = cell[Cell::kRead], other = cell[Cell::kOtherRead];
    if (may_race(before, now) && !brings_same(access, address, bytes))
        compare(before, now, access, address, true);
    if (may_race(read, now)) compare(read, now, access, address);
    if (may_race(other, now)) compare(other, now, access, address);
    cell = {};
    cell.set(Cell::kWrite, now);
}

inline void Race::read(Cell& cell, const Record& now, const Access& access, uint64_t address) {
    const Record before = cell[Cell::kWrite], first = cell[Cell::kRead];
    if (may_race(before, now)) compare(before, now, access, address, true);
    if (first.epoch != now.epoch) {
        cell.set(Cell::kRead, now);
        cell.set(Cell::kOtherRead, {});
    } else if (first.thread() == now.thread()) {
        cell.set(Cell::kRead, now);
    } else {
        const Record second = cell[Cell::kOtherRead];
        if (second.epoch == 0 || second.thread() == now.thread() || in_one_simdgroup(first, second))
            cell.set(Cell::kOtherRead, now);
    }
}

Position Race::position(uint32_t thread) const {
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
    const Site& other = (*sites_)[past.site()];
    Finding* finding = findings_.add_pair(*found, now.site(), past.site());
    if (finding == nullptr) return;
    set_access(*finding, access);
    finding->offset_bytes = int64_t(address - access.region->begin);
    std::string who = fmt::format("thread {}", describe(position(past.thread())));
    const Group& group = group_of(past.epoch);
    if (&group != &groups_.back()) who += fmt::format(" of threadgroup {}", describe(group.position));
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

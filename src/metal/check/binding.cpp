// What a launch binds against what the kernel takes, before anything runs; and whether memory that a kernel
// promises (`__restrict`) to reach by one argument alone is reached by another too. What is bound may
// overlap: hosts bind one buffer at several offsets. What counts is a place that one of two arguments writes.
#include <algorithm>

#include "metal/check/checkers.h"
#include "metal/check/describe.h"
#include "metal/check/shadow.h"

namespace ingot::metal::check {
namespace {

class Binding final : public Listener {
  public:
    explicit Binding(Findings& findings) : findings_(findings) {}

    void launch_begins(const LaunchEvent& event) override;
    bool is_quiet(const MemoryObject& object) const override {
        return object.kind != ObjectKind::kBuffer || !overlaps_[object.slot];
    }
    bool hears_calls() const override { return false; }
    void access(const Access& access) override;

  private:
    // The last use of a place by an argument.
    struct Use {
        uint32_t slot = kNumBufferSlots, site = 0;
    };
    struct Cell {
        Use write, read, other_read;  // reads: of two arguments
    };

    void check(const Argument& argument, const Launch& launch);
    // A slot's other kind is bound, which the kernel doesn't take there.
    bool check_kind(const Argument& argument, const Launch& launch);
    void add(FindingKind kind, uint32_t slot, std::string memory, std::string text);
    void find_overlaps(const Launch& launch);
    void compare(const Use& past, const Use& now, const Access& access, uint64_t address);

    Findings& findings_;
    const KernelInfo* kernel_ = nullptr;
    std::array<bool, kNumBufferSlots> is_restrict_{}, overlaps_{};  // by slot; with one that is restrict
    Shadow<Cell> uses_;                                             // of what is bound in slots that overlap
};

std::string name_of(const Argument& argument) {
    MemoryObject object;
    object.kind = is_buffer(argument) ? ObjectKind::kBuffer : ObjectKind::kThreadgroupSlot;
    object.slot = argument.slot;
    object.name = argument.name;
    return describe(object);
}

void Binding::add(FindingKind kind, uint32_t slot, std::string memory, std::string text) {
    Finding* finding = findings_.add(kind, kNoSite, slot);
    if (finding == nullptr) return;
    finding->memory = std::move(memory);
    finding->text = std::move(text);
}

bool Binding::check_kind(const Argument& argument, const Launch& launch) {
    const uint32_t slot = argument.slot;
    const bool has_buffer = launch.buffers[slot].address != nullptr && !takes_buffer(*kernel_, slot);
    const bool has_length = launch.threadgroup_bytes[slot] != 0 && !takes_threadgroup_memory(*kernel_, slot);
    if (is_buffer(argument) ? !has_length : !has_buffer) return false;
    const std::string name = name_of(argument);
    add(FindingKind::kWrongArgument, slot, name,
        is_buffer(argument)
            ? fmt::format("The kernel takes {}, but the launch gives slot {} a length of threadgroup memory.",
                          name, slot)
            : fmt::format("The kernel takes {}, but the launch binds a buffer in slot {}.", name, slot));
    return true;
}

void Binding::check(const Argument& argument, const Launch& launch) {
    const std::string name = name_of(argument);
    const bool is_missing = is_buffer(argument) ? launch.buffers[argument.slot].address == nullptr
                                                : launch.threadgroup_bytes[argument.slot] == 0;
    if (is_missing && check_kind(argument, launch)) return;
    if (argument.kind == ArgumentKind::kThreadgroup) {
        if (launch.threadgroup_bytes[argument.slot] == 0) {
            add(FindingKind::kMissingThreadgroupMemory, argument.slot, name,
                fmt::format("The kernel takes {}, but the launch gives it no length.", name));
        }
        return;
    }
    const BufferBinding& bound = launch.buffers[argument.slot];
    if (bound.address == nullptr) {
        add(FindingKind::kMissingBuffer, argument.slot, name,
            fmt::format("The kernel takes {}, but nothing is bound there.", name));
        return;
    }
    if (bound.size_bytes < argument.reference_size_bytes) {
        add(FindingKind::kSmallBuffer, argument.slot, name,
            fmt::format("{} stands for one {} of {} bytes, but {} bytes are bound.", name, argument.type_name,
                        argument.reference_size_bytes, bound.size_bytes));
    }
    const uint64_t align = argument.type_align_bytes;
    if (align > 1 && reinterpret_cast<uintptr_t>(bound.address) % align != 0) {
        add(FindingKind::kMisalignedBuffer, argument.slot, name,
            fmt::format("{} is bound at an address that isn't a multiple of {}, which {} needs.", name, align,
                        argument.type_name));
    }
}

void Binding::launch_begins(const LaunchEvent& event) {
    kernel_ = &event.kernel.info;
    for (const Argument& argument : kernel_->arguments) {
        if (!is_buffer(argument) && argument.kind != ArgumentKind::kThreadgroup) continue;
        // What a function constant switches off isn't missed, nor what the compiler saw unused.
        if (!argument.unused && !argument.guarded) check(argument, event.launch);
    }
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot) {
        const bool meant_otherwise =
            takes_threadgroup_memory(*kernel_, slot) && event.launch.threadgroup_bytes[slot] == 0;
        if (takes_buffer(*kernel_, slot) || meant_otherwise || event.launch.buffers[slot].address == nullptr)
            continue;
        add(FindingKind::kUnusedBinding, slot, fmt::format("buffer {}", slot),
            fmt::format("The launch binds buffer {}, which the kernel doesn't take.", slot));
    }
    find_overlaps(event.launch);
}

void Binding::find_overlaps(const Launch& launch) {
    for (const Argument& one : kernel_->arguments) {
        if (!is_buffer(one) || !one.is_restrict || launch.buffers[one.slot].address == nullptr) continue;
        is_restrict_[one.slot] = true;
        for (const Argument& other : kernel_->arguments) {
            if (!is_buffer(other) || other.slot == one.slot) continue;
            if (!overlap(launch.buffers[one.slot], launch.buffers[other.slot])) continue;
            overlaps_[one.slot] = overlaps_[other.slot] = true;
        }
    }
}

void Binding::compare(const Use& past, const Use& now, const Access& access, uint64_t address) {
    if (past.slot == kNumBufferSlots || past.slot == now.slot) return;
    if (!is_restrict_[past.slot] && !is_restrict_[now.slot]) return;
    Finding* finding = findings_.add_pair(FindingKind::kBrokenRestrict, now.site, past.site);
    if (finding == nullptr) return;
    set_access(*finding, access);
    finding->offset_bytes = int64_t(address - access.region->begin);
    const Site& other = findings_.kernel().instrumentation.sites[past.site];
    const auto name = [this](uint32_t slot) {
        return name_of(*std::ranges::find_if(kernel_->arguments, [slot](const Argument& argument) {
            return is_buffer(argument) && argument.slot == slot;
        }));
    };
    finding->text = fmt::format(
        "{} {} at byte {} of {}, a place that is {} through {} at {}; the kernel promises (__restrict) that "
        "{} "
        "alone reaches it.",
        describe(*access.thread), describe_deed(access), finding->offset_bytes, name(now.slot),
        other.writes ? "written" : "read", name(past.slot), describe(other),
        name(is_restrict_[now.slot] ? now.slot : past.slot));
}

void Binding::access(const Access& access) {
    if (!access.inside || access.region->object.kind != ObjectKind::kBuffer) return;
    const Use now{.slot = access.region->object.slot, .site = access.site_number};
    if (!overlaps_[now.slot]) return;
    uses_.for_each(access.address, access.size_bytes, [&](Cell& cell, uint64_t address, uint32_t) {
        compare(cell.write, now, access, address);
        if (access.site->writes) {
            compare(cell.read, now, access, address);
            compare(cell.other_read, now, access, address);
            cell.write = now;
        } else if (cell.read.slot == kNumBufferSlots || cell.read.slot == now.slot) {
            cell.read = now;
        } else {
            cell.other_read = now;
        }
    });
}

}  // namespace

std::unique_ptr<Listener> make_binding(Findings& findings) {
    return std::make_unique<Binding>(findings);
}

}  // namespace ingot::metal::check

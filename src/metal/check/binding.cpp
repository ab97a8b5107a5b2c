// What a launch binds against what the kernel takes: before anything runs.
#include <algorithm>

#include "metal/check/checkers.h"
#include "metal/check/describe.h"

namespace ingot::metal::check {
namespace {

class Binding final : public Listener {
  public:
    explicit Binding(Findings& findings) : findings_(findings) {}

    void launch_begins(const LaunchEvent& event) override;

  private:
    void check(const Argument& argument, const Launch& launch);
    // A slot's other kind is bound, which the kernel doesn't take there.
    bool check_kind(const Argument& argument, const Launch& launch);
    void add(FindingKind kind, uint32_t slot, std::string memory, std::string text);

    Findings& findings_;
    // What the kernel takes, by slot.
    std::array<bool, kNumBufferSlots> buffers_{};
    std::array<bool, kNumThreadgroupSlots> threadgroup_{};
};

bool is_buffer(const Argument& argument) {
    return argument.kind == ArgumentKind::kBuffer || argument.kind == ArgumentKind::kIndirectBuffer;
}

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
    const bool has_buffer = launch.buffers[slot].address != nullptr && !buffers_[slot];
    const bool has_length = launch.threadgroup_bytes[slot] != 0 && !threadgroup_[slot];
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
    const std::vector<Argument>& arguments = event.kernel.info.arguments;
    for (const Argument& argument : arguments) {
        if (is_buffer(argument)) buffers_[argument.slot] = true;
        if (argument.kind == ArgumentKind::kThreadgroup) threadgroup_[argument.slot] = true;
    }
    for (const Argument& argument : arguments) {
        if (!is_buffer(argument) && argument.kind != ArgumentKind::kThreadgroup) continue;
        // What a function constant switches off isn't missed, nor what the compiler saw unused.
        if (!argument.unused && !argument.guarded) check(argument, event.launch);
    }
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot) {
        const bool meant_otherwise = threadgroup_[slot] && event.launch.threadgroup_bytes[slot] == 0;
        if (buffers_[slot] || meant_otherwise || event.launch.buffers[slot].address == nullptr) continue;
        add(FindingKind::kUnusedBinding, slot, fmt::format("buffer {}", slot),
            fmt::format("The launch binds buffer {}, which the kernel doesn't take.", slot));
    }
}

}  // namespace

std::unique_ptr<Listener> make_binding(Findings& findings) {
    return std::make_unique<Binding>(findings);
}

}  // namespace ingot::metal::check

#include "metal/check/describe.h"

namespace ingot::metal::check {

std::string describe(const Position& position) {
    return fmt::format("({}, {}, {})", position[0], position[1], position[2]);
}

std::string describe(const Thread& thread) {
    return fmt::format("thread {} of threadgroup {}", describe(thread.position),
                       describe(thread.group_position));
}

std::string describe(const MemoryObject& object) {
    const std::string quoted = object.name.empty() ? "" : fmt::format("'{}'", object.name);
    const std::string in_brackets = quoted.empty() ? "" : fmt::format(" ({})", quoted);
    switch (object.kind) {
        case ObjectKind::kBuffer:
            return fmt::format("buffer {}{}", object.slot, in_brackets);
        case ObjectKind::kSomeBuffer:
            return "device memory";
        case ObjectKind::kThreadgroupSlot:
            return fmt::format("threadgroup memory {}{}", object.slot, in_brackets);
        case ObjectKind::kThreadgroupVariable:
            return fmt::format("threadgroup variable {}", quoted);
        case ObjectKind::kSomeThreadgroup:
            return "threadgroup memory";
        case ObjectKind::kPrivateVariable:
            return "a private array";
        case ObjectKind::kProgramConstant:
            return "constant data";
        case ObjectKind::kNone:
            break;
    }
    return "memory";
}

std::string describe_deed(const Access& access) {
    const Site& site = *access.site;
    const char* verb = site.reads && site.writes ? "updates" : site.writes ? "writes" : "reads";
    return fmt::format("{}{} {} byte{}", site.is_atomic ? "atomically " : "", verb, access.size_bytes,
                       access.size_bytes == 1 ? "" : "s");
}

std::string describe(const Site& site) {
    if (site.line == 0) return fmt::format("instruction {}", site.instruction);
    return fmt::format("{}:{}", site.file, site.line);
}

std::string describe_memory(const Access& access) {
    if (access.region == nullptr) return "memory that isn't bound";
    return fmt::format("byte {} of {}", access.offset(), describe(access.region->object));
}

void set_access(Finding& finding, const Access& access) {
    finding.thread = access.thread->position;
    finding.group = access.thread->group_position;
    if (access.region == nullptr) return;
    finding.memory = describe(access.region->object);
    finding.offset_bytes = access.offset();
}

}  // namespace ingot::metal::check

#include "metal/air/kernel_info.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ingot::metal {
namespace {

struct IndexKind {
    ArgumentKind kind;
    std::string_view name;
    uint32_t code;
};

constexpr IndexKind kIndexKinds[] = {
#define X(enumerator, name, code) {ArgumentKind::enumerator, name, code},
    INGOT_METAL_INDEX_KINDS(X)
#undef X
};

}  // namespace

bool is_buffer(const Argument& argument) {
    return argument.kind == ArgumentKind::kBuffer || argument.kind == ArgumentKind::kIndirectBuffer;
}

bool takes_buffer(const KernelInfo& kernel, uint32_t slot) {
    return std::ranges::any_of(kernel.arguments, [slot](const Argument& argument) {
        return is_buffer(argument) && argument.slot == slot;
    });
}

bool takes_threadgroup_memory(const KernelInfo& kernel, uint32_t slot) {
    return std::ranges::any_of(kernel.arguments, [slot](const Argument& argument) {
        return argument.kind == ArgumentKind::kThreadgroup && argument.slot == slot;
    });
}

std::string_view to_string(ArgumentKind kind) {
    switch (kind) {
        case ArgumentKind::kBuffer:
            return "buffer";
        case ArgumentKind::kIndirectBuffer:
            return "indirect_buffer";
        case ArgumentKind::kThreadgroup:
            return "threadgroup";
        default:
            break;
    }
    for (const IndexKind& entry : kIndexKinds) {
        if (entry.kind == kind) return entry.name;
    }
    return "unknown";
}

std::string_view to_string(Access access) {
    switch (access) {
        case Access::kRead:
            return "read";
        case Access::kWrite:
            return "write";
        case Access::kReadWrite:
            return "read_write";
    }
    return "unknown";
}

std::optional<ArgumentKind> index_kind_from_name(std::string_view name) {
    for (const IndexKind& entry : kIndexKinds) {
        if (entry.name == name) return entry.kind;
    }
    return std::nullopt;
}

std::optional<ArgumentKind> index_kind_from_reflection(uint32_t code) {
    for (const IndexKind& entry : kIndexKinds) {
        if (entry.code == code) return entry.kind;
    }
    return std::nullopt;
}

}  // namespace ingot::metal

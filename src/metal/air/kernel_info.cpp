#include "metal/air/kernel_info.h"

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

// What a kernel asks of its caller: arguments, function constants, group limits. Plain values without LLVM,
// filled from the container's reflection section (reflection.h) or from a module's AIR metadata (metadata.h),
// shown by `ingot metal list` and served by the API's reflection. Owns no code; how arguments are bound is
// exec/launch.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::metal {

// Index arguments: enumerator, AIR name (without "air."), code in the reflection section (seen in public
// libraries; 6, 0x10, 0x13 and 0x14 complete the sequence and were not seen).
#define INGOT_METAL_INDEX_KINDS(X)                                                       \
    X(kThreadPositionInGrid, "thread_position_in_grid", 0x41000)                         \
    X(kThreadsPerGrid, "threads_per_grid", 0x41001)                                      \
    X(kThreadgroupPositionInGrid, "threadgroup_position_in_grid", 0x41002)               \
    X(kThreadgroupsPerGrid, "threadgroups_per_grid", 0x41003)                            \
    X(kThreadPositionInThreadgroup, "thread_position_in_threadgroup", 0x41004)           \
    X(kThreadsPerThreadgroup, "threads_per_threadgroup", 0x41005)                        \
    X(kDispatchThreadsPerThreadgroup, "dispatch_threads_per_threadgroup", 0x41006)       \
    X(kThreadIndexInThreadgroup, "thread_index_in_threadgroup", 0x41007)                 \
    X(kThreadIndexInSimdgroup, "thread_index_in_simdgroup", 0x4100C)                     \
    X(kThreadsPerSimdgroup, "threads_per_simdgroup", 0x4100D)                            \
    X(kSimdgroupIndexInThreadgroup, "simdgroup_index_in_threadgroup", 0x4100E)           \
    X(kSimdgroupsPerThreadgroup, "simdgroups_per_threadgroup", 0x4100F)                  \
    X(kDispatchSimdgroupsPerThreadgroup, "dispatch_simdgroups_per_threadgroup", 0x41010) \
    X(kThreadIndexInQuadgroup, "thread_index_in_quadgroup", 0x41011)                     \
    X(kQuadgroupIndexInThreadgroup, "quadgroup_index_in_threadgroup", 0x41012)           \
    X(kQuadgroupsPerThreadgroup, "quadgroups_per_threadgroup", 0x41013)                  \
    X(kDispatchQuadgroupsPerThreadgroup, "dispatch_quadgroups_per_threadgroup", 0x41014)

enum class ArgumentKind : uint8_t {
    kBuffer,          // device or constant memory, by slot
    kIndirectBuffer,  // an argument buffer: a struct that holds addresses
    kThreadgroup,     // threadgroup memory whose length the caller sets
#define X(enumerator, name, code) enumerator,
    INGOT_METAL_INDEX_KINDS(X)
#undef X
};

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

struct Argument {
    ArgumentKind kind = ArgumentKind::kBuffer;
    Access access = Access::kRead;
    bool in_constant_space = false;  // `constant` rather than `device`
    bool guarded = false;            // bound only if a function constant says so
    bool unused = false;
    bool is_restrict = false;      // nothing else reaches what is reached here, the kernel promises (IR only)
    uint32_t slot = 0;             // [[buffer(n)]] or [[threadgroup(n)]]
    uint32_t type_size_bytes = 0;  // of one element; 0 if the compiler didn't say
    uint32_t type_align_bytes = 0;
    uint32_t reference_size_bytes = 0;  // a reference to one object of that size; 0 for a pointer
    uint32_t position = 0;              // among the LLVM function's parameters
    std::string type_name;              // as the source spelled it: "half", "mlx::steel::GEMMParams"
    std::string name;
    std::string guard;  // name of the constant that guards it, where known (IR metadata only)
};

struct FunctionConstant {
    std::string name;
    std::string type_name;  // "bool", "int", "uint", "float"...
    uint32_t index = 0;
    bool required = true;  // false: the code asks whether it has a value
};

struct KernelInfo {
    std::string name;
    std::vector<Argument> arguments;
    std::vector<FunctionConstant> constants;
    uint32_t max_threads_per_threadgroup = 1024;
    uint32_t static_threadgroup_bytes = 0;  // known after compilation only
};

// Whether it is bound in a slot of buffers.
bool is_buffer(const Argument& argument);
// Whether the kernel has an argument [[buffer(slot)]], or [[threadgroup(slot)]].
bool takes_buffer(const KernelInfo& kernel, uint32_t slot);
bool takes_threadgroup_memory(const KernelInfo& kernel, uint32_t slot);

std::string_view to_string(ArgumentKind kind);
std::string_view to_string(Access access);
// "thread_position_in_grid" -> its kind; nullopt for a name that is no index argument.
std::optional<ArgumentKind> index_kind_from_name(std::string_view name);
std::optional<ArgumentKind> index_kind_from_reflection(uint32_t code);

}  // namespace ingot::metal

// One dispatch: which memory a kernel gets, how many threads run it, how long it may take, and what came of
// it. Plain values; the API (api/) fills them from encoders, the program from flags. Addresses are the
// caller's and must stay valid until the executor returns.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/round_up.h"
#include "metal/exec/kernel.h"

namespace ingot::metal {

class Monitor;

// Limits of the device, as Apple documents them for recent GPUs.
constexpr uint32_t kNumBufferSlots = 31;
constexpr uint32_t kNumThreadgroupSlots = 31;
constexpr uint32_t kMaxThreadsPerThreadgroup = 1024;
constexpr uint32_t kMaxThreadgroupBytes = 32 * 1024;
constexpr uint32_t kSimdWidth = 32;

struct Size3 {
    uint32_t x = 1, y = 1, z = 1;

    uint64_t count() const { return uint64_t{x} * y * z; }
    bool operator==(const Size3&) const = default;
};

struct BufferBinding {
    void* address = nullptr;
    uint64_t size_bytes = 0;
};

struct Launch {
    Size3 grid_threads;  // the whole grid; boundary groups shrink if it isn't a multiple of `group_threads`
    Size3 group_threads;
    std::array<BufferBinding, kNumBufferSlots> buffers{};
    std::array<uint32_t, kNumThreadgroupSlots> threadgroup_bytes{};
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    unsigned max_workers = 0;  // 0: one per core
    ExecutorKind executor = default_executor();
    // Who watches (monitor.h); the kernel must have been compiled with CompileOptions::instrument.
    Monitor* monitor = nullptr;
};

// A threadgroup's memory: what the kernel declares from byte 0 on, then what is bound to each slot.
struct ThreadgroupLayout {
    std::array<uint64_t, kNumThreadgroupSlots> slot_offsets;
    uint64_t size_bytes;
};

inline ThreadgroupLayout threadgroup_layout(const KernelInfo& info, const Launch& launch) {
    constexpr uint64_t kAlignment = 16;
    ThreadgroupLayout layout{.slot_offsets = {},
                             .size_bytes = round_up(uint64_t{info.static_threadgroup_bytes}, kAlignment)};
    for (uint32_t slot = 0; slot < kNumThreadgroupSlots; ++slot) {
        layout.slot_offsets[slot] = layout.size_bytes;
        layout.size_bytes += round_up(uint64_t{launch.threadgroup_bytes[slot]}, kAlignment);
    }
    return layout;
}

enum class LaunchStatus : uint8_t {
    kDone,
    kTimeLimit,  // stopped at the deadline
    kFault,      // bad address, division trap or overflowing stack in the kernel
};

struct LaunchReport {
    LaunchStatus status = LaunchStatus::kDone;
    std::string message;  // for a status other than kDone: kernel, thread, what happened
    std::vector<std::string>
        findings;             // doubtful behaviour that ran on, e.g. a barrier some threads never reached
    uint64_t rendezvous = 0;  // simdgroup and threadgroup meetings
    unsigned workers = 1;     // threads that ran it
    ExecutorKind executor = ExecutorKind::kFibers;  // what ran it
    std::string refusal;                            // why it wasn't the vector executor that was asked for
    double seconds = 0;
};

}  // namespace ingot::metal

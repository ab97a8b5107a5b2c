// A kernel that is ready to run: code, and what its executor must know to launch it. Made by the compiler
// (compiler.h), run by an executor (executor.h). Shared and immutable.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/result.h"
#include "metal/air/kernel_info.h"
#include "metal/exec/instrumentation.h"

namespace ingot::metal {

namespace fibers {
struct Lane;
}

// How matmul2d's cooperative tensors spread over the lanes of a simdgroup. Apple leaves it to the
// implementation; kernels compiled by Apple for MLX need kNax, kScrambled shows who else relies on a layout.
enum class CooperativeLayout : uint8_t { kNax, kRowMajor, kScrambled };

// How threads of a simdgroup are carried out: each as a fiber of its own, or all as lanes of one fiber. kAuto
// starts with the one and goes on with the other once its code is there (tiers.h).
enum class ExecutorKind : uint8_t { kFibers, kVector, kAuto };

// "fibers", "vector" or "auto"; an error for anything else.
Result<ExecutorKind> executor_kind(std::string_view name);
std::string_view to_string(ExecutorKind kind);
// What INGOT_EXECUTOR names, kAuto if it is not set; nonsense is said once on stderr.
ExecutorKind default_executor();

// What launches a kernel's vector form is compiled for.
struct LaneVariant {
    bool full = false;  // every simdgroup has 32 threads
    bool linear =
        false;  // a simdgroup's threads follow each other along x: a 1-D group, or x a multiple of 32

    auto operator<=>(const LaneVariant&) const = default;
};

struct LaneEntry {
    void (*run)(fibers::Lane*) = nullptr;
    bool has_barriers = false;   // simdgroups wait for each other: each needs a fiber
    uint32_t private_bytes = 0;  // stack that the private variables of 32 threads take, spills aside
};

// A kernel's vector form, compiled when a variant is asked for first. Safe to use from several threads.
class LaneForm {
  public:
    virtual ~LaneForm() = default;
    // Compiles the variant if it isn't there yet, which may take a while. Error kUnsupported if the kernel
    // can't be vectorised, with the reason.
    virtual Result<LaneEntry> entry(LaneVariant variant) = 0;
    // What entry() gives if nothing need be compiled for it: it was asked for before, or is kept on disk.
    virtual std::optional<Result<LaneEntry>> ready(LaneVariant variant) = 0;
    // Makes the variant ready in a child process, which has the calling thread's priority. Gives up, and
    // knows no more than before, when `stop` says so.
    virtual void prepare(LaneVariant variant, std::stop_token stop) = 0;

    // On fibers, by launches that left the choice to the device: what all of its threads took.
    std::atomic<uint64_t> fiber_nanoseconds{0};
};

struct CompileTimes {
    double parse_ms = 0, lower_ms = 0, optimise_ms = 0, generate_ms = 0, load_ms = 0;
};

struct Kernel {
    KernelInfo info;
    void (*entry)(fibers::Lane*) = nullptr;
    bool meets = true;           // has barriers or simdgroup functions: its threads need fibers
    uint32_t private_bytes = 0;  // stack its private variables take, spills aside
    uint32_t matrix_operations = 0, matrix_batches = 0;
    CooperativeLayout layout = CooperativeLayout::kNax;
    Instrumentation instrumentation;  // empty unless it was compiled to be watched
    CompileTimes times;
    bool from_cache = false;          // wasn't compiled by this process
    std::shared_ptr<void> code;       // keeps `entry` mapped
    std::shared_ptr<LaneForm> lanes;  // never null in what compiler() compiled to run
};

}  // namespace ingot::metal

// A launch as `ingot metal` gets it, from flags or from a launch file: a kernel, what is bound, how many
// threads.
#pragma once

#include <memory>

#include "cli/metal_module.h"
#include "cli/npy.h"
#include "metal/exec/executor.h"

namespace ingot::cli {

// How the device runs a kernel, wherever the kernel comes from.
struct DeviceFlags {
    std::string layout = "nax", executor;
    double time_limit_seconds = 60;
};
void add_device_flags(CLI::App& app, DeviceFlags& flags);
// The executor that is asked for, or the default one.
Result<metal::ExecutorKind> chosen_executor(const DeviceFlags& flags);

struct LaunchFlags {
    std::string file, kernel, grid, grid_threads, threads;
    DeviceFlags device;
    std::vector<std::string> buffers, tensors, function_tables, bytes, threadgroup, constants;
    bool no_reconvergence = false, trust = false, no_cache = false;
    bool watch_overflow = false;  // no flag: where checkers look at index arithmetic
    bool may_bind_more = false;   // than the kernel takes, as hosts do
    SourceFlags source;
};

// All flags that describe a launch, but not its file.
void add_launch_flags(CLI::App& app, LaunchFlags& flags);

struct Bound {
    uint32_t slot = 0;
    Array array = {};
    std::shared_ptr<std::byte> memory = {};  // what the kernel has in the array's place, until take_back()
    std::string result_path = {};            // empty: not written
    // What is bound in the array's place, where a tensor or a function table is meant.
    std::vector<std::byte> record = {};
    bool initialised = true;  // false: only the kernel gives it contents
};

struct PreparedLaunch {
    std::shared_ptr<const metal::Kernel> kernel;
    std::string name;
    metal::Launch launch;
    std::vector<Bound> bound;  // the memory that `launch` points to
};

// Compiles the kernel, to be watched if `instrument`, and fills the buffers.
Result<PreparedLaunch> prepare_launch(const LaunchFlags& flags, bool instrument);
void set_deadline(metal::Launch& launch, double seconds);
// An error if the launch was stopped, or faulted.
Result<void> check_status(const metal::LaunchReport& report);
// Arrays hold what the kernel left.
void take_back(std::vector<Bound>& bound);
// The files that flags asked for.
Result<void> write_results(const std::vector<Bound>& bound);

}  // namespace ingot::cli

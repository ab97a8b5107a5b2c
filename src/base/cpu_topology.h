// Which of the machine's logical processors share a physical core, and how many cores a process may use.
// Threads that stream weights gain nothing from a core's second hardware thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ingot {

// Physical cores among the logical processors that the scheduler's affinity mask allows this process; at
// least 1.
uint32_t num_physical_cores();

// The same for given logical processors and a folder laid out as Linux's /sys/devices/system/cpu (tests bring
// their own). A processor whose siblings can't be read counts as a core of its own.
uint32_t num_physical_cores(std::span<const uint32_t> processors, const std::string& sysfs_cpu_folder);

}  // namespace ingot

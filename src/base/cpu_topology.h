// Which of the machine's logical processors share a physical core, and how many cores a process may use:
// those of its affinity mask, and of their time what its control group pays for (a container's limit).
// Threads that stream weights gain nothing from a core's second hardware thread; threads beyond the quota are
// stopped in turn, all at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>

namespace ingot {

// Physical cores among the logical processors that the scheduler's affinity mask allows this process; at
// least 1.
uint32_t num_physical_cores();

// The same for given logical processors and a folder laid out as Linux's /sys/devices/system/cpu (tests bring
// their own). A processor whose siblings can't be read counts as a core of its own.
uint32_t num_physical_cores(std::span<const uint32_t> processors, const std::string& sysfs_cpu_folder);

// Cores whose time the control groups of this process allow, rounded up; 0: no limit. Linux: cpu.max of
// version 2, cpu.cfs_quota_us over cpu.cfs_period_us of version 1, of the group itself and of each above it.
uint32_t cpu_quota();

// The same for a text as in /proc/self/cgroup and a folder as /sys/fs/cgroup.
uint32_t cpu_quota(std::istream& memberships, const std::filesystem::path& root);

// Threads for work that keeps cores busy: one a physical core, at most cpu_quota().
uint32_t default_num_threads();

}  // namespace ingot

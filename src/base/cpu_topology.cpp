#include "base/cpu_topology.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>

#if defined(__linux__)
#include <sched.h>
#endif

namespace ingot {

uint32_t num_physical_cores(std::span<const uint32_t> processors, const std::string& sysfs_cpu_folder) {
    // Hardware threads of a core have the same list of siblings ("0,64" or "0-1"), so the text itself tells
    // cores apart.
    std::set<std::string> cores;
    for (const uint32_t processor : processors) {
        std::ifstream file(
            fmt::format("{}/cpu{}/topology/thread_siblings_list", sysfs_cpu_folder, processor));
        std::string siblings;
        std::getline(file, siblings);
        cores.insert(siblings.empty() ? fmt::format("processor {}", processor) : siblings);
    }
    return std::max<uint32_t>(1, uint32_t(cores.size()));
}

uint32_t num_physical_cores() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        std::vector<uint32_t> processors;
        for (uint32_t i = 0; i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &allowed)) processors.push_back(i);
        }
        return num_physical_cores(processors, "/sys/devices/system/cpu");
    }
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

namespace {

// Of one group; 0: no limit, or no such file.
uint32_t quota_of(const std::filesystem::path& group, bool version2) {
    int64_t quota = 0, period = 0;  // of microseconds; -1 or "max": none
    if (version2) {
        std::ifstream(group / "cpu.max") >> quota >> period;
    } else {
        std::ifstream(group / "cpu.cfs_quota_us") >> quota;
        std::ifstream(group / "cpu.cfs_period_us") >> period;
    }
    return quota > 0 && period > 0 ? uint32_t((quota + period - 1) / period) : 0;
}

}  // namespace

uint32_t cpu_quota(std::istream& memberships, const std::filesystem::path& root) {
    uint32_t least = 0;
    for (std::string line; std::getline(memberships, line);) {
        // "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool version2 = controllers == ",,";
        if (!version2 && controllers.find(",cpu,") == std::string::npos) continue;
        // A container may see its own group as the root, under a path that is its host's.
        for (std::filesystem::path path = line.substr(second + 1);; path = path.parent_path()) {
            const auto mounted = version2 ? root : root / "cpu";
            const uint32_t quota = quota_of(mounted / path.relative_path(), version2);
            if (quota != 0) least = least == 0 ? quota : std::min(least, quota);
            if (path == path.parent_path()) break;
        }
    }
    return least;
}

uint32_t cpu_quota() {
    std::ifstream memberships("/proc/self/cgroup");
    return cpu_quota(memberships, "/sys/fs/cgroup");
}

uint32_t default_num_threads() {
    const uint32_t cores = num_physical_cores(), quota = cpu_quota();
    return quota == 0 ? cores : std::min(cores, quota);
}

}  // namespace ingot

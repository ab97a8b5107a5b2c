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

}  // namespace ingot

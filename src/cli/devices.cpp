// `ingot devices`: what can run a model here.
#include <fstream>
#include <string>

#include <unistd.h>

#include "base/cpu_topology.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/model_facts.h"
#include "llm/backend/cpu/kernels/isa.h"
#include "llm/backend/metal/device.h"
#ifndef __APPLE__
#include "metal/exec/compiler.h"
#endif

namespace ingot::cli {
namespace {

// The first "NAME : value" line of a file like /proc/cpuinfo; empty where there is none.
std::string field_of(const char* path, std::string_view name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(name)) continue;
        const size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const size_t begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? std::string() : line.substr(begin);
    }
    return {};
}

// The names differ between x86 ("model name") and Arm ("Model" of the board, or nothing).
std::string cpu_name() {
    for (const char* name : {"model name", "Model"}) {
        const std::string value = field_of("/proc/cpuinfo", name);
        if (!value.empty()) return value;
    }
    return "unknown model";
}

uint64_t memory_bytes() {
    return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
}

Result<mtl::Device*> usable_metal() {
#ifndef __APPLE__
    INGOT_TRY(metal::compiler());  // without it there is a device, and nothing that it could run
#endif
    return mtl::Device::shared();
}

Result<void> print_devices() {
    INGOT_ASSIGN(const cpu::Isa chosen, cpu::choose_isa());
    std::string isas;
    for (const cpu::Isa isa : cpu::available_isas())
        isas += fmt::format("{}{}{}", isas.empty() ? "" : ", ", cpu::to_string(isa),
                            isa == chosen ? " (used)" : "");
    fmt::print("cpu      {}\n", cpu_name());
    const uint32_t quota = cpu_quota();
    fmt::print("  cores  {} ({} hardware threads), {} threads by default: {}\n", num_physical_cores(),
               num_available_cores(), default_num_threads(),
               quota != 0 && quota < num_physical_cores() ? "what the control group's quota allows"
                                                          : "one for each core");
    fmt::print("  isa    {}\n", isas);
    fmt::print("  memory {}\n", short_bytes(memory_bytes()));
    const auto metal = usable_metal();
    if (!metal) {
        fmt::print("metal    can't be used: {}\n", metal.error().describe());
        return {};
    }
    fmt::print("metal    {}\n", (*metal)->name());
    fmt::print("  memory {}, {} threads and {} of threadgroup memory a group\n",
               short_bytes((**metal)->recommendedMaxWorkingSetSize()),
               (**metal)->maxThreadsPerThreadgroup().width,
               short_bytes((**metal)->maxThreadgroupMemoryLength()));
    return {};
}

}  // namespace

Action add_devices(CLI::App&) {
    return [] { return print_devices(); };
}

}  // namespace ingot::cli

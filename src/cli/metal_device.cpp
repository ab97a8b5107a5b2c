// `ingot metal devices` and `ingot metal cache`: the virtual device, and what it keeps on disk.
#include <nlohmann/json.hpp>

#include "base/disk_cache.h"
#include "base/thread_pool.h"
#include "cli/metal.h"
#include "metal/exec/cache_folder.h"
#include "metal/exec/executor.h"

namespace ingot::cli {
namespace {

DiskCache::Usage cache_usage() {
    DiskCache::Usage total;
    for (const std::string_view kind : metal::kCacheKinds) {
        const auto usage = DiskCache(metal::cache_folder(kind)).usage();
        total.entries += usage.entries;
        total.bytes += usage.bytes;
    }
    return total;
}

std::string cache_line() {
    const std::string folder = metal::cache_folder();
    if (folder.empty()) return "cache: off";
    const auto usage = cache_usage();
    return fmt::format("cache: {}, {} entries, {:.1f} MiB", folder, usage.entries,
                       double(usage.bytes) / (1 << 20));
}

void print_metal_devices(bool as_json) {
    const auto compiler = metal::compiler();
    if (as_json) {
        const auto usage = cache_usage();
        const nlohmann::ordered_json json{
            {"name", "Ingot virtual Metal device"},
            {"cores", num_available_cores()},
            {"executor", metal::to_string(metal::default_executor())},
            {"llvm", compiler ? nlohmann::ordered_json((*compiler)->version()) : nlohmann::ordered_json()},
            {"families", {"Apple1-Apple10", "Mac1", "Mac2", "Common1-Common3", "Metal3", "Metal4"}},
            {"max_threads_per_threadgroup", metal::kMaxThreadsPerThreadgroup},
            {"max_threadgroup_bytes", metal::kMaxThreadgroupBytes},
            {"simd_width", metal::kSimdWidth},
            {"buffer_slots", metal::kNumBufferSlots},
            {"cache",
             {{"folder", metal::cache_folder()}, {"entries", usage.entries}, {"bytes", usage.bytes}}}};
        fmt::print("{}\n", json.dump(1));
        return;
    }
    fmt::print("Ingot virtual Metal device: {} cores, executor {}, {}\n", num_available_cores(),
               metal::to_string(metal::default_executor()),
               compiler ? fmt::format("LLVM {}", (*compiler)->version()) : compiler.error().describe());
    fmt::print(
        "families Apple 1 to 10, Mac 2, Metal 3 and 4 (compute only); {} threads and {} bytes of threadgroup "
        "memory a group, simdgroups of {}, {} buffer slots\n",
        metal::kMaxThreadsPerThreadgroup, metal::kMaxThreadgroupBytes, metal::kSimdWidth,
        metal::kNumBufferSlots);
    fmt::print("{}\n", cache_line());
}

Result<void> clear_cache() {
    DiskCache::Usage total;
    for (const std::string_view kind : metal::kCacheKinds) {
        INGOT_ASSIGN(const DiskCache::Usage removed, DiskCache(metal::cache_folder(kind)).clear());
        total.entries += removed.entries;
        total.bytes += removed.bytes;
    }
    fmt::print("removed {} entries, {:.1f} MiB\n", total.entries, double(total.bytes) / (1 << 20));
    return {};
}

}  // namespace

Action add_metal_devices(CLI::App& app) {
    auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "Print JSON");
    return [json]() -> Result<void> {
        print_metal_devices(*json);
        return {};
    };
}

Action add_metal_cache(CLI::App& app) {
    auto clear = std::make_shared<bool>(false);
    app.add_flag("--clear", *clear, "Remove everything");
    return [clear]() -> Result<void> {
        if (*clear) return clear_cache();
        fmt::print("{}\n", cache_line());
        return {};
    };
}

}  // namespace ingot::cli

#include "metal/exec/cache_folder.h"

#include <cstdlib>

#include "base/disk_cache.h"

namespace ingot::metal {

std::string cache_folder() {
    const char* chosen = std::getenv("INGOT_METAL_CACHE");
    if (chosen != nullptr && *chosen != '\0') return std::string_view(chosen) == "off" ? "" : chosen;
    return user_cache_folder("metal-cache").value_or("");
}

std::string cache_folder(std::string_view kind) {
    const std::string folder = cache_folder();
    return folder.empty() ? "" : fmt::format("{}/{}", folder, kind);
}

}  // namespace ingot::metal

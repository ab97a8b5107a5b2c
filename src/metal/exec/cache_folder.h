// Where the virtual device keeps what it compiled, as DiskCaches (base/disk_cache.h), one folder for each
// kind:
// ${XDG_CACHE_HOME:-~/.cache}/ingot/metal-cache/KIND. The environment variable INGOT_METAL_CACHE names
// another folder than metal-cache, or is "off".
#pragma once

#include <string>
#include <string_view>

namespace ingot::metal {

constexpr std::string_view kObjectCache = "objects";  // machine code of pipelines
constexpr std::string_view kSourceCache = "source";   // modules compiled from Metal source
constexpr std::string_view kCacheKinds[] = {kObjectCache, kSourceCache};

// The whole cache, or the folder of one kind. Empty if nothing is to be kept.
std::string cache_folder();
std::string cache_folder(std::string_view kind);

}  // namespace ingot::metal

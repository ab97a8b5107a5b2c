#include "metal/msl/headers.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "base/disk_cache.h"
#include "metal/exec/cache_folder.h"

namespace ingot::metal::msl {
namespace {

namespace fs = std::filesystem;

Result<void> write_all(const fs::path& folder) {
    for (const EmbeddedHeader& header : embedded_headers()) {
        const fs::path path = folder / header.path;
        std::error_code error;
        fs::create_directories(path.parent_path(), error);
        std::ofstream file(path, std::ios::binary);
        file.write(header.text.data(), std::streamsize(header.text.size()));
        if (!file.flush()) return fail(ErrorKind::kIo, "{} can't be written", path.string());
    }
    return {};
}

// The folder gets its name when all of it is written, so that no process sees half of it.
Result<void> publish(const fs::path& folder) {
    const fs::path partial = folder.string() + fmt::format(".{}", ::getpid());
    auto written = write_all(partial);
    std::error_code error;
    if (written) fs::rename(partial, folder, error);
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    if (!written) return written;
    if (error && !fs::is_directory(folder)) {
        return fail(ErrorKind::kIo, "{} can't be made: {}", folder.string(), error.message());
    }
    return {};
}

Result<std::string> install() {
    // A cache that is switched off still needs a place for headers.
    const std::string cache = cache_folder();
    fs::path base =
        cache.empty() ? fs::temp_directory_path() / fmt::format("ingot-{}", ::getuid()) : fs::path(cache);
    const fs::path folder = base / ("headers-" + headers_hash());
    std::error_code error;
    if (!fs::is_directory(folder, error)) INGOT_TRY(publish(folder));
    return folder.string();
}

}  // namespace

const std::string& headers_hash() {
    static const std::string hash = [] {
        CacheKey key;
        for (const EmbeddedHeader& header : embedded_headers()) key.add(header.path).add(header.text);
        return key.finish().substr(0, 16);
    }();
    return hash;
}

Result<std::string> install_headers() {
    static const Result<std::string> folder = install();
    return folder;
}

}  // namespace ingot::metal::msl

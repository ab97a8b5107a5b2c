#include "base/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_call.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic =
    "INGOTCE1";  // changes with the layout below: older entries are damaged ones
constexpr std::string_view kSuffix = ".entry", kPartialSuffix = ".partial";
// A partial file that old was left by a process that died.
constexpr auto kAbandonedAfter = std::chrono::hours(1);

// Magic, size of the value, checksum of key and value; then the value.
struct Header {
    char magic[8];
    uint64_t size_bytes;
    Sha256Digest checksum;
};

Sha256Digest checksum(std::string_view key, std::span<const std::byte> value) {
    return Sha256().add(std::as_bytes(std::span(key))).add(value).finish();
}

bool read_all(int file, void* to, size_t size) {
    auto* at = static_cast<char*>(to);
    while (size != 0) {
        const ssize_t count = ::read(file, at, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        size -= size_t(count);
    }
    return true;
}

bool write_all(int file, const void* from, size_t size) {
    const auto* at = static_cast<const char*>(from);
    while (size != 0) {
        const ssize_t count = ::write(file, at, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        size -= size_t(count);
    }
    return true;
}

struct Entry {
    fs::path path;
    uint64_t bytes;
    fs::file_time_type written;
};

// Finished entries, and partial files that nobody finishes any more.
std::vector<Entry> entries_of(const std::string& folder) {
    std::vector<Entry> entries;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        std::error_code gone;  // another process may remove it at any time
        const auto written = at->last_write_time(gone);
        const uint64_t bytes = at->file_size(gone);
        if (gone) continue;
        const bool abandoned =
            name.ends_with(kPartialSuffix) && fs::file_time_type::clock::now() - written > kAbandonedAfter;
        if (name.ends_with(kSuffix) || abandoned) entries.push_back({at->path(), bytes, written});
    }
    return entries;
}

}  // namespace

CacheKey& CacheKey::add(std::span<const std::byte> part) {
    add(uint64_t(part.size()));
    hash_.add(part);
    return *this;
}

CacheKey& CacheKey::add(std::string_view part) {
    return add(std::as_bytes(std::span(part)));
}

CacheKey& CacheKey::add(uint64_t number) {
    hash_.add(std::as_bytes(std::span(&number, 1)));
    return *this;
}

DiskCache::DiskCache(std::string folder, uint64_t capacity_bytes)
    : folder_(std::move(folder)), capacity_bytes_(capacity_bytes) {}

std::string DiskCache::path_of(std::string_view key) const {
    return fmt::format("{}/{}{}", folder_, key, kSuffix);
}

void DiskCache::warn_once(std::string_view message) {
    if (!warned_.exchange(true)) fmt::print(stderr, "ingot: {}; goes on without\n", message);
}

// False for a folder that isn't there.
bool DiskCache::folder_is_ours() {
    struct stat status;
    if (folder_.empty() || ::stat(folder_.c_str(), &status) != 0) return false;
    if (status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return true;
    warn_once(fmt::format("the cache folder {} can be written by other users", folder_));
    return false;
}

std::optional<std::vector<std::byte>> DiskCache::find(std::string_view key) {
    if (!folder_is_ours()) return std::nullopt;
    const Descriptor file(::open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status;
    Header header;
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return std::nullopt;
    if (!read_all(file.get(), &header, sizeof header)) return std::nullopt;
    if (std::string_view(header.magic, sizeof header.magic) != kMagic) return std::nullopt;
    if (header.size_bytes != uint64_t(status.st_size) - sizeof header) return std::nullopt;
    std::vector<std::byte> value(header.size_bytes);
    if (!read_all(file.get(), value.data(), value.size())) return std::nullopt;
    if (checksum(key, value) != header.checksum) return std::nullopt;
    return value;
}

void DiskCache::store(std::string_view key, std::span<const std::byte> value) {
    if (folder_.empty()) return;
    std::error_code error;
    if (!fs::is_directory(folder_, error)) {
        fs::create_directories(folder_, error);
        // Whatever the user's umask says.
        if (!error) fs::permissions(folder_, fs::perms::owner_all, error);
        if (error)
            return warn_once(fmt::format("can't make the cache folder {}: {}", folder_, error.message()));
    }
    if (!folder_is_ours()) return;
    if (const auto written = write(key, value); !written) return warn_once(written.error().describe());
    make_room(value.size() + sizeof(Header));
}

Result<void> DiskCache::write(std::string_view key, std::span<const std::byte> value) {
    static std::atomic<uint64_t> last_number{0};
    const std::string partial =
        fmt::format("{}/{}-{}-{}{}", folder_, key, ::getpid(), ++last_number, kPartialSuffix);
    const auto failed = [&] {
        const int reason = errno;
        ::unlink(partial.c_str());
        return fail(ErrorKind::kIo, "can't write to the cache folder {}: {}", folder_, std::strerror(reason));
    };
    Header header{.magic = {}, .size_bytes = value.size(), .checksum = checksum(key, value)};
    std::copy(kMagic.begin(), kMagic.end(), header.magic);
    {
        const Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (file.get() < 0) return failed();
        if (!write_all(file.get(), &header, sizeof header)) return failed();
        if (!write_all(file.get(), value.data(), value.size())) return failed();
    }
    if (::rename(partial.c_str(), path_of(key).c_str()) != 0) return failed();
    return {};
}

void DiskCache::make_room(uint64_t written_bytes) {
    const std::scoped_lock lock(mutex_);
    used_bytes_ = used_bytes_ ? *used_bytes_ + written_bytes : usage().bytes;
    if (*used_bytes_ <= capacity_bytes_) return;
    std::vector<Entry> entries = entries_of(folder_);
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.written < b.written; });
    uint64_t used = 0;
    for (const Entry& entry : entries) used += entry.bytes;
    for (const Entry& entry : entries) {
        if (used <= capacity_bytes_ / 2) break;
        std::error_code error;
        fs::remove(entry.path, error);
        used -= entry.bytes;
    }
    used_bytes_ = used;
}

DiskCache::Usage DiskCache::usage() const {
    Usage usage;
    if (folder_.empty()) return usage;
    for (const Entry& entry : entries_of(folder_)) {
        ++usage.entries;
        usage.bytes += entry.bytes;
    }
    return usage;
}

Result<DiskCache::Usage> DiskCache::clear() {
    Usage removed;
    if (folder_.empty()) return removed;
    for (const Entry& entry : entries_of(folder_)) {
        std::error_code error;
        if (!fs::remove(entry.path, error) && error) {
            return fail(ErrorKind::kIo, "can't remove {}: {}", entry.path.string(), error.message());
        }
        ++removed.entries;
        removed.bytes += entry.bytes;
    }
    const std::scoped_lock lock(mutex_);
    used_bytes_.reset();
    return removed;
}

Result<std::string> user_cache_folder(std::string_view name) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache != '\0') return (fs::path(cache) / "ingot" / name).string();
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home != '\0') return (fs::path(home) / ".cache/ingot" / name).string();
    return fail(ErrorKind::kNotFound, "there is no cache folder: neither XDG_CACHE_HOME nor HOME is set");
}

}  // namespace ingot

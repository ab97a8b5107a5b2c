// Results kept in a folder, so that a later process need not make them again. A cache never fails its user:
// what isn't there, can't be read or is damaged is made anew, and what can't be written (a full disk) is left
// out, with one warning on stderr. Processes may share a folder: an entry appears under its name when all of
// it is written. Entries may be machine code, so a folder that other users can write to isn't used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"

namespace ingot {

// Everything a result depends on, part by part: input, options, versions. Parts can't run into each other.
class CacheKey {
  public:
    CacheKey& add(std::string_view part);
    CacheKey& add(std::span<const std::byte> part);
    CacheKey& add(uint64_t number);
    // The name of the entry: 64 hexadecimal digits.
    std::string finish() { return to_hex(hash_.finish()); }

  private:
    Sha256 hash_;
};

class DiskCache {
  public:
    static constexpr uint64_t kDefaultCapacityBytes = uint64_t{4} << 30;

    // The folder is made when something is stored. An empty name keeps nothing. When what is stored grows
    // beyond the capacity, the oldest entries go until half of it is free.
    explicit DiskCache(std::string folder, uint64_t capacity_bytes = kDefaultCapacityBytes);

    std::optional<std::vector<std::byte>> find(std::string_view key);
    void store(std::string_view key, std::span<const std::byte> value);

    struct Usage {
        uint64_t entries = 0;
        uint64_t bytes = 0;
    };
    Usage usage() const;
    // Removes all entries; those that another process is writing stay out of it.
    Result<Usage> clear();

    const std::string& folder() const { return folder_; }

  private:
    std::string path_of(std::string_view key) const;
    bool folder_is_ours();
    Result<void> write(std::string_view key, std::span<const std::byte> value);
    void make_room(uint64_t written_bytes);
    void warn_once(std::string_view message);

    std::string folder_;
    uint64_t capacity_bytes_;
    std::atomic<bool> warned_{false};
    std::mutex mutex_;
    std::optional<uint64_t> used_bytes_;  // counted at the first store
};

// ${XDG_CACHE_HOME:-~/.cache}/ingot/NAME; kNotFound if neither XDG_CACHE_HOME nor HOME is set. An empty
// variable counts as unset (XDG base directory specification).
Result<std::string> user_cache_folder(std::string_view name);

}  // namespace ingot

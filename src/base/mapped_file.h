// A whole file mapped read-only, and reading a text into memory. Owns the mapping; unmapped on
// destruction.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace ingot {

class MappedFile {
  public:
    // Errors: kNotFound, kIo (a directory, no permission, mmap refused). An empty file maps to an empty span.
    static Result<MappedFile> open(const std::string& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    // Page-aligned start; valid as long as this object.
    std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
    const std::string& path() const { return path_; }

    // Tells the kernel that these bytes won't be read again: resident pages go, later reads come from the
    // file.
    void release(std::span<const std::byte> bytes) const;

  private:
    MappedFile(std::string path, const std::byte* data, size_t size_bytes);

    std::string path_;
    const std::byte* data_ = nullptr;
    size_t size_bytes_ = 0;
};

// All that can be read from a file, a pipe or a device, as a string. Errors: kNotFound, kIo.
Result<std::string> read_text_file(const std::string& path);

}  // namespace ingot

// A file being written: bytes go to PATH.partial, which takes PATH's name only when all of them are there. So
// a run that fails or is killed never leaves half a file under the name that was asked for, nor harms the one
// that was there.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include "base/result.h"

namespace ingot {

class OutputFile {
  public:
    // Errors: kNotFound (no such folder), kIo. Here and below the message names the path.
    static Result<OutputFile> create(const std::string& path);

    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;
    OutputFile(const OutputFile&) = delete;
    ~OutputFile();  // removes what isn't committed

    Result<void> write(std::span<const std::byte> bytes);
    // Flushes and gives the file its name. Nothing may be written after it.
    Result<void> commit();

  private:
    OutputFile(std::string path, std::FILE* file);
    std::string partial_path() const { return path_ + ".partial"; }

    std::string path_;
    std::FILE* file_ = nullptr;
};

}  // namespace ingot

// A file being written: bytes go to a file of their own beside PATH, which takes PATH's name only when all of
// them are there. So a run that fails or is killed never leaves half a file under the name that was asked
// for, nor harms the one that was there. A symbolic link stays one: the file that it names is replaced.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include "base/result.h"

namespace ingot {

class OutputFile {
  public:
    // Errors: kInvalidArgument (no name), kNotFound (no such folder), kIo, also for a folder, a pipe or a
    // device at `path`. Here and below the message names the path.
    static Result<OutputFile> create(const std::string& path);

    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;
    OutputFile(const OutputFile&) = delete;
    ~OutputFile();  // removes what isn't committed

    Result<void> write(std::span<const std::byte> bytes);
    // Flushes, closes, and gives the file its name. Nothing may be written after it.
    Result<void> commit();

  private:
    OutputFile(std::string path, std::string target, std::string partial, std::FILE* file);

    std::string path_;     // as asked for
    std::string target_;   // the same, symbolic links followed
    std::string partial_;  // where the bytes are; empty once they have their name
    std::FILE* file_ = nullptr;
};

// All of a file at once, as OutputFile writes it.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace ingot

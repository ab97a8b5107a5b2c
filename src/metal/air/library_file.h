// A .metallib container ("MTLB"): finds the functions of a compiled Metal library without touching their
// bitcode. Everything in such a file is hostile until proven otherwise: each offset, length and count is
// checked, and a violation is an Error that says where. Also opens a library embedded in another file
// ("FILE.dylib:0"). Doesn't parse modules (metadata.h) and runs nothing. The format's facts come from reading
// public libraries.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "metal/air/kernel_info.h"

namespace ingot::metal {

enum class FunctionType : uint8_t { kVertex = 0, kFragment = 1, kKernel = 2 };

struct LibraryFunction {
    std::string_view name;  // [[host_name]], also the LLVM function's name
    FunctionType type = FunctionType::kKernel;
    std::array<uint16_t, 4> version{};     // AIR major, minor, language major, minor
    std::span<const std::byte> bitcode;    // one self-contained module, wrapper included
    std::span<const std::byte> hash;       // SHA-256 of `bitcode` as the file states it (32 bytes, or empty)
    std::span<const std::byte> constants;  // tag list in the public metadata
    uint64_t reflection_offset = kNoReflection;

    static constexpr uint64_t kNoReflection = ~uint64_t{0};
};

class LibraryFile {
  public:
    // `path` may end in ":N": the N-th library embedded in the file (0 is the first).
    static Result<LibraryFile> open(const std::string& path);
    // Copies `bytes`; `label` names them in errors.
    static Result<LibraryFile> from_bytes(std::span<const std::byte> bytes, std::string label);

    const std::vector<LibraryFunction>& functions() const { return functions_; }
    const LibraryFunction* find(std::string_view name) const;
    // kNotFound, naming close matches.
    Result<const LibraryFunction*> require(std::string_view name) const;

    // Arguments and constants as the container's reflection section states them; no bitcode is read. Errors:
    // kNotFound if the file has none for this function, kCorrupt.
    Result<KernelInfo> reflect(const LibraryFunction& function) const;

    const std::string& label() const { return label_; }
    std::span<const std::byte> bytes() const { return bytes_; }
    std::array<uint16_t, 2> file_version() const { return file_version_; }
    std::array<uint16_t, 2> target_version() const { return target_version_; }

  private:
    struct Sections;

    Result<void> parse(std::span<const std::byte> bytes);
    Result<void> parse_header_extension(size_t begin, size_t end);
    Result<LibraryFunction> parse_entry(std::span<const std::byte> entry, const Sections& sections) const;

    std::shared_ptr<MappedFile> file_;
    std::shared_ptr<std::vector<std::byte>> owned_;
    std::span<const std::byte> bytes_;
    std::span<const std::byte> reflection_;
    std::string label_;
    std::array<uint16_t, 2> file_version_{};
    std::array<uint16_t, 2> target_version_{};
    std::vector<LibraryFunction> functions_;
    std::unordered_map<std::string_view, size_t> by_name_;
};

}  // namespace ingot::metal

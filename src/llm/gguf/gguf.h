// Reading GGUF files (v2 and v3, little-endian; source: the GGUF specification in the ggml repository). A
// file is hostile: every count, offset, size and string is checked with overflow-safe arithmetic before it is
// used. Does not know any architecture: keys and tensors are looked up by name by the model (llm/model).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "llm/quant/quant.h"

namespace ingot::gguf {

struct Value;

struct Array {
    // One homogeneous vector; nested arrays are refused with kUnsupported.
    std::variant<std::vector<uint8_t>, std::vector<int8_t>, std::vector<uint16_t>, std::vector<int16_t>,
                 std::vector<uint32_t>, std::vector<int32_t>, std::vector<uint64_t>, std::vector<int64_t>,
                 std::vector<float>, std::vector<double>, std::vector<bool>, std::vector<std::string_view>>
        items;
    size_t size() const;
};

struct Value {
    std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t, float, double,
                 bool, std::string_view, Array>
        value;
};

struct MetadataEntry {
    std::string_view key;
    Value value;
};

struct TensorInfo {
    std::string_view name;
    QuantType type;
    std::vector<uint64_t> shape;      // as in the file: shape[0] is the contiguous dimension (the row length)
    std::span<const std::byte> data;  // in the mapping; valid as long as the File

    uint64_t num_elements() const;
    uint64_t row_length() const { return shape.empty() ? 1 : shape[0]; }
    uint64_t num_rows() const { return num_elements() / row_length(); }
};

class File {
  public:
    // Opens one file, or all parts of a split model given the path of its first part
    // ("-00001-of-0000N.gguf").
    static Result<File> open(const std::string& path);
    // Parses bytes that the caller keeps alive (tests, fuzzing). `name` stands for the path in messages.
    static Result<File> parse(std::span<const std::byte> bytes, std::string name);

    File(File&&) noexcept;
    File& operator=(File&&) noexcept;
    ~File();

    const std::string& path() const;
    std::vector<std::string> part_paths() const;  // of a split model all of them, path() first
    uint32_t version() const;
    uint64_t size_bytes() const;  // of all parts
    // The mapped parts, each from a page's start on; empty if the caller keeps the bytes.
    std::vector<std::span<const std::byte>> mappings() const;
    std::span<const MetadataEntry> metadata() const;
    std::span<const TensorInfo> tensors() const;

    const Value* find(std::string_view key) const;
    const TensorInfo* find_tensor(std::string_view name) const;

    // A missing key is kNotFound, another type kCorrupt; integers convert when the value fits. The message
    // names file, key and what was found.
    Result<uint64_t> get_uint(std::string_view key) const;
    Result<double> get_float(std::string_view key) const;
    Result<bool> get_bool(std::string_view key) const;
    Result<std::string_view> get_string(std::string_view key) const;
    Result<const Array*> get_array(std::string_view key) const;
    // The same with a default for a missing key only; a wrong type is still an error.
    Result<uint64_t> get_uint(std::string_view key, uint64_t fallback) const;
    Result<double> get_float(std::string_view key, double fallback) const;
    Result<bool> get_bool(std::string_view key, bool fallback) const;

    // Lets the operating system drop the resident pages of tensors' bytes that are not read soon (copied,
    // repacked).
    void release(std::span<const std::byte> bytes) const;
    // The same of all that lies before the tensors: what was read from it stays valid and is mapped again
    // when used.
    void release_metadata() const;

  private:
    struct Impl;
    explicit File(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace ingot::gguf

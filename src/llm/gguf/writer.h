// The header of a GGUF v3 file: metadata and tensor table, laid out as ggml lays them out, so that the same
// contents are the same bytes. Where the bytes go, and the tensors' data, is the caller's business
// (quantize_file.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llm/gguf/gguf.h"

namespace ingot::gguf {

class Writer {
  public:
    // Keys keep the order in which they are set; one that is there already moves to the end. Strings that
    // `value` views must outlive the writer.
    void set(std::string_view key, Value value);
    void erase(std::string_view key);

    // Data follows the header in the order of these calls. The rows must be whole blocks of `type`.
    void add_tensor(std::string_view name, QuantType type, std::span<const uint64_t> shape);

    // From key general.alignment, else 32.
    uint64_t alignment() const;
    // Zeros that follow `size_bytes` bytes of data, after the last tensor too.
    uint64_t padding_bytes(uint64_t size_bytes) const;

    // The bytes before the data, padding included.
    std::string header() const;

  private:
    struct Entry {
        std::string key;
        Value value;
    };
    struct Tensor {
        std::string name;
        QuantType type;
        std::vector<uint64_t> shape;
        uint64_t size_bytes;
    };

    std::vector<Entry> metadata_;
    std::vector<Tensor> tensors_;
};

}  // namespace ingot::gguf

// One GGUF file parsed by itself: header, metadata and tensor table, each check done, nothing looked up yet.
// The steps are in part.cpp (header), metadata.cpp and tensors.cpp; joining parts of a split model is in
// split.cpp.
#pragma once

#include <span>
#include <vector>

#include "llm/gguf/cursor.h"
#include "llm/gguf/gguf.h"

namespace ingot::gguf {

struct Part {
    uint32_t version = 0;
    std::vector<MetadataEntry> metadata;
    std::vector<TensorInfo> tensors;

    const Value* find(std::string_view key) const;
};

// Views and spans in the result point into `bytes`. An Error says which field, not which file.
Result<Part> parse_part(std::span<const std::byte> bytes);

// The steps of parse_part.
Result<std::vector<MetadataEntry>> parse_metadata(Cursor& cursor, uint64_t count);
Result<std::vector<TensorInfo>> parse_tensors(Cursor& cursor, uint64_t count, uint64_t alignment,
                                              std::span<const std::byte> file);

}  // namespace ingot::gguf

// Models split over several files, PREFIX-00001-of-0000N.gguf: which files belong together, and whether what
// they say about themselves agrees. Keys split.no, split.count and split.tensors.count, as llama.cpp's
// gguf-split writes.
#pragma once

#include <optional>
#include <string>

#include "llm/gguf/part.h"

namespace ingot::gguf {

struct SplitName {
    std::string prefix;
    uint32_t number = 0;  // from 1
    uint32_t count = 0;

    std::string path_of(uint32_t part_number) const;
};

// nullopt if the path doesn't end like that of a part.
std::optional<SplitName> parse_split_name(std::string_view path);

// What a part says in its metadata; count 1 for a file that isn't split.
struct SplitKeys {
    uint64_t index = 0;  // from 0
    uint64_t count = 1;
    std::optional<uint64_t> num_tensors;  // of all parts
};

Result<SplitKeys> read_split_keys(const Part& part);

}  // namespace ingot::gguf

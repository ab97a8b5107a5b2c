// Writes a model again with its matrices quantized to one type. Which tensors that concerns is
// quantize_plan.h's.
#pragma once

#include <functional>
#include <string>

#include "llm/gguf/gguf.h"

namespace ingot::gguf {

struct QuantizeOptions {
    QuantType type;
    uint32_t threads = 1;
    // Called with the fraction done, 0..1; returning false cancels (kCancelled). The output is the same
    // without.
    std::function<bool(float)> progress;
};

struct QuantizeReport {
    uint64_t num_tensors = 0;
    uint64_t num_quantized = 0;
    uint64_t source_bytes = 0;  // tensor data, before and after
    uint64_t result_bytes = 0;
    // One line for each tensor whose rows made another type take the place of the one asked for.
    std::vector<std::string> replacements;
};

// Nothing is at `output_path` after an Error but what was there before. kCorrupt if a tensor holds a value
// that isn't finite, kInvalidArgument if its values need a scale that the type can't hold, or if input and
// output are one file.
Result<QuantizeReport> quantize_file(const File& input, const std::string& output_path,
                                     const QuantizeOptions& options);

}  // namespace ingot::gguf

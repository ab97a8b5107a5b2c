// Which tensors of a file are stored in which type when it is quantized to one type throughout: the choices
// of llama.cpp's llama-quantize --pure, so that the results are byte-identical. docs/gguf.md lists them.
#pragma once

#include <vector>

#include "llm/gguf/gguf.h"

namespace ingot::gguf {

struct PlannedTensor {
    const TensorInfo* source;
    QuantType type;
    // The rows don't divide into blocks of the type that was asked for, and `type` takes its place.
    bool replaced;
};

// In the order in which they are written: by layer (blk.N.), those outside a layer first, then by name.
// kUnsupported, naming the tensor, if one is quantized already to another type and `type` is not F32.
Result<std::vector<PlannedTensor>> plan_quantization(const File& file, QuantType type);

}  // namespace ingot::gguf

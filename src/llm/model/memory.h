// How much memory a model takes to run, without loading it: for `ingot info` and for choosing what fits.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "llm/backend/backend.h"
#include "llm/kv/format.h"
#include "llm/model/model.h"

namespace ingot::model {

struct MemoryUse {
    uint64_t weight_bytes = 0;   // as the file stores them
    uint64_t kv_bytes = 0;       // keys and values of all layers, for the whole context
    uint64_t compute_bytes = 0;  // values of the largest graph
    uint64_t total_bytes() const { return weight_bytes + kv_bytes + compute_bytes; }
};

// Engines store keys and values as f32 while they are small (layers * kv width < 8192), where the conversion
// costs more than the bytes, and as f16 above.
kv::Format default_kv_format(const HyperParams& hyper);

// Tokens of context where none are asked for: what the model was trained for, but no more than 4096.
uint32_t default_context(const HyperParams& hyper);

uint64_t kv_size_bytes(const HyperParams& hyper, kv::Format format, uint32_t context);

// compute_bytes comes from compiling the graph of a `batch` of tokens for `backend`, so it is what execution
// allocates (scratch memory inside kernels aside).
Result<MemoryUse> estimate_memory(const Model& model, const Backend& backend, kv::Format format,
                                  uint32_t context, uint32_t batch);

}  // namespace ingot::model

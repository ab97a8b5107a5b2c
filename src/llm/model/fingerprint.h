// A number that tells models apart: what their tensors are called, their types and shapes, and how each
// begins. Files whose KV rows are used again (llm/kv/session.h) name their model by it.
#pragma once

#include <cstdint>

#include "llm/gguf/gguf.h"

namespace ingot::model {

uint64_t fingerprint(const gguf::File& file);

}  // namespace ingot::model

// Key general.file_type: one number for the types that a file's matrices have, alone or mixed (llama.cpp's
// llama_ftype).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "llm/quant/quant.h"

namespace ingot::gguf {

// The number for a file that is `type` throughout; of the K types with variants that of the one that the
// plain name stands for.
uint32_t file_type_id(QuantType type);

// "Q4_K_M"; nullopt for a number that isn't known.
std::optional<std::string_view> file_type_name(uint64_t id);

}  // namespace ingot::gguf

// What a model is called and how large it is, for headings and tables.
#pragma once

#include <string>

#include "llm/gguf/gguf.h"

namespace ingot::cli {

struct ModelFacts {
    std::string name;   // "llama 135M": architecture and number of parameters
    std::string quant;  // "Q4_K_M": as the file says, else the type that holds most parameters
    uint64_t parameters = 0;
    uint64_t weight_bytes = 0;
};

ModelFacts model_facts(const gguf::File& file);

// "135M", "1.5B": at most two digits that matter after the point.
std::string short_count(uint64_t count);
// "93.8 MiB".
std::string short_bytes(uint64_t bytes);

}  // namespace ingot::cli

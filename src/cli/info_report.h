// What `ingot info` tells about a model, gathered once for text and JSON (info_text.cpp, info_json.cpp).
#pragma once

#include <string>
#include <vector>

#include "cli/model_facts.h"
#include "llm/gguf/gguf.h"

namespace ingot::cli {

struct TypeTotal {
    QuantType type;
    uint64_t num_tensors = 0;
    uint64_t num_elements = 0;
    uint64_t size_bytes = 0;
};

// Where the model would run, and what it takes.
struct RunPlan {
    struct Device {
        std::string description;  // "cpu (avx2)"
        size_t num_operations = 0;
    };
    std::vector<Device> devices;  // operations of a decode step
    uint32_t context = 0;
    std::string kv_format;
    uint64_t weight_bytes = 0;
    uint64_t kv_bytes = 0;
    uint64_t compute_bytes = 0;

    uint64_t total_bytes() const { return weight_bytes + kv_bytes + compute_bytes; }
};

struct InfoReport {
    const gguf::File& file;
    ModelFacts facts;
    std::vector<TypeTotal> types;  // by bytes, largest first
    Result<RunPlan> run;           // an Error says why this program can't run the model
};

// `context` 0: as the engine chooses it.
InfoReport make_info_report(const gguf::File& file, uint32_t context);

std::string to_text(const InfoReport& report);
// One JSON object, ending with a newline.
std::string to_json(const InfoReport& report);

}  // namespace ingot::cli

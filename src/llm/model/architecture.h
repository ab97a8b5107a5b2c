// The architectures that this build runs: one table row each. A row says which tensors a file must hold,
// which keys are the architecture's own, and how its graph is built. docs/models.md shows how to add one.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "llm/graph/builder.h"
#include "llm/model/hyper_params.h"

namespace ingot::model {

// A dimension of a tensor, in terms of HyperParams.
enum class Extent : uint8_t {
    kOne,  // rows of a vector
    kVocab,
    kWidth,
    kFfn,
    kQuery,     // heads * head_dim
    kKeyValue,  // kv_heads * head_dim
    kHeadDim,
    kRopePairs,  // rotating dimensions / 2
};

struct TensorRule {
    std::string_view name;  // '*' stands for the number of each layer
    Extent rows, cols;      // cols: the row length. Vectors (kOne) are stored as F32.
    bool optional = false;
};

struct Architecture {
    std::string_view name;  // general.architecture
    graph::RopeStyle rope_style;
    std::span<const TensorRule> tensors;                         // besides common_tensors()
    Result<void> (*read)(const Keys& keys, HyperParams& hyper);  // its own keys; nullptr: it has none
    void (*build)(graph::GraphBuilder& b, const HyperParams& hyper);
};

std::span<const Architecture> all_architectures();
// kUnsupported for an unknown name; the message lists those there are.
Result<const Architecture*> find_architecture(std::string_view name);

// What every architecture here has: embedding, norms, attention and gated feed-forward projections.
std::span<const TensorRule> common_tensors();

uint32_t extent(Extent extent, const HyperParams& hyper);

}  // namespace ingot::model

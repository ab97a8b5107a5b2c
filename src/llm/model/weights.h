// From the tensors of a file to the weights of a model: presence, shape and type against the architecture's
// rules, and a look for numbers that are not finite.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "llm/gguf/gguf.h"
#include "llm/graph/weights.h"
#include "llm/model/architecture.h"

namespace ingot::model {

struct LoadOptions {
    // False: the file's head says enough, and no weight is read.
    bool look_for_nans = true;
    // Gets the bytes looked at and those of all tensors; returning false cancels.
    std::function<bool(uint64_t done_bytes, uint64_t total_bytes)> progress = {};
};

// Every tensor of the file must be one that the rules name: one that is left out would change the results
// silently.
Result<std::shared_ptr<const graph::WeightTable>> load_weights(const gguf::File& file,
                                                               const Architecture& architecture,
                                                               const HyperParams& hyper,
                                                               const LoadOptions& options = {});

// kCorrupt with the tensor's name and the place of the first number that is NaN or infinite. Looks at every
// element of F32, F16 and BF16 tensors, and at every block's scales and minimum in quantized ones: those
// alone can make a quantized element NaN.
Result<void> check_finite(const gguf::TensorInfo& tensor);

}  // namespace ingot::model

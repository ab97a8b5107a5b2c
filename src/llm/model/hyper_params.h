// The numbers of a model that its graphs and tensor shapes follow from, read from GGUF metadata. Keys that
// every architecture shares are read here; an architecture adds its own (architecture.h). Every value is
// bounded before it is used: a missing key, a wrong type or a nonsense value is an Error with file, key and
// what was found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/gguf/gguf.h"
#include "llm/graph/rope.h"

namespace ingot::model {

struct HyperParams {
    uint32_t context = 0;  // tokens the model was trained for
    uint32_t layers = 0;
    uint32_t width = 0;  // of the residual stream
    uint32_t ffn = 0;    // width of the feed-forward network
    uint32_t heads = 0, kv_heads = 0;
    uint32_t head_dim = 0;  // of queries, keys and values; not always width / heads
    uint32_t vocab = 0;
    float norm_epsilon = 0.0f;
    float attention_scale = 0.0f;
    float embedding_scale = 1.0f;
    graph::RopeParams rope;  // of layers that see the whole context

    // Layers with slides[layer] see only the last `window` tokens and rotate with rope_local. Empty: there
    // are none.
    uint32_t window = 0;
    std::vector<bool> slides;
    graph::RopeParams rope_local;

    uint32_t query_width() const { return heads * head_dim; }
    uint32_t kv_width() const { return kv_heads * head_dim; }
    bool is_local(uint32_t layer) const { return !slides.empty() && slides[layer]; }
};

// Reads "<architecture>.<key>" of a file, with bounds.
class Keys {
  public:
    Keys(const gguf::File& file, std::string_view architecture) : file_(file), architecture_(architecture) {}

    const gguf::File& file() const { return file_; }
    std::string name(std::string_view key) const;
    bool has(std::string_view key) const { return file_.find(name(key)) != nullptr; }

    // The value must lie in [min, max].
    Result<uint32_t> count(std::string_view key, uint32_t min, uint32_t max) const;
    Result<uint32_t> count(std::string_view key, uint32_t min, uint32_t max, uint32_t fallback) const;
    Result<float> number(std::string_view key, double min, double max) const;
    Result<float> number(std::string_view key, double min, double max, float fallback) const;
    // An Error if `key` is there with another value than `neutral`: a feature that the architecture here
    // lacks.
    Result<void> refuse_unless(std::string_view key, double neutral) const;

    // "file: key 'llama.block_count' is 0; 1 to 1024 is accepted"
    Failure refuse(std::string_view key, std::string_view found, std::string_view accepted) const;

  private:
    const gguf::File& file_;
    std::string_view architecture_;
};

// The keys that all architectures share. `style` goes into the rope parameters.
Result<HyperParams> read_hyper_params(const Keys& keys, graph::RopeStyle style);

}  // namespace ingot::model

// What an independent implementation (transformers, float32) says about a tiny model; made by
// tools/oracle/make_tiny_models.py.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "llm/gguf/gguf.h"
#include "llm/text/tokenizer.h"
#include "patched_model.h"

namespace ingot {

class Golden {
  public:
    explicit Golden(const std::string& name) : file_(*gguf::File::open(tiny_model_path(name + ".golden"))) {}

    // Lengths of the prompts there are.
    std::vector<TokenId> lengths() const { return ids("golden.lengths"); }
    std::vector<TokenId> prompt(TokenId length) const { return ids(fmt::format("golden.{}.prompt", length)); }
    // The greedy continuation; its element i follows from row i of logits().
    std::vector<TokenId> greedy(TokenId length) const { return ids(fmt::format("golden.{}.greedy", length)); }
    // Row 0: the last position of the prompt; row i: decode step i.
    std::vector<float> logits(TokenId length, size_t row) const {
        return this->row(fmt::format("logits.{}", length), row);
    }
    // Every column_stride()-th logit of one position of the prompt.
    std::vector<float> sampled_logits(TokenId length, size_t position) const {
        return row(fmt::format("all.{}", length), position);
    }
    size_t column_stride() const { return *file_.get_uint("golden.column_stride"); }

  private:
    std::vector<TokenId> ids(const std::string& key) const {
        return std::get<std::vector<int32_t>>((*file_.get_array(key))->items);
    }
    std::vector<float> row(const std::string& name, size_t index) const {
        const gguf::TensorInfo* tensor = file_.find_tensor(name);
        std::vector<float> values(tensor->row_length());
        std::memcpy(values.data(), tensor->data.data() + index * values.size() * sizeof(float),
                    values.size() * sizeof(float));
        return values;
    }

    gguf::File file_;
};

inline float max_difference(std::span<const float> a, std::span<const float> b) {
    EXPECT_EQ(a.size(), b.size());
    float worst = 0.0f;
    // A NaN must not hide: it compares false with everything.
    for (size_t i = 0; i < a.size(); ++i)
        worst = !(std::abs(a[i] - b[i]) <= worst) ? std::abs(a[i] - b[i]) : worst;
    return worst;
}

}  // namespace ingot

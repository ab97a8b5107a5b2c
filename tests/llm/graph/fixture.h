// Random weights and data for graph tests, and running one graph on some backends.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "llm/graph/builder.h"
#include "llm/graph/executor.h"
#include "llm/graph/text.h"

namespace ingot::tests {

// Values around 0, the same for the same seed.
inline std::vector<float> random_values(size_t count, uint32_t seed, float scale = 1.0f) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine);
    return values;
}

// A weight table that owns its bytes.
class Weights {
  public:
    graph::WeightId add(const std::string& name, uint32_t rows, uint32_t cols,
                        QuantType type = QuantType::kF32, float scale = 0.1f) {
        const QuantTraits& quant = traits(type);
        const std::vector<float> values = random_values(size_t(rows) * cols, seed_++, scale);
        std::vector<std::byte> bytes(values.size() / quant.block_size * quant.block_size_bytes);
        quant.quantize(values.data(), bytes.data(), values.size());
        storage_.push_back(std::make_unique<std::vector<std::byte>>(std::move(bytes)));
        const auto added = table_->add({name, type, rows, cols, *storage_.back()});
        EXPECT_TRUE(added) << added.error().describe();
        return *added;
    }
    const std::shared_ptr<graph::WeightTable>& table() const { return table_; }

  private:
    std::shared_ptr<graph::WeightTable> table_ = std::make_shared<graph::WeightTable>();
    std::vector<std::unique_ptr<std::vector<std::byte>>> storage_;
    uint32_t seed_ = 1;
};

template <typename T>
T value_of(Result<T> result) {
    EXPECT_TRUE(result) << result.error().describe();
    return *std::move(result);
}

inline void expect_ok(const Result<void>& result) {
    EXPECT_TRUE(result) << result.error().describe();
}

template <typename T>
std::string error_of(const Result<T>& result) {
    EXPECT_FALSE(result) << "expected an Error";
    return result ? "" : result.error().describe();
}

// Everything of one run.
struct RunSetup {
    std::vector<Backend*> backends;
    uint32_t kv_cells = 256;
};

// Runs `build` once on fresh memory and returns output 0.
inline std::vector<float> run_once(const RunSetup& setup, const graph::GraphParams& params,
                                   graph::Executor::Build build,
                                   const std::vector<graph::InputData>& inputs) {
    graph::Executor executor(setup.backends, std::move(build), {.kv_cells = setup.kv_cells});
    expect_ok(executor.run(params, inputs));
    const auto out = value_of(executor.output());
    return {out.begin(), out.end()};
}

// max |a - b| over the largest |b|.
inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    double difference = 0, largest = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (!(std::abs(a[i]) < 1e30f)) return INFINITY;
        difference = std::max(difference, std::abs(double(a[i]) - b[i]));
        largest = std::max(largest, std::abs(double(b[i])));
    }
    return difference / std::max(largest, 1e-30);
}

inline std::vector<int32_t> iota(int32_t first, size_t count) {
    std::vector<int32_t> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = first + int32_t(i);
    return values;
}

}  // namespace ingot::tests

// Rotation frequencies against those that transformers computes (tools/oracle/make_rope_golden.py).
#include "llm/graph/rope.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ingot::graph {
namespace {

constexpr double kRelativeBar = 2e-6;  // the golden values were rounded to float32 on their way

TEST(RopeTable, EveryScalingSchemeGivesTransformersFrequencies) {
    std::ifstream file(INGOT_TEST_DATA "/rope/frequencies.json");
    const nlohmann::json cases = nlohmann::json::parse(file);
    ASSERT_EQ(4u, cases.size());
    for (const auto& row : cases) {
        const auto& scaling = row["scaling"];
        const std::string type = scaling["rope_type"];
        RopeParams params{.dims = row["dims"], .base = row["base"]};
        std::vector<float> factors;
        if (type == "linear") params.scaling = RopeScaling::kLinear;
        if (type == "yarn") params.scaling = RopeScaling::kYarn;
        if (type == "llama3") {
            factors = row["factors"].get<std::vector<float>>();
        } else {
            params.factor = scaling["factor"];
        }
        params.original_context = scaling.value("original_max_position_embeddings", 0u);
        params.beta_fast = scaling.value("beta_fast", params.beta_fast);
        params.beta_slow = scaling.value("beta_slow", params.beta_slow);
        const RopeTable table = rope_table(params, factors);
        const auto expected = row["frequencies"].get<std::vector<double>>();
        ASSERT_EQ(expected.size(), table.frequencies.size());
        for (size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(expected[i], table.frequencies[i], expected[i] * kRelativeBar)
                << row["name"] << " pair " << i;
        }
        EXPECT_NEAR(row["magnitude"].get<double>(), table.magnitude, 1e-6) << row["name"];
    }
}

}  // namespace
}  // namespace ingot::graph

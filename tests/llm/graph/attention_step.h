// A batch of tokens, placed in KV cells, attended to by two executors that build the same graph.
#pragma once

#include "llm/graph/fixture.h"
#include "llm/kv/cells.h"

namespace ingot::tests {

// The relative difference of the outputs for random q (of this scale), k and v. The graph's inputs are q, k,
// v and those of its window mode.
inline double attention_step(graph::Executor& actual, graph::Executor& expected, const kv::Placement& place,
                             const graph::AttnParams& p, kv::Format format, uint32_t& seed,
                             float q_scale = 1.0f) {
    const auto tokens = uint32_t(place.positions.size());
    const auto q = random_values(size_t(tokens) * p.heads * p.head_dim, ++seed, q_scale);
    const auto k = random_values(size_t(tokens) * p.kv_heads * p.head_dim, ++seed);
    const auto v = random_values(size_t(tokens) * p.kv_heads * p.head_dim, ++seed);
    const std::vector<graph::InputData> inputs = {{"q", q},
                                                  {"k", k},
                                                  {"v", v},
                                                  {"positions", place.positions},
                                                  {"cells", place.cells},
                                                  {"span", place.window_data},
                                                  {"map", place.window_data}};
    const graph::GraphParams params{.tokens = tokens, .kv_format = format, .window = place.window};
    expect_ok(actual.run(params, inputs));
    expect_ok(expected.run(params, inputs));
    const auto a = value_of(actual.output()), b = value_of(expected.output());
    return relative_difference({a.begin(), a.end()}, {b.begin(), b.end()});
}

}  // namespace ingot::tests

// Running graphs on the Metal backend beside the reference (llm/graph/reference_backend.h: scalar loops in
// double), and saying which kernels ran.
#pragma once

#include <functional>

#include <gmock/gmock.h>

#include "llm/backend/metal/metal_backend.h"
#include "llm/graph/fixture.h"
#include "llm/graph/reference_backend.h"
#include "metal/api/extensions.h"
#include "metal/check/report.h"

namespace ingot::tests {

using Counts = std::map<std::string, uint64_t>;

inline std::unique_ptr<mtl::MetalBackend> make_metal(mtl::MetalBackend::Options options = {}) {
    return value_of(mtl::MetalBackend::create(std::move(options)));
}

// One of the test's own, whose dispatches are checked.
inline std::unique_ptr<mtl::Device> watched_device(mtl::Device::SourceOf source_of = mtl::full_source) {
    auto device = value_of(mtl::Device::with_sources(std::move(source_of)));
    expect_ok(metal::set_checks(device->get(), "default"));
    return device;
}

// What the device's checkers found since the last call.
inline std::string findings(const mtl::Device& device) {
    std::string text;
    for (const metal::check::Finding& finding : metal::take_findings(device.get()))
        text += metal::check::to_text(finding, metal::check::lines_of_files());
    return text;
}

// What graphs as text begin with.
inline const std::string kGraphHeader =
    "graph tokens=1 sequences=1 outputs=1 kv=f32 window=causal fuse=none\n";

// Memory for each value of a graph.
inline std::vector<BoundNode> bind(Backend& backend, const graph::Graph& graph) {
    std::vector<BufferRef> places(graph.size());
    std::vector<BoundNode> bound;
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const graph::Node& node = graph[graph::NodeId(i)];
        const size_t count = node.shape.count();
        if (node.type != graph::DType::kKv)
            places[i] = {value_of(backend.alloc_fresh(count * sizeof(float))), 0, count};
        if (node.op == graph::Op::kInput) continue;
        bound.push_back({graph::NodeId(i), places[i], {}});
        for (const graph::NodeId in : node.inputs)
            bound.back().inputs.push_back(in.valid() ? places[in.index()] : BufferRef());
    }
    return bound;
}

// Run with INGOT_METAL_CHECK, these tests fail on anything that the checkers find ("checked." in ctest).
class MetalTest : public ::testing::Test {
  protected:
    void TearDown() override { EXPECT_EQ("", findings(*value_of(mtl::Device::shared()))); }

    // Runs the graph that `build` makes on both and compares output 0. The graph must run on `kernels`, each
    // as often as it is listed, and on nothing else.
    void compare(const graph::GraphParams& params, const std::function<void(graph::GraphBuilder&)>& build,
                 const std::vector<graph::InputData>& inputs, double bar,
                 const std::vector<std::string>& kernels) {
        const auto make = [&](const graph::GraphParams& p) {
            graph::GraphBuilder b(p, weights_.table());
            build(b);
            return std::move(b).finish();
        };
        const auto metal = make_metal();
        ReferenceBackend reference;
        const std::vector<float> expected = run_once({{&reference}}, params, make, inputs);
        const std::vector<float> actual = run_once({{metal.get()}}, params, make, inputs);
        EXPECT_LE(relative_difference(actual, expected), bar);
        Counts wanted;
        for (const std::string& kernel : kernels) ++wanted[kernel];
        EXPECT_EQ(metal->kernel_counts(), wanted);
    }

    Weights weights_;
};

}  // namespace ingot::tests

// Rows of KV cells on the CPU. tests/llm_metal has the same for the device.
#include "llm/backend/cpu/cpu_backend.h"
#include "llm/kv/rows_cases.h"

namespace ingot::kv {
namespace {

class CpuRows : public ::testing::TestWithParam<Format> {
  protected:
    std::unique_ptr<Backend> cpu() const { return tests::value_of(cpu::CpuBackend::create({.threads = 1})); }
};

TEST_P(CpuRows, TrapOverlappingMovesInBothDirections) {
    expect_moves_in_both_directions(*cpu(), GetParam());
}

TEST_P(CpuRows, ChangePlacesAllAtOnce) {
    expect_rows_change_places(*cpu(), GetParam());
}

TEST_P(CpuRows, KeysTurnAndAreStoredOnce) {
    expect_keys_turn(*cpu(), GetParam(),
                     GetParam() == Format::kF32   ? 1e-4
                     : GetParam() == Format::kF16 ? 3e-3
                                                  : 2.5e-2);
}

INSTANTIATE_TEST_SUITE_P(, CpuRows, ::testing::Values(Format::kF32, Format::kF16, Format::kQ8_0),
                         [](const auto& test) { return std::string(traits(test.param).name); });

// A compiled graph says which layers turn their keys how, fused or not.
TEST(CellsOf, AGraphNamesLayersAndRotations) {
    tests::Weights weights;
    const graph::WeightId factors = weights.add("factors", 1, 8, QuantType::kF32, 1.0f);
    graph::GraphBuilder b({.tokens = 2}, weights.table());
    const graph::NodeId k = b.input("k", graph::DType::kF32, {2, 1, 24});
    const graph::RopeParams rope{.dims = 16, .base = 77.0f};
    b.kv_store(3, b.rope(k, b.positions(), rope, factors), k);
    b.kv_store(4, k, k);
    b.output(b.scale(k, 1.0f));
    const graph::Graph graph = tests::value_of(std::move(b).finish());
    const auto cpu = tests::value_of(cpu::CpuBackend::create({.threads = 1}));
    Backend* const backends[] = {cpu.get()};
    graph::Executor executor(
        {cpu.get()}, [&](const graph::GraphParams&) { return Result<graph::Graph>(graph); }, {.kv_cells = 4});
    tests::expect_ok(executor.prepare({.tokens = 2}));
    const auto layers = cells_of(*executor.find({.tokens = 2}), backends);
    ASSERT_EQ(2u, layers.size());
    EXPECT_EQ((KvLayer{3, 1, 24}), layers[0].layer);
    EXPECT_TRUE(layers[0].turns);
    EXPECT_EQ(rope, layers[0].rope);
    EXPECT_EQ(8u, layers[0].factors.size());
    EXPECT_FALSE(layers[1].turns);
}

}  // namespace
}  // namespace ingot::kv

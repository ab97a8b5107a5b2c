// Every op of the graph on the CPU backend against scalar loops in double (ReferenceBackend), once on the
// portable kernels and once on each instruction set that this machine has. Only matrix products quantize
// activations; their bar is theirs, every other op's is float rounding.
#include <functional>

#include "llm/backend/cpu/cpu_backend.h"
#include "llm/graph/fixture.h"
#include "llm/graph/reference_backend.h"

namespace ingot::tests {
namespace {

using namespace graph;

constexpr double kFloatBar = 2e-5;
constexpr double kQuantizedBar = 2e-2;  // activations of 8 bits, one scale per 32

class CpuOps : public ::testing::TestWithParam<cpu::Isa> {
  protected:
    std::unique_ptr<cpu::CpuBackend> make_cpu() {
        return value_of(cpu::CpuBackend::create({.threads = 2, .isa = std::string(to_string(GetParam()))}));
    }

    // Runs the graph that `build` makes on both and compares output 0; returns the kernels that the CPU ran.
    std::map<std::string, uint64_t> compare(const GraphParams& params,
                                            const std::function<void(GraphBuilder&)>& build,
                                            const std::vector<InputData>& inputs, double bar) {
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            build(b);
            return std::move(b).finish();
        };
        const auto cpu = make_cpu();
        ReferenceBackend reference;
        const std::vector<float> expected = run_once({{&reference}}, params, make, inputs);
        const std::vector<float> actual = run_once({{cpu.get()}}, params, make, inputs);
        EXPECT_LE(relative_difference(actual, expected), bar);
        return cpu->kernel_counts();
    }
    // One op over x, an f32 input of this shape.
    std::map<std::string, uint64_t> compare_unary(const Shape& shape,
                                                  const std::function<NodeId(GraphBuilder&, NodeId)>& op,
                                                  double bar = kFloatBar) {
        const std::vector<float> x = random_values(shape.count(), 77);
        return compare(
            {}, [&](GraphBuilder& b) { b.output(op(b, b.input("x", DType::kF32, shape))); }, {{"x", x}}, bar);
    }
    std::map<std::string, uint64_t> compare_binary(
        const std::function<NodeId(GraphBuilder&, NodeId, NodeId)>& op) {
        const Shape shape{3, 97};
        const std::vector<float> x = random_values(shape.count(), 7), y = random_values(shape.count(), 8);
        return compare(
            {},
            [&](GraphBuilder& b) {
                b.output(op(b, b.input("x", DType::kF32, shape), b.input("y", DType::kF32, shape)));
            },
            {{"x", x}, {"y", y}}, kFloatBar);
    }

    Weights weights_;
};

TEST_P(CpuOps, ElementwiseOpsAreTheirDefinitions) {
    EXPECT_EQ(1, compare_binary([](auto& b, NodeId x, NodeId y) { return b.add(x, y); }).at("add"));
    EXPECT_EQ(1, compare_binary([](auto& b, NodeId x, NodeId y) { return b.mul(x, y); }).at("mul"));
    EXPECT_EQ(1, compare_binary([](auto& b, NodeId x, NodeId y) { return b.swiglu(x, y); }).at("swiglu"));
    EXPECT_EQ(1, compare_binary([](auto& b, NodeId x, NodeId y) { return b.geglu(x, y); }).at("geglu"));
    EXPECT_EQ(1, compare_unary({5, 65}, [](auto& b, NodeId x) { return b.silu(x); }).at("silu"));
    EXPECT_EQ(1, compare_unary({5, 65}, [](auto& b, NodeId x) { return b.gelu(x); }).at("gelu"));
    EXPECT_EQ(1, compare_unary({5, 65}, [](auto& b, NodeId x) { return b.softmax(x); }).at("softmax"));
    EXPECT_EQ(1, compare_unary({2, 3, 9}, [](auto& b, NodeId x) { return b.scale(x, -2.5f); }).at("scale"));
}

TEST_P(CpuOps, MovingDataKeepsItsValues) {
    const auto exact = [&](const Shape& shape, const std::function<NodeId(GraphBuilder&, NodeId)>& op) {
        return compare_unary(shape, op, 0.0);
    };
    for (const std::array<uint32_t, 3> axes :
         {std::array{1u, 0u, 2u}, {2u, 0u, 1u}, {0u, 2u, 1u}, {2u, 1u, 0u}}) {
        EXPECT_EQ(1, exact({3, 4, 5}, [&](auto& b, NodeId x) { return b.permute(x, axes); }).at("permute"));
    }
    exact({6, 10}, [](auto& b, NodeId x) { return b.scale(b.view(b.reshape(x, {12, 5}), 7, 3), 2.0f); });
}

TEST_P(CpuOps, RmsNormAndQkNormNormaliseRowsAndHeads) {
    const WeightId wide = weights_.add("wide", 1, 96, QuantType::kF32, 1.0f),
                   head = weights_.add("head", 1, 24);
    EXPECT_EQ(1, compare_unary({5, 96}, [&](auto& b, NodeId x) {
                     return b.rms_norm(x, wide, 1e-5f);
                 }).at("rms_norm"));
    EXPECT_EQ(1, compare_unary({5, 4, 24}, [&](auto& b, NodeId x) {
                     return b.qk_norm(x, head, 1e-6f);
                 }).at("qk_norm"));
}

TEST_P(CpuOps, RowsComeFromTheTableAndFromValues) {
    for (const QuantType type :
         {QuantType::kF32, QuantType::kF16, QuantType::kQ4_1, QuantType::kQ8_0, QuantType::kQ6_K}) {
        const std::string name(traits(type).name);
        const WeightId table = weights_.add(name, 11, 256, type);
        const std::vector<int32_t> rows = {10, 0, 3, 3};
        const auto kernels = compare(
            {.tokens = 4}, [&](GraphBuilder& b) { b.output(b.get_rows(table, b.tokens())); },
            {{"tokens", rows}}, 0.0);
        EXPECT_EQ(1, kernels.at("get_rows " + name));
    }
    const std::vector<float> x = random_values(7 * 33, 5);
    const std::vector<int32_t> rows = {6, 0};
    compare(
        {.tokens = 7, .outputs = 2},
        [](GraphBuilder& b) { b.output(b.get_rows(b.input("x", DType::kF32, {7, 33}), b.outputs())); },
        {{"x", x}, {"outputs", rows}}, 0.0);
}

// A mapped table's pages count as memory of the process once touched, with their neighbours.
TEST_P(CpuOps, AFileLetsGoOfATableAfterEveryFewRowsUnlessItsMatrixIsMultipliedInPlace) {
    const WeightId table = weights_.add("table", 300, 64, QuantType::kQ8_0);
    const WeightId tied = weights_.add("tied", 300, 64, QuantType::kF16);  // no instruction set packs it
    std::vector<const std::byte*> let_go;
    const auto cpu = value_of(cpu::CpuBackend::create(
        {.threads = 2,
         .isa = std::string(to_string(GetParam())),
         .on_packed = [&](std::span<const std::byte> bytes) { let_go.push_back(bytes.data()); }}));
    std::vector<int32_t> rows(3 * cpu::kTableRowsAtOnce + 3);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = int32_t(i * 7 % 300);
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        b.output(b.add(b.get_rows(table, b.tokens()), b.get_rows(tied, b.tokens())));
        b.output(b.mat_mul(tied, b.input("x", DType::kF32, {1, 64})));
        return std::move(b).finish();
    };
    const std::vector<float> x = random_values(64, 3);
    run_once({{cpu.get()}}, {.tokens = uint32_t(rows.size())}, make, {{"tokens", rows}, {"x", x}});
    EXPECT_EQ(let_go, std::vector(3, (*weights_.table())[table].data.data()));
}

TEST_P(CpuOps, OutputBiasIsNotDropped) {
    // Zero activations: what comes out is the bias alone.
    const WeightId matrix = weights_.add("m", 40, 64), bias = weights_.add("b", 1, 40);
    for (uint32_t tokens : {1u, 5u, 40u}) {
        const std::vector<float> zeros(tokens * 64);
        compare(
            {},
            [&](GraphBuilder& b) {
                b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {tokens, 64}), bias));
            },
            {{"x", zeros}}, 0.0);
    }
}

TEST_P(CpuOps, MatMulServesEveryTypeItClaims) {
    const auto cpu = make_cpu();
    for (const QuantTraits& type : all_quant_types()) {
        const WeightId matrix = weights_.add(std::string(type.name), 50, 256, type.type);
        GraphBuilder b({}, weights_.table());
        b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {1, 256})));
        const Graph graph = value_of(std::move(b).finish());
        ASSERT_TRUE(cpu->supports_op(graph, graph[NodeId(1)])) << type.name;
        const bool exact = type.type == QuantType::kF32;
        for (uint32_t tokens : {1u, 2u, 7u, 33u}) {
            const std::vector<float> x = random_values(tokens * 256, 9);
            const auto kernels = compare(
                {},
                [&](GraphBuilder& g) {
                    g.output(g.mat_mul(matrix, g.input("x", DType::kF32, {tokens, 256})));
                },
                {{"x", x}}, exact ? kFloatBar : kQuantizedBar);
            const std::string name = cpu->kernels().mat_mul(type.type)->name;
            EXPECT_EQ(1, kernels.at("mat_mul " + name)) << name;
        }
    }
}

TEST_P(CpuOps, RopeTurnsBothStylesAndLeavesTheRestOfAHead) {
    const WeightId factors = weights_.add("factors", 1, 8, QuantType::kF32, 1.0f);
    const std::vector<float> x = random_values(3 * 2 * 24, 4);
    const std::vector<int32_t> positions = {0, 5, 1000};
    for (const RopeStyle style : {RopeStyle::kInterleaved, RopeStyle::kNeox}) {
        for (const WeightId divisors : {WeightId(), factors}) {
            const RopeParams rope{.style = style, .dims = 16, .base = 500.0f};
            const auto kernels = compare(
                {.tokens = 3},
                [&](GraphBuilder& b) {
                    b.output(b.rope(b.input("x", DType::kF32, {3, 2, 24}), b.positions(), rope, divisors));
                },
                {{"x", x}, {"positions", positions}}, 1e-4);
            EXPECT_EQ(1, kernels.at("rope"));
        }
    }
}

TEST_P(CpuOps, RopeScaleIsNotDropped) {
    const std::vector<float> x = random_values(2 * 1 * 16, 4);
    const std::vector<int32_t> positions = {3, 40};
    const RopeParams linear{.dims = 16, .scaling = RopeScaling::kLinear, .factor = 4.0f};
    compare(
        {.tokens = 2},
        [&](GraphBuilder& b) {
            b.output(b.rope(b.input("x", DType::kF32, {2, 1, 16}), b.positions(), linear));
        },
        {{"x", x}, {"positions", positions}}, kFloatBar);
}

TEST_P(CpuOps, TwoRotationsOfOneProgramKeepTheirOwnTables) {
    const std::vector<float> x = random_values(2 * 1 * 16, 4);
    const std::vector<int32_t> positions = {3, 40};
    const auto kernels = compare(
        {.tokens = 2},
        [&](GraphBuilder& b) {
            const NodeId in = b.input("x", DType::kF32, {2, 1, 16});
            const NodeId once = b.rope(in, b.positions(), {.dims = 16, .base = 10000.0f});
            const NodeId twice = b.rope(once, b.positions(), {.dims = 16, .base = 1000000.0f});
            b.output(b.rope(twice, b.positions(), {.dims = 16, .base = 10000.0f}));
        },
        {{"x", x}, {"positions", positions}}, 1e-4);
    EXPECT_EQ(2, kernels.at("rope_table"));
    EXPECT_EQ(3, kernels.at("rope"));
}

TEST_P(CpuOps, FusedFfnIsTheChainItReplaces) {
    const WeightId gate = weights_.add("gate", 80, 64), up = weights_.add("up", 80, 64);
    for (const bool silu : {true, false}) {
        for (uint32_t tokens : {1u, 9u}) {
            const std::vector<float> x = random_values(tokens * 64, 6);
            const auto kernels = compare(
                {.tokens = tokens},
                [&](GraphBuilder& b) {
                    const NodeId in = b.input("x", DType::kF32, {tokens, 64});
                    const NodeId g = b.mat_mul(gate, in), u = b.mat_mul(up, in);
                    b.output(b.mul(silu ? b.silu(g) : b.gelu(g), u));
                },
                {{"x", x}}, kFloatBar);
            EXPECT_EQ(1, kernels.at(silu ? "swiglu" : "geglu"));
            EXPECT_FALSE(kernels.contains("mul"));
        }
    }
}

TEST_P(CpuOps, AnIndexOutsideItsTableIsAnErrorThatNamesIt) {
    const WeightId table = weights_.add("t", 4, 8);
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        b.output(b.get_rows(table, b.tokens()));
        return std::move(b).finish();
    };
    const auto cpu = make_cpu();
    Executor executor({cpu.get()}, make, {});
    for (int32_t bad : {4, -1, 1 << 30}) {
        const std::vector<int32_t> rows = {bad};
        const std::vector<InputData> inputs = {{"tokens", rows}};
        EXPECT_EQ(fmt::format("%1 get_rows 't': row {}; 0 to 3 are accepted", bad),
                  error_of(executor.run({}, inputs)));
    }
}

INSTANTIATE_TEST_SUITE_P(, CpuOps, ::testing::ValuesIn(cpu::available_isas()), [](const auto& isa) {
    std::string name(to_string(isa.param));
    std::erase(name, '-');
    return name;
});

}  // namespace
}  // namespace ingot::tests

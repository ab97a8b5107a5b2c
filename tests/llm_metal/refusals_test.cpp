// What the backend refuses, by name and with what it accepts: weights that no kernel reads, nodes that none
// can serve when they are bound to memory, indices that lie outside when a graph runs.
#include "metal_test.h"

namespace ingot::tests {
namespace {

using namespace graph;
using ::testing::HasSubstr;

TEST_F(MetalTest, TrapAnUnknownWeightTypeIsRefusedByName) {
    const auto metal = make_metal();
    for (const auto& [type, accepted] : {std::pair(QuantType::kQ2_K, false), {QuantType::kQ4_K, true}}) {
        const WeightId matrix = weights_.add(accepted ? "good" : "bad", 4, 256, type);
        GraphBuilder b({}, weights_.table());
        b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {1, 256})));
        const Graph graph = value_of(std::move(b).finish());
        const auto answer = metal->supports_op(graph, graph[NodeId(1)]);
        if (accepted) {
            expect_ok(answer);
        } else {
            EXPECT_THAT(error_of(answer),
                        HasSubstr("'bad' is Q2_K; the Metal kernels accept F32 F16 BF16 Q4_0"));
        }
    }
}

TEST_F(MetalTest, ARowLengthThatNoKernelReadsIsRefusedByName) {
    const auto metal = make_metal();
    const WeightId matrix = weights_.add("ragged", 4, 6);
    GraphBuilder b({}, weights_.table());
    b.output(b.mat_mul(matrix, b.input("x", DType::kF32, {1, 6})));
    const Graph graph = value_of(std::move(b).finish());
    EXPECT_EQ("'ragged' has rows of 6 elements; the F32 kernels accept multiples of 4",
              error_of(metal->supports_op(graph, graph[NodeId(1)])));
}

// No kernel meets one: a table of weights, whatever the device, takes no row of part of a block.
TEST_F(MetalTest, TrapARowOfPartBlocksIsRefusedByName) {
    const std::vector<std::byte> zeros(4096);
    for (const mtl::WeightFormat& format : mtl::kWeightFormats) {
        const QuantTraits& type = traits(format.type);
        if (type.block_size == 1) continue;
        for (const uint32_t cols : {type.block_size - 1, type.block_size + 16, 2 * type.block_size}) {
            const auto added = weights_.table()->add(
                {fmt::format("{} {}", type.name, cols), format.type, 4, cols,
                 std::span(zeros).first(4 * cols / type.block_size * type.block_size_bytes)});
            if (cols % type.block_size == 0) {
                EXPECT_TRUE(added) << added.error().describe();
            } else {
                EXPECT_EQ(fmt::format("weight '{} {}' has rows of {} elements; {} accepts multiples of {}",
                                      type.name, cols, cols, type.name, type.block_size),
                          error_of(added));
            }
        }
        EXPECT_EQ(0u, type.block_size % format.row_multiple) << "nor one that its kernels can't read";
    }
}

TEST_F(MetalTest, AFusedNodeOfSeveralTokensIsRefusedAndTheChainStays) {
    const WeightId gate = weights_.add("gate", 8, 32), up = weights_.add("up", 8, 32);
    const std::vector<float> x = random_values(2 * 32, 1);
    compare({.tokens = 2},
            [&](GraphBuilder& b) {
                const NodeId in = b.input("x", DType::kF32, {2, 32});
                b.output(b.mul(b.silu(b.mat_mul(gate, in)), b.mat_mul(up, in)));
            },
            {{"x", x}}, 2e-5, {"mat_mul_multi_f32", "mat_mul_multi_f32", "swiglu"});
}

TEST_F(MetalTest, FusedProductsOfTwoTypesAreRefusedAndTheChainStays) {
    const WeightId gate = weights_.add("gate", 8, 32), up = weights_.add("up", 8, 32, QuantType::kF16);
    const std::vector<float> x = random_values(32, 1);
    compare({},
            [&](GraphBuilder& b) {
                const NodeId in = b.input("x", DType::kF32, {1, 32});
                b.output(b.mul(b.silu(b.mat_mul(gate, in)), b.mat_mul(up, in)));
            },
            {{"x", x}}, 2e-5, {"mat_mul_one_f32", "mat_mul_one_f16", "swiglu"});
}

TEST_F(MetalTest, AnIndexOutsideItsTableIsAnErrorThatNamesIt) {
    const WeightId table = weights_.add("t", 4, 8);
    const auto metal = make_metal();
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        b.output(b.get_rows(table, b.tokens()));
        return std::move(b).finish();
    };
    Executor executor({metal.get()}, make, {});
    for (int32_t bad : {4, -1, 1 << 30}) {
        const std::vector<int32_t> rows = {bad};
        EXPECT_EQ(fmt::format("%1 get_rows 't': row {}; 0 to 3 are accepted", bad),
                  error_of(executor.run({}, std::vector<InputData>{{"tokens", rows}})));
    }
    EXPECT_TRUE(metal->kernel_counts().empty()) << "nothing may be dispatched";
}

TEST_F(MetalTest, ACellPastTheRegionIsRefusedBeforeAnythingIsStored) {
    const auto metal = make_metal();
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        const NodeId k = b.input("k", DType::kF32, {1, 1, 8});
        b.kv_store(0, k, k);
        b.output(b.scale(b.reshape(k, {1, 8}), 1.0f));
        return std::move(b).finish();
    };
    Executor executor({metal.get()}, make, {.kv_cells = 4});
    const std::vector<float> k = random_values(8, 1);
    const std::vector<int32_t> cells = {4};
    EXPECT_THAT(error_of(executor.run({}, std::vector<InputData>{{"k", k}, {"cells", cells}})),
                HasSubstr("KV cell 4; 0 to 3 are accepted"));
    EXPECT_TRUE(metal->kernel_counts().empty());
}

// What passes leave to the backend: nodes that were never asked about, or whose memory is another.
TEST_F(MetalTest, WhatTheKernelsCannotDoIsRefusedWhenItIsBound) {
    constexpr std::string_view kInputs = R"(weight "q" F32 [64, 32]
weight "k" F32 [32, 32]
weight "gain" F32 [1, 32]
%0 = input() {{name="x"}} : f32 [{0}, 32]
%1 = input() {{name="cells"}} : i32 [{0}]
)";
    constexpr std::string_view kStore = R"(%2 = input() {{name="k"}} : f32 [1, {1}, {2}]
%3 = kvcache_store(k=%2, v=%2, cells=%1) {{{0}kv_heads={1} head_dim={2}}} : kv [{1}, {2}]
)";
    constexpr std::string_view kAttention =
        R"(%2 = kvcache_load() {{{0}kv_heads={1} head_dim={2}}} : kv [{1}, {2}]
%3 = input() {{name="q"}} : f32 [1, 2, {2}]
%4 = attn(q=%3, kv=%2, window=%1) {{heads=2 kv_heads={1} head_dim={2} scale=1}} : f32 [1, {3}]
)";
    constexpr std::string_view kQkv =
        R"(%2 = fused_qkv{3}(x=%0, positions=%1, cells=%1, wq="q", wk="k", wv="k"{4}) )"
        R"({{{1}heads={5} kv_heads={6} head_dim={2} dims=16}} : f32 [{0}, {5}, {2}]
)";
    const auto store = [&](std::string_view layer, int heads, int dim) {
        return fmt::format(kInputs, 1) + fmt::format(kStore, layer, heads, dim);
    };
    const auto attention = [&](std::string_view layer, int heads, int dim) {
        return fmt::format(kInputs, 1) + fmt::format(kAttention, layer, heads, dim, 2 * dim);
    };
    const auto qkv = [&](int tokens, std::string_view layer, int dim, bool norm) {
        return fmt::format(kInputs, tokens) + fmt::format(kQkv, tokens, layer, dim, norm ? "_norm" : "",
                                                          norm ? R"(, q_gain="gain", k_gain="gain")" : "",
                                                          64 / dim, 32 / dim);
    };
    const auto of_x = [&](int tokens, std::string_view line) {
        return fmt::format(kInputs, tokens) + fmt::format("{} : f32 [{}, ", line, tokens);
    };
    // Layer 0 has cells of 1 x 32.
    const std::pair<std::string, const char*> cases[] = {
        {store("", 1, 32), nullptr},
        {attention("", 1, 32), nullptr},
        {store("", 2, 16), "layer 0 has KV cells of 1 x 32; 2 x 16 are accepted"},
        {store("", 1, 48), "layer 0 has KV cells of 1 x 32; 1 x 48 are accepted"},
        {store("layer=7 ", 1, 32), "layer 7 has no KV cells on metal"},
        {attention("", 2, 16), "layer 0 has KV cells of 1 x 32; 2 x 16 are accepted"},
        {attention("", 1, 64), "layer 0 has KV cells of 1 x 32; 1 x 64 are accepted"},
        {attention("layer=7 ", 1, 32), "layer 7 has no KV cells on metal"},
        {qkv(2, "", 32, false), "2 tokens in a fused node; 1 is accepted"},
        {qkv(2, "", 32, true), "2 tokens in a fused node; 1 is accepted"},
        {qkv(1, "layer=7 ", 32, false), "layer 7 has no KV cells on metal"},
        {qkv(1, "", 16, false), "layer 0 has KV cells of 1 x 32; 2 x 16 are accepted"},
        {qkv(1, "", 32, false), "the weight 'q' is not on the Metal device"},
        {qkv(1, "", 32, true), "the weight 'q' is not on the Metal device"},
        {of_x(2, R"(%2 = fused_ffn(x=%0, gate="k", up="k"))") + "32]",
         "2 tokens in a fused node; 1 is accepted"},
        {of_x(1, R"(%2 = fused_ffn(x=%0, gate="k", up="k"))") + "32]",
         "the weight 'k' is not on the Metal device"},
        {of_x(3, R"(%2 = mat_mul(x=%0, matrix="q"))") + "64]", "the weight 'q' is not on the Metal device"},
        {of_x(3, R"(%2 = rms_norm(x=%0, gain="gain"))") + "32]",
         "the weight 'gain' is not on the Metal device"},
        {of_x(1, R"(%2 = get_rows(rows=%1, table="k"))") + "32]",
         "the weight 'k' is not on the Metal device"},
    };
    for (const auto& [text, error] : cases) {
        SCOPED_TRACE(text);
        const auto metal = make_metal();
        const KvLayer layer{0, 1, 32};
        expect_ok(metal->ensure_kv({&layer, 1}, kv::Format::kF32, 8));
        const Graph graph = value_of(parse(kGraphHeader + text));
        const auto program = metal->prepare(graph, bind(*metal, graph));
        if (error == nullptr) {
            EXPECT_TRUE(program) << program.error().describe();
        } else {
            EXPECT_THAT(error_of(program),
                        ::testing::AllOf(::testing::StartsWith("metal: %"), HasSubstr(error)));
        }
    }
}

// The fused nodes store cells, too.
TEST_F(MetalTest, ACellPastTheRegionIsRefusedByTheFusedNodesToo) {
    const WeightId matrix = weights_.add("w", 32, 32), gain = weights_.add("gain", 1, 32);
    for (const bool norms : {false, true}) {
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            const NodeId x = b.input("x", DType::kF32, {1, 32});
            const auto rotated = [&] {
                NodeId head = b.split_heads(b.mat_mul(matrix, x), 1, 32);
                if (norms) head = b.qk_norm(head, gain, 1e-5f);
                return b.rope(head, b.positions(), {.dims = 32});
            };
            const NodeId q = rotated(), k = rotated();
            b.kv_store(0, k, b.split_heads(b.mat_mul(matrix, x), 1, 32));
            b.output(b.attention(q, 0, {1, 1, 32, 1.0f}));
            return std::move(b).finish();
        };
        const auto metal = make_metal();
        Executor executor({metal.get()}, make, {.kv_cells = 4});
        const std::vector<float> x = random_values(32, 1);
        for (const int32_t bad : {4, -1}) {
            const std::vector<int32_t> cells = {bad}, positions = {0};
            EXPECT_THAT(
                error_of(executor.run(
                    {}, std::vector<InputData>{{"x", x}, {"cells", cells}, {"positions", positions}})),
                ::testing::AllOf(HasSubstr(norms ? "fused_qkv_norm" : "fused_qkv"),
                                 HasSubstr(fmt::format("KV cell {}; 0 to 3 are accepted", bad))));
        }
        EXPECT_TRUE(metal->kernel_counts().empty()) << "nothing may be dispatched";
    }
}

TEST_F(MetalTest, CellsThatAreNoWholeBlocksAreRefused) {
    const auto metal = make_metal();
    const KvLayer layer{2, 1, 40};
    EXPECT_EQ("layer 2 has KV cells of 40 elements; q8_0 accepts multiples of 32",
              error_of(metal->ensure_kv({&layer, 1}, kv::Format::kQ8_0, 8)));
    expect_ok(metal->ensure_kv({&layer, 1}, kv::Format::kF16, 8));
}

}  // namespace
}  // namespace ingot::tests

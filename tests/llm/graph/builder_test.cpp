#include "llm/graph/builder.h"

#include "llm/graph/fixture.h"

namespace ingot::tests {
namespace {

using namespace graph;

class Builder : public ::testing::Test {
  protected:
    Builder() {
        weights_.add("gain", 1, 64);
        weights_.add("matrix", 40, 64, QuantType::kQ8_0);
        weights_.add("bias", 1, 40);
        weights_.add("half_gain", 1, 64, QuantType::kF16);
    }
    // The Error of a graph over x [4, 64].
    std::string error(const std::function<void(GraphBuilder&, NodeId)>& build) {
        GraphBuilder b({.tokens = 4}, weights_.table());
        build(b, b.input("x", DType::kF32, {4, 64}));
        return error_of(std::move(b).finish());
    }
    Weights weights_;
};

TEST_F(Builder, ShapesFollowFromOperands) {
    GraphBuilder b({.tokens = 4}, weights_.table());
    const NodeId x = b.input("x", DType::kF32, {4, 64});
    const NodeId y = b.mat_mul(b.weight("matrix"), b.rms_norm(x, b.weight("gain"), 1e-5f), b.weight("bias"));
    EXPECT_EQ((Shape{4, 40}), b.shape(y));
    EXPECT_EQ((Shape{4, 5, 8}), b.shape(b.split_heads(y, 5, 8)));
    EXPECT_EQ((Shape{4, 40}), b.shape(b.merge_heads(b.split_heads(y, 5, 8))));
    EXPECT_EQ((Shape{8, 4, 5}), b.shape(b.permute(b.split_heads(y, 5, 8), {2, 0, 1})));
    b.output(y);
    EXPECT_TRUE(std::move(b).finish());
}

TEST_F(Builder, TheFirstMistakeIsReportedAndLaterCallsAreHarmless) {
    const std::string message = error([](auto& b, NodeId x) {
        const NodeId bad = b.reshape(x, {4, 63});
        EXPECT_FALSE(bad.valid());
        EXPECT_FALSE(b.ok());
        b.output(b.silu(b.add(bad, x)));
        b.weight("nothing");
    });
    EXPECT_EQ("%1 reshape: [4, 64] elements can't become [4, 63]", message);
}

TEST_F(Builder, AKQuantRowThatIsNoWholeNumberOfBlocksIsRefusedByName) {
    EXPECT_EQ("weight 'blk.0.ffn_up.weight' has rows of 576 elements; Q4_K accepts multiples of 256",
              error_of(WeightTable().add({"blk.0.ffn_up.weight", QuantType::kQ4_K, 4, 576, {}})));
    EXPECT_EQ("weight 'w' (2 x 32 Q8_0) has 67 bytes of data, 68 expected",
              error_of(WeightTable().add({"w", QuantType::kQ8_0, 2, 32, std::vector<std::byte>(67)})));
    EXPECT_EQ("weight 'gain' is registered twice",
              error_of(weights_.table()->add({"gain", QuantType::kF32, 1, 64, {}})));
}

TEST_F(Builder, AMissingNormGainIsAnError) {
    EXPECT_EQ("tensor 'blk.0.attn_norm.weight' is missing",
              error([](auto& b, NodeId x) { b.rms_norm(x, b.weight("blk.0.attn_norm.weight"), 1e-5f); }));
    EXPECT_EQ("%1 rms_norm: weight 'gain' is missing", error([](auto& b, NodeId x) {
                  b.rms_norm(x, b.optional_weight("blk.0.attn_norm.weight"), 1e-5f);
              }));
}

TEST_F(Builder, WrongOperandsAreNamedWithWhatIsAccepted) {
    EXPECT_EQ("%2 mat_mul 'matrix': 'matrix' has rows of 64 elements; 32 are accepted",
              error([](auto& b, NodeId x) { b.mat_mul(b.weight("matrix"), b.reshape(x, {8, 32})); }));
    EXPECT_EQ("%1 mat_mul 'matrix': 'gain' is F32 1 x 64; F32 1 x 40 is accepted",
              error([](auto& b, NodeId x) { b.mat_mul(b.weight("matrix"), x, b.weight("gain")); }));
    EXPECT_EQ("%1 rms_norm 'half_gain': 'half_gain' is F16 1 x 64; F32 1 x 64 is accepted",
              error([](auto& b, NodeId x) { b.rms_norm(x, b.weight("half_gain"), 1e-5f); }));
    EXPECT_EQ("%2 rope: 'x' is [4, 64]; 3 to 3 dimensions are accepted",
              error([](auto& b, NodeId x) { b.rope(x, b.positions(), {.dims = 8}); }));
    EXPECT_EQ("%3 rope: rope rotates 18 elements; an even number from 2 to the head size 16 is accepted",
              error([](auto& b, NodeId x) { b.rope(b.split_heads(x, 4, 16), b.positions(), {.dims = 18}); }));
    EXPECT_EQ("%1 view: rows 3 to 5 of [4, 64] as [2, 64]; rows inside it are accepted",
              error([](auto& b, NodeId x) { b.view(x, 3, 2); }));
    EXPECT_EQ("%1 add: input 'b' is missing", error([](auto& b, NodeId x) { b.add(x, NodeId()); }));
}

TEST_F(Builder, AttentionChecksHeadsAndWhatTheLayerStores) {
    const auto store = [](auto& b, NodeId x, uint32_t layer) {
        const NodeId k = b.split_heads(x, 2, 32);
        b.kv_store(layer, k, k);
        return k;
    };
    const AttnParams good{.heads = 2, .kv_heads = 2, .head_dim = 32, .scale = 0.1f};
    EXPECT_EQ("%4 kvcache_load: layer 0 stores [2, 32]; layer 0 with [1, 32] is accepted",
              error([&](auto& b, NodeId x) {
                  AttnParams p = good;
                  p.kv_heads = 1;
                  b.attention(store(b, x, 0), 0, p);
              }));
    EXPECT_EQ("%6 attn: q is [4, 2, 32]; [tokens, 4, 32] is accepted", error([&](auto& b, NodeId x) {
                  AttnParams p = good;
                  p.heads = 4;
                  b.attention(store(b, x, 0), 0, p);
              }));
    EXPECT_EQ("layer 3 is stored twice, or after it was read; one store before every read is accepted",
              error([&](auto& b, NodeId x) {
                  store(b, x, 3);
                  store(b, x, 3);
              }));
    EXPECT_EQ("%6 attn: scale is 0; more than 0 is accepted", error([&](auto& b, NodeId x) {
                  AttnParams p = good;
                  p.scale = 0;
                  b.attention(store(b, x, 0), 0, p);
              }));
}

}  // namespace
}  // namespace ingot::tests

// A step that reads what another worker has not finished writing shows as a difference between runs: a whole
// layer, many times, with every number of threads, bit for bit.
#include "llm/backend/cpu/cpu_backend.h"
#include "llm/graph/fixture.h"

namespace ingot::tests {
namespace {

using namespace graph;

constexpr uint32_t kWidth = 64, kHeads = 4, kKvHeads = 2, kDim = 16, kCells = 64;

class Layer {
  public:
    explicit Layer(QuantType type) {
        for (const char* name : {"q", "o"}) weights_.add(name, kWidth, kWidth, type);
        for (const char* name : {"k", "v"}) weights_.add(name, kKvHeads * kDim, kWidth, type);
        for (const char* name : {"gate", "up"}) weights_.add(name, 96, kWidth, type);
        weights_.add("down", kWidth, 96, type);
        weights_.add("norm", 1, kWidth);
        weights_.add("head_norm", 1, kDim);
    }

    std::vector<float> run(cpu::CpuBackend& backend, uint32_t tokens, const FuseFlags& fuse) {
        const std::vector<float> x = random_values(tokens * kWidth, 3);
        const std::vector<int32_t> positions = iota(0, tokens);
        return run_once({{&backend}, kCells}, {.tokens = tokens, .fuse = fuse},
                        [this](const GraphParams& p) { return build(p); },
                        {{"x", x}, {"positions", positions}, {"cells", positions}});
    }

  private:
    Result<Graph> build(const GraphParams& params) {
        GraphBuilder b(params, weights_.table());
        const NodeId x = b.input("x", DType::kF32, {params.tokens, kWidth});
        const NodeId h = b.rms_norm(x, b.weight("norm"), 1e-5f);
        const RopeParams rope{.dims = kDim};
        const auto rotated = [&](const char* name, uint32_t heads) {
            const NodeId split = b.split_heads(b.mat_mul(b.weight(name), h), heads, kDim);
            return b.rope(b.qk_norm(split, b.weight("head_norm"), 1e-6f), b.positions(), rope);
        };
        const NodeId q = rotated("q", kHeads);
        b.kv_store(0, rotated("k", kKvHeads), b.split_heads(b.mat_mul(b.weight("v"), h), kKvHeads, kDim));
        const NodeId a =
            b.attention(q, 0, {.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kDim, .scale = 0.25f});
        const NodeId y = b.add(x, b.mat_mul(b.weight("o"), a));
        const NodeId n = b.rms_norm(y, b.weight("norm"), 1e-5f);
        const NodeId glu = b.mul(b.silu(b.mat_mul(b.weight("gate"), n)), b.mat_mul(b.weight("up"), n));
        b.output(b.add(y, b.mat_mul(b.weight("down"), glu)));
        return std::move(b).finish();
    }

    Weights weights_;
};

TEST(CpuRepeat, FiftyRunsWithAnyNumberOfThreadsAreBitwiseEqual) {
    for (const QuantType type : {QuantType::kF32, QuantType::kQ4_0}) {
        Layer layer(type);
        for (uint32_t tokens : {1u, 40u}) {
            std::vector<float> first;
            for (uint32_t threads = 1; threads <= 4; ++threads) {
                const auto backend = value_of(cpu::CpuBackend::create({.threads = threads}));
                for (int repeat = 0; repeat < 13; ++repeat) {
                    const std::vector<float> out = layer.run(*backend, tokens, {});
                    if (first.empty()) first = out;
                    ASSERT_EQ(first, out)
                        << traits(type).name << ", " << tokens << " tokens, " << threads << " threads";
                }
            }
        }
    }
}

TEST(CpuRepeat, FusedNodesGiveTheBitsOfTheirChains) {
    for (const QuantType type : {QuantType::kF32, QuantType::kQ4_0}) {
        Layer layer(type);
        for (uint32_t tokens : {1u, 40u}) {
            const auto fused = value_of(cpu::CpuBackend::create({.threads = 2}));
            const auto apart = value_of(cpu::CpuBackend::create({.threads = 2}));
            EXPECT_EQ(layer.run(*fused, tokens, {}),
                      layer.run(*apart, tokens, {.glu = false, .qkv = false, .ffn = false}));
            EXPECT_EQ(1u, apart->kernel_counts().at("mul")) << "the chain ran op by op";
            EXPECT_FALSE(fused->kernel_counts().contains("mul"));
        }
    }
}

}  // namespace
}  // namespace ingot::tests

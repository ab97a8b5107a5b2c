// Window modes of attention on Metal: several sequences in one batch (spans), sequences in several runs and
// with a shared prefix (maps), and rows after a removal, each in every KV format, against scalar loops in
// double.
#include "llm/graph/attention_step.h"
#include "llm/kv/rows.h"
#include "metal_test.h"

namespace ingot::tests {
namespace {

using namespace graph;

constexpr double kWindowBar = 2e-5;
constexpr AttnParams kAttention{.heads = 4, .kv_heads = 2, .head_dim = 64, .scale = 0.125f};

class MetalWindows : public MetalTest, public ::testing::WithParamInterface<kv::Format> {
  protected:
    // Runs a batch on both; the relative difference of what they attend to.
    double step(const std::vector<kv::Continuation>& batch, WindowMode mode) {
        const kv::Placement place = value_of(cells_.append(batch));
        EXPECT_EQ(mode, place.window);
        return attention_step(on_metal_, on_reference_, place, kAttention, GetParam(), seed_, 2.0f);
    }
    uint64_t count(std::string_view family) const {
        const auto& counts = metal_->kernel_counts();
        const auto found = counts.find(fmt::format("attention_{}_{}", family, kv::traits(GetParam()).name));
        return found == counts.end() ? 0 : found->second;
    }

    Executor::Build build_ = [this](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        b.kv_store(0, b.input("k", DType::kF32, {p.tokens, 2, 64}),
                   b.input("v", DType::kF32, {p.tokens, 2, 64}));
        const NodeId q = b.input("q", DType::kF32, {p.tokens, 4, 64});
        b.output(b.attention(q, 0, kAttention));
        return std::move(b).finish();
    };
    std::unique_ptr<mtl::MetalBackend> metal_ = make_metal();
    ReferenceBackend reference_;
    kv::Cells cells_{400};
    Executor on_metal_{{metal_.get()}, build_, {.kv_cells = 400}};
    Executor on_reference_{{&reference_}, build_, {.kv_cells = 400}};
    uint32_t seed_ = 0;
};

TEST_P(MetalWindows, SequencesSideBySideSeeTheirOwnSpans) {
    EXPECT_LE(step({{0, 70}, {1, 33}}, WindowMode::kSpan), kWindowBar);
    EXPECT_EQ(1u, count("tile"));
}

TEST_P(MetalWindows, SequencesThatGoOnElsewhereAreSeenThroughMaps) {
    EXPECT_LE(step({{0, 70}, {1, 33}}, WindowMode::kSpan), kWindowBar);
    // Others that begin alike go on in the cells behind them.
    EXPECT_TRUE(cells_.share(0, 8, 70) && cells_.share(1, 9, 33));
    EXPECT_TRUE(cells_.append(std::vector<kv::Continuation>{{8, 1}, {9, 1}}));
    EXPECT_LE(step({{0, 1}, {1, 1}}, WindowMode::kMap), kWindowBar) << "two tokens: a simdgroup a head";
    EXPECT_LE(step({{0, 40}, {1, 9}}, WindowMode::kMap), kWindowBar);
    EXPECT_LE(step({{0, 1}}, WindowMode::kMap), kWindowBar) << "one token";
    EXPECT_EQ(2u, count("tile"));
    EXPECT_EQ(1u, count("classic"));
    EXPECT_GE(count("decode"), 1u);
}

TEST_P(MetalWindows, ASharedPrefixIsReadInPlaceAcrossAGap) {
    EXPECT_LE(step({{0, 75}}, WindowMode::kCausal), kWindowBar);
    EXPECT_TRUE(cells_.share(0, 1, 50));
    EXPECT_LE(step({{1, 90}}, WindowMode::kMap), kWindowBar);
    EXPECT_LE(step({{0, 1}}, WindowMode::kCausal), kWindowBar);
    cells_.truncate(0, 0);
    EXPECT_LE(step({{1, 1}}, WindowMode::kMap), kWindowBar);
}

INSTANTIATE_TEST_SUITE_P(, MetalWindows,
                         ::testing::Values(kv::Format::kF32, kv::Format::kF16, kv::Format::kQ8_0),
                         [](const auto& format) { return std::string(kv::traits(format.param).name); });

}  // namespace
}  // namespace ingot::tests

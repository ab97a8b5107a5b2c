// Every op on the Metal backend against scalar loops in double: one table row a case, each with the kernel
// that must run. Bars by class: moves and single roundings are exact, sums are float rounding.
#include "metal_test.h"

namespace ingot::tests {
namespace {

using namespace graph;

constexpr double kExact = 0.0;
constexpr double kFloatBar = 2e-5;  // sums of up to a few thousand products, transcendental functions
constexpr double kAngleBar = 1e-4;  // frequencies are floats, multiplied by positions up to 1000

NodeId x_of(GraphBuilder& b, const Shape& shape) {
    return b.input("x", DType::kF32, shape);
}

struct UnaryCase {
    const char* kernel;
    Shape shape;
    std::function<NodeId(GraphBuilder&, NodeId)> op;
    double bar;
};

TEST_F(MetalTest, OpsOfOneValueAreTheirDefinitions) {
    const WeightId gain8 = weights_.add("g8", 1, 8), gain20 = weights_.add("g20", 1, 20),
                   gain576 = weights_.add("g576", 1, 576), gain1024 = weights_.add("g1024", 1, 1024),
                   gain1537 = weights_.add("g1537", 1, 1537);
    const auto norm = [](WeightId gain) {
        return [gain](GraphBuilder& b, NodeId x) { return b.rms_norm(x, gain, 1e-5f); };
    };
    const auto head_norm = [](WeightId gain) {
        return [gain](GraphBuilder& b, NodeId x) { return b.qk_norm(x, gain, 1e-6f); };
    };
    const UnaryCase cases[] = {
        {"silu", {5, 65}, [](auto& b, NodeId x) { return b.silu(x); }, kFloatBar},
        {"gelu", {5, 65}, [](auto& b, NodeId x) { return b.gelu(x); }, kFloatBar},
        {"scale", {2, 3, 9}, [](auto& b, NodeId x) { return b.scale(x, -2.5f); }, kExact},
        {"softmax", {5, 65}, [](auto& b, NodeId x) { return b.softmax(x); }, kFloatBar},
        {"softmax", {3, 1}, [](auto& b, NodeId x) { return b.softmax(x); }, kFloatBar},
        {"softmax", {2, 1500}, [](auto& b, NodeId x) { return b.softmax(x); }, kFloatBar},
        {"rms_norm", {3, 8}, norm(gain8), kFloatBar},
        {"rms_norm", {2, 576}, norm(gain576), kFloatBar},
        {"rms_norm_wide", {3, 1024}, norm(gain1024), kFloatBar},
        {"rms_norm_wide", {1, 1537}, norm(gain1537), kFloatBar},
        {"rms_norm", {3, 2, 20}, head_norm(gain20), kFloatBar},
        {"permute", {3, 4, 5}, [](auto& b, NodeId x) { return b.permute(x, {1, 0, 2}); }, kExact},
        {"permute", {3, 4, 5}, [](auto& b, NodeId x) { return b.permute(x, {2, 0, 1}); }, kExact},
    };
    for (const UnaryCase& c : cases) {
        SCOPED_TRACE(fmt::format("{} of {}", c.kernel, to_string(c.shape)));
        const std::vector<float> x = random_values(c.shape.count(), 77, 3.0f);
        compare({}, [&](GraphBuilder& b) { b.output(c.op(b, x_of(b, c.shape))); }, {{"x", x}}, c.bar,
                {c.kernel});
    }
}

TEST_F(MetalTest, OpsOfTwoValuesAreTheirDefinitions) {
    struct BinaryCase {
        const char* kernel;
        std::function<NodeId(GraphBuilder&, NodeId, NodeId)> op;
        double bar;
    };
    const BinaryCase ops[] = {
        {"add", [](auto& b, NodeId x, NodeId y) { return b.add(x, y); }, kExact},
        {"mul", [](auto& b, NodeId x, NodeId y) { return b.mul(x, y); }, kExact},
        {"swiglu", [](auto& b, NodeId x, NodeId y) { return b.swiglu(x, y); }, kFloatBar},
        {"geglu", [](auto& b, NodeId x, NodeId y) { return b.geglu(x, y); }, kFloatBar},
    };
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 97}, Shape{2, 256}}) {
        const std::vector<float> x = random_values(shape.count(), 7), y = random_values(shape.count(), 8);
        for (const auto& [kernel, op, bar] : ops) {
            SCOPED_TRACE(fmt::format("{} of {}", kernel, to_string(shape)));
            compare(
                {},
                [&](GraphBuilder& b) { b.output(op(b, x_of(b, shape), b.input("y", DType::kF32, shape))); },
                {{"x", x}, {"y", y}}, bar, {kernel});
        }
    }
}

TEST_F(MetalTest, ActivationsFarOutAreFinite) {
    const std::vector<float> x = {-1e4f, -100, -20, 0, 20, 100, 1e4f, 1e20f};
    compare({}, [](GraphBuilder& b) { b.output(b.gelu(x_of(b, {1, 8}))); }, {{"x", x}}, kFloatBar, {"gelu"});
    compare({}, [](GraphBuilder& b) { b.output(b.silu(x_of(b, {1, 8}))); }, {{"x", x}}, kFloatBar, {"silu"});
}

TEST_F(MetalTest, MatMulOfEveryTypeRunsItsOwnKernels) {
    for (const mtl::WeightFormat& format : mtl::kWeightFormats) {
        const std::string name(format.name);
        for (const uint32_t rows : {1u, 7u, 9u, 50u}) {
            const uint32_t cols = format.row_multiple == 4 ? 180 : std::max(format.row_multiple, 96u) * 2;
            const WeightId matrix = weights_.add(fmt::format("{} {}", name, rows), rows, cols, format.type);
            for (const uint32_t tokens : {1u, 2u, 4u, 5u}) {
                SCOPED_TRACE(fmt::format("{} [{}, {}], {} tokens", name, rows, cols, tokens));
                const std::vector<float> x = random_values(tokens * cols, 9);
                compare({.tokens = tokens},
                        [&](GraphBuilder& b) { b.output(b.mat_mul(matrix, x_of(b, {tokens, cols}))); },
                        {{"x", x}}, kFloatBar, {(tokens == 1 ? "mat_mul_one_" : "mat_mul_multi_") + name});
            }
        }
    }
}

TEST_F(MetalTest, TrapPartialTilesOfAProduct) {
    // Just below, at and above the tile in each direction; a bias on the way out.
    for (const mtl::WeightFormat& format : mtl::kWeightFormats) {
        const std::string name(format.name);
        const uint32_t cols = format.row_multiple == 4 ? 180 : std::max(format.row_multiple, 96u);
        for (const auto& [rows, tokens] : {std::pair(63u, 9u), {64u, 32u}, {65u, 33u}, {130u, 31u}}) {
            SCOPED_TRACE(fmt::format("{} [{}, {}], {} tokens", name, rows, cols, tokens));
            const WeightId matrix = weights_.add(fmt::format("{} {}", name, rows), rows, cols, format.type),
                           bias = weights_.add(fmt::format("bias {} {}", name, rows), 1, rows);
            const std::vector<float> x = random_values(tokens * cols, 9);
            compare({.tokens = tokens},
                    [&](GraphBuilder& b) { b.output(b.mat_mul(matrix, x_of(b, {tokens, cols}), bias)); },
                    {{"x", x}}, kFloatBar, {"mat_mul_tile_" + name});
        }
    }
}

TEST_F(MetalTest, ManyRowsAreWorthTilesForTwoTokens) {
    const WeightId many = weights_.add("many", 2048, 32), fewer = weights_.add("fewer", 2047, 32);
    const std::vector<float> x = random_values(2 * 32, 9);
    for (const auto& [matrix, kernel] : {std::pair(many, "mat_mul_tile_f32"), {fewer, "mat_mul_multi_f32"}}) {
        compare({.tokens = 2}, [&](GraphBuilder& b) { b.output(b.mat_mul(matrix, x_of(b, {2, 32}))); },
                {{"x", x}}, kFloatBar, {kernel});
    }
}

TEST_F(MetalTest, TrapOutputBiasDropped) {
    // Zero activations: what comes out is the bias alone.
    const WeightId matrix = weights_.add("m", 37, 64), bias = weights_.add("b", 1, 37);
    for (uint32_t tokens : {1u, 5u}) {
        const std::vector<float> zeros(tokens * 64);
        compare({}, [&](GraphBuilder& b) { b.output(b.mat_mul(matrix, x_of(b, {tokens, 64}), bias)); },
                {{"x", zeros}}, kExact, {tokens == 1 ? "mat_mul_one_f32" : "mat_mul_multi_f32"});
    }
}

TEST_F(MetalTest, GetRowsDecodesEveryTypeAsTheReferenceConversionDoes) {
    for (const mtl::WeightFormat& format : mtl::kWeightFormats) {
        SCOPED_TRACE(format.name);
        const WeightId table = weights_.add(std::string(format.name), 11, 512, format.type);
        const std::vector<int32_t> rows = {10, 0, 3, 3};
        compare({.tokens = 4}, [&](GraphBuilder& b) { b.output(b.get_rows(table, b.tokens())); },
                {{"tokens", rows}}, kExact, {fmt::format("get_rows_{}", format.name)});
    }
    const std::vector<float> x = random_values(7 * 36, 5);
    const std::vector<int32_t> rows = {6, 0};
    compare({.tokens = 7, .outputs = 2},
            [](GraphBuilder& b) { b.output(b.get_rows(x_of(b, {7, 36}), b.outputs())); },
            {{"x", x}, {"outputs", rows}}, kExact, {"get_rows_f32"});
}

TEST_F(MetalTest, RopeTurnsBothStylesAndLeavesTheRestOfAHead) {
    const WeightId factors = weights_.add("factors", 1, 8, QuantType::kF32, 1.0f);
    const std::vector<float> x = random_values(3 * 2 * 24, 4);
    const std::vector<int32_t> positions = {0, 5, 1000};
    for (const RopeStyle style : {RopeStyle::kInterleaved, RopeStyle::kNeox}) {
        for (const WeightId divisors : {WeightId(), factors}) {
            const RopeParams rope{.style = style, .dims = 16, .base = 500.0f};
            compare({.tokens = 3},
                    [&](GraphBuilder& b) {
                        b.output(b.rope(x_of(b, {3, 2, 24}), b.positions(), rope, divisors));
                    },
                    {{"x", x}, {"positions", positions}}, kAngleBar, {"rope"});
        }
    }
}

TEST_F(MetalTest, TrapRopeFrequencyScaleDropped) {
    const std::vector<float> x = random_values(2 * 1 * 16, 4);
    const std::vector<int32_t> positions = {3, 40};
    const RopeParams linear{.dims = 16, .scaling = RopeScaling::kLinear, .factor = 4.0f};
    compare({.tokens = 2},
            [&](GraphBuilder& b) { b.output(b.rope(x_of(b, {2, 1, 16}), b.positions(), linear)); },
            {{"x", x}, {"positions", positions}}, kFloatBar, {"rope"});
}

struct AttentionCase {
    uint32_t heads, kv_heads, head_dim;
    uint32_t window = 0;
    float softcap = 0.0f;
};

// The rows of `count` cells are stored first, then one more graph stores `tokens` rows behind them and
// attends.
class MetalAttention : public MetalTest, public ::testing::WithParamInterface<kv::Format> {
  protected:
    std::vector<float> attend(Backend& backend, const AttentionCase& c, uint32_t before, uint32_t tokens) {
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            const Shape kv{p.tokens, c.kv_heads, c.head_dim};
            b.kv_store(0, b.input("k", DType::kF32, kv), b.input("v", DType::kF32, kv));
            const NodeId q = b.input("q", DType::kF32, {p.tokens, c.heads, c.head_dim});
            b.output(b.attention(
                q, 0,
                {c.heads, c.kv_heads, c.head_dim, 1.0f / std::sqrt(float(c.head_dim)), c.window, c.softcap}));
            return std::move(b).finish();
        };
        Executor executor({&backend}, make, {.kv_cells = 640});
        std::vector<float> result;
        for (const auto& [first, count] : {std::pair(0u, before), std::pair(before, tokens)}) {
            if (count == 0) continue;
            const size_t width = size_t(c.kv_heads) * c.head_dim;
            const std::vector<float> k = random_values(count * width, first + 1),
                                     q = random_values(count * size_t(c.heads) * c.head_dim, first + 3, 2.0f);
            std::vector<float> v = random_values(count * width, first + 2);
            if (planted_ && first == before) v[planted_->first * width] = planted_->second;
            const std::vector<int32_t> cells = iota(int32_t(first), count);
            expect_ok(
                executor.run({.tokens = count, .kv_format = GetParam()},
                             std::vector<InputData>{
                                 {"k", k}, {"v", v}, {"q", q}, {"cells", cells}, {"positions", cells}}));
            const auto out = value_of(executor.output());
            result.assign(out.begin(), out.end());
        }
        return result;
    }
    std::string kernel(std::string_view family) const {
        return fmt::format("attention_{}_{}", family, kv::traits(GetParam()).name);
    }

    // The first value of a token's row, counted from those that attend.
    std::optional<std::pair<size_t, float>> planted_;
};

TEST_P(MetalAttention, EveryHeadSizeGroupingAndCacheLength) {
    // Whole blocks of q8_0 a cell; heads of 8 and 20 share blocks.
    const AttentionCase shapes[] = {{12, 4, 8},  {4, 2, 64},  {2, 2, 80}, {2, 1, 96},
                                    {16, 8, 20}, {2, 1, 128}, {2, 1, 256}};
    for (const AttentionCase& c : shapes) {
        for (const uint32_t before : {0u, 1u, 31u, 32u, 71u, 197u}) {
            SCOPED_TRACE(fmt::format("{} heads over {} of {}, {} cells before", c.heads, c.kv_heads,
                                     c.head_dim, before));
            for (const uint32_t tokens : {1u, 3u, 13u}) {
                const auto metal = make_metal();
                ReferenceBackend reference;
                EXPECT_LE(relative_difference(attend(*metal, c, before, tokens),
                                              attend(reference, c, before, tokens)),
                          kFloatBar);
                const bool two_groups = tokens == 1 && before + tokens > 128;
                EXPECT_EQ(metal->kernel_counts().contains("attention_combine"), two_groups);
                EXPECT_EQ(metal->kernel_counts().count(kernel(tokens == 1   ? "decode"
                                                              : tokens == 3 ? "classic"
                                                                            : "tile")),
                          1u);
            }
        }
    }
}

// 0 times what isn't finite is no number: weights that hide a cell don't hide it from a matrix product.
TEST_P(MetalAttention, TrapAnInfiniteValueStaysWithTheRowsThatSeeIt) {
    const AttentionCase c{4, 2, 32};
    constexpr uint32_t kTokens = 20, kBefore = 50, kBroken = 7;
    // Past what a half holds, so the scale of q8_0 too.
    planted_ = {kBroken, GetParam() == kv::Format::kF32 ? INFINITY : 1e30f};
    for (const char* path : {"attn.prefill=flash", "attn.prefill=classic", "attn.prefill=parallel"}) {
        SCOPED_TRACE(path);
        const auto metal = make_metal({.kernels = value_of(mtl::parse_kernel_options({path}))});
        ReferenceBackend reference;
        const std::vector<float> actual = attend(*metal, c, kBefore, kTokens),
                                 expected = attend(reference, c, kBefore, kTokens);
        const size_t row = size_t(c.heads) * c.head_dim;
        const auto rows = [&](const std::vector<float>& of) {
            return std::vector<float>(of.begin(), of.begin() + ptrdiff_t(kBroken * row));
        };
        EXPECT_LE(relative_difference(rows(actual), rows(expected)), kFloatBar);
        for (size_t token = kBroken; token < kTokens; ++token)
            EXPECT_FALSE(std::isfinite(actual[token * row])) << token;
    }
}

TEST_P(MetalAttention, MoreCellsThanGroupsShare) {
    const AttentionCase c{2, 1, 64};
    for (const uint32_t before : {127u, 128u, 255u, 600u}) {
        const auto metal = make_metal();
        ReferenceBackend reference;
        EXPECT_LE(relative_difference(attend(*metal, c, before, 1), attend(reference, c, before, 1)),
                  kFloatBar);
        EXPECT_TRUE(metal->kernel_counts().contains(kernel("decode")));
        EXPECT_EQ(metal->kernel_counts().contains("attention_combine"), before >= 128);
    }
}

TEST_P(MetalAttention, SlidingWindowsAndCappedScores) {
    for (const AttentionCase& c : {AttentionCase{4, 2, 16, 33}, {4, 2, 16, 1}, {4, 2, 16, 0, 5.0f}}) {
        for (const uint32_t tokens : {1u, 40u}) {
            const auto metal = make_metal();
            ReferenceBackend reference;
            EXPECT_LE(relative_difference(attend(*metal, c, 50, tokens), attend(reference, c, 50, tokens)),
                      kFloatBar);
            EXPECT_TRUE(metal->kernel_counts().contains(kernel(tokens == 1 ? "decode" : "tile")));
        }
    }
}

TEST_P(MetalAttention, TrapAPartialLastBlockIsCountedOnce) {
    const AttentionCase c{4, 2, 64};
    for (const uint32_t tokens : {8u, 9u, 64u, 72u, 96u, 98u, 197u}) {
        const auto metal = make_metal();
        ReferenceBackend reference;
        EXPECT_LE(relative_difference(attend(*metal, c, 0, tokens), attend(reference, c, 0, tokens)),
                  kFloatBar)
            << tokens;
        EXPECT_EQ(metal->kernel_counts().at(kernel("tile")), 1u);
    }
}

TEST_P(MetalAttention, EveryPathThatCanBeChosenGivesTheSame) {
    const AttentionCase c{4, 2, 64, 70, 3.0f};
    struct Choice {
        const char* setting;
        uint32_t tokens;
        const char* family;
    };
    const Choice choices[] = {{"attn.decode=flash", 1, "decode"},     {"attn.decode=split", 1, "decode"},
                              {"attn.decode=classic", 1, "classic"},  {"attn.prefill=flash", 3, "tile"},
                              {"attn.prefill=classic", 3, "classic"}, {"attn.prefill=classic", 40, "classic"},
                              {"attn.prefill=flash", 40, "tile"},     {"attn.prefill=parallel", 2, "scores"},
                              {"attn.prefill=parallel", 40, "sums"},  {"attn.decode=tile", 1, "tile"},
                              {"attn.chunks=1", 1, "decode"},         {"attn.chunks=8", 1, "decode"}};
    for (const Choice& choice : choices) {
        SCOPED_TRACE(fmt::format("{}, {} tokens", choice.setting, choice.tokens));
        const auto metal = make_metal({.kernels = value_of(mtl::parse_kernel_options({choice.setting}))});
        ReferenceBackend reference;
        EXPECT_LE(relative_difference(attend(*metal, c, 97, choice.tokens),
                                      attend(reference, c, 97, choice.tokens)),
                  kFloatBar);
        EXPECT_TRUE(metal->kernel_counts().contains(kernel(choice.family)));
        EXPECT_EQ(metal->kernel_counts().contains("attention_combine"),
                  choice.setting == std::string_view("attn.decode=split") ||
                      choice.setting == std::string_view("attn.chunks=8"));
    }
}

INSTANTIATE_TEST_SUITE_P(, MetalAttention,
                         ::testing::Values(kv::Format::kF32, kv::Format::kF16, kv::Format::kQ8_0),
                         [](const auto& format) { return std::string(kv::traits(format.param).name); });

TEST_F(MetalTest, FusedFfnIsTheChainItReplacesBitForBit) {
    for (const mtl::WeightFormat& format : mtl::kWeightFormats) {
        const std::string name(format.name);
        const WeightId gate = weights_.add("gate " + name, 83, 256, format.type),
                       up = weights_.add("up " + name, 83, 256, format.type);
        const std::vector<float> x = random_values(256, 6);
        for (const bool silu : {true, false}) {
            SCOPED_TRACE(fmt::format("{} {}", name, silu ? "silu" : "gelu"));
            const auto make = [&](const GraphParams& p) {
                GraphBuilder b(p, weights_.table());
                const NodeId in = x_of(b, {1, 256});
                const NodeId g = b.mat_mul(gate, in), u = b.mat_mul(up, in);
                b.output(b.mul(silu ? b.silu(g) : b.gelu(g), u));
                return std::move(b).finish();
            };
            const auto fused = make_metal(), chain = make_metal();
            GraphParams params;
            const std::vector<float> actual = run_once({{fused.get()}}, params, make, {{"x", x}});
            EXPECT_EQ(fused->kernel_counts(), (Counts{{"ffn_one_" + name, 1}}));
            params.fuse = {.glu = false, .qkv = false, .ffn = false};
            EXPECT_EQ(actual, run_once({{chain.get()}}, params, make, {{"x", x}}));
            EXPECT_EQ(chain->kernel_counts(),
                      (Counts{{"mat_mul_one_" + name, 2}, {silu ? "silu" : "gelu", 1}, {"mul", 1}}));
        }
    }
}

TEST_F(MetalTest, FusedQkvOfEveryTypeIsTheChainItReplacesBitForBit) {
    // 25 simdgroups in groups of two: the last one has nothing to do.
    constexpr uint32_t kHeads = 3, kKvHeads = 1, kDim = 20, kCols = 256;
    for (const mtl::WeightFormat& format : mtl::kWeightFormats) {
        const std::string name(format.name);
        SCOPED_TRACE(name);
        const WeightId q = weights_.add("q " + name, kHeads * kDim, kCols, format.type),
                       k = weights_.add("k " + name, kKvHeads * kDim, kCols, format.type),
                       v = weights_.add("v " + name, kKvHeads * kDim, kCols, format.type);
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            const NodeId in = x_of(b, {1, kCols});
            const auto heads = [&](WeightId w, uint32_t count) {
                return b.split_heads(b.mat_mul(w, in), count, kDim);
            };
            const NodeId queries = b.rope(heads(q, kHeads), b.positions(), {.dims = kDim}),
                         keys = b.rope(heads(k, kKvHeads), b.positions(), {.dims = kDim});
            b.kv_store(0, keys, heads(v, kKvHeads));
            b.output(b.attention(queries, 0, {kHeads, kKvHeads, kDim, 0.125f}));
            return std::move(b).finish();
        };
        // With two cells the result depends on queries, keys and values.
        const auto run = [&](Backend& backend, const GraphParams& params) {
            Executor executor({&backend}, make, {.kv_cells = 4});
            std::vector<float> last;
            for (const int32_t step : {0, 1}) {
                const std::vector<float> x = random_values(kCols, uint32_t(4 + step));
                const std::vector<int32_t> cell = {step}, position = {step};
                expect_ok(executor.run(
                    params, std::vector<InputData>{{"x", x}, {"cells", cell}, {"positions", position}}));
                const auto out = value_of(executor.output());
                last.assign(out.begin(), out.end());
            }
            return last;
        };
        const auto fused = make_metal(), chain = make_metal();
        GraphParams params{.kv_format = kv::Format::kF32};
        const std::vector<float> actual = run(*fused, params);
        EXPECT_EQ(fused->kernel_counts().at("qkv_one_" + name), 2u);
        params.fuse = {.glu = false, .qkv = false, .ffn = false};
        EXPECT_EQ(actual, run(*chain, params));
        EXPECT_EQ(chain->kernel_counts().at("mat_mul_one_" + name), 6u);
    }
}

// The fused kernel takes a bias for each of q, k and v or for none: with some the chain stays, and is as
// right.
TEST_F(MetalTest, BiasesOfSomeProjectionsLeaveTheChainUnfused) {
    constexpr uint32_t kWidth = 32;
    const std::vector<float> x = random_values(kWidth, 4);
    const std::vector<int32_t> zero = {0};
    for (uint32_t biased = 0; biased < 8; ++biased) {
        SCOPED_TRACE(biased);
        WeightId matrices[3], biases[3];
        for (uint32_t i = 0; i < 3; ++i) {
            const std::string name = fmt::format("{} {}", biased, "qkv"[i]);
            matrices[i] = weights_.add(name, kWidth, kWidth);
            if (biased >> i & 1) biases[i] = weights_.add(name + " bias", 1, kWidth);
        }
        const auto make = [&](const GraphParams& p) {
            GraphBuilder b(p, weights_.table());
            const NodeId in = x_of(b, {1, kWidth});
            NodeId heads[3];
            for (uint32_t i = 0; i < 3; ++i) {
                heads[i] = b.split_heads(b.mat_mul(matrices[i], in, biases[i]), 1, kWidth);
                if (i < 2) heads[i] = b.rope(heads[i], b.positions(), {.dims = kWidth});
            }
            b.kv_store(0, heads[1], heads[2]);
            b.output(b.attention(heads[0], 0, {1, 1, kWidth, 1.0f}));
            return std::move(b).finish();
        };
        const auto metal = make_metal();
        ReferenceBackend reference;
        std::vector<float> results[2];
        for (Backend* backend : {static_cast<Backend*>(metal.get()), static_cast<Backend*>(&reference)}) {
            Executor executor({backend}, make, {.kv_cells = 4});
            expect_ok(executor.run({.kv_format = kv::Format::kF32},
                                   std::vector<InputData>{{"x", x}, {"cells", zero}, {"positions", zero}}));
            const auto out = value_of(executor.output());
            results[backend == &reference].assign(out.begin(), out.end());
        }
        for (size_t i = 0; i < kWidth; ++i) EXPECT_NEAR(results[0][i], results[1][i], 1e-4);
        EXPECT_EQ(metal->kernel_counts().contains("qkv_one_f32"), biased == 0 || biased == 7);
    }
}

TEST_F(MetalTest, FiftyRunsAreBitwiseEqual) {
    const WeightId matrix = weights_.add("m", 64, 64, QuantType::kQ8_0), gain = weights_.add("g", 1, 64);
    const auto make = [&](const GraphParams& p) {
        GraphBuilder b(p, weights_.table());
        NodeId x = x_of(b, {4, 64});
        for (int i = 0; i < 3; ++i) x = b.add(b.rms_norm(b.mat_mul(matrix, x), gain, 1e-5f), x);
        b.output(x);
        return std::move(b).finish();
    };
    const std::vector<float> x = random_values(4 * 64, 9);
    const auto metal = make_metal();
    Executor executor({metal.get()}, make, {});
    std::vector<float> first;
    for (int run = 0; run < 50; ++run) {
        expect_ok(executor.run({.tokens = 4}, std::vector<InputData>{{"x", x}}));
        const auto out = value_of(executor.output());
        if (run == 0) first.assign(out.begin(), out.end());
        ASSERT_EQ(first, std::vector<float>(out.begin(), out.end())) << "run " << run;
    }
}

}  // namespace
}  // namespace ingot::tests

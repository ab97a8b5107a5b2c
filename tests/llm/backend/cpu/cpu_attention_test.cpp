// Attention and the KV cells on the CPU backend against a scalar loop in double over row-major cells, through
// whole graphs: store, then attend, prefill and decode in one executor.
#include <algorithm>

#include "base/half.h"
#include "llm/backend/cpu/cpu_backend.h"
#include "llm/graph/attention_step.h"
#include "llm/graph/reference_backend.h"

namespace ingot::tests {
namespace {

using namespace graph;

constexpr double kBar =
    5e-5;  // cells of all formats alike: the reference rounds what it stores as the format does

struct Case {
    AttnParams params;
    kv::Format format = kv::Format::kF32;
    uint32_t cells = 256;
};

AttnParams heads(uint32_t query, uint32_t kv, uint32_t dim) {
    return {.heads = query, .kv_heads = kv, .head_dim = dim, .scale = 1.0f / std::sqrt(float(dim))};
}

// One executor on the CPU and one on the reference, fed the same tokens.
class Pair {
  public:
    explicit Pair(const Case& c, const std::string& isa = "")
        : case_(c), cpu_(value_of(cpu::CpuBackend::create({.threads = 2, .isa = isa}))), cells_(c.cells) {}

    // Runs `batch` on both; the difference of their outputs.
    double step(const std::vector<kv::Continuation>& batch) {
        const kv::Placement place = value_of(cells_.append(batch));
        return attention_step(on_cpu_, on_reference_, place, case_.params, case_.format, seed_);
    }
    double prefill(uint32_t tokens) { return step({{0, tokens}}); }
    double decode() { return step({{0, 1}}); }

    cpu::CpuBackend& cpu() { return *cpu_; }
    kv::Cells& cells() { return cells_; }

  private:
    Result<Graph> build(const GraphParams& params) const {
        const AttnParams& p = case_.params;
        GraphBuilder b(params, weights_.table());
        const NodeId q = b.input("q", DType::kF32, {params.tokens, p.heads, p.head_dim});
        const NodeId k = b.input("k", DType::kF32, {params.tokens, p.kv_heads, p.head_dim});
        const NodeId v = b.input("v", DType::kF32, {params.tokens, p.kv_heads, p.head_dim});
        b.kv_store(0, k, v);
        b.output(b.attention(q, 0, p));
        return std::move(b).finish();
    }

    Case case_;
    Weights weights_;
    std::unique_ptr<cpu::CpuBackend> cpu_;
    ReferenceBackend reference_;
    kv::Cells cells_;
    Executor on_cpu_{
        {cpu_.get()}, [this](const GraphParams& p) { return build(p); }, {.kv_cells = case_.cells}};
    Executor on_reference_{
        {&reference_}, [this](const GraphParams& p) { return build(p); }, {.kv_cells = case_.cells}};
    uint32_t seed_ = 0;
};

constexpr kv::Format kFloatFormats[] = {kv::Format::kF32, kv::Format::kF16};
constexpr kv::Format kEveryFormat[] = {kv::Format::kF32, kv::Format::kF16, kv::Format::kQ8_0};

TEST(CpuAttention, CellsAreRowMajorSoThatGroupedQueriesOverTwoKvHeadsMatchAScalarLoop) {
    for (const auto& [query, kv] : {std::pair{4u, 2u}, {9u, 3u}, {8u, 8u}, {6u, 1u}}) {
        Pair pair({.params = heads(query, kv, 64)});
        EXPECT_LE(pair.prefill(5), kBar) << query << " over " << kv;
        EXPECT_LE(pair.decode(), kBar) << query << " over " << kv;
    }
}

TEST(CpuAttention, EveryHeadSizeFitsInEachFormat) {
    for (const kv::Format format : kEveryFormat) {
        for (uint32_t dim : {64u, 80u, 96u, 128u, 256u}) {
            Pair pair({.params = heads(4, 2, dim), .format = format});
            EXPECT_LE(pair.prefill(70), kBar) << dim;
            EXPECT_LE(pair.decode(), kBar) << dim;
            const std::string kernel = fmt::format("attention {}", kv::traits(format).name);
            EXPECT_EQ(2u, pair.cpu().kernel_counts().at(kernel));
        }
    }
}

TEST(CpuAttention, NoPartOfAPartialLastBlockIsCountedTwice) {
    for (const kv::Format format : kEveryFormat) {
        for (uint32_t length : {72u, 96u, 98u, 197u}) {
            Pair prefill({.params = heads(4, 2, 64), .format = format});
            EXPECT_LE(prefill.prefill(length), kBar) << length;
            Pair decode({.params = heads(4, 2, 64), .format = format});
            decode.prefill(length - 1);
            EXPECT_LE(decode.decode(), kBar) << length;
        }
    }
}

TEST(CpuAttention, LengthsThatAreNoMultipleOf32AreWhole) {
    Pair pair({.params = heads(2, 2, 64)});
    for (uint32_t length = 1; length <= 70; ++length) EXPECT_LE(pair.decode(), kBar) << length;
}

TEST(CpuAttention, LongContextsAreSplitIntoPartsAndJoined) {
    for (const kv::Format format : kEveryFormat) {
        Pair pair({.params = heads(4, 2, 64), .format = format, .cells = 1400});
        for (uint32_t chunk : {510u, 1u, 1u, 1u, 510u, 1u, 1u, 3u})
            EXPECT_LE(pair.prefill(chunk), kBar) << chunk;
    }
}

TEST(CpuAttention, AShortPromptAfterALongOneSeesNothingOfIt) {
    Pair pair({.params = heads(4, 2, 64)});
    EXPECT_LE(pair.prefill(200), kBar);
    pair.cells().truncate(0, 0);
    for (uint32_t tokens : {3u, 1u, 7u}) EXPECT_LE(pair.prefill(tokens), kBar) << tokens;
    pair.cells().truncate(0, 2);
    EXPECT_LE(pair.prefill(5), kBar);
}

TEST(CpuAttention, SlidingWindowsAndSoftCapsApplyOnEachPath) {
    for (const kv::Format format : kEveryFormat) {
        Case c{.params = heads(4, 2, 64), .format = format};
        c.params.window = 20;
        c.params.softcap = 2.0f;
        Pair pair(c);
        EXPECT_LE(pair.prefill(50), kBar);
        EXPECT_LE(pair.decode(), kBar);
        c.params.window = 1;
        EXPECT_LE(Pair(c).prefill(9), kBar);
    }
}

TEST(CpuAttention, SequencesSideBySideAndInPiecesReadOnlyTheirOwnRows) {
    for (const uint32_t window : {0u, 3u}) {
        for (const kv::Format format : kEveryFormat) {
            Case c{.params = heads(4, 2, 64), .format = format};
            c.params.window = window;
            Pair pair(c);
            EXPECT_LE(pair.step({{0, 5}, {1, 3}}), kBar);  // spans
            EXPECT_LE(pair.step({{1, 1}, {0, 1}}), kBar);  // a map
            EXPECT_LE(pair.step({{0, 2}}), kBar);
        }
    }
}

TEST(CpuAttention, EachInstructionSetAgreesWithTheScalarLoop) {
    for (const cpu::Isa isa : cpu::available_isas()) {
        for (const kv::Format format : kEveryFormat) {
            Pair pair({.params = heads(9, 3, 64), .format = format}, std::string(to_string(isa)));
            EXPECT_EQ(fmt::format("cpu ({})", to_string(isa)), pair.cpu().description());
            EXPECT_LE(pair.prefill(37), kBar) << to_string(isa);
            EXPECT_LE(pair.decode(), kBar) << to_string(isa);
        }
    }
}

TEST(CpuKvStore, RowsBehindTheWrittenOnesStayUntouched) {
    constexpr uint32_t kCells = 40, kWidth = 2 * 64;
    for (const kv::Format format : kEveryFormat) {
        // 200 tokens first, so that the buffers of the three that follow are larger than they need.
        Pair pair({.params = heads(4, 2, 64), .format = format});
        pair.prefill(200);
        pair.cells().truncate(0, 5);
        const std::vector<std::byte> sentinels(kCells * kv::row_bytes(format, kWidth), std::byte{0xC2});
        for (const KvSide side : {KvSide::kKey, KvSide::kValue})
            expect_ok(pair.cpu().write_kv(0, side, 0, sentinels));
        pair.prefill(3);
        for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
            std::vector<std::byte> rows(sentinels.size());
            expect_ok(pair.cpu().read_kv(0, side, 0, rows));
            const size_t row_bytes = rows.size() / kCells;
            for (uint32_t cell = 0; cell < kCells; ++cell) {
                const bool same = std::equal(rows.begin() + cell * row_bytes,
                                             rows.begin() + (cell + 1) * row_bytes, sentinels.begin());
                EXPECT_EQ(cell < 5 || cell >= 8, same) << cell;
            }
        }
    }
}

TEST(CpuKvStore, ACellOutsideTheRegionIsAnErrorBeforeAnythingIsWritten) {
    const auto build = [](const GraphParams& params) {
        GraphBuilder b(params, std::make_shared<WeightTable>());
        const NodeId k = b.input("k", DType::kF32, {params.tokens, 1, 4});
        b.kv_store(2, k, k);
        return std::move(b).finish();
    };
    const auto cpu = value_of(cpu::CpuBackend::create({.threads = 1}));
    Executor executor({cpu.get()}, build, {.kv_cells = 10});
    const std::vector<float> k(8, 1.0f);
    const std::vector<int32_t> cells = {3, 10};
    const std::vector<InputData> inputs = {{"k", k}, {"cells", cells}};
    EXPECT_EQ("%2 kvcache_store: KV cell 10; 0 to 9 are accepted",
              error_of(executor.run({.tokens = 2, .kv_format = kv::Format::kF32}, inputs)));
    std::vector<float> row(4, 5.0f);
    expect_ok(cpu->read_kv(2, KvSide::kKey, 3, std::as_writable_bytes(std::span(row))));
    EXPECT_EQ(std::vector<float>(4, 0.0f), row);
}

// The whole layer: projections with biases, head norms, RoPE with factors, store, attention; fused on the
// CPU, op by op on the reference.
TEST(CpuFusedQkv, IsTheChainItReplacesInBothFormatsWithAndWithoutHeadNorms) {
    for (const kv::Format format : kFloatFormats) {
        for (const bool norms : {false, true}) {
            Weights weights;
            const uint32_t width = 48, query = 6, kv = 2, dim = 24;
            const WeightId wq = weights.add("q", query * dim, width), wk = weights.add("k", kv * dim, width);
            const WeightId wv = weights.add("v", kv * dim, width), bq = weights.add("bq", 1, query * dim);
            const WeightId bk = weights.add("bk", 1, kv * dim), bv = weights.add("bv", 1, kv * dim);
            const WeightId gain_q = weights.add("gq", 1, dim), gain_k = weights.add("gk", 1, dim);
            const WeightId factors = weights.add("factors", 1, dim / 2, QuantType::kF32, 1.0f);
            const auto build = [&](const GraphParams& params) {
                GraphBuilder b(params, weights.table());
                const NodeId x = b.input("x", DType::kF32, {params.tokens, width});
                NodeId q = b.split_heads(b.mat_mul(wq, x, bq), query, dim),
                       k = b.split_heads(b.mat_mul(wk, x, bk), kv, dim);
                const NodeId v = b.split_heads(b.mat_mul(wv, x, bv), kv, dim);
                if (norms) {
                    q = b.qk_norm(q, gain_q, 1e-6f);
                    k = b.qk_norm(k, gain_k, 1e-6f);
                }
                const RopeParams rope{.style = RopeStyle::kInterleaved, .dims = dim, .base = 1000.0f};
                b.kv_store(0, b.rope(k, b.positions(), rope, factors), v);
                b.output(b.attention(b.rope(q, b.positions(), rope, factors), 0, heads(query, kv, dim)));
                return std::move(b).finish();
            };
            const auto cpu = value_of(cpu::CpuBackend::create({.threads = 2, .isa = "plain"}));
            ReferenceBackend reference("reference", {Op::kFusedQKV, Op::kFusedQkvNorm});
            Executor fused({cpu.get()}, build, {.kv_cells = 32}),
                apart({&reference}, build, {.kv_cells = 32});
            kv::Cells cells(32);
            for (uint32_t tokens : {7u, 1u, 1u}) {
                const std::vector<kv::Continuation> batch = {{0, tokens}};
                const kv::Placement place = value_of(cells.append(batch));
                const std::vector<float> x = random_values(tokens * width, tokens);
                const std::vector<InputData> inputs = {
                    {"x", x}, {"positions", place.positions}, {"cells", place.cells}};
                const GraphParams params{.tokens = tokens, .kv_format = format};
                expect_ok(fused.run(params, inputs));
                expect_ok(apart.run(params, inputs));
                const auto a = value_of(fused.output()), b = value_of(apart.output());
                // A half of f16 cells may round the other way on a last bit of difference before it.
                EXPECT_LE(relative_difference({a.begin(), a.end()}, {b.begin(), b.end()}),
                          format == kv::Format::kF16 ? 1e-3 : kBar);
            }
            const auto count = [&](Op op) {
                return std::ranges::count(reference.log, fmt::format("execute {}", to_string(op)));
            };
            EXPECT_EQ(9, count(Op::kMatMul)) << "the reference ran op by op";
            EXPECT_EQ(3u, cpu->kernel_counts().at(std::string("mat_mul ") +
                                                  cpu->kernels().mat_mul(QuantType::kF32)->name))
                << "the CPU ran one product for all three matrices";
        }
    }
}

}  // namespace
}  // namespace ingot::tests

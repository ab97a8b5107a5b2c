#include "llm/backend/cpu/kernels/attention.h"

#include <cmath>
#include <limits>

#include "llm/backend/cpu/kernel_test.h"

namespace ingot::cpu {
namespace {

// Sums of up to 1,100 weighted values of size 1 in float.
constexpr double kAttentionTolerance = 5e-6;

struct Shape {
    uint32_t heads, kv_heads, head_dim;
};

// A cache of random keys and values in one format, and queries for its last tokens.
struct Problem {
    Shape shape;
    kv::Format format;
    uint32_t tokens, cells;
    std::vector<float> q, k, v;  // k and v: the values that the stored elements have
    std::vector<std::byte> k_cells, v_cells;
    std::vector<CellSpan> spans;
    uint32_t spans_per_token = 1;
    float softcap = 0;

    Problem(Shape s, kv::Format f, uint32_t num_tokens, uint32_t num_cells, uint32_t window = 0)
        : shape(s), format(f), tokens(num_tokens), cells(num_cells) {
        q = random_floats(size_t(tokens) * s.heads * s.head_dim, 1, 2.0f);
        k = random_floats(size_t(cells) * width(), 2);
        v = random_floats(size_t(cells) * width(), 3);
        k_cells = stored(k);
        v_cells = stored(v);
        for (uint32_t t = 0; t < tokens; ++t) {
            const uint32_t end = cells - tokens + t + 1;
            spans.push_back({window != 0 && end > window ? end - window : 0, end});
        }
    }

    uint32_t width() const { return shape.kv_heads * shape.head_dim; }

    // Cells of `values`, which become what the cells hold.
    std::vector<std::byte> stored(std::vector<float>& values) const {
        const QuantType types[] = {QuantType::kF32, QuantType::kF16, QuantType::kQ8_0};
        const QuantTraits& type = traits(types[size_t(format)]);
        const size_t row_bytes = kv::row_bytes(format, width());
        std::vector<std::byte> bytes(cells * row_bytes);
        for (size_t cell = 0; cell < cells; ++cell) {
            type.quantize(&values[cell * width()], &bytes[cell * row_bytes], width());
            type.dequantize(&bytes[cell * row_bytes], &values[cell * width()], width());
        }
        return bytes;
    }

    // The same tokens without the others.
    Problem only(uint32_t first, uint32_t count) const {
        Problem some = *this;
        const size_t row = size_t(shape.heads) * shape.head_dim;
        some.tokens = count;
        some.q = {q.begin() + ptrdiff_t(first * row), q.begin() + ptrdiff_t((first + count) * row)};
        some.spans = {spans.begin() + ptrdiff_t(first * spans_per_token),
                      spans.begin() + ptrdiff_t((first + count) * spans_per_token)};
        return some;
    }

    float scale() const { return 1 / std::sqrt(float(shape.head_dim)); }

    bool sees(uint32_t token, uint32_t cell) const {
        for (uint32_t s = 0; s < spans_per_token; ++s) {
            const CellSpan span = spans[size_t(token) * spans_per_token + s];
            if (cell >= span.begin && cell < span.end) return true;
        }
        return false;
    }

    // The definition, in double: scores of all visible cells, softmax, weighted sum.
    std::vector<double> expected() const {
        std::vector<double> out;
        const uint32_t group = shape.heads / shape.kv_heads;
        for (uint32_t t = 0; t < tokens; ++t) {
            for (uint32_t h = 0; h < shape.heads; ++h) {
                std::vector<double> sum(shape.head_dim, 0.0);
                double total = 0;
                for (uint32_t cell = 0; cell < cells; ++cell) {
                    if (!sees(t, cell)) continue;
                    const size_t row = (size_t(cell) * shape.kv_heads + h / group) * shape.head_dim;
                    double score = 0;
                    for (uint32_t i = 0; i < shape.head_dim; ++i) {
                        score += double(q[(size_t(t) * shape.heads + h) * shape.head_dim + i]) * k[row + i];
                    }
                    score *= scale();
                    if (softcap != 0) score = softcap * std::tanh(score / softcap);
                    const double weight = std::exp(score);
                    total += weight;
                    for (uint32_t i = 0; i < shape.head_dim; ++i) sum[i] += weight * v[row + i];
                }
                for (const double value : sum) out.push_back(value / total);
            }
        }
        return out;
    }

    std::vector<float> run(const KernelTable& kernels, uint32_t threads) const {
        const size_t width = size_t(shape.heads) * shape.head_dim;
        std::vector<float> out(tokens * width, std::nanf(""));
        const AttentionArgs args{.q = q.data(),
                                 .q_stride = width,
                                 .k = k_cells.data(),
                                 .v = v_cells.data(),
                                 .format = format,
                                 .cell_bytes = kv::row_bytes(format, this->width()),
                                 .out = out.data(),
                                 .out_stride = width,
                                 .num_tokens = tokens,
                                 .num_heads = shape.heads,
                                 .num_kv_heads = shape.kv_heads,
                                 .head_dim = shape.head_dim,
                                 .scale = scale(),
                                 .softcap = softcap,
                                 .spans = spans.data(),
                                 .spans_per_token = spans_per_token};
        Workspace workspace(
            attention_workspace_bytes(tokens, shape.heads, shape.kv_heads, shape.head_dim, cells, threads));
        ThreadPool pool(threads);
        pool.run([&](Worker& worker) { attention(kernels, worker, args, workspace.data()); });
        return out;
    }
};

class Attention : public testing::TestWithParam<std::tuple<TestedTable, kv::Format>> {
  protected:
    const KernelTable& kernels() const { return *std::get<0>(GetParam()).kernels; }
    kv::Format format() const { return std::get<1>(GetParam()); }

    void check(const Problem& problem, uint32_t threads = 1) {
        SCOPED_TRACE(fmt::format("{} heads over {}, head size {}, {} tokens, {} cells, {} threads",
                                 problem.shape.heads, problem.shape.kv_heads, problem.shape.head_dim,
                                 problem.tokens, problem.cells, threads));
        const auto expected = problem.expected();
        const auto actual = problem.run(kernels(), threads);
        ASSERT_EQ(expected.size(), actual.size());
        for (size_t i = 0; i < actual.size(); ++i)
            ASSERT_NEAR(expected[i], actual[i], kAttentionTolerance) << i;
    }
};

INSTANTIATE_TEST_SUITE_P(All, Attention,
                         testing::Combine(testing::ValuesIn(tested_tables()),
                                          testing::Values(kv::Format::kF32, kv::Format::kF16,
                                                          kv::Format::kQ8_0)),
                         [](const auto& test) {
                             return std::get<0>(test.param).name + "_" +
                                    std::string(kv::traits(std::get<1>(test.param)).name);
                         });

TEST_P(Attention, EveryHeadSizeOnOneAndOnManyTokens) {
    for (const uint32_t head_dim : {8, 20, 64, 80, 96, 128, 256}) {
        // Eight of them, where two aren't whole blocks: then blocks cross heads.
        const uint32_t kv_heads = 2 * head_dim % 32 == 0 ? 2 : 8;
        check(Problem({2 * kv_heads, kv_heads, head_dim}, format(), 1, 97));
        check(Problem({2 * kv_heads, kv_heads, head_dim}, format(), 33, 97));
    }
}

// Each number of rows has tiles of its own, up to where panels begin; the last vector of a head and the last
// cells of a block are partial or whole.
TEST_P(Attention, EveryFewRowsWithEveryTailOfHeadsAndCells) {
    for (uint32_t rows = 1; rows <= 10; ++rows) {
        for (const uint32_t head_dim : {64, 80, 100, 256}) {
            const uint32_t kv_heads = 2 * head_dim % 32 == 0 ? 2 : 8;
            for (const uint32_t cells : {9, 63, 130})
                check(Problem({rows * kv_heads, kv_heads, head_dim}, format(), 1, cells));
            check(Problem({kv_heads, kv_heads, head_dim}, format(), rows, 79, 13));
        }
    }
}

// The last block is partial, or just full, or one cell long.
TEST_P(Attention, EveryCacheLengthCountsEachCellOnce) {
    for (const uint32_t cells :
         {1, 2, 31, 32, 33, 63, 64, 65, 72, 96, 98, 128, 129, 197, 511, 512, 513, 1100}) {
        check(Problem({6, 2, 64}, format(), 1, cells));
    }
}

TEST_P(Attention, GroupedQueriesReadTheirOwnKvHead) {
    for (const Shape shape :
         {Shape{1, 1, 64}, {9, 3, 64}, {14, 2, 64}, {4, 1, 256}, {8, 8, 32}, {16, 2, 128}}) {
        check(Problem(shape, format(), 1, 70));
        check(Problem(shape, format(), 20, 70));
    }
}

TEST_P(Attention, SlidingWindowsHideOlderCells) {
    for (const uint32_t window : {1, 5, 64, 100}) {
        check(Problem({4, 2, 64}, format(), 1, 197, window));
        check(Problem({4, 2, 64}, format(), 40, 197, window));
        check(Problem({4, 2, 64}, format(), 1, 1100, window));  // whole parts see nothing
    }
}

TEST_P(Attention, BatchSizesAroundTheTaskSize) {
    for (const uint32_t tokens : {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 100})
        check(Problem({8, 2, 64}, format(), tokens, 130));
}

TEST_P(Attention, SpansOfOneTokenNeedNotBeOneRun) {
    Problem problem({4, 2, 64}, format(), 6, 700);
    problem.spans_per_token = 3;
    problem.spans.clear();
    for (uint32_t t = 0; t < problem.tokens; ++t) {
        problem.spans.insert(problem.spans.end(), {{600, 601 + t}, {3 * t, 3 * t + 70}, {0, 0}});
    }
    check(problem);
    Problem one({4, 2, 64}, format(), 1, 700);
    one.spans_per_token = 3;
    one.spans = {{690, 700}, {5, 6}, {100, 300}};
    check(one);
}

TEST_P(Attention, SoftCapBoundsTheScores) {
    for (const uint32_t tokens : {1, 20}) {
        Problem problem({4, 2, 64}, format(), tokens, 130);
        problem.softcap = 1.5f;
        check(problem);
    }
}

TEST_P(Attention, LargeScoresDoNotOverflow) {
    for (const uint32_t tokens : {1, 20}) {
        Problem problem({4, 2, 64}, format(), tokens, 130);
        for (float& value : problem.q) value *= 30;  // scores of several hundred
        for (const float value : problem.run(kernels(), 1))
            EXPECT_TRUE(std::isfinite(value) && std::fabs(value) < 6);
    }
}

// 0 times what isn't finite is no number: a weight of zero doesn't hide a cell from a matrix product.
TEST_P(Attention, TrapAnInfiniteValueStaysWithTheRowsThatSeeIt) {
    for (const uint32_t tokens : {1, 3, 40}) {
        Problem problem({4, 2, 64}, format(), tokens, 130, 26);
        const uint32_t broken = 103;
        for (uint32_t i = 0; i < problem.width(); ++i) problem.v[broken * problem.width() + i] = 1e30f;
        if (format() == kv::Format::kF32) problem.v[broken * problem.width()] = INFINITY;
        problem.v_cells = problem.stored(problem.v);  // past what a half holds, so past the scale of q8_0
        const std::vector<float> actual = problem.run(kernels(), 1);
        const std::vector<double> expected = problem.expected();
        const size_t row = size_t(problem.shape.heads) * problem.shape.head_dim;
        for (uint32_t t = 0; t < tokens; ++t) {
            if (problem.sees(t, broken)) {
                EXPECT_FALSE(std::isfinite(actual[t * row])) << t;
                continue;
            }
            for (size_t i = t * row; i < (t + 1) * row; ++i)
                ASSERT_NEAR(expected[i], actual[i], kAttentionTolerance) << t;
        }
    }
}

// Maxima drop what is no number, the result must not: also where it is alone in its block (cell 64), or where
// all else of the block is hidden.
TEST_P(Attention, AKeyThatIsNoNumberReachesTheRowsThatSeeIt) {
    // Blocks have no codes for NaN. Past what their scale holds, products are infinite with either sign.
    const float key = format() == kv::Format::kQ8_0 ? 1e30f : NAN;
    for (const uint32_t tokens : {1, 3, 20}) {
        for (const uint32_t broken : {10, 62, 64}) {
            Problem problem({4, 2, 64}, format(), tokens, 65, 40);
            for (uint32_t i = 0; i < problem.width(); ++i) problem.k[broken * problem.width() + i] = key;
            problem.k_cells = problem.stored(problem.k);
            const std::vector<float> actual = problem.run(kernels(), 1);
            const size_t row = size_t(problem.shape.heads) * problem.shape.head_dim;
            for (uint32_t t = 0; t < tokens; ++t)
                EXPECT_EQ(std::isnan(actual[t * row]), problem.sees(t, broken)) << t << ", cell " << broken;
        }
    }
}

TEST_P(Attention, ThreadCountDoesNotChangeABit) {
    for (const auto& [tokens, cells] : {std::pair(1u, 100u), {1u, 1500u}, {3u, 1500u}, {50u, 300u}}) {
        const Problem problem({6, 3, 64}, format(), tokens, cells);
        const auto expected = problem.run(kernels(), 1);
        for (const uint32_t threads : {2, 3, 5})
            EXPECT_EQ(expected, problem.run(kernels(), threads)) << threads;
        check(problem, 3);
    }
}

// A token of a prompt has the rows of its own heads, alone or among those of up to sixteen tokens, whose
// spans begin and end in other blocks than its own.
TEST_P(Attention, OtherTokensDoNotChangeABit) {
    for (const Shape shape : {Shape{14, 2, 64}, {2, 2, 64}, {16, 8, 20}}) {
        for (const uint32_t window : {0, 1, 70, 530}) {
            const Problem problem(shape, format(), 40, 600, window);
            const std::vector<float> all = problem.run(kernels(), 2);
            const size_t row = size_t(shape.heads) * shape.head_dim;
            for (const auto& [first, count] : {std::pair(39u, 1u),
                                               {20u, 1u},
                                               {0u, 1u},
                                               {37u, 2u},
                                               {20u, 3u},
                                               {2u, 8u},
                                               {30u, 10u},
                                               {5u, 30u}}) {
                const std::vector<float> some = problem.only(first, count).run(kernels(), 1);
                for (size_t i = 0; i < some.size(); ++i) {
                    ASSERT_EQ(all[first * row + i], some[i])
                        << shape.heads << " heads over " << shape.kv_heads << ", window " << window << ": "
                        << count << " tokens from the " << first << "-th, " << i;
                }
            }
        }
    }
}

// Sequences side by side: each sees its own cells, and blocks that the tokens before and behind it see.
TEST_P(Attention, OtherSequencesDoNotChangeABit) {
    Problem problem({6, 2, 64}, format(), 12, 1300);
    problem.spans_per_token = 2;
    problem.spans.clear();
    for (uint32_t t = 0; t < problem.tokens; ++t) {
        const uint32_t begin = t % 5 * 230;
        problem.spans.insert(problem.spans.end(), {{begin, begin + 5}, {begin + 40, begin + 200 + t}});
    }
    check(problem, 2);
    const std::vector<float> all = problem.run(kernels(), 2);
    for (uint32_t t = 0; t < problem.tokens; ++t) {
        const std::vector<float> alone = problem.only(t, 1).run(kernels(), 1);
        for (size_t i = 0; i < alone.size(); ++i) ASSERT_EQ(all[t * alone.size() + i], alone[i]) << t;
    }
}

}  // namespace
}  // namespace ingot::cpu

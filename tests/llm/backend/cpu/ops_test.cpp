#include "llm/backend/cpu/kernels/ops.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "llm/backend/cpu/kernel_test.h"

namespace ingot::cpu {
namespace {

constexpr double kTolerance =
    4e-7;  // relative to the result, or to 1 where that is smaller: a few float roundings

class Ops : public testing::TestWithParam<std::tuple<TestedTable, uint32_t>> {
  protected:
    const KernelTable& kernels() const { return *std::get<0>(GetParam()).kernels; }

    void run(const std::function<void(Worker&)>& f) {
        ThreadPool pool(std::get<1>(GetParam()));
        pool.run(f);
    }
    // y = op(x) over [rows, width] with padded rows, against f on each element's index.
    void check(uint32_t rows, uint32_t width, const std::function<void(Worker&, Rows)>& op,
               const std::function<double(size_t row, size_t column)>& f, double tolerance = kTolerance) {
        SCOPED_TRACE(fmt::format("{} rows of {}", rows, width));
        std::vector<float> y(size_t(rows) * (width + 3), 777.0f);
        run([&](Worker& worker) { op(worker, {y.data(), width + 3}); });
        for (size_t r = 0; r < rows; ++r) {
            for (size_t c = 0; c < width; ++c) {
                const double expected = f(r, c), actual = y[r * (width + 3) + c];
                ASSERT_NEAR(expected, actual, tolerance * std::max(1.0, std::fabs(expected)))
                    << r << ", " << c;
            }
            for (size_t c = width; c < width + 3; ++c) ASSERT_EQ(777.0f, y[r * (width + 3) + c]) << "padding";
        }
    }
};

INSTANTIATE_TEST_SUITE_P(All, Ops,
                         testing::Combine(testing::ValuesIn(tested_tables()), testing::Values(1, 2, 3, 5)),
                         [](const auto& test) {
                             return std::get<0>(test.param).name + "_" +
                                    std::to_string(std::get<1>(test.param)) + "_threads";
                         });

struct Size {
    uint32_t rows, width;
};
constexpr Size kSizes[] = {{1, 1},   {1, 15},  {1, 16},   {1, 17}, {1, 255},
                           {1, 257}, {3, 576}, {7, 1000}, {64, 33}};

double silu_of(double x) {
    return x / (1 + std::exp(-x));
}
double gelu_of(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST_P(Ops, ElementwiseOpsFollowTheirDefinition) {
    for (const auto& [rows, width] : kSizes) {
        const auto a = random_floats(size_t(rows) * width, 1, 4.0f),
                   b = random_floats(size_t(rows) * width, 2, 4.0f);
        const ConstRows x{a.data(), width}, z{b.data(), width};
        const uint32_t n = rows, w = width;
        const auto at = [w](const std::vector<float>& v, size_t r, size_t c) { return double(v[r * w + c]); };
        check(
            n, w, [&](Worker& k, Rows y) { add(kernels(), k, x, z, y, n, w); },
            [&](size_t r, size_t c) { return at(a, r, c) + at(b, r, c); });
        check(
            n, w, [&](Worker& k, Rows y) { mul(kernels(), k, x, z, y, n, w); },
            [&](size_t r, size_t c) { return at(a, r, c) * at(b, r, c); });
        check(
            n, w, [&](Worker& k, Rows y) { scale(kernels(), k, x, 0.3f, y, n, w); },
            [&](size_t r, size_t c) { return at(a, r, c) * 0.3f; });
        check(
            n, w, [&](Worker& k, Rows y) { silu(kernels(), k, x, y, n, w); },
            [&](size_t r, size_t c) { return silu_of(at(a, r, c)); });
        check(
            n, w, [&](Worker& k, Rows y) { gelu(kernels(), k, x, y, n, w); },
            [&](size_t r, size_t c) { return gelu_of(at(a, r, c)); }, 2e-6);
        check(
            n, w, [&](Worker& k, Rows y) { swiglu(kernels(), k, x, z, y, n, w); },
            [&](size_t r, size_t c) { return silu_of(at(a, r, c)) * at(b, r, c); });
        check(
            n, w, [&](Worker& k, Rows y) { geglu(kernels(), k, x, z, y, n, w); },
            [&](size_t r, size_t c) { return gelu_of(at(a, r, c)) * at(b, r, c); }, 2e-6);
    }
}

TEST_P(Ops, StrideZeroRepeatsOneRow) {
    const auto a = random_floats(5 * 40, 1), bias = random_floats(40, 2);
    check(
        5, 40, [&](Worker& k, Rows y) { add(kernels(), k, {a.data(), 40}, {bias.data(), 0}, y, 5, 40); },
        [&](size_t r, size_t c) { return double(a[r * 40 + c]) + bias[c]; });
}

TEST_P(Ops, OpsWorkInPlace) {
    auto x = random_floats(3 * 100, 1);
    const auto before = x;
    run([&](Worker& k) { silu(kernels(), k, {x.data(), 100}, {x.data(), 100}, 3, 100); });
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(silu_of(before[i]), x[i], 1e-6);
}

TEST_P(Ops, ActivationsOfExtremeValuesStayFinite) {
    const std::vector<float> x = {-1e30f, -200.0f, -89.0f, -88.0f, -0.0f, 0.0f, 1e-40f, 88.0f, 200.0f, 1e10f};
    std::vector<float> y(x.size());
    run([&](Worker& k) { silu(kernels(), k, {x.data(), 0}, {y.data(), 0}, 1, uint32_t(x.size())); });
    for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(x[i] > 0 ? silu_of(x[i]) : silu_of(x[i]), y[i], 1e-6 * std::max(1.0f, std::fabs(x[i])))
            << x[i];
    }
}

TEST_P(Ops, NanStaysNan) {
    std::vector<float> x(33, 1.0f), y(33);
    x[20] = std::nanf("");
    run([&](Worker& k) { silu(kernels(), k, {x.data(), 33}, {y.data(), 33}, 1, 33); });
    EXPECT_TRUE(std::isnan(y[20]));
    EXPECT_FALSE(std::isnan(y[19]));
    run([&](Worker& k) { gelu(kernels(), k, {x.data(), 33}, {y.data(), 33}, 1, 33); });
    EXPECT_TRUE(std::isnan(y[20]));
}

TEST_P(Ops, SoftmaxSumsToOneAndFollowsItsDefinition) {
    for (const auto& [rows, width] : kSizes) {
        const auto x = random_floats(size_t(rows) * width, 1, 5.0f);
        const uint32_t n = rows, w = width;
        check(
            n, w, [&](Worker& k, Rows y) { softmax(kernels(), k, {x.data(), w}, y, n, w); },
            [&](size_t r, size_t c) {
                double sum = 0;
                for (size_t i = 0; i < w; ++i) sum += std::exp(double(x[r * w + i]));
                return std::exp(double(x[r * w + c])) / sum;
            });
    }
}

TEST_P(Ops, RmsNormDividesByTheRootOfTheMeanSquare) {
    for (const auto& [rows, width] : kSizes) {
        const auto x = random_floats(size_t(rows) * width, 1, 3.0f), gain = random_floats(width, 2);
        const uint32_t n = rows, w = width;
        check(
            n, w,
            [&](Worker& k, Rows y) { rms_norm(kernels(), k, {x.data(), w}, gain.data(), y, n, w, 1e-5f); },
            [&](size_t r, size_t c) {
                double sum = 0;
                for (size_t i = 0; i < w; ++i) sum += double(x[r * w + i]) * x[r * w + i];
                return x[r * w + c] / std::sqrt(sum / w + 1e-5) * gain[c];
            },
            1e-6);
    }
}

TEST_P(Ops, QkNormTreatsEachHeadByItself) {
    const uint32_t heads = 3, head_dim = 40, tokens = 4, width = heads * head_dim;
    const auto x = random_floats(tokens * width, 1, 3.0f), gain = random_floats(head_dim, 2);
    check(
        tokens, width,
        [&](Worker& k, Rows y) {
            qk_norm(kernels(), k, {x.data(), width}, gain.data(), y, tokens, heads, head_dim, 1e-6f);
        },
        [&](size_t r, size_t c) {
            const float* head = x.data() + r * width + c / head_dim * head_dim;
            double sum = 0;
            for (size_t i = 0; i < head_dim; ++i) sum += double(head[i]) * head[i];
            return head[c % head_dim] / std::sqrt(sum / head_dim + 1e-6) * gain[c % head_dim];
        },
        1e-6);
}

TEST_P(Ops, RopeTurnsPairsByPositionTimesFrequency) {
    const uint32_t heads = 3, tokens = 4;
    const int32_t positions[tokens] = {0, 1, 77, 100000};
    for (const auto& [head_dim, half] :
         {std::pair(64u, 32u), {80u, 40u}, {64u, 16u}, {20u, 7u}, {256u, 128u}}) {
        const uint32_t width = heads * head_dim, h = half, d = head_dim;
        const auto x = random_floats(tokens * width, 1);
        std::vector<float> frequencies(half), table(rope_table_floats(half, tokens));
        for (uint32_t i = 0; i < half; ++i) frequencies[i] = float(std::pow(10000.0, -double(i) / half));
        run([&](Worker& k) { rope_table(k, frequencies.data(), h, 1.25f, positions, tokens, table.data()); });
        for (const auto style : {graph::RopeStyle::kNeox, graph::RopeStyle::kInterleaved}) {
            check(
                tokens, width,
                [&](Worker& k, Rows y) {
                    rope(kernels(), k, style, {x.data(), width}, table.data(), y, tokens, heads, d, h);
                },
                [&](size_t r, size_t c) {
                    const size_t head = c / d * d, i = c % d;
                    if (i >= 2 * h) return double(x[r * width + c]);
                    const bool neox = style == graph::RopeStyle::kNeox;
                    const size_t pair = neox ? i % h : i / 2;
                    const bool second = neox ? i >= h : i % 2 == 1;
                    const double a = x[r * width + head + (neox ? pair : 2 * pair)];
                    const double b = x[r * width + head + (neox ? pair + h : 2 * pair + 1)];
                    const double angle = double(positions[r]) * frequencies[pair];
                    return 1.25 * (second ? a * std::sin(angle) + b * std::cos(angle)
                                          : a * std::cos(angle) - b * std::sin(angle));
                });
        }
    }
}

TEST_P(Ops, GetRowsDequantizesTheNamedRows) {
    const int32_t ids[] = {4, 0, 4, 2};
    for (const QuantTraits& quant : all_quant_types()) {
        const uint32_t cols = 2 * std::max(16u, quant.block_size);
        const auto bytes = random_weights(quant.type, 5, cols, 1);
        const auto values = dequantized(quant.type, bytes, 5 * cols);
        check(
            4, cols, [&](Worker& k, Rows y) { get_rows(k, quant.type, bytes.data(), cols, ids, 4, y); },
            [&](size_t r, size_t c) { return double(values[size_t(ids[r]) * cols + c]); }, 0);
    }
}

// Sentinels: cells that are not written keep their bits.
TEST_P(Ops, KvStoreWritesTheNamedCellsAndNoOther) {
    const uint32_t width = 70, tokens = 3;
    const int32_t cells[tokens] = {5, 1, 2};
    const auto x = random_floats(tokens * width, 1);
    std::vector<float> floats(8 * width, 9.0f);
    std::vector<uint16_t> halves(8 * width, 0x1234);
    run([&](Worker& k) {
        kv_store(kernels(), k, {x.data(), width}, tokens, width, cells, kv::Format::kF32, floats.data());
        kv_store(kernels(), k, {x.data(), width}, tokens, width, cells, kv::Format::kF16, halves.data());
    });
    for (size_t i = 0; i < floats.size(); ++i) {
        const auto* cell = std::find(std::begin(cells), std::end(cells), int32_t(i / width));
        const bool written = cell != std::end(cells);
        const float value = written ? x[size_t(cell - cells) * width + i % width] : 0;
        ASSERT_EQ(written ? value : 9.0f, floats[i]) << i;
        ASSERT_EQ(written ? float_to_half(value) : 0x1234, halves[i]) << i;
    }
}

TEST_P(Ops, KvStoreOfBlocksWritesWhatTheQuantizerDoesAndPadsCellsToWords) {
    const uint32_t width = 96, tokens = 2;
    const size_t cell_bytes = kv::row_bytes(kv::Format::kQ8_0, width);
    ASSERT_EQ(104u, cell_bytes) << "three blocks of 34 bytes, padded";
    const int32_t cells[tokens] = {3, 1};
    const auto x = random_floats(tokens * width, 1);
    std::vector<std::byte> region(4 * cell_bytes, std::byte{0xC2}), expected = region;
    run([&](Worker& k) {
        kv_store(kernels(), k, {x.data(), width}, tokens, width, cells, kv::Format::kQ8_0, region.data());
    });
    for (size_t t = 0; t < tokens; ++t)
        traits(QuantType::kQ8_0).quantize(&x[t * width], &expected[size_t(cells[t]) * cell_bytes], width);
    EXPECT_EQ(expected, region);
}

TEST_P(Ops, HalvesRoundToNearestEvenAsTheBaseLibraryDoes) {
    std::vector<float> x = {0.0f,  -0.0f,    1.0f,     65504.0f, 65520.0f,
                            -1e9f, 5.96e-8f, 2.98e-8f, 1e-10f,   6.1e-5f};
    for (uint32_t bits = 0; bits < 4000; ++bits) x.push_back(half_to_float(uint16_t(bits * 7)) * 1.0004f);
    std::vector<uint16_t> y(x.size());
    kernels().float_to_half(x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(float_to_half(x[i]), y[i]) << x[i];
}

}  // namespace
}  // namespace ingot::cpu

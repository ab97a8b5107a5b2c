// Kernels that Apple's compiler built for MLX, run on the virtual device and compared with double-precision
// loops. Argument lists are those of MLX's host code.
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

constexpr double kFloatTolerance = 1e-6;
constexpr double kLongSumTolerance = 1e-5;
constexpr double kHalfTolerance = 2e-3;

void expect_done(const LaunchReport& report) {
    EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
    EXPECT_TRUE(report.findings.empty()) << report.findings[0];
}

// Threads of a row kernel that reads four elements a thread.
uint32_t row_threads(uint32_t row) {
    return ((row + 3) / 4 + 31) / 32 * 32;
}

TEST(MlxKernels, ExpOfAGridThatIsNoMultipleOfTheGroup) {
    const uint32_t n = 100003;
    auto x = normal_values<float>(n, 1);
    std::vector<float> y(n, -1);
    std::vector<double> expected(n);
    for (uint32_t i = 0; i < n; ++i) expected[i] = std::exp(double(x[i]));
    expect_done(Dispatch(mlx_kernel("v_Expfloat32float32"))
                    .buffer(0, x)
                    .buffer(1, y)
                    .value(2, n)
                    .threads_of_grid({n, 1, 1}, {256, 1, 1}));
    EXPECT_LT(error_of_largest(y, expected), kFloatTolerance);
}

TEST(MlxKernels, RmsNormWithRowsThatDoNotFillTheirThreads) {
    const auto kernel = mlx_kernel("rmsfloat32");
    for (const uint32_t n : {1024u, 1001u}) {
        const uint32_t rows = 37;
        const float eps = 1e-5f;
        auto x = normal_values<float>(rows * n, 2), w = normal_values<float>(n, 3);
        std::vector<float> y(rows * n);
        std::vector<double> expected(rows * n);
        for (uint32_t r = 0; r < rows; ++r) {
            double sum = 0;
            for (uint32_t i = 0; i < n; ++i) sum += double(x[r * n + i]) * x[r * n + i];
            for (uint32_t i = 0; i < n; ++i)
                expected[r * n + i] = x[r * n + i] * w[i] / std::sqrt(sum / n + eps);
        }
        expect_done(Dispatch(kernel)
                        .buffer(0, x)
                        .buffer(1, w)
                        .buffer(2, y)
                        .value(3, eps)
                        .value(4, n)
                        .value(5, 1u)
                        .groups({rows, 1, 1}, {row_threads(n), 1, 1}));
        EXPECT_LT(error_of_largest(y, expected), kFloatTolerance) << n;
    }
}

TEST(MlxKernels, SoftmaxOfRows) {
    const auto kernel = mlx_kernel("block_softmax_float32");
    for (const uint32_t n : {1024u, 777u}) {
        const uint32_t rows = 41;
        auto x = normal_values<float>(rows * n, 4, 3);
        std::vector<float> y(rows * n);
        std::vector<double> expected(rows * n);
        for (uint32_t r = 0; r < rows; ++r) {
            double largest = -1e30, sum = 0;
            for (uint32_t i = 0; i < n; ++i) largest = std::max(largest, double(x[r * n + i]));
            for (uint32_t i = 0; i < n; ++i) sum += expected[r * n + i] = std::exp(x[r * n + i] - largest);
            for (uint32_t i = 0; i < n; ++i) expected[r * n + i] /= sum;
        }
        expect_done(Dispatch(kernel).buffer(0, x).buffer(1, y).value(2, n).groups({rows, 1, 1},
                                                                                  {row_threads(n), 1, 1}));
        EXPECT_LT(error_of_largest(y, expected), kFloatTolerance) << n;
    }
}

TEST(MlxKernels, SumOfRows) {
    const uint64_t n = 3001;
    const int64_t rows = 22;
    auto x = normal_values<float>(n * rows, 5);
    std::vector<float> y(rows);
    std::vector<double> expected(rows);
    for (int64_t r = 0; r < rows; ++r) {
        for (uint64_t i = 0; i < n; ++i) expected[r] += x[r * n + i];
    }
    expect_done(Dispatch(mlx_kernel("row_reduce_simple_sumfloat32"))
                    .buffer(0, x)
                    .buffer(1, y)
                    .value(2, n)
                    .value(3, rows)
                    .groups({1, uint32_t(rows + 3) / 4, 1}, {256, 1, 1}));
    EXPECT_LT(error_of_largest(y, expected), kLongSumTolerance);
}

TEST(MlxKernels, SumOfColumns) {
    const uint64_t rows = 517;
    const int64_t columns = 200;
    auto x = normal_values<float>(rows * columns, 6);
    std::vector<float> y(columns);
    std::vector<double> expected(columns);
    for (uint64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) expected[c] += x[r * columns + c];
    }
    expect_done(Dispatch(mlx_kernel("col_reduce_looped_1_32_32_reduce_sumfloat32"))
                    .buffer(0, x)
                    .buffer(1, y)
                    .value(2, rows)
                    .value(3, columns)
                    .value(4, 1)
                    .value(5, int64_t{0})
                    .value(6, 0)
                    .value(7, int(rows))
                    .value(8, columns)
                    .value(9, 1)
                    .value(10, uint64_t{1})
                    .value(11, int64_t{0})
                    .groups({uint32_t(columns + 31) / 32, 1, 1}, {256, 1, 1}));
    EXPECT_LT(error_of_largest(y, expected), kLongSumTolerance);
}

TEST(MlxKernels, MatrixTimesVector) {
    struct Case {
        const char* name;
        uint32_t bm, bn;
    };
    for (const Case& c : {Case{"gemv_float32_bm4_bn1_sm1_sn32_tm4_tn4_nc0_axpby0", 4, 1},
                          Case{"gemv_float32_bm1_bn8_sm1_sn32_tm4_tn4_nc0_axpby0", 1, 8}}) {
        const int rows = 133, columns = 1027;
        auto m = normal_values<float>(size_t(rows) * columns, 7), v = normal_values<float>(columns, 8);
        std::vector<float> y(rows);
        std::vector<double> expected(rows);
        for (int r = 0; r < rows; ++r) {
            for (int i = 0; i < columns; ++i) expected[r] += double(m[r * columns + i]) * v[i];
        }
        const uint32_t rows_a_group = c.bm * 4;
        expect_done(Dispatch(mlx_kernel(c.name))
                        .buffer(0, m)
                        .buffer(1, v)
                        .buffer(3, y)
                        .value(4, columns)
                        .value(5, rows)
                        .value(6, columns)
                        .value(7, 1.0f)
                        .value(8, 0.0f)
                        .value(9, 0)
                        .value(10, 1)
                        .value(11, int64_t{0})
                        .value(12, int64_t{0})
                        .value(13, int64_t{0})
                        .value(14, 1)
                        .groups({(rows + rows_a_group - 1) / rows_a_group, 1, 1}, {32, c.bn, c.bm}));
        EXPECT_LT(error_of_largest(y, expected), kLongSumTolerance) << c.name;
    }
}

TEST(MlxKernels, FourBitMatrixTimesVector) {
    const int k = 512, n = 128, group = 64;
    std::mt19937 generator(9);
    std::vector<uint32_t> w(n * k / 8);
    for (uint32_t& word : w) word = uint32_t(generator());
    auto scales = normal_values<Half>(n * k / group, 10, 0.1f),
         biases = normal_values<Half>(n * k / group, 11, 0.1f);
    auto x = normal_values<Half>(k, 12);
    std::vector<Half> y(n);
    std::vector<double> expected(n);
    for (int r = 0; r < n; ++r) {
        for (int i = 0; i < k; ++i) {
            const int at = r * k + i;
            const int q = int(w[at / 8] >> (4 * (at % 8))) & 15;
            expected[r] += (double(scales[at / group]) * q + double(biases[at / group])) * double(x[i]);
        }
    }
    expect_done(Dispatch(mlx_kernel("affine_qmv_fast_float16_t_gs_64_b_4_batch_0_pr_0_hgs_0_r_4"))
                    .buffer(0, w)
                    .buffer(1, scales)
                    .buffer(2, biases)
                    .buffer(3, x)
                    .buffer(4, y)
                    .value(5, k)
                    .value(6, n)
                    .value(7, 0)
                    .value(10, 0)
                    .groups({1, n / 8, 1}, {32, 2, 1}));
    EXPECT_LT(error_of_largest(y, expected), kHalfTolerance);
}

TEST(MlxKernels, VectorAttentionWithGroupedHeads) {
    const int heads = 6, group = 2, keys = 173, d = 64;
    const float scale = 0.125f;
    std::map<uint32_t, ConstantValue> constants;
    for (uint32_t i = 20; i <= 26; ++i) constants[i] = false;
    auto q = normal_values<Half>(heads * d, 13), k = normal_values<Half>(heads / group * keys * d, 14),
         v = normal_values<Half>(heads / group * keys * d, 15);
    std::vector<Half> o(heads * d);
    std::vector<double> expected(heads * d);
    for (int h = 0; h < heads; ++h) {
        std::vector<double> p(keys);
        double largest = -1e30, sum = 0;
        const int base = h / group * keys;
        for (int i = 0; i < keys; ++i) {
            double dot = 0;
            for (int j = 0; j < d; ++j) dot += double(q[h * d + j]) * double(k[(base + i) * d + j]);
            largest = std::max(largest, p[i] = dot * scale);
        }
        for (double& x : p) sum += x = std::exp(x - largest);
        for (int i = 0; i < keys; ++i) {
            for (int j = 0; j < d; ++j) expected[h * d + j] += p[i] / sum * double(v[(base + i) * d + j]);
        }
    }
    const uint64_t head_stride = uint64_t(keys) * d, sequence_stride = d;
    expect_done(Dispatch(mlx_kernel("sdpa_vector_float16_t_64_64", constants))
                    .buffer(0, q)
                    .buffer(1, k)
                    .buffer(2, v)
                    .buffer(3, o)
                    .value(4, group)
                    .value(5, keys)
                    .value(6, head_stride)
                    .value(7, sequence_stride)
                    .value(8, head_stride)
                    .value(9, sequence_stride)
                    .value(10, scale)
                    .groups({uint32_t(heads), 1, 1}, {1024, 1, 1}));
    EXPECT_LT(error_of_largest(o, expected), kHalfTolerance);
}

TEST(MlxKernels, SortOfRowsAtAndBelowTheBlock) {
    const auto kernel = mlx_kernel("c_block_sort_float32_float32_bn128_tn4");
    for (const int n : {512, 301}) {
        const int rows = 5;
        auto x = normal_values<float>(rows * n, 16);
        std::vector<float> y(rows * n), expected = x;
        for (int r = 0; r < rows; ++r) std::sort(expected.begin() + r * n, expected.begin() + (r + 1) * n);
        expect_done(Dispatch(kernel)
                        .buffer(0, x)
                        .buffer(1, y)
                        .value(2, n)
                        .value(3, 1)
                        .value(4, 1)
                        .value(5, n)
                        .value(6, n)
                        .groups({1, rows, 1}, {128, 1, 1}));
        EXPECT_EQ(expected, y) << n;
    }
}

TEST(MlxKernels, ScanForwardAndBackward) {
    const uint64_t n = 1777;
    const uint32_t rows = 3;
    auto x = normal_values<float>(n * rows, 17);
    for (const bool reverse : {false, true}) {
        std::vector<float> y(n * rows);
        std::vector<double> expected(n * rows);
        for (uint32_t r = 0; r < rows; ++r) {
            double sum = 0;
            for (uint64_t i = 0; i < n; ++i) {
                const uint64_t at = r * n + (reverse ? n - 1 - i : i);
                expected[at] = reverse ? sum : sum + x[at];
                sum += x[at];
            }
        }
        const char* name = reverse ? "contig_scan_reverse_exclusive_sum_float32_float32"
                                   : "contig_scan_inclusive_sum_float32_float32";
        expect_done(Dispatch(mlx_kernel(name))
                        .buffer(0, x)
                        .buffer(1, y)
                        .value(2, n)
                        .groups({1, rows, 1}, {128, 1, 1}));
        EXPECT_LT(error_of_largest(y, expected), kLongSumTolerance) << name;
    }
}

}  // namespace
}  // namespace ingot::metal::testing

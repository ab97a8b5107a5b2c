// MLX's matrix kernels as Apple's compiler built them: 8x8 simdgroup matrices (steel), Metal 4 cooperative
// tensors (NAX, thin), attention, quantized matmul. Each against a double-precision loop.
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

constexpr double kFloatProductTolerance = 1e-5;
constexpr double kHalfProductTolerance = 3e-3;

void expect_completed(const LaunchReport& report) {
    EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
    EXPECT_TRUE(report.findings.empty()) << report.findings[0];
}

// GEMMParams of MLX's steel kernels.
struct GemmParams {
    int m, n, k, lda, ldb, ldd, tiles_n, tiles_m;
    int64_t batch_a, batch_b, batch_d;
    int swizzle_log, k_iterations, batch_ndim;
};

struct GemmShape {
    int m, n, k;
};

// out = a * b, row-major, each operand stored transposed where its flag says so.
template <typename T>
std::vector<double> multiply(const std::vector<T>& a, const std::vector<T>& b, GemmShape s, bool ta,
                             bool tb) {
    std::vector<double> out(size_t(s.m) * s.n);
    for (int i = 0; i < s.m; ++i) {
        for (int j = 0; j < s.n; ++j) {
            double sum = 0;
            for (int p = 0; p < s.k; ++p) {
                sum += double(a[ta ? size_t(p) * s.m + i : size_t(i) * s.k + p]) *
                       double(b[tb ? size_t(j) * s.k + p : size_t(p) * s.n + j]);
            }
            out[size_t(i) * s.n + j] = sum;
        }
    }
    return out;
}

struct Tile {
    int m, n, k;
};

template <typename T>
void expect_gemm(const std::string& name, GemmShape s, Tile tile, bool ta, bool tb, double tolerance) {
    const auto kernel = mlx_kernel(name, {{10, false},
                                          {100, false},
                                          {110, false},
                                          {200, s.m % tile.m == 0},
                                          {201, s.n % tile.n == 0},
                                          {202, s.k % tile.k == 0}});
    auto a = normal_values<T>(size_t(s.m) * s.k, 1), b = normal_values<T>(size_t(s.k) * s.n, 2);
    std::vector<T> d(size_t(s.m) * s.n, T(77.0f));
    const GemmParams params{s.m,
                            s.n,
                            s.k,
                            ta ? s.m : s.k,
                            tb ? s.k : s.n,
                            s.n,
                            (s.n + tile.n - 1) / tile.n,
                            (s.m + tile.m - 1) / tile.m,
                            0,
                            0,
                            0,
                            0,
                            s.k / tile.k,
                            0};
    expect_completed(Dispatch(kernel).buffer(0, a).buffer(1, b).buffer(3, d).value(4, params).groups(
        {uint32_t(params.tiles_n), uint32_t(params.tiles_m), 1}, {32, 2, 2}));
    EXPECT_LT(error_of_largest(d, multiply(a, b, s, ta, tb)), tolerance)
        << name << " " << s.m << "x" << s.n << "x" << s.k;
}

TEST(MlxMatrices, SteelGemmInHalfAtAlignedAndRaggedShapes) {
    const std::string name = "steel_gemm_fused_nn_float16_float16_bm64_bn64_bk16_wm2_wn2";
    for (const GemmShape s : {GemmShape{128, 128, 64}, {100, 70, 45}, {64, 70, 64}, {37, 129, 100}}) {
        expect_gemm<Half>(name, s, {64, 64, 16}, false, false, kHalfProductTolerance);
    }
}

TEST(MlxMatrices, SteelGemmWithTransposedOperands) {
    const GemmShape s{130, 66, 50};
    expect_gemm<Half>("steel_gemm_fused_nt_float16_float16_bm64_bn64_bk16_wm2_wn2", s, {64, 64, 16}, false,
                      true, kHalfProductTolerance);
    expect_gemm<float>("steel_gemm_fused_tn_float32_float32_bm64_bn64_bk16_wm2_wn2", s, {64, 64, 16}, true,
                       false, kFloatProductTolerance);
}

TEST(MlxMatrices, ProductsOfABlockShareFewMeetings) {
    const auto kernel =
        mlx_kernel("steel_gemm_fused_nn_float16_float16_bm64_bn64_bk16_wm2_wn2",
                   {{10, false}, {100, false}, {110, false}, {200, true}, {201, true}, {202, true}});
    ASSERT_NE(nullptr, kernel);
    EXPECT_GE(kernel->matrix_operations, 8 * kernel->matrix_batches);
}

TEST(MlxMatrices, OneMeetingAProductGivesTheSameResult) {
    CompileOptions options;
    options.batch_matrices = false;
    const GemmShape s{64, 64, 32};
    auto a = normal_values<float>(s.m * s.k, 3), b = normal_values<float>(s.k * s.n, 4);
    const std::map<uint32_t, ConstantValue> constants{{10, false}, {100, false}, {110, false},
                                                      {200, true}, {201, true},  {202, true}};
    const std::string name = "steel_gemm_fused_nn_float32_float32_bm64_bn64_bk16_wm2_wn2";
    const GemmParams params{s.m, s.n, s.k, s.k, s.n, s.n, 1, 1, 0, 0, 0, 0, s.k / 16, 0};
    const auto kernel = mlx_kernel(name, constants, options);
    ASSERT_NE(nullptr, kernel);
    EXPECT_EQ(kernel->matrix_operations, kernel->matrix_batches);
    std::vector<float> d(s.m * s.n);
    expect_completed(Dispatch(kernel).buffer(0, a).buffer(1, b).buffer(3, d).value(4, params).groups(
        {1, 1, 1}, {32, 2, 2}));
    EXPECT_LT(error_of_largest(d, multiply(a, b, s, false, false)), kFloatProductTolerance);
}

TEST(MlxMatrices, NaxGemmInEveryLayout) {
    for (const GemmShape s : {GemmShape{64, 64, 256}, {100, 70, 300}, {37, 129, 45}}) {
        for (const bool ta : {false, true}) {
            for (const bool tb : {false, true}) {
                const std::string layout{ta ? 't' : 'n', tb ? 't' : 'n'};
                expect_gemm<Half>(
                    "steel_gemm_fused_nax_" + layout + "_float16_float16_bm64_bn64_bk256_wm2_wn2", s,
                    {64, 64, 256}, ta, tb, kHalfProductTolerance);
            }
        }
    }
}

TEST(MlxMatrices, NaxKernelsNeedTheNaxLayout) {
    // They load fragments by hand: another lane map must show.
    CompileOptions options;
    options.layout = CooperativeLayout::kScrambled;
    const GemmShape s{64, 64, 256};
    const auto kernel =
        mlx_kernel("steel_gemm_fused_nax_nn_float16_float16_bm64_bn64_bk256_wm2_wn2",
                   {{10, false}, {100, false}, {110, false}, {200, true}, {201, true}, {202, true}}, options);
    auto a = normal_values<Half>(s.m * s.k, 1), b = normal_values<Half>(s.k * s.n, 2);
    std::vector<Half> d(s.m * s.n);
    const GemmParams params{s.m, s.n, s.k, s.k, s.n, s.n, 1, 1, 0, 0, 0, 0, 1, 0};
    expect_completed(Dispatch(kernel).buffer(0, a).buffer(1, b).buffer(3, d).value(4, params).groups(
        {1, 1, 1}, {32, 2, 2}));
    EXPECT_GT(error_of_largest(d, multiply(a, b, s, false, false)), 0.1);
}

TEST(MlxMatrices, ThinGemmReadsTensorsWhoseEdgesMaskTheTails) {
    struct Case {
        const char* name;
        int simdgroups_n;
        bool transpose_b;
        GemmShape s;
    };
    const std::string nn = "steel_gemm_thin_nax_nn_float16_um2_un2_sm1_sn1_ks4";
    for (const Case& c :
         {Case{"steel_gemm_thin_nax_nn_float16_um2_un2_sm1_sn1_ks4", 1, false, {64, 96, 512}},
          Case{"steel_gemm_thin_nax_nn_float16_um2_un2_sm1_sn1_ks4", 1, false, {45, 70, 300}},
          Case{"steel_gemm_thin_nax_nt_float16_um2_un2_sm1_sn1_ks4", 1, true, {20, 50, 200}},
          Case{"steel_gemm_thin_nax_nt_float16_um2_un2_sm1_sn2_ks2", 2, true, {33, 131, 77}}}) {
        const int splits = c.simdgroups_n == 1 ? 4 : 2, tile_n = 32 * c.simdgroups_n;
        const bool aligned = c.s.m % 32 == 0 && c.s.n % tile_n == 0 && c.s.k % (64 * splits) == 0;
        const auto kernel =
            mlx_kernel(c.name, {{100, false}, {110, false}, {200, aligned}, {201, aligned}, {202, aligned}});
        auto a = normal_values<Half>(c.s.m * c.s.k, 5), b = normal_values<Half>(c.s.k * c.s.n, 6);
        std::vector<Half> d(c.s.m * c.s.n, Half(77.0f));
        const int tiles_m = (c.s.m + 31) / 32, tiles_n = (c.s.n + tile_n - 1) / tile_n;
        const GemmParams params{c.s.m,
                                c.s.n,
                                c.s.k,
                                c.s.k,
                                c.transpose_b ? c.s.k : c.s.n,
                                c.s.n,
                                tiles_n,
                                tiles_m,
                                0,
                                0,
                                0,
                                0,
                                (c.s.k + 64 * splits - 1) / (64 * splits),
                                0};
        expect_completed(Dispatch(kernel).buffer(0, a).buffer(1, b).buffer(3, d).value(4, params).groups(
            {uint32_t(tiles_m * tiles_n), 1, 1}, {uint32_t(tile_n * splits), 1, 1}));
        EXPECT_LT(error_of_largest(d, multiply(a, b, c.s, false, c.transpose_b)), kHalfProductTolerance)
            << c.name;
    }
}

struct AttentionParams {
    int b, h, d, q_length, k_length, gqa;
    float scale;
    int nq, nk, nq_aligned, nk_aligned, q_rest, k_rest, q_offset;
    int64_t q_strides[3], k_strides[3], v_strides[3], o_strides[3];
};

struct AttentionCase {
    const char* name;
    int block_q, block_k, d, queries, keys;
    bool causal;
};

std::vector<double> attention(const AttentionCase& c, int heads, int group, const std::vector<Half>& q,
                              const std::vector<Half>& k, const std::vector<Half>& v) {
    std::vector<double> out(size_t(heads) * c.queries * c.d);
    for (int h = 0; h < heads; ++h) {
        for (int i = 0; i < c.queries; ++i) {
            const size_t row = size_t(h) * c.queries + i, base = size_t(h / group) * c.keys;
            const int visible = c.causal ? c.keys - c.queries + i + 1 : c.keys;
            std::vector<double> p(visible);
            double largest = -1e30, sum = 0;
            for (int j = 0; j < visible; ++j) {
                for (int x = 0; x < c.d; ++x)
                    p[j] += double(q[row * c.d + x]) * double(k[(base + j) * c.d + x]);
                largest = std::max(largest, p[j] /= std::sqrt(double(c.d)));
            }
            for (double& x : p) sum += x = std::exp(x - largest);
            for (int j = 0; j < visible; ++j) {
                for (int x = 0; x < c.d; ++x)
                    out[row * c.d + x] += p[j] / sum * double(v[(base + j) * c.d + x]);
            }
        }
    }
    return out;
}

TEST(MlxMatrices, SteelAttentionCausalAndRagged) {
    const int heads = 4, group = 2;
    for (const AttentionCase& c :
         {AttentionCase{"steel_attention_float16_bq32_bk32_bd64_bv64_wm4_wn1_maskfloat16", 32, 32, 64, 64, 96,
                        false},
          {"steel_attention_float16_bq32_bk16_bd128_bv128_wm4_wn1_maskfloat16", 32, 16, 128, 77, 77, true},
          {"steel_attention_float16_bq64_bk32_bd64_bv64_wm4_wn1_maskfloat16", 64, 32, 64, 100, 131, false}}) {
        const auto kernel = mlx_kernel(c.name, {{200, c.queries % c.block_q == 0},
                                                {201, c.keys % c.block_k == 0},
                                                {300, false},
                                                {301, c.causal},
                                                {302, false},
                                                {303, false}});
        const int64_t d = c.d, q_plane = c.queries * d, k_plane = c.keys * d;
        auto q = normal_values<Half>(heads * q_plane, 7), k = normal_values<Half>(heads / group * k_plane, 8),
             v = normal_values<Half>(heads / group * k_plane, 9);
        std::vector<Half> o(heads * q_plane, Half(77.0f));
        const AttentionParams params{1,
                                     heads,
                                     c.d,
                                     c.queries,
                                     c.keys,
                                     group,
                                     1 / std::sqrt(float(c.d)),
                                     (c.queries + c.block_q - 1) / c.block_q,
                                     (c.keys + c.block_k - 1) / c.block_k,
                                     c.queries / c.block_q,
                                     c.keys / c.block_k,
                                     c.queries % c.block_q,
                                     c.keys % c.block_k,
                                     c.keys - c.queries,
                                     {heads * q_plane, q_plane, d},
                                     {heads / group * k_plane, k_plane, d},
                                     {heads / group * k_plane, k_plane, d},
                                     {heads * q_plane, q_plane, d}};
        expect_completed(
            Dispatch(kernel).buffer(0, q).buffer(1, k).buffer(2, v).buffer(3, o).value(4, params).groups(
                {uint32_t(params.nq), uint32_t(heads), 1}, {32, 4, 1}));
        EXPECT_LT(error_of_largest(o, attention(c, heads, group, q, k, v)), kHalfProductTolerance) << c.name;
    }
}

TEST(MlxMatrices, FourBitMatmulOnCooperativeTensors) {
    for (const bool aligned : {true, false}) {
        const int k = 256, n = aligned ? 128 : 72, m = aligned ? 64 : 37, group = 64;
        const auto kernel =
            mlx_kernel(std::string("affine_qmm_t_nax_float16_t_gs_64_b_4_bm64_bn64_bk64_wm2_wn2_alN_") +
                       (aligned ? "true" : "false") + "_batch_0");
        std::mt19937 generator(10);
        std::vector<uint32_t> w(n * k / 8);
        for (uint32_t& word : w) word = uint32_t(generator());
        auto scales = normal_values<Half>(n * k / group, 11, 0.05f),
             biases = normal_values<Half>(n * k / group, 12, 0.1f);
        auto x = normal_values<Half>(m * k, 13);
        std::vector<Half> y(m * n, Half(77.0f));
        std::vector<double> expected(m * n);
        for (int r = 0; r < m; ++r) {
            for (int c = 0; c < n; ++c) {
                for (int i = 0; i < k; ++i) {
                    const int at = c * k + i, q = int(w[at / 8] >> (4 * (at % 8))) & 15;
                    expected[r * n + c] +=
                        (double(scales[at / group]) * q + double(biases[at / group])) * double(x[r * k + i]);
                }
            }
        }
        expect_completed(Dispatch(kernel)
                             .buffer(0, w)
                             .buffer(1, scales)
                             .buffer(2, biases)
                             .buffer(3, x)
                             .buffer(4, y)
                             .value(5, k)
                             .value(6, n)
                             .value(7, m)
                             .value(8, 0)
                             .value(11, 0)
                             .groups({uint32_t(n + 63) / 64, uint32_t(m + 63) / 64, 1}, {32, 2, 2}));
        EXPECT_LT(error_of_largest(y, expected), kHalfProductTolerance) << "aligned " << aligned;
    }
}

TEST(MlxMatrices, GatedDeltaRuleWithEveryTransposeOfCooperativeOperands) {
    const int steps = 19, heads = 24, d = 128;
    for (const bool nax : {false, true}) {
        const auto kernel = mlx_kernel(nax ? "gated_delta_fused_nax_float_128_128_24_24_16_1"
                                           : "gated_delta_fused_chunk_float_128_128_24_24_8",
                                       {{200, false}});
        const float scale = 1 / std::sqrt(float(d));
        auto q = normal_values<float>(steps * heads * d, 14, scale),
             k = normal_values<float>(steps * heads * d, 15, scale),
             v = normal_values<float>(steps * heads * d, 16), state = normal_values<float>(heads * d * d, 17),
             gate = normal_values<float>(steps * heads, 18), beta = normal_values<float>(steps * heads, 19);
        for (float& x : gate) x = 1 / (1 + std::exp(-x - 2));
        for (float& x : beta) x = 1 / (1 + std::exp(-x));
        std::vector<double> expected(steps * heads * d), s(state.begin(), state.end());
        for (int h = 0; h < heads; ++h) {
            for (int t = 0; t < steps; ++t) {
                const size_t at = size_t(t) * heads + h;
                for (int i = 0; i < d; ++i) {
                    double* row = &s[(size_t(h) * d + i) * d];
                    double memory = 0, out = 0;
                    for (int j = 0; j < d; ++j) memory += (row[j] *= gate[at]) * k[at * d + j];
                    const double delta = (v[at * d + i] - memory) * beta[at];
                    for (int j = 0; j < d; ++j) out += (row[j] += delta * k[at * d + j]) * q[at * d + j];
                    expected[at * d + i] = out;
                }
            }
        }
        std::vector<float> y(steps * heads * d, 77.0f), next(heads * d * d, 77.0f);
        std::vector<float> spare0(1 << 20), spare1(1 << 20), spare2(1 << 20);
        expect_completed(
            Dispatch(kernel)
                .buffer(0, q)
                .buffer(1, k)
                .buffer(2, v)
                .buffer(3, state)
                .buffer(4, gate)
                .buffer(5, beta)
                .buffer(6, y)
                .buffer(7, next)
                .value(8, steps)
                .buffer(9, spare0)
                .buffer(10, spare1)
                .buffer(11, spare2)
                .threads_of_grid({32, uint32_t(d / (nax ? 16 : 8)), uint32_t(heads)}, {32, 4, 1}));
        EXPECT_LT(error_of_largest(y, expected), kFloatProductTolerance) << "nax " << nax;
        EXPECT_LT(error_of_largest(next, s), kFloatProductTolerance) << "nax " << nax;
    }
}

}  // namespace
}  // namespace ingot::metal::testing

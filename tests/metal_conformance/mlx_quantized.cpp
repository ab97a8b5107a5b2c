// MLX's products with quantized matrices: integers of 1 to 8 bits with a scale and a bias a group ("affine"),
// and fp4 and fp8 elements with an fp8 scale a group (mxfp4, mxfp8, nvfp4). Values lie in a bit stream,
// lowest bits first. The reference decodes each value by itself, from the formats' definitions.
#include <cmath>

#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

struct Mode {
    const char* name;
    int bits, group;
    Type type;  // of activations, result, and affine scales

    bool affine() const { return name[0] == 'a'; }
    // "float16_t_gs_64_b_4"
    std::string suffix() const {
        return std::string(c_name(type)) + "_gs_" + std::to_string(group) + "_b_" + std::to_string(bits);
    }
};

double e4m3(uint8_t bits) {
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    return bits & 128 ? -magnitude : magnitude;
}

double e2m1(uint8_t bits) {
    static constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return bits & 8 ? -kValues[bits & 7] : kValues[bits & 7];
}

// `matrices` matrices of rows x columns, quantized along their columns.
struct Quantized {
    Mode mode;
    int rows, columns, matrices;
    Array words, scales, biases;

    Quantized(Mode m, int rows_, int columns_, int matrices_ = 1)
        : mode(m), rows(rows_), columns(columns_), matrices(matrices_) {
        const size_t count = size_t(matrices) * rows * columns, groups = count / mode.group;
        words = random_bytes(count * mode.bits / 8, 1);
        if (mode.affine()) {
            // The largest value is near 1.
            scales = random_array(mode.type, groups, 2, 1.0 / (1 << mode.bits));
            biases = random_array(mode.type, groups, 3, 0.2);
            return;
        }
        scales = random_bytes(groups, 4);
        for (size_t i = 0; i < groups; ++i) {
            uint8_t& scale = scales.as<uint8_t>()[i];
            scale = mode.group == 16 ? uint8_t(0x28 + scale % 24) : uint8_t(122 + scale % 4);
        }
        if (mode.bits == 8) {
            for (size_t i = 0; i < words.size(); ++i) words.as<uint8_t>()[i] &= 0xBF;  // below 2, no NaN
        }
    }

    int words_a_row() const { return columns * mode.bits / 32; }
    int groups_a_row() const { return columns / mode.group; }

    double get(int matrix, int row, int column) const {
        const size_t at = (size_t(matrix) * rows + row) * columns + column, bit = at * mode.bits;
        const uint8_t* bytes = words.as<uint8_t>() + bit / 8;
        const bool crosses = bit % 8 + mode.bits > 8;
        const unsigned two = bytes[0] | (crosses ? bytes[1] << 8 : 0);
        const uint8_t value = uint8_t(two >> bit % 8 & ((1u << mode.bits) - 1));
        const size_t group = at / mode.group;
        if (mode.affine()) return scales.get(group) * value + biases.get(group);
        const uint8_t scale = scales.as<uint8_t>()[group];
        return (mode.bits == 8 ? e4m3(value) : e2m1(value)) *
               (mode.group == 16 ? e4m3(scale) : std::ldexp(1, scale - 127));
    }
};

// out[m][n] of x[m][k] and the matrix stored [n][k] (`transposed`) or [k][n].
void quantized_product(const Array& x, size_t x_at, const Quantized& w, int matrix, bool transposed, int m,
                       double* out) {
    const int n = transposed ? w.rows : w.columns, k = transposed ? w.columns : w.rows;
    std::vector<double> decoded(size_t(n) * k);
    for (int j = 0; j < n; ++j) {
        for (int p = 0; p < k; ++p)
            decoded[size_t(j) * k + p] = transposed ? w.get(matrix, j, p) : w.get(matrix, p, j);
    }
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int p = 0; p < k; ++p) sum += x.get(x_at + size_t(i) * k + p) * decoded[size_t(j) * k + p];
            out[size_t(i) * n + j] = sum;
        }
    }
}

// Weights are decoded to the activations' type before they are multiplied.
double quantized_tolerance(Type type) {
    return type == kF32 ? 1e-5 : 2 * rounding(type);
}

// Adds what all kernels start with. `blank`: fp kernels keep the slot of a global scale.
void add_weights(Dispatch& dispatch, Quantized& w, bool blank) {
    dispatch.add(w.words).add(w.scales);
    if (w.mode.affine()) {
        dispatch.add(w.biases);
    } else if (blank) {
        dispatch.skip();
    }
}

struct Product {
    const char* name;   // before the type
    const char* after;  // after it; "%" stands for whether n is a multiple of 32
    bool transposed;
    int m, n, k;
    bool takes_m;  // the row count is an argument
    bool blank;    // fp kernels keep the slot of a global scale
    Size3 groups, threads;
};

uint32_t up(int size, int tile) {
    return uint32_t((size + tile - 1) / tile);
}

void add_product(Cases& cases, Mode mode, const Product& p) {
    std::string after = p.after;
    if (const size_t at = after.find('%'); at != std::string::npos)
        after.replace(at, 1, p.n % 32 == 0 ? "true" : "false");
    const std::string name = std::string(mode.name) + "_" + p.name + "_" + mode.suffix() + after;
    cases.push_back({"quantized", name, "", [=](Session& session) {
                         Quantized w(mode, p.transposed ? p.n : p.k, p.transposed ? p.k : p.n);
                         Array x = random_array(mode.type, size_t(p.m) * p.k, 5),
                               y = constant_array(mode.type, size_t(p.m) * p.n, 77);
                         std::vector<double> expected(y.size());
                         quantized_product(x, 0, w, 0, p.transposed, p.m, expected.data());
                         auto dispatch = session.kernel(name);
                         add_weights(dispatch, w, p.blank);
                         dispatch.add(x).add(y).add(p.k).add(p.n);
                         if (p.takes_m) dispatch.add(p.m);
                         dispatch.groups(p.groups, p.threads);
                         session.near(y, expected, quantized_tolerance(mode.type));
                     }});
}

void add_products(Cases& cases, Mode mode) {
    const int fast_k = mode.bits == 1 ? 2048 : 512, k = 2 * std::max(mode.group, 96), ragged_n = 77, m = 37;
    const int n = 128;  // a multiple of every group
    add_product(cases, mode,
                {"qmv",
                 "_batch_0_pr_0_hgs_0_r_4",
                 true,
                 2,
                 ragged_n,
                 k,
                 false,
                 true,
                 {2, up(ragged_n, 8), 1},
                 {32, 2, 1}});
    add_product(
        cases, mode,
        {"qmv_fast", "_batch_0_pr_0_hgs_0_r_4", true, 1, 64, fast_k, false, true, {1, 8, 1}, {32, 2, 1}});
    add_product(cases, mode,
                {"qmv_fast",
                 "_batch_0_pr_1_hgs_0_r_4",
                 true,
                 1,
                 ragged_n,
                 fast_k,
                 false,
                 true,
                 {1, up(ragged_n, 8), 1},
                 {32, 2, 1}});
    add_product(cases, mode,
                {"qvm",
                 "_batch_0",
                 false,
                 2,
                 n,
                 k,
                 false,
                 true,
                 {2, up(n, 2 * std::min(mode.group, 32)), 1},
                 {32, 2, 1}});
    add_product(cases, mode,
                {"qmm_t",
                 "_alN_%_batch_0",
                 true,
                 m,
                 ragged_n,
                 k,
                 true,
                 true,
                 {up(ragged_n, 32), up(m, 32), 1},
                 {32, 2, 2}});
    add_product(cases, mode,
                {"qmm_n", "_batch_0", false, m, n, k, true, false, {up(n, 32), up(m, 32), 1}, {32, 2, 2}});
    add_product(cases, mode,
                {"qmm_t_nax",
                 "_bm64_bn64_bk64_wm2_wn2_alN_%_batch_0",
                 true,
                 m,
                 ragged_n,
                 2 * std::max(mode.group, 64),
                 true,
                 true,
                 {up(ragged_n, 64), up(m, 64), 1},
                 {32, 2, 2}});
    // A quarter of a row is at least a word, and a row at least a group, as the host sees to: kernels for
    // 64 columns in groups of 128 exist, but take every row's scale from the first.
    if (mode.bits == 2 || mode.bits == 4 || mode.bits == 8) {
        const int columns = std::max(mode.group, 64);
        add_product(cases, mode,
                    {"qmv_quad",
                     columns == 64 ? "_d_64_batch_0" : "_d_128_batch_0",
                     true,
                     2,
                     ragged_n,
                     columns,
                     false,
                     false,
                     {2, up(ragged_n, 64), 1},
                     {32, 1, 1}});
    }
    const bool affine = mode.affine();
    add_product(cases, mode,
                {"qmv_wide",
                 affine ? "_nv_3_kl_8_batch_0" : "_nv_3_kl_16_batch_0",
                 true,
                 5,
                 ragged_n,
                 fast_k,
                 true,
                 false,
                 {2, up(ragged_n, affine ? 8 : 4), 1},
                 {32, 2, 1}});
}

// Partial results along k, summed here.
void add_quantized_split_k(Cases& cases, Mode mode) {
    const int parts = 4, m = 37, n = 64, k = parts * std::max(mode.group, 32) * 2;
    const std::string name = std::string(mode.name) + "_qmm_t_splitk_" + mode.suffix() + "_alN_true";
    cases.push_back({"quantized", name, "", [=](Session& session) {
                         Quantized w(mode, n, k);
                         Array x = random_array(mode.type, m * k, 6), partial(kF32, parts * m * n),
                               y(kF32, m * n);
                         std::vector<double> expected(y.size());
                         quantized_product(x, 0, w, 0, true, m, expected.data());
                         auto dispatch = session.kernel(name);
                         add_weights(dispatch, w, false);
                         dispatch.add(x).add(partial).add(k).add(n).add(m);
                         dispatch.add(k / parts).add(m * n);
                         dispatch.groups({up(n, 32), up(m, 32), parts}, {32, 2, 2});
                         for (int i = 0; i < m * n; ++i) {
                             double sum = 0;
                             for (int part = 0; part < parts; ++part) sum += partial.get(part * m * n + i);
                             y.set(i, sum);
                         }
                         session.near(y, expected, quantized_tolerance(mode.type));
                     }});
}

// y[i] = x[lhs[i]] * w[rhs[i]].
void add_quantized_gather(Cases& cases, Mode mode, const char* kernel, const char* after, bool transposed,
                          int m, Size3 groups, Size3 threads) {
    const std::string name = std::string(mode.name) + "_" + kernel + "_" + mode.suffix() + after;
    const bool takes_m = std::string(kernel).find("qmm") != std::string::npos;
    cases.push_back({"quantized", name, "", [=](Session& session) {
                         const int n = 128, k = 512, picks = 4;
                         Quantized w(mode, transposed ? n : k, transposed ? k : n, 3);
                         Array x = random_array(mode.type, size_t(3) * m * k, 7),
                               y(mode.type, size_t(picks) * m * n);
                         Array lhs = array_of(kU32, std::vector<int>{2, 0, 1, 2}),
                               rhs = array_of(kU32, std::vector<int>{1, 1, 0, 2});
                         std::vector<double> expected(y.size());
                         for (int i = 0; i < picks; ++i) {
                             quantized_product(x, size_t(lhs.get(i)) * m * k, w, int(rhs.get(i)), transposed,
                                               m, &expected[size_t(i) * m * n]);
                         }
                         auto dispatch = session.kernel(name);
                         add_weights(dispatch, w, true);
                         dispatch.add(x).add(lhs).add(rhs).add(y);
                         dispatch.add(k).add(n);
                         if (takes_m) dispatch.add(m);
                         const int64_t words = w.words_a_row(), in_groups = w.groups_a_row();
                         const std::vector<int64_t> scale_strides = {w.rows * in_groups, in_groups, 1};
                         dispatch.add(1);
                         dispatch.add(std::vector<int>{3, m, k});
                         dispatch.add(std::vector<int64_t>{int64_t(m) * k, k, 1});
                         dispatch.add(1);
                         dispatch.add(std::vector<int>{3, w.rows, int(words)});
                         dispatch.add(std::vector<int64_t>{w.rows * words, words, 1});
                         dispatch.add(scale_strides);
                         if (mode.affine()) dispatch.add(scale_strides);
                         dispatch.add(1).add(picks).add(int64_t{1}).add(int64_t{1});
                         dispatch.groups({groups.x, groups.y, picks}, threads);
                         session.near(y, expected, quantized_tolerance(mode.type));
                     }});
}

void add_gathers(Cases& cases, Mode mode) {
    add_quantized_gather(cases, mode, "gather_qmv", "", true, 1, {1, 16, 1}, {32, 2, 1});
    if (mode.bits != 1)
        add_quantized_gather(cases, mode, "gather_qmv_fast", "", true, 1, {1, 16, 1}, {32, 2, 1});
    add_quantized_gather(cases, mode, "gather_qvm", "", false, 1,
                         {1, up(128, 2 * std::min(mode.group, 32)), 1}, {32, 2, 1});
    add_quantized_gather(cases, mode, "gather_qmm_t", "_alN_true", true, 37, {4, 2, 1}, {32, 2, 2});
    add_quantized_gather(cases, mode, "gather_qmm_n", "", false, 37, {4, 2, 1}, {32, 2, 2});
    add_quantized_gather(cases, mode, "gather_qmm_t_nax", "_bm64_bn64_bk64_wm2_wn2_alN_true", true, 37,
                         {2, 1, 1}, {32, 2, 2});
}

// Rows of x come in groups; each group has a matrix.
void add_quantized_gather_rhs(Cases& cases, Mode mode, bool nax, bool transposed) {
    const int tile_m = nax ? 64 : 16, tile_n = nax ? 64 : 32;
    const std::string name = std::string(mode.name) + "_gather_qmm_rhs_" + (nax ? "nax_" : "") + "n" +
                             (transposed ? "t_" : "n_") + mode.suffix() +
                             (nax ? "_bm_64_bn_64_bk_64_wm_2_wn_2" : "_bm_16_bn_32_bk_32_wm_1_wn_2");
    cases.push_back({"quantized", name, "", [=](Session& session) {
                         const std::vector<int> starts = {0, 20, 20, 29, 77};
                         const int matrices = 4, m = 77, n = 128, k = 256;
                         Quantized w(mode, transposed ? n : k, transposed ? k : n, matrices);
                         Array x = random_array(mode.type, m * k, 8), y(mode.type, m * n),
                               offsets = array_of(kI32, starts);
                         std::vector<double> expected(y.size());
                         for (int g = 0; g < matrices; ++g) {
                             quantized_product(x, size_t(starts[g]) * k, w, g, transposed,
                                               starts[g + 1] - starts[g],
                                               expected.data() + size_t(starts[g]) * n);
                         }
                         auto dispatch = session.kernel(name, {{200, false}, {201, true}, {202, true}});
                         dispatch.add(x);
                         add_weights(dispatch, w, true);
                         dispatch.add(offsets).add(y).add(m).add(n).add(k).add(matrices);
                         dispatch.groups({up(n, tile_n), up(m, tile_m) + matrices, 1},
                                         nax ? Size3{32, 2, 2} : Size3{32, 2, 1});
                         session.near(y, expected, quantized_tolerance(mode.type));
                     }});
}

void add_dequantize(Cases& cases, Mode mode) {
    const std::string name =
        std::string(mode.name) + "_dequantize_" + mode.suffix() + (mode.affine() ? "" : "_hgs_false");
    cases.push_back(
        {"quantized", name, "", [=](Session& session) {
             const int rows = 9, columns = 256;
             Quantized w(mode, rows, columns);
             Array y(mode.type, rows * columns);
             std::vector<double> expected(y.size());
             for (int i = 0; i < rows * columns; ++i) expected[i] = w.get(0, i / columns, i % columns);
             auto dispatch = session.kernel(name);
             add_weights(dispatch, w, true);
             const int bits = mode.bits, values = bits == 3 || bits == 5 ? 8 : bits == 6 ? 4 : 8 / bits;
             dispatch.buffer(3, y).threads({uint32_t(rows * columns / values), 1, 1}, {256, 1, 1});
             session.near(y, expected, quantized_tolerance(mode.type));
         }});
}

// Quantizing loses at most half a step of each group; decoded here.
void add_quantize(Cases& cases, Mode mode) {
    const std::string name = "affine_quantize_" + mode.suffix();
    cases.push_back(
        {"quantized", name, "", [=](Session& session) {
             const int rows = 5, columns = 512;
             Quantized w(mode, rows, columns);
             // Values between two numbers only, for one bit; the format can hold no others.
             Array x = random_array(mode.type, rows * columns, 9);
             for (size_t i = 0; i < x.size() && mode.bits == 1; ++i) x.set(i, x.get(i) > 0 ? 1.5 : -0.5);
             session.kernel(name)
                 .buffer(0, x)
                 .buffer(1, w.words)
                 .buffer(2, w.scales)
                 .buffer(3, w.biases)
                 .threads({uint32_t(rows * columns / std::max(1, mode.group / 32)), 1, 1}, {256, 1, 1});
             Array steps(kF32, x.size());
             for (int i = 0; i < rows * columns; ++i) {
                 const double step = std::fabs(w.scales.get(i / mode.group));
                 const double decoded = w.get(0, i / columns, i % columns);
                 const double value = (decoded - w.biases.get(i / mode.group)) / w.scales.get(i / mode.group);
                 const double off = std::fabs(decoded - x.get(i)) / step;
                 // Rounding one end of the range to a step may cut off up to one at the other.
                 const bool at_end = value < 0.5 || value > (1 << mode.bits) - 1.5;
                 const double allowed = (at_end ? 1.02 : 0.52) + 8 * rounding(mode.type) * (1 << mode.bits);
                 steps.set(i, off < allowed ? 0 : off);
             }
             session.same(steps, std::vector<double>(x.size(), 0));
         }});
}

}  // namespace

Cases mlx_quantized_cases() {
    Cases cases;
    const Mode modes[] = {{"affine", 1, 64, kF32}, {"affine", 2, 64, kF16},   {"affine", 3, 64, kF32},
                          {"affine", 4, 64, kF16}, {"affine", 4, 128, kBf16}, {"affine", 5, 64, kF32},
                          {"affine", 6, 64, kF16}, {"affine", 8, 32, kF32},   {"mxfp4", 4, 32, kBf16},
                          {"mxfp4", 4, 32, kF16},  {"mxfp8", 8, 32, kF32},    {"nvfp4", 4, 16, kBf16}};
    for (const Mode& mode : modes) {
        add_products(cases, mode);
        add_quantized_split_k(cases, mode);
        add_gathers(cases, mode);
        add_dequantize(cases, mode);
        if (mode.affine()) add_quantize(cases, mode);
        for (const bool nax : {false, true}) {
            for (const bool transposed : {false, true})
                add_quantized_gather_rhs(cases, mode, nax, transposed);
        }
    }
    return cases;
}

}  // namespace ingot::metal::conformance

// MLX's kernels for models and signals: attention of one query row (vector) and of many (on 8x8 matrices and
// cooperative tensors), the gated delta rule, Fourier transforms, random bits.
#include <cmath>
#include <complex>

#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

struct AttentionProblem {
    Type type;
    int head_size, rows, keys;
    int heads = 4, key_heads = 2;

    float scale() const { return float(1 / std::sqrt(double(head_size))); }
    size_t num_queries() const { return size_t(heads) * rows * head_size; }
    size_t num_keys() const { return size_t(key_heads) * keys * head_size; }
};

// q[head][row][d], k and v[key head][key][d], mask[row][key] (nullptr: none), a sink for each head.
std::vector<double> softmax_attention(const AttentionProblem& p, const Array& q, const Array& k,
                                      const Array& v, const Array* mask, const Array& sinks) {
    const int d = p.head_size;
    std::vector<double> out(q.size());
    for (int hr = 0; hr < p.heads * p.rows; ++hr) {
        const int h = hr / p.rows, r = hr % p.rows;
        const size_t base = size_t(h / (p.heads / p.key_heads)) * p.keys;
        std::vector<double> weights(p.keys);
        double top = sinks.get(h), sum = 0;
        for (int i = 0; i < p.keys; ++i) {
            for (int j = 0; j < d; ++j)
                weights[i] += q.get(size_t(hr) * d + j) * k.get((base + i) * d + j) * p.scale();
            if (mask != nullptr) weights[i] += mask->get(size_t(r) * p.keys + i);
            top = std::max(top, weights[i]);
        }
        for (double& w : weights) sum += w = std::exp(w - top);
        sum += std::exp(sinks.get(h) - top);
        for (int i = 0; i < p.keys; ++i) {
            for (int j = 0; j < d; ++j)
                out[size_t(hr) * d + j] += weights[i] / sum * v.get((base + i) * d + j);
        }
    }
    return out;
}

double attention_rounding(Type type) {
    return 1e-4 + 3 * rounding(type);
}

void add_vector_form(Cases& cases, Type type, int d, int keys) {
    const std::string size = std::to_string(d),
                      name = "sdpa_vector_" + std::string(c_name(type)) + "_" + size + "_" + size;
    cases.push_back(
        {"attention", name, std::to_string(keys), [=](Session& session) {
             const AttentionProblem p{type, d, 2, keys};
             Array q = random_array(type, p.num_queries(), 51), k = random_array(type, p.num_keys(), 52),
                   v = random_array(type, p.num_keys(), 53), sinks = random_array(type, p.heads, 54),
                   mask(type, size_t(p.rows) * keys), out(type, q.size());
             const Array chosen = uniform_array(kF32, mask.size(), 55, 0, 1);
             for (size_t i = 0; i < mask.size(); ++i) mask.set(i, chosen.get(i) < 0.3 ? -INFINITY : 0);
             const ConstantMap constants = {{20, true}, {21, false}, {22, false},     {23, false},
                                            {24, true}, {25, true},  {26, int64_t{1}}};
             const uint64_t head_stride = uint64_t(keys) * d, row_stride = d;
             session.kernel(name, constants)
                 .add(q)
                 .add(k)
                 .add(v)
                 .add(out)
                 .add(p.heads / p.key_heads)
                 .add(keys)
                 .add(head_stride)
                 .add(row_stride)
                 .add(head_stride)
                 .add(row_stride)
                 .add(p.scale())
                 .skip()
                 .add(mask)
                 .add(1)
                 .add(keys)
                 .add(0)
                 .add(sinks)
                 .add(p.heads)
                 .groups({uint32_t(p.heads), uint32_t(p.rows), 1}, {1024, 1, 1});
             session.near(out, softmax_attention(p, q, k, v, &mask, sinks), attention_rounding(type));
         }});
}

// AttnParams and AttnMaskParams of the steel kernels.
struct AttentionParams {
    int batches, heads, head_size, rows, keys, group;
    float scale;
    int row_blocks, key_blocks, whole_row_blocks, whole_key_blocks, rest_rows, rest_keys, row_offset;
    int64_t q_strides[3], k_strides[3], v_strides[3], o_strides[3];
};
struct AttentionMaskParams {
    int64_t strides[3];
};

void add_matrix_form(Cases& cases, Type type, int d, int block_rows, int block_keys) {
    const std::string t(mlx_name(type)), size = std::to_string(d);
    const std::string name = "steel_attention_" + t + "_bq" + std::to_string(block_rows) + "_bk" +
                             std::to_string(block_keys) + "_bd" + size + "_bv" + size + "_wm4_wn1_mask" + t;
    cases.push_back(
        {"attention", name, "", [=](Session& session) {
             const AttentionProblem p{type, d, 75, 101};
             Array q = random_array(type, p.num_queries(), 61), k = random_array(type, p.num_keys(), 62),
                   v = random_array(type, p.num_keys(), 63), sinks = random_array(type, p.heads, 64),
                   mask(type, size_t(p.rows) * p.keys), out(type, q.size());
             const Array chosen = uniform_array(kF32, mask.size(), 65, 0, 1);
             for (size_t i = 0; i < mask.size(); ++i)
                 mask.set(i, chosen.get(i) < 0.3 ? -INFINITY : chosen.get(i));
             const int64_t row = d, plane = row * p.rows, key_plane = row * p.keys;
             const AttentionParams params{1,
                                          p.heads,
                                          d,
                                          p.rows,
                                          p.keys,
                                          p.heads / p.key_heads,
                                          p.scale(),
                                          (p.rows + block_rows - 1) / block_rows,
                                          (p.keys + block_keys - 1) / block_keys,
                                          p.rows / block_rows,
                                          p.keys / block_keys,
                                          p.rows % block_rows,
                                          p.keys % block_keys,
                                          0,
                                          {plane * p.heads, plane, row},
                                          {key_plane * p.key_heads, key_plane, row},
                                          {key_plane * p.key_heads, key_plane, row},
                                          {plane * p.heads, plane, row}};
             const AttentionMaskParams mask_params{{0, 0, p.keys}};
             session
                 .kernel(name,
                         {{200, false}, {201, false}, {300, true}, {301, false}, {302, true}, {303, false}})
                 .add(q)
                 .add(k)
                 .add(v)
                 .add(out)
                 .add(params)
                 .add(mask_params)
                 .add(mask)
                 .add(sinks)
                 .groups({uint32_t(params.row_blocks), uint32_t(p.heads), 1}, {32, 4, 1});
             session.near(out, softmax_attention(p, q, k, v, &mask, sinks), attention_rounding(type));
         }});
}

// state = state * g + k (x) (v - k . state) * beta; y = state . q.
void add_gated_delta(Cases& cases, Type type) {
    const std::string name = "seq_gated_delta_" + std::string(c_name(type)) + "_128_128_24_24_1";
    cases.push_back({"recurrence", name, "", [=](Session& session) {
                         const int d = 128, heads = 24, steps = 3;
                         Array q = random_array(type, steps * heads * d, 71, 0.1),
                               k = random_array(type, steps * heads * d, 72, 0.1),
                               v = random_array(type, steps * heads * d, 73),
                               g = uniform_array(type, steps * heads, 74, 0.5, 1),
                               beta = uniform_array(type, steps * heads, 75, 0, 1),
                               state = random_array(kF32, heads * d * d, 76), y(type, steps * heads * d),
                               final_state(kF32, state.size());
                         std::vector<double> s(state.size()), expected(y.size());
                         for (size_t i = 0; i < s.size(); ++i) s[i] = state.get(i);
                         for (int t = 0; t < steps; ++t) {
                             for (int row = 0; row < heads * d; ++row) {
                                 const int at = t * heads + row / d;
                                 double memory = 0, out = 0;
                                 for (int i = 0; i < d; ++i)
                                     memory +=
                                         (s[size_t(row) * d + i] *= g.get(at)) * k.get(size_t(at) * d + i);
                                 const double delta =
                                     (v.get(size_t(t) * heads * d + row) - memory) * beta.get(at);
                                 for (int i = 0; i < d; ++i)
                                     out += (s[size_t(row) * d + i] += k.get(size_t(at) * d + i) * delta) *
                                            q.get(size_t(at) * d + i);
                                 expected[size_t(t) * heads * d + row] = out;
                             }
                         }
                         session.kernel(name, {{200, false}})
                             .add(q)
                             .add(k)
                             .add(v)
                             .add(state)
                             .add(g)
                             .add(beta)
                             .add(y)
                             .add(final_state)
                             .add(steps)
                             .groups({1, d / 4, heads}, {32, 4, 1});
                         session.near(y, expected, 1e-4 + rounding(type));
                         session.near(final_state, s, 1e-5 + rounding(type));
                     }});
}

struct TransformRow {
    int n, radix, steps;
    uint32_t constant;  // of the number of steps of this radix
};

// n is a power of one radix; each thread takes `radix` elements.
void add_transform(Cases& cases, const TransformRow& row, bool inverse) {
    const int memory = row.n <= 256 ? 256 : row.n <= 512 ? 512 : 1024;
    const std::string name = "fft_mem_" + std::to_string(memory) + "_float2_float2";
    cases.push_back(
        {"fft", name, std::to_string(row.n) + (inverse ? "_inverse" : ""), [=](Session& session) {
             const int n = row.n, batch = 5, together = std::max(1, 256 / n), threads = n / row.radix;
             Array x = random_array(kComplex, size_t(2) * batch * n, 81), y(kComplex, x.size());
             std::vector<double> expected(x.size());
             for (int b = 0; b < batch; ++b) {
                 for (int f = 0; f < n; ++f) {
                     std::complex<double> sum = 0;
                     for (int i = 0; i < n; ++i) {
                         const size_t at = size_t(2) * (b * n + i);
                         const double turn = (inverse ? 2 : -2) * M_PI * double(int64_t{f} * i % n) / n;
                         sum += std::complex(x.get(at), x.get(at + 1)) * std::polar(1.0, turn);
                     }
                     if (inverse) sum /= n;
                     expected[size_t(2) * (b * n + f)] = sum.real();
                     expected[size_t(2) * (b * n + f) + 1] = sum.imag();
                 }
             }
             ConstantMap constants = {{0, inverse}, {1, (n & (n - 1)) == 0}, {2, int64_t{row.radix}}};
             for (uint32_t i = 3; i <= 21; ++i) constants[i] = int64_t{0};
             constants[22] = false;
             constants[row.constant] = int64_t{row.steps};
             session.kernel(name, constants)
                 .add(x)
                 .add(y)
                 .add(n)
                 .add(batch)
                 .groups({uint32_t((batch + together - 1) / together), 1, 1},
                         {1, uint32_t(together), uint32_t(threads)});
             session.near(y, expected, 2e-6);
         }});
}

// Threefry with two words and 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
std::pair<uint32_t, uint32_t> threefry(uint32_t key0, uint32_t key1, uint32_t a, uint32_t b) {
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t keys[3] = {key0, key1, key0 ^ key1 ^ 0x1BD11BDA};
    a += keys[0];
    b += keys[1];
    for (uint32_t round = 0; round < 5; ++round) {
        for (const int by : kRotations[round % 2]) {
            a += b;
            b = (b << by | b >> (32 - by)) ^ a;
        }
        a += keys[(round + 1) % 3];
        b += keys[(round + 2) % 3] + round + 1;
    }
    return {a, b};
}

void add_random_bits(Cases& cases) {
    cases.push_back({"random", "rbitsc", "", [](Session& session) {
                         const uint32_t keys = 3, half = 501;
                         Array key = random_bytes(size_t(8) * keys, 91), out(kU32, size_t(2) * keys * half);
                         std::vector<double> expected(out.size());
                         for (uint32_t k = 0; k < keys; ++k) {
                             const uint32_t* words = key.as<uint32_t>() + 2 * k;
                             for (uint32_t i = 0; i < half; ++i) {
                                 const auto [a, b] = threefry(words[0], words[1], i, i + half);
                                 expected[size_t(2) * k * half + i] = a;
                                 expected[size_t(2) * k * half + half + i] = b;
                             }
                         }
                         session.kernel("rbitsc")
                             .add(key)
                             .add(out)
                             .add(false)
                             .add(uint64_t{8} * half)
                             .threads({keys, half, 1}, {1, 256, 1});
                         session.same(out, expected);
                     }});
}

}  // namespace

Cases mlx_model_cases() {
    Cases cases;
    for (const Type type : {kF32, kF16, kBf16}) {
        for (const int d : {64, 96, 128, 256}) add_vector_form(cases, type, d, d == 64 ? 77 : 200);
        // On 8x8 matrices and on cooperative tensors.
        for (const int d : {64, 80, 96, 128}) add_matrix_form(cases, type, d, 32, d == 128 ? 16 : 32);
        for (const int d : {64, 96, 128, 256}) add_matrix_form(cases, type, d, 64, 32);
        add_gated_delta(cases, type);
    }
    for (const TransformRow& row : {TransformRow{64, 4, 3, 10},
                                    {256, 4, 4, 10},
                                    {512, 8, 3, 6},
                                    {243, 3, 5, 11},
                                    {125, 5, 3, 9},
                                    {216, 6, 3, 8},
                                    {343, 7, 3, 7},
                                    {121, 11, 2, 5},
                                    {169, 13, 2, 4}}) {
        add_transform(cases, row, false);
        add_transform(cases, row, true);
    }
    add_random_bits(cases);
    return cases;
}

}  // namespace ingot::metal::conformance

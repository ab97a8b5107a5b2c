#include "tile/library.h"

#include <cmath>
#include <limits>

namespace ingot::tile::testing {
namespace {

using Vector = std::vector<double>;

// C[m, n] = A[m, k] @ B, B as [k, n] or, transposed, [n, k].
Vector multiply(const Vector& a, const Vector& b, int64_t m, int64_t n, int64_t k, bool b_transposed) {
    Vector c(size_t(m * n));
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
            for (int64_t l = 0; l < k; ++l)
                c[size_t(i * n + j)] +=
                    a[size_t(i * k + l)] * b[size_t(b_transposed ? j * k + l : l * n + j)];
    return c;
}

Results gemm(const Arguments& x) {
    const int64_t m = x.dims.at("m"), n = x.dims.at("n"), k = x.dims.at("k");
    return {{"C", multiply(x.tensors.at("A"), x.tensors.at("B"), m, n, k, false)}};
}

Results batched(const Arguments& x) {
    const int64_t b = x.dims.at("batches"), m = x.dims.at("m"), n = x.dims.at("n"), k = x.dims.at("k");
    const Vector &A = x.tensors.at("A"), &B = x.tensors.at("B");
    Vector c;
    for (int64_t i = 0; i < b; ++i) {
        const Vector one = multiply({A.begin() + i * m * k, A.begin() + (i + 1) * m * k},
                                    {B.begin() + i * n * k, B.begin() + (i + 1) * n * k}, m, n, k, true);
        c.insert(c.end(), one.begin(), one.end());
    }
    return {{"C", c}};
}

Results bias_gelu(const Arguments& x) {
    Results r = gemm(x);
    const int64_t n = x.dims.at("n");
    for (size_t i = 0; i < r["C"].size(); ++i) {
        const double v = r["C"][i] + x.tensors.at("bias")[i % size_t(n)];
        r["C"][i] = 0.5 * v * (1 + std::erf(v * 0.70710678));
    }
    return r;
}

Results gemv(const Arguments& x) {
    return {{"y", multiply(x.tensors.at("A"), x.tensors.at("x"), x.dims.at("m"), 1, x.dims.at("k"), false)}};
}

// Calls f(row begin, row length, out row begin) for each row of an [m, n] tensor.
Results by_row(const Arguments& x, const std::string& in, const std::string& out,
               const std::function<void(const double*, int64_t, double*)>& f) {
    const int64_t m = x.dims.at("m"), n = x.dims.at("n");
    Vector y(size_t(m * n));
    for (int64_t i = 0; i < m; ++i) f(x.tensors.at(in).data() + i * n, n, y.data() + i * n);
    return {{out, y}};
}

Results softmax(const Arguments& x) {
    return by_row(x, "X", "Y", [](const double* in, int64_t n, double* out) {
        double high = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t j = 0; j < n; ++j) high = std::max(high, in[j]);
        for (int64_t j = 0; j < n; ++j) sum += std::exp(in[j] - high);
        for (int64_t j = 0; j < n; ++j) out[j] = std::exp(in[j] - high) / sum;
    });
}

Results rms_norm(const Arguments& x) {
    return by_row(x, "X", "Y", [&](const double* in, int64_t n, double* out) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) sum += in[j] * in[j];
        for (int64_t j = 0; j < n; ++j)
            out[j] =
                in[j] / std::sqrt(sum / double(n) + x.scalars.at("eps")) * x.tensors.at("gain")[size_t(j)];
    });
}

Results layer_norm(const Arguments& x) {
    return by_row(x, "X", "Y", [&](const double* in, int64_t n, double* out) {
        double mean = 0, spread = 0;
        for (int64_t j = 0; j < n; ++j) mean += in[j] / double(n);
        for (int64_t j = 0; j < n; ++j) spread += (in[j] - mean) * (in[j] - mean);
        for (int64_t j = 0; j < n; ++j)
            out[j] = (in[j] - mean) / std::sqrt(spread / double(n) + x.scalars.at("eps")) *
                         x.tensors.at("gain")[size_t(j)] +
                     x.tensors.at("bias")[size_t(j)];
    });
}

Results transpose(const Arguments& x) {
    const int64_t m = x.dims.at("m"), n = x.dims.at("n");
    Vector y(size_t(m * n));
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) y[size_t(j * m + i)] = x.tensors.at("X")[size_t(i * n + j)];
    return {{"Y", y}};
}

Results row_reduce(const Arguments& x) {
    const int64_t m = x.dims.at("m"), n = x.dims.at("n");
    Results r{
        {"total", Vector(size_t(m))}, {"high", Vector(size_t(m), -INFINITY)}, {"size", Vector(size_t(m))}};
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            const double v = x.tensors.at("X")[size_t(i * n + j)];
            r["total"][size_t(i)] += v;
            r["high"][size_t(i)] = std::max(r["high"][size_t(i)], v);
            r["size"][size_t(i)] = std::max(r["size"][size_t(i)], std::abs(v));
        }
    return r;
}

Results rope(const Arguments& x) {
    const int64_t tokens = x.dims.at("tokens"), heads = x.dims.at("heads"), d = x.dims.at("d");
    Vector y(size_t(tokens * heads * d));
    for (int64_t t = 0; t < tokens; ++t)
        for (int64_t h = 0; h < heads; ++h)
            for (int64_t i = 0; i < d / 2; ++i) {
                const size_t at = size_t((t * heads + h) * d + i), other = at + size_t(d / 2);
                const double angle = x.tensors.at("positions")[size_t(t)] *
                                     std::pow(x.scalars.at("base"), -2.0 * double(i) / double(d));
                const double a = x.tensors.at("X")[at], b = x.tensors.at("X")[other];
                y[at] = a * std::cos(angle) - b * std::sin(angle);
                y[other] = a * std::sin(angle) + b * std::cos(angle);
            }
    return {{"Y", y}};
}

std::function<Results(const Arguments&)> attention(int64_t d) {
    return [d](const Arguments& x) {
        const int64_t queries = x.dims.at("queries"), keys = x.dims.at("keys"), heads = x.dims.at("heads"),
                      kv_heads = x.dims.at("kv_heads");
        Vector o(size_t(heads * queries * d));
        for (int64_t h = 0; h < heads; ++h)
            for (int64_t q = 0; q < queries; ++q) {
                const int64_t kv = h * kv_heads / heads,
                              visible = std::clamp(q + keys - queries + 1, int64_t{0}, keys);
                Vector p(static_cast<size_t>(visible));
                double high = -INFINITY, sum = 0;
                for (int64_t j = 0; j < visible; ++j) {
                    double dot = 0;
                    for (int64_t i = 0; i < d; ++i)
                        dot += x.tensors.at("Q")[size_t((h * queries + q) * d + i)] *
                               x.tensors.at("K")[size_t((kv * keys + j) * d + i)];
                    p[size_t(j)] = dot / std::sqrt(double(d));
                    high = std::max(high, p[size_t(j)]);
                }
                for (double& v : p) sum += v = std::exp(v - high);
                for (int64_t j = 0; j < visible; ++j)
                    for (int64_t i = 0; i < d; ++i)
                        o[size_t((h * queries + q) * d + i)] +=
                            p[size_t(j)] / sum * x.tensors.at("V")[size_t((kv * keys + j) * d + i)];
            }
        return Results{{"O", o}};
    };
}

Results swiglu(const Arguments& x) {
    Vector y;
    for (size_t i = 0; i < x.tensors.at("gate").size(); ++i) {
        const double g = x.tensors.at("gate")[i];
        y.push_back(g / (1 + std::exp(-g)) * x.tensors.at("up")[i]);
    }
    return {{"y", y}};
}

Results prefix_sum(const Arguments& x) {
    return by_row(x, "X", "Y", [](const double* in, int64_t n, double* out) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) out[j] = sum += in[j];
    });
}

Results histogram(const Arguments& x) {
    Vector h = x.tensors.at("H");
    for (const double v : x.tensors.at("A")) h[size_t(v)] += 1;
    return {{"H", h}};
}

Results conv2d(const Arguments& x) {
    const int64_t h = x.dims.at("h"), w = x.dims.at("w"), c = x.dims.at("c"), f = x.dims.at("f");
    Vector y(size_t(h * w * f));
    for (int64_t r = 0; r < h; ++r)
        for (int64_t s = 0; s < w; ++s)
            for (int64_t o = 0; o < f; ++o)
                for (int64_t dy = 0; dy < 3; ++dy)
                    for (int64_t dx = 0; dx < 3; ++dx)
                        for (int64_t i = 0; i < c; ++i) {
                            const int64_t rr = r + dy - 1, ss = s + dx - 1;
                            if (rr < 0 || rr >= h || ss < 0 || ss >= w) continue;
                            y[size_t((r * w + s) * f + o)] +=
                                x.tensors.at("X")[size_t((rr * w + ss) * c + i)] *
                                x.tensors.at("W")[size_t(((dy * 3 + dx) * c + i) * f + o)];
                        }
    return {{"Y", y}};
}

// --- quantized weights: blocks of random bits whose scales are tame, and their meaning in plain loops

struct Quant {
    int64_t block_bytes, block_values;
    std::vector<int64_t> scales;                          // where halves lie
    std::function<double(const double*, int64_t)> value;  // of value i of a block of bytes
};

double half_at(const double* b, int64_t at) {
    return from_bits(DType::kF16, uint32_t(b[at]) | uint32_t(b[at + 1]) << 8);
}
int bits_at(const double* b, int64_t at) {
    return int(b[at]);
}
int signed_at(const double* b, int64_t at) {
    return b[at] > 127 ? int(b[at]) - 256 : int(b[at]);
}

Quant q4_0() {
    return {18, 32, {0}, [](const double* b, int64_t i) {
                const int byte = bits_at(b, 2 + i % 16);
                return ((i < 16 ? byte & 15 : byte >> 4) - 8) * half_at(b, 0);
            }};
}
Quant q4_1() {
    return {20, 32, {0, 2}, [](const double* b, int64_t i) {
                const int byte = bits_at(b, 4 + i % 16);
                return (i < 16 ? byte & 15 : byte >> 4) * half_at(b, 0) + half_at(b, 2);
            }};
}
Quant q8_0() {
    return {34, 32, {0}, [](const double* b, int64_t i) { return signed_at(b, 2 + i) * half_at(b, 0); }};
}
Quant q4_k() {
    return {144, 256, {0, 2}, [](const double* b, int64_t i) {
                const int64_t g = i / 32;
                const auto s = [&](int64_t j) { return bits_at(b, 4 + j); };
                const int scale = g < 4 ? s(g) & 63 : (s(g + 4) & 15) | (s(g - 4) >> 6) << 4;
                const int least = g < 4 ? s(g + 4) & 63 : (s(g + 4) >> 4) | (s(g) >> 6) << 4;
                const int byte = bits_at(b, 16 + g / 2 * 32 + i % 32);
                return half_at(b, 0) * scale * (g % 2 == 0 ? byte & 15 : byte >> 4) - half_at(b, 2) * least;
            }};
}
Quant q6_k() {
    return {210, 256, {208}, [](const double* b, int64_t i) {
                const int64_t half = i / 128, quarter = i % 128 / 32, l = i % 32;
                const int low = bits_at(b, half * 64 + (quarter % 2) * 32 + l);
                const int high = bits_at(b, 128 + half * 32 + l) >> (2 * quarter) & 3;
                const int q = (quarter < 2 ? low & 15 : low >> 4) | high << 4;
                return half_at(b, 208) * signed_at(b, 192 + i / 16) * (q - 32);
            }};
}

LibraryCase quantized(const std::string& name, const Quant& q, double tolerance) {
    const int64_t depth = std::max<int64_t>(64, q.block_values);
    LibraryCase c{"gemm_" + name,
                  {{{"m", 32}, {"n", 32}, {"k", depth}},
                   {{"m", 33}, {"n", 35}, {"k", 2 * depth}},
                   {{"m", 1}, {"n", 7}, {"k", depth}}},
                  {},
                  tolerance,
                  {},
                  {}};
    c.prepare = [q](Arguments& x) {
        Vector& w = x.tensors.at("W");
        std::mt19937 generator(7);
        for (double& b : w) b = double(generator() & 255);
        for (size_t block = 0; block < w.size(); block += size_t(q.block_bytes))
            for (const int64_t at : q.scales) {
                const uint32_t bits = to_bits(DType::kF16, 0.002 + double(generator() % 100) * 1e-5);
                w[block + size_t(at)] = bits & 255, w[block + size_t(at) + 1] = bits >> 8;
            }
        if (q.block_bytes == 210)  // scales of 6-bit blocks: keep products small
            for (size_t block = 0; block < w.size(); block += 210)
                for (size_t s = 192; s < 208; ++s)
                    w[block + s] = double((generator() % 16) + (generator() % 2) * 240);
    };
    c.reference = [q](const Arguments& x) {
        const int64_t m = x.dims.at("m"), n = x.dims.at("n"), k = x.dims.at("k");
        const int64_t row = k / q.block_values * q.block_bytes;
        Vector w(size_t(n * k));
        for (int64_t j = 0; j < n; ++j)
            for (int64_t l = 0; l < k; ++l)
                w[size_t(j * k + l)] =
                    q.value(x.tensors.at("W").data() + j * row + l / q.block_values * q.block_bytes,
                            l % q.block_values);
        return Results{{"C", multiply(x.tensors.at("A"), w, m, n, k, true)}};
    };
    return c;
}

}  // namespace

std::vector<LibraryCase> library_cases() {
    const std::vector<Sizes> products = {{{"m", 64}, {"n", 128}, {"k", 64}},
                                         {{"m", 100}, {"n", 72}, {"k", 40}},
                                         {{"m", 33}, {"n", 35}, {"k", 37}},
                                         {{"m", 1}, {"n", 1}, {"k", 1}},
                                         {{"m", 65}, {"n", 129}, {"k", 0}}};
    const std::vector<Sizes> rows = {{{"m", 8}, {"n", 256}}, {{"m", 5}, {"n", 300}}, {{"m", 3}, {"n", 7}}};
    const std::vector<Sizes> heads = {{{"queries", 32}, {"keys", 32}, {"heads", 2}, {"kv_heads", 1}},
                                      {{"queries", 37}, {"keys", 53}, {"heads", 4}, {"kv_heads", 2}},
                                      {{"queries", 1}, {"keys", 72}, {"heads", 3}, {"kv_heads", 3}},
                                      {{"queries", 70}, {"keys", 5}, {"heads", 2}, {"kv_heads", 1}}};
    // Tolerances: half products sum to a few units of k * 2^-11 of what they cast (outputs in half, tiles in
    // half).
    return {
        {"gemm", products, {}, 1e-4, {}, gemm},
        {"gemm_direct", products, {}, 1e-2, {}, gemm},
        {"gemm_shared", products, {}, 1e-4, {}, gemm},
        {"batched_gemm",
         {{{"batches", 2}, {"m", 32}, {"n", 32}, {"k", 32}},
          {{"batches", 3}, {"m", 33}, {"n", 17}, {"k", 50}},
          {{"batches", 1}, {"m", 1}, {"n", 40}, {"k", 8}}},
         {},
         1e-4,
         {},
         batched},
        {"gemm_bias_gelu", products, {}, 1e-1, {}, bias_gelu},
        {"gemv", {{{"m", 8}, {"k", 256}}, {{"m", 13}, {"k", 300}}, {{"m", 1}, {"k", 5}}}, {}, 1e-4, {}, gemv},
        {"softmax", rows, {}, 1e-5, {}, softmax},
        {"rms_norm", rows, {{"eps", 1e-5}}, 1e-4, {}, rms_norm},
        {"layer_norm", rows, {{"eps", 1e-5}}, 1e-4, {}, layer_norm},
        {"transpose",
         {{{"m", 32}, {"n", 64}}, {{"m", 33}, {"n", 7}}, {{"m", 1}, {"n", 50}}},
         {},
         0,
         {},
         transpose},
        {"row_reduce", rows, {}, 1e-4, {}, row_reduce},
        {"rope",
         {{{"tokens", 4}, {"heads", 2}, {"d", 64}},
          {{"tokens", 3}, {"heads", 3}, {"d", 10}},
          {{"tokens", 1}, {"heads", 1}, {"d", 128}}},
         {{"base", 10000}},
         2e-4,
         {},
         rope},
        {"attention_64", heads, {}, 2e-3, {}, attention(64)},
        {"attention_128", heads, {}, 2e-3, {}, attention(128)},
        {"swiglu", {{{"n", 512}}, {{"n", 700}}, {{"n", 1}}}, {}, 1e-6, {}, swiglu},
        {"prefix_sum",
         {{{"m", 32}, {"n", 64}}, {{"m", 33}, {"n", 100}}, {{"m", 1}, {"n", 5}}},
         {},
         1e-4,
         {},
         prefix_sum},
        {"histogram",
         {{{"n", 1024}}, {{"n", 1500}}, {{"n", 3}}},
         {},
         0,
         [](Arguments& x) {
             for (double& v : x.tensors.at("A")) v = double(int64_t(v) % 32);
         },
         histogram},
        {"conv2d",
         {{{"h", 8}, {"w", 8}, {"c", 8}, {"f", 32}},
          {{"h", 5}, {"w", 7}, {"c", 3}, {"f", 10}},
          {{"h", 1}, {"w", 1}, {"c", 1}, {"f", 1}}},
         {},
         1e-4,
         {},
         conv2d},
        quantized("q4_0", q4_0(), 2e-3),
        quantized("q4_1", q4_1(), 2e-3),
        quantized("q8_0", q8_0(), 2e-2),
        quantized("q4_k", q4_k(), 2e-1),
        quantized("q6_k", q6_k(), 2e-1),
    };
}

Arguments arguments_for(const Kernel& k, const LibraryCase& c, const Sizes& sizes) {
    Arguments x{sizes, c.scalars, {}};
    uint32_t seed = 1;
    for (const BufferId b : k.tensors()) {
        if (k[b].role == Role::kOut) continue;
        const auto count = tensor_elements(k, b, sizes);
        EXPECT_TRUE(count);
        x.tensors[k[b].name] = numbers(*count, k[b].type, seed++);
    }
    if (c.prepare) c.prepare(x);
    return x;
}

double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size()) return INFINITY;
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
        const double d = std::abs(a[i] - b[i]);
        worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    }
    return worst;
}

}  // namespace ingot::tile::testing

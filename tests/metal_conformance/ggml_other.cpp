// ggml's kernels beside the matrix products: norms with what is fused to them, softmax, rope, gated units,
// sorting, state space and delta rules, triangular solve. Constants and launches are those of the package's
// host code.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "metal_conformance/ggml_support.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

constexpr double kOtherTolerance = 1e-5;

// norm and rms_norm, alone, times a gain, times a gain plus a bias; of floats and of vectors of four.
void add_ggml_norms(Cases& cases) {
    for (const bool centred : {false, true}) {
        for (const int fused : {0, 1, 2}) {
            for (const bool by_four : {false, true}) {
                const std::string name = std::string("norm/kernel_") + (centred ? "norm" : "rms_norm") +
                                         (fused > 0 ? "_mul" : "") + (fused > 1 ? "_add" : "") + "_f32" +
                                         (by_four ? "_4" : "");
                cases.push_back({"norm", name, "", [=](Session& session) {
                                     const int n = by_four ? 1024 : 333, rows = 5;
                                     Array x = random_array(kF32, n * rows, 1), w = random_array(kF32, n, 2),
                                           b = random_array(kF32, n, 3), y(kF32, n * rows);
                                     std::vector<double> expected(y.size());
                                     for (int r = 0; r < rows; ++r) {
                                         double mean = 0, square = 0;
                                         for (int i = 0; i < n && centred; ++i) mean += x.get(r * n + i) / n;
                                         for (int i = 0; i < n; ++i)
                                             square += std::pow(x.get(r * n + i) - mean, 2) / n;
                                         for (int i = 0; i < n; ++i) {
                                             const double v =
                                                 (x.get(r * n + i) - mean) / std::sqrt(square + 1e-5);
                                             expected[r * n + i] =
                                                 (fused > 0 ? v * w.get(i) : v) + (fused > 1 ? b.get(i) : 0);
                                         }
                                     }
                                     const double all = 4.0 * n * rows, row = 4.0 * n;
                                     const auto arguments = ggml_arguments(
                                         "norm", {{"ne00", n},      {"ne00_t", by_four ? n / 4 : n},
                                                  {"nb1", row},     {"nb2", all},
                                                  {"nb3", all},     {"eps", 1e-5},
                                                  {"nef1.0", rows}, {"nef1.1", 1},
                                                  {"nef1.2", 1},    {"nef2.0", 1},
                                                  {"nef2.1", 1},    {"nef2.2", 1},
                                                  {"nef3.0", 1},    {"nef3.1", 1},
                                                  {"nef3.2", 1},    {"nbf1.0", row},
                                                  {"nbf1.1", row},  {"nbf1.2", row},
                                                  {"nbf2.0", all},  {"nbf2.1", row},
                                                  {"nbf2.2", row},  {"nbf3.0", all},
                                                  {"nbf3.1", row},  {"nbf3.2", row},
                                                  {"scale", 1}});
                                     session.kernel(name, {{1700, false}})
                                         .add(arguments)
                                         .add(x)
                                         .add(w)
                                         .add(b)
                                         .add(y)
                                         .threadgroup(0, 128)
                                         .groups({rows, 1, 1}, {128, 1, 1});
                                     session.near(y, expected, kOtherTolerance);
                                 }});
            }
        }
    }
}

void add_ggml_softmax(Cases& cases) {
    for (const bool half_mask : {false, true}) {
        for (const bool by_four : {false, true}) {
            const std::string name =
                std::string("softmax/kernel_soft_max_") + (half_mask ? "f16" : "f32") + (by_four ? "_4" : "");
            cases.push_back({"softmax", name, "", [=](Session& session) {
                                 const int n = by_four ? 1000 : 333, rows = 3, heads = 2;
                                 const Type mask_type = half_mask ? kF16 : kF32;
                                 Array x = random_array(kF32, heads * rows * n, 4), mask(mask_type, rows * n),
                                       sinks = random_array(kF32, heads, 5), y(kF32, x.size());
                                 const Array chosen = random_array(kF32, rows * n, 6);
                                 for (size_t i = 0; i < mask.size(); ++i)
                                     mask.set(i, chosen.get(i) > 0.5 ? -10000 : 0);
                                 std::vector<double> expected(y.size());
                                 for (int r = 0; r < heads * rows; ++r) {
                                     double top = sinks.get(r / rows), sum = 0;
                                     const auto value = [&](int i) {
                                         return x.get(r * n + i) * 0.3f + mask.get(r % rows * n + i);
                                     };
                                     for (int i = 0; i < n; ++i) top = std::max(top, value(i));
                                     for (int i = 0; i < n; ++i)
                                         sum += expected[r * n + i] = std::exp(value(i) - top);
                                     sum += std::exp(sinks.get(r / rows) - top);
                                     for (int i = 0; i < n; ++i) expected[r * n + i] /= sum;
                                 }
                                 const double row = 4.0 * n, m = double(size_bytes(mask_type)) * n;
                                 const auto arguments =
                                     ggml_arguments("soft_max", {{"ne00", n},
                                                                 {"ne01", rows},
                                                                 {"ne02", heads},
                                                                 {"nb01", row},
                                                                 {"nb02", row * rows},
                                                                 {"nb03", row * rows * heads},
                                                                 {"ne11", rows},
                                                                 {"ne12", 1},
                                                                 {"ne13", 1},
                                                                 {"nb11", m},
                                                                 {"nb12", m * rows},
                                                                 {"nb13", m * rows},
                                                                 {"nb1", row},
                                                                 {"nb2", row * rows},
                                                                 {"nb3", row * rows * heads},
                                                                 {"scale", 0.3},
                                                                 {"m0", 1},
                                                                 {"m1", 1},
                                                                 {"n_head_log2", 2}});
                                 session.kernel(name)
                                     .add(arguments)
                                     .add(x)
                                     .add(mask)
                                     .add(sinks)
                                     .add(y)
                                     .threadgroup(0, 128)
                                     .groups({rows, heads, 1}, {256, 1, 1});
                                 session.near(y, expected, kOtherTolerance);
                             }});
        }
    }
}

void add_rope(Cases& cases) {
    for (const bool neox : {false, true}) {
        for (const Type type : {kF32, kF16}) {
            const std::string name = std::string("rope/kernel_rope_") + (neox ? "neox" : "norm") +
                                     (type == kF32 ? "_f32" : "_f16");
            cases.push_back(
                {"rope", name, "", [=](Session& session) {
                     const int d = 128, heads = 4, tokens = 6;
                     Array x = random_array(type, tokens * heads * d, 7), positions(kI32, tokens),
                           y(type, x.size());
                     std::vector<double> expected(y.size());
                     for (int t = 0; t < tokens; ++t) positions.set(t, 3 + t);
                     for (int row = 0; row < tokens * heads; ++row) {
                         for (int i = 0; i < d / 2; ++i) {
                             const double angle = (3 + row / heads) * std::pow(10000.0, -2.0 * i / d);
                             const int a = row * d + (neox ? i : 2 * i), b = neox ? a + d / 2 : a + 1;
                             expected[a] = x.get(a) * std::cos(angle) - x.get(b) * std::sin(angle);
                             expected[b] = x.get(a) * std::sin(angle) + x.get(b) * std::cos(angle);
                         }
                     }
                     const double e = double(size_bytes(type)), row = e * d;
                     const auto arguments = ggml_arguments("rope", {{"ne00", d},
                                                                    {"ne01", heads},
                                                                    {"ne02", tokens},
                                                                    {"ne03", 1},
                                                                    {"nb00", e},
                                                                    {"nb01", row},
                                                                    {"nb02", row * heads},
                                                                    {"nb03", row * heads * tokens},
                                                                    {"ne0", d},
                                                                    {"ne1", heads},
                                                                    {"ne2", tokens},
                                                                    {"ne3", 1},
                                                                    {"nb0", e},
                                                                    {"nb1", row},
                                                                    {"nb2", row * heads},
                                                                    {"nb3", row * heads * tokens},
                                                                    {"n_dims", d},
                                                                    {"n_ctx_orig", 4096},
                                                                    {"freq_base", 10000},
                                                                    {"freq_scale", 1},
                                                                    {"attn_factor", 1},
                                                                    {"beta_fast", 32},
                                                                    {"beta_slow", 1}});
                     session.kernel(name, {{800, false}, {801, false}})
                         .add(arguments)
                         .add(x)
                         .add(positions)
                         .add(x)
                         .add(y)
                         .groups({heads, tokens, 1}, {64, 1, 1});
                     session.near(y, expected, 1e-4 + rounding(type));
                 }});
        }
    }
}

struct GatedRow {
    const char* name;
    double (*gate)(double);
    double tolerance;
};

void add_gated_units(Cases& cases) {
    static const GatedRow rows[] = {
        {"reglu", [](double x) { return std::max(x, 0.0); }, 1e-6},
        {"swiglu", [](double x) { return x / (1 + std::exp(-x)); }, 1e-6},
        {"geglu",
         [](double x) {
             return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * x * (1 + 0.044715 * x * x)));
         },
         1e-5},
        {"geglu_erf", [](double x) { return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440)); }, 1e-5},
        {"geglu_quick", [](double x) { return x / (1 + std::exp(-1.702 * x)); }, 1e-5},
    };
    for (const GatedRow& row : rows) {
        const std::string name = std::string("unary/kernel_") + row.name + "_f32";
        cases.push_back({"glu", name, "", [=](Session& session) {
                             const int n = 300, count = 3;
                             Array x = random_array(kF32, n * count, 8), g = random_array(kF32, n * count, 9),
                                   y(kF32, n * count);
                             std::vector<double> expected(y.size());
                             for (int i = 0; i < n * count; ++i) expected[i] = row.gate(x.get(i)) * g.get(i);
                             session.kernel(name)
                                 .add(ggml_arguments("glu", {{"ne00", n},
                                                             {"nb01", 4 * n},
                                                             {"ne10", n},
                                                             {"nb11", 4 * n},
                                                             {"ne0", n},
                                                             {"nb1", 4 * n},
                                                             {"alpha", 1.702},
                                                             {"limit", 7}}))
                                 .add(x)
                                 .add(g)
                                 .add(y)
                                 .groups({count, 1, 1}, {64, 1, 1});
                             session.near(y, expected, row.tolerance);
                         }});
    }
}

void add_sorting(Cases& cases) {
    for (const bool descending : {false, true}) {
        const std::string name =
            std::string("argsort/kernel_argsort_f32_i32_") + (descending ? "desc" : "asc");
        cases.push_back({"argsort", name, "", [=](Session& session) {
                             const int n = 200, rows = 3;
                             Array x = random_array(kF32, n * rows, 10), y(kI32, n * rows);
                             std::vector<double> expected(y.size());
                             for (int r = 0; r < rows; ++r) {
                                 std::vector<int> order(n);
                                 std::iota(order.begin(), order.end(), 0);
                                 std::ranges::sort(order, {}, [&](int i) {
                                     return descending ? -x.get(r * n + i) : x.get(r * n + i);
                                 });
                                 std::ranges::copy(order, expected.begin() + r * n);
                             }
                             session.kernel(name)
                                 .add(ggml_arguments("argsort", {{"ne00", n},
                                                                 {"ne01", rows},
                                                                 {"ne02", 1},
                                                                 {"ne03", 1},
                                                                 {"nb00", 4},
                                                                 {"nb01", 4 * n},
                                                                 {"nb02", 4 * n * rows},
                                                                 {"nb03", 4 * n * rows},
                                                                 {"ne0", n},
                                                                 {"ne1", rows},
                                                                 {"ne2", 1},
                                                                 {"ne3", 1},
                                                                 {"top_k", n}}))
                                 .add(x)
                                 .add(y)
                                 .threadgroup(0, 1024)
                                 .groups({rows, 1, 1}, {256, 1, 1});
                             session.same(y, expected);
                         }});
    }
    cases.push_back(
        {"argsort", "argsort/kernel_topk_moe_f32", "", [](Session& session) {
             const int n = 128, rows = 6, k = 8;
             Array x = random_array(kF32, n * rows, 11), weights(kF32, k * rows), ids(kI32, n * rows);
             std::vector<double> chosen(rows * k), expected(rows * k);
             for (int r = 0; r < rows; ++r) {
                 std::vector<int> order(n);
                 std::iota(order.begin(), order.end(), 0);
                 std::ranges::sort(order, {}, [&](int i) { return -x.get(r * n + i); });
                 double sum = 0;
                 for (int i = 0; i < k; ++i) sum += std::exp(x.get(r * n + order[i]));
                 for (int i = 0; i < k; ++i) {
                     chosen[r * k + i] = order[i];
                     expected[r * k + i] = 2.5 * std::exp(x.get(r * n + order[i])) / sum;
                 }
             }
             session
                 .kernel("argsort/kernel_topk_moe_f32",
                         {{1800, true}, {1801, int64_t{n}}, {1802, int64_t{k}}})
                 .add(ggml_arguments(
                     "topk_moe",
                     {{"ne01", rows}, {"nb01", 4 * n}, {"nb1_ids", 4 * n}, {"clamp", 1e-6}, {"scale", 2.5}}))
                 .add(x)
                 .add(weights)
                 .add(ids)
                 .groups({rows, 1, 1}, {32, 1, 1});
             Array picked(kI32, rows * k);
             for (int i = 0; i < rows * k; ++i) picked.set(i, ids.get(i / k * n + i % k));
             session.same(picked, chosen);
             session.near(weights, expected, kOtherTolerance);
         }});
}

void add_recurrences(Cases& cases) {
    cases.push_back(
        {"recurrence", "gated_delta_net/kernel_gated_delta_net_f32_4", "", [](Session& session) {
             const int d = 128, heads = 2, tokens = 5;
             Array q = random_array(kF32, tokens * d, 12, 0.1), k = random_array(kF32, tokens * d, 13, 0.1),
                   v = random_array(kF32, tokens * heads * d, 14),
                   gate = random_array(kF32, tokens * heads, 15),
                   beta = uniform_array(kF32, tokens * heads, 16, 0, 1),
                   state = random_array(kF32, heads * d * d, 17),
                   out(kF32, tokens * heads * d + heads * d * d);
             for (size_t i = 0; i < gate.size(); ++i) gate.set(i, -std::fabs(gate.get(i)));
             std::vector<double> expected(out.size());
             double* s = expected.data() + tokens * heads * d;  // the final state follows the outputs
             for (int i = 0; i < heads * d * d; ++i) s[i] = state.get(i);
             for (int t = 0; t < tokens; ++t) {
                 for (int h = 0; h < heads; ++h) {
                     for (int i = 0; i < d; ++i) {
                         double* row = s + (h * d + i) * d;
                         double memory = 0, sum = 0;
                         for (int j = 0; j < d; ++j)
                             memory += (row[j] *= std::exp(gate.get(t * heads + h))) * k.get(t * d + j);
                         const double delta =
                             (v.get((t * heads + h) * d + i) - memory) * beta.get(t * heads + h);
                         for (int j = 0; j < d; ++j)
                             sum += (row[j] += delta * k.get(t * d + j)) * q.get(t * d + j);
                         expected[(t * heads + h) * d + i] = sum / std::sqrt(double(d));
                     }
                 }
             }
             const double row = 4 * d;
             session
                 .kernel("gated_delta_net/kernel_gated_delta_net_f32_4",
                         {{1600, int64_t{d}}, {1601, int64_t{1}}, {1602, int64_t{1}}})
                 .add(ggml_arguments("gated_delta_net", {{"ne00", d},
                                                         {"ne01", 1},
                                                         {"ne02", tokens},
                                                         {"ne03", 1},
                                                         {"nb00", 4},
                                                         {"nb01", row},
                                                         {"nb02", row},
                                                         {"nb03", row * tokens},
                                                         {"ne10", d},
                                                         {"ne11", 1},
                                                         {"ne12", tokens},
                                                         {"ne13", 1},
                                                         {"nb10", 4},
                                                         {"nb11", row},
                                                         {"nb12", row},
                                                         {"nb13", row * tokens},
                                                         {"ne20", d},
                                                         {"ne21", heads},
                                                         {"ne22", tokens},
                                                         {"ne23", 1},
                                                         {"nb20", 4},
                                                         {"nb21", row},
                                                         {"nb22", row * heads},
                                                         {"nb23", row * heads * tokens},
                                                         {"ns02", d},
                                                         {"ns12", d},
                                                         {"ns22", d * heads},
                                                         {"ne0", d * heads},
                                                         {"ne1", tokens + d},
                                                         {"ne2", 1},
                                                         {"ne3", 1}}))
                 .add(q)
                 .add(k)
                 .add(v)
                 .add(gate)
                 .add(beta)
                 .add(state)
                 .add(out)
                 .add(out)
                 .groups({d / 4, heads, 1}, {32, 4, 1});
             session.near(out, expected, kOtherTolerance);
         }});
    cases.push_back({"recurrence", "ssm/kernel_ssm_conv_f32_f32", "silu", [](Session& session) {
                         const int taps = 4, rows = 64, tokens = 9, columns = tokens + taps - 1;
                         Array x = random_array(kF32, rows * columns, 18),
                               c = random_array(kF32, rows * taps, 19), y(kF32, tokens * rows);
                         std::vector<double> expected(y.size());
                         for (int t = 0; t < tokens; ++t) {
                             for (int r = 0; r < rows; ++r) {
                                 double sum = 0;
                                 for (int i = 0; i < taps; ++i)
                                     sum += x.get(r * columns + t + i) * c.get(r * taps + i);
                                 expected[t * rows + r] = sum / (1 + std::exp(-sum));
                             }
                         }
                         session
                             .kernel("ssm/kernel_ssm_conv_f32_f32",
                                     {{900, int64_t{8}}, {901, true}, {902, int64_t{taps}}})
                             .add(ggml_arguments("ssm_conv", {{"ne00", columns},
                                                              {"ne01", rows},
                                                              {"ne02", 1},
                                                              {"nb00", 4},
                                                              {"nb01", 4 * columns},
                                                              {"nb02", 4 * columns * rows},
                                                              {"ne11", rows},
                                                              {"nb10", 4},
                                                              {"nb11", 4 * taps},
                                                              {"ne0", rows},
                                                              {"ne1", tokens},
                                                              {"ne2", 1},
                                                              {"nb0", 4},
                                                              {"nb1", 4 * rows},
                                                              {"nb2", 4 * rows * tokens}}))
                             .add(x)
                             .add(c)
                             .add(y)
                             .groups({rows, tokens, 1}, {1, 1, 1});
                         session.near(y, expected, kOtherTolerance);
                     }});
    cases.push_back(
        {"recurrence", "solve_tri/kernel_solve_tri_f32", "", [](Session& session) {
             const int n = 48, k = 20, simdgroups = 4;
             Array a(kF32, n * n + 64), b = random_array(kF32, n * k, 21), x(kF32, n * k + 64 * k);
             const Array random = random_array(kF32, n * n, 20, 0.1);
             for (int i = 0; i < n; ++i) {
                 for (int j = 0; j <= i; ++j) a.set(i * n + j, random.get(i * n + j) + (i == j ? 2 : 0));
             }
             std::vector<double> expected(n * k);
             for (int c = 0; c < k; ++c) {
                 for (int i = 0; i < n; ++i) {
                     double sum = b.get(i * k + c);
                     for (int j = 0; j < i; ++j) sum -= a.get(i * n + j) * expected[j * k + c];
                     expected[i * k + c] = sum / a.get(i * n + i);
                 }
             }
             session
                 .kernel("solve_tri/kernel_solve_tri_f32",
                         {{1000, int64_t{simdgroups}}, {1001, int64_t{n}}, {1002, int64_t{k}}})
                 .add(ggml_arguments("solve_tri",
                                     {{"ne00", n}, {"ne01", n},     {"ne02", 1},         {"ne03", 1},
                                      {"nb00", 4}, {"nb01", 4 * n}, {"nb02", 4 * n * n}, {"nb03", 4 * n * n},
                                      {"ne10", k}, {"ne11", n},     {"ne12", 1},         {"ne13", 1},
                                      {"nb10", 4}, {"nb11", 4 * k}, {"nb12", 4 * n * k}, {"nb13", 4 * n * k},
                                      {"ne0", k},  {"ne1", n},      {"ne2", 1},          {"ne3", 1},
                                      {"nb0", 4},  {"nb1", 4 * k},  {"nb2", 4 * n * k},  {"nb3", 4 * n * k}}))
                 .add(a)
                 .add(b)
                 .add(x)
                 .threadgroup(0, 64 * simdgroups * 4)
                 .groups({(k + simdgroups - 1) / simdgroups, 1, 1}, {32, simdgroups, 1});
             session.near(x, expected, kOtherTolerance);
         }});
}

}  // namespace

Cases ggml_other_cases() {
    Cases cases;
    add_ggml_norms(cases);
    add_ggml_softmax(cases);
    add_rope(cases);
    add_gated_units(cases);
    add_sorting(cases);
    add_recurrences(cases);
    return cases;
}

}  // namespace ingot::metal::conformance

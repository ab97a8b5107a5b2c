// PyTorch's kernels along rows, as Apple's compiler built them: norms, softmax, reductions, sums from the
// left, sorting, attention, products with quantized matrices.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

constexpr Type kTorchFloats[] = {kF32, kF16, kBf16};

std::string torch_name(Type type) {
    return type == kF32 ? "float" : type == kF16 ? "half" : type == kBf16 ? "bfloat" : "int";
}

// What sums in float and one rounding to the type cost.
double row_tolerance(Type type) {
    return 1e-5 + 2 * rounding(type);
}

void add_torch_norms(Cases& cases, Type type, bool looped) {
    const uint32_t n = looped ? 2501 : 501, rows = 5, threads = looped ? 256 : 128;
    const std::string form = looped ? "looped_" : "", rms = "rms_norm_" + form + torch_name(type);
    cases.push_back({"norm", rms, "", [=](Session& session) {
                         Array x = random_array(type, n * rows, 1), w = random_array(type, n, 2),
                               y(type, n * rows);
                         std::vector<double> expected(n * rows);
                         for (uint32_t r = 0; r < rows; ++r) {
                             double squares = 0;
                             for (uint32_t i = 0; i < n; ++i) squares += x.get(r * n + i) * x.get(r * n + i);
                             for (uint32_t i = 0; i < n; ++i)
                                 expected[r * n + i] =
                                     x.get(r * n + i) * w.get(i) / std::sqrt(squares / n + 1e-3);
                         }
                         session.kernel(rms).add(x).add(w).add(y).add(1e-3f).add(n).add(1u).groups(
                             {rows, 1, 1}, {threads, 1, 1});
                         session.near(y, expected, row_tolerance(type));
                     }});
    const std::string layer =
        (looped ? "layer_norm_looped_i32_" : "layer_norm_single_row_i32_") + torch_name(type);
    cases.push_back({"norm", layer, "", [=](Session& session) {
                         Array x = random_array(type, n * rows, 3), w = random_array(type, n, 4),
                               b = random_array(type, n, 5), y(type, n * rows), mean(type, rows),
                               scale(type, rows);
                         std::vector<double> expected(n * rows), means(rows), scales(rows);
                         for (uint32_t r = 0; r < rows; ++r) {
                             double sum = 0, squares = 0;
                             for (uint32_t i = 0; i < n; ++i) sum += x.get(r * n + i);
                             means[r] = sum / n;
                             for (uint32_t i = 0; i < n; ++i)
                                 squares += std::pow(x.get(r * n + i) - means[r], 2);
                             scales[r] = 1 / std::sqrt(squares / n + 1e-3);
                             for (uint32_t i = 0; i < n; ++i)
                                 expected[r * n + i] =
                                     (x.get(r * n + i) - means[r]) * scales[r] * w.get(i) + b.get(i);
                         }
                         auto dispatch = session.kernel(layer);
                         dispatch.add(x).add(y).add(mean).add(scale).add(n).add(1e-3f).add(w).add(b);
                         dispatch.groups({rows, 1, 1}, {threads, 1, 1});
                         session.near(y, expected, row_tolerance(type));
                         session.near(mean, means, row_tolerance(type));
                         session.near(scale, scales, row_tolerance(type));
                     }});
}

// How its host passes a tensor x[outer][size][inner], of which each column of the middle is one distribution.
struct TorchSoftmax {
    uint32_t size, rows, inner, chunk, chunks, dimensions = 3, dimension = 1;
    std::array<uint32_t, 16> sizes{}, strides{};

    TorchSoftmax(uint32_t outer, uint32_t size_, uint32_t inner_, uint32_t chunk_)
        : size(size_),
          rows(outer * inner_),
          inner(inner_),
          chunk(chunk_),
          chunks((size_ + chunk_ - 1) / chunk_) {
        sizes = {outer, size, inner};
        strides = {size * inner, inner, 1};
    }
};

std::vector<double> softmax_reference(const Array& x, const TorchSoftmax& p, bool logarithm) {
    std::vector<double> y(x.size());
    for (uint32_t row = 0; row < p.rows; ++row) {
        const auto at = [&](uint32_t i) { return (row / p.inner * p.size + i) * p.inner + row % p.inner; };
        double top = -INFINITY, sum = 0;
        for (uint32_t i = 0; i < p.size; ++i) top = std::max(top, x.get(at(i)));
        for (uint32_t i = 0; i < p.size; ++i) sum += std::exp(x.get(at(i)) - top);
        for (uint32_t i = 0; i < p.size; ++i) {
            const double value = x.get(at(i)) - top;
            y[at(i)] = logarithm ? value - std::log(sum) : std::exp(value) / sum;
        }
    }
    return y;
}

void add_torch_softmax(Cases& cases, Type type, bool logarithm) {
    const std::string prefix = logarithm ? "log_softmax_" : "softmax_", suffix = torch_name(type) + "_u32";
    // A simdgroup a row.
    cases.push_back(
        {"softmax", prefix + "row_" + suffix, "", [=](Session& session) {
             const TorchSoftmax p(13, 701, 1, 701);
             Array x = random_array(type, 13 * 701, 6, 2), y(type, x.size());
             session.kernel(prefix + "row_" + suffix).add(x).add(y).add(p).groups({2, 1, 1}, {256, 1, 1});
             session.near(y, softmax_reference(x, p, logarithm), row_tolerance(type));
         }});
    // Columns, whose elements 8 threads share.
    cases.push_back({"softmax", prefix + suffix, "", [=](Session& session) {
                         const TorchSoftmax p(3, 77, 45, 77);
                         Array x = random_array(type, 3 * 77 * 45, 7, 2), y(type, x.size());
                         session.kernel(prefix + suffix).add(x).add(y).add(p).groups({2, 3, 1}, {32, 8, 1});
                         session.near(y, softmax_reference(x, p, logarithm), row_tolerance(type));
                     }});
    // Chunks of long rows, in two passes.
    cases.push_back({"softmax", prefix + "finalize_" + suffix, "", [=](Session& session) {
                         const TorchSoftmax p(3, 5003, 1, 1024);
                         Array x = random_array(type, 3 * 5003, 8, 2), y(type, x.size()),
                               partial(kF32, 3 * 2 * p.chunks);
                         const Size3 groups{p.chunks, 3, 1};
                         session.kernel("softmax_partial_" + suffix)
                             .add(x)
                             .add(partial)
                             .add(p)
                             .groups(groups, {256, 1, 1});
                         auto second = session.kernel(prefix + "finalize_" + suffix);
                         second.add(x).add(y).add(partial).add(p).groups(groups, {256, 1, 1});
                         session.near(y, softmax_reference(x, p, logarithm), row_tolerance(type));
                     }});
}

struct TorchFold {
    const char* name;
    double start;
    double (*fold)(double, double);
};

constexpr TorchFold kTorchFolds[] = {
    {"sum", 0, [](double a, double b) { return a + b; }},
    {"prod", 1, [](double a, double b) { return a * b; }},
    {"max", -INFINITY, [](double a, double b) { return std::max(a, b); }},
    {"min", INFINITY, [](double a, double b) { return std::min(a, b); }},
    {"norm_l1", 0, [](double a, double b) { return a + std::fabs(b); }},
    // Its host takes the root.
    {"norm_l2", 0, [](double a, double b) { return a + b * b; }},
};

// The middle of x[outer][size][inner].
std::vector<double> fold_middle(const TorchFold& row, const Array& x, uint32_t outer, uint32_t size,
                                uint32_t inner) {
    std::vector<double> y(outer * inner, row.start);
    for (uint32_t o = 0; o < outer * inner; ++o) {
        for (uint32_t i = 0; i < size; ++i)
            y[o] = row.fold(y[o], x.get((o / inner * size + i) * inner + o % inner));
    }
    return y;
}

void add_torch_reductions(Cases& cases, const TorchFold& row, Type type) {
    const std::string name = row.name, suffix = torch_name(type) + "_" + torch_name(type);
    const auto input = [=](uint32_t count) {
        return name == "prod" ? uniform_array(type, count, 9, 0.95, 1.05) : random_array(type, count, 9);
    };
    // Simdgroups take rows.
    const std::string innermost = name + "_reduction_innermost_" + suffix;
    cases.push_back(
        {"reduce", innermost, "", [=, &row](Session& session) {
             const uint32_t rows = 37, n = 1027;
             Array x = input(rows * n), y(type, rows);
             auto dispatch = session.kernel(innermost);
             dispatch.add(x).add(y).add(std::array{rows, n}).add(0.f).groups({5, 1, 1}, {256, 1, 1});
             session.near(y, fold_middle(row, x, rows, n, 1), row_tolerance(type));
         }});
    if (name.starts_with("norm")) return;
    // Threadgroups take slices of one row.
    const std::string flat = name + "_reduction_flat_" + suffix;
    cases.push_back(
        {"reduce", flat, "", [=, &row](Session& session) {
             const uint32_t slices = 3, n = 2503;
             Array x = input(slices * n), y(type, slices);
             auto dispatch = session.kernel(flat);
             dispatch.add(x).add(y).add(std::array{slices, n}).groups({slices, 1, 1}, {256, 1, 1});
             session.near(y, fold_middle(row, x, slices, n, 1), row_tolerance(type));
         }});
    const std::string outer = name + "_reduction_outer_" + suffix;
    cases.push_back({"reduce", outer, "", [=, &row](Session& session) {
                         const uint32_t batches = 3, n = 119, columns = 45;
                         Array x = input(batches * n * columns), y(type, batches * columns);
                         auto dispatch = session.kernel(outer);
                         dispatch.add(x).add(y).add(std::array{n, columns, 1u, 0u}).add(0.f);
                         dispatch.add(std::array{columns, 1u, n * columns, 0u});
                         dispatch.groups({2, 1, batches}, {32, 32, 1});
                         session.near(y, fold_middle(row, x, batches, n, columns), row_tolerance(type));
                     }});
}

void add_torch_scan(Cases& cases, Type type) {
    const std::string name = "cumsum_innermost_" + torch_name(type);
    cases.push_back({"scan", name, "", [=](Session& session) {
                         const uint64_t n = 1027;
                         const uint32_t rows = 5;
                         Array x = random_array(type, n * rows, 10), y(type, n * rows);
                         std::vector<double> expected(n * rows);
                         for (uint64_t i = 0; i < n * rows; ++i)
                             expected[i] = x.get(i) + (i % n == 0 ? 0 : expected[i - 1]);
                         session.kernel(name).add(x).add(y).add(n).groups({1, rows, 1}, {256, 1, 1});
                         session.near(y, expected, row_tolerance(type));
                     }});
}

void add_torch_sort(Cases& cases, Type type, bool stable, bool descending) {
    const std::string name = "sort_block_" + torch_name(type) + "_tptg128" + (stable ? "_stable" : "");
    cases.push_back(
        {"sort", name, descending ? "descending" : "ascending", [=](Session& session) {
             const int n = 501, rows = 4;
             Array x = random_array(type, n * rows, 11), y(type, n * rows), order(kI64, n * rows),
                   gathered(type, n * rows);
             std::vector<double> expected, places;
             for (int r = 0; r < rows; ++r) {
                 std::vector<int> at(n);
                 std::iota(at.begin(), at.end(), 0);
                 std::ranges::stable_sort(at, [&](int a, int b) {
                     const double first = x.get(r * n + a), second = x.get(r * n + b);
                     return descending ? first > second : first < second;
                 });
                 for (const int i : at) {
                     expected.push_back(x.get(r * n + i));
                     places.push_back(i);
                 }
             }
             auto dispatch = session.kernel(name);
             dispatch.add(x).add(y).add(order).add(n).add(std::array<int64_t, 2>{1, n}).add(descending);
             dispatch.groups({1, rows, 1}, {128, 1, 1});
             session.same(y, expected);
             if (stable) return session.same(order, places);
             // Equal elements may come in any order.
             for (int i = 0; i < n * rows; ++i) {
                 const auto place = size_t(order.get(i));
                 gathered.set(i, place < n ? x.get(i / n * n + place) : NAN);
             }
             session.same(gathered, expected);
         }});
}

enum class TorchMask : uint8_t { kNone, kCausal, kBool, kFloat };

// Two heads of queries share one of keys and values.
void add_torch_attention(Cases& cases, Type type, uint32_t d, TorchMask mask) {
    const char* const suffixes[] = {"masknone", "masknone_causal", "maskbool", "maskfloat"};
    const std::string kind = mask == TorchMask::kFloat ? "mask" + torch_name(type) : suffixes[unsigned(mask)],
                      name = fmt::format("sdpa_vector_{}_{}_{}_{}", torch_name(type), d, d, kind);
    cases.push_back({"attention", name, "", [=](Session& session) {
                         const uint32_t heads = 2, keys = 67, queries = mask == TorchMask::kCausal ? keys : 3;
                         Array q = random_array(type, heads * queries * d, 12),
                               k = random_array(type, keys * d, 13), v = random_array(type, keys * d, 14),
                               y(type, q.size()),
                               m = mask == TorchMask::kBool ? random_array(kBool, queries * keys, 15)
                                                            : random_array(type, queries * keys, 15);
                         const float scale = 1 / std::sqrt(float(d));
                         std::vector<double> expected(y.size());
                         for (uint32_t row = 0; row < heads * queries; ++row) {
                             const uint32_t at = row % queries;
                             std::vector<double> weights(keys);
                             double sum = 0;
                             for (uint32_t j = 0; j < keys; ++j) {
                                 double score = mask == TorchMask::kFloat ? m.get(at * keys + j) : 0;
                                 for (uint32_t i = 0; i < d; ++i)
                                     score += scale * q.get(row * d + i) * k.get(j * d + i);
                                 const bool seen = mask == TorchMask::kCausal ? j <= at
                                                   : mask == TorchMask::kBool ? m.get(at * keys + j) != 0
                                                                              : true;
                                 sum += weights[j] = seen ? std::exp(score) : 0;
                             }
                             for (uint32_t i = 0; i < d; ++i) {
                                 for (uint32_t j = 0; j < keys; ++j)
                                     expected[row * d + i] += weights[j] / sum * v.get(j * d + i);
                             }
                         }
                         auto dispatch = session.kernel(name);
                         dispatch.add(q).add(k).add(v).add(y).add(heads).add(keys);
                         dispatch.add(std::array{queries * d, keys * d, keys * d, 0u});  // from head to head
                         dispatch.add(std::array{d, d, d, 0u}).add(scale).add(m);
                         dispatch.add(std::array{1u, keys, 0u, 0u});
                         dispatch.add(std::array{heads * queries * d, keys * d, keys * d, heads});
                         dispatch.groups({heads, queries, 1}, {1024, 1, 1});
                         session.near(y, expected, row_tolerance(type));
                     }});
}

// y = x w^T, of which w[row][column] is given.
template <typename Weight>
std::vector<double> product(const Array& x, uint32_t m, uint32_t n, uint32_t k, Weight weight) {
    std::vector<double> y(m * n);
    for (uint32_t i = 0; i < m * n; ++i) {
        for (uint32_t j = 0; j < k; ++j) y[i] += x.get(i / n * k + j) * weight(i % n, j);
    }
    return y;
}

void add_torch_four_bits(Cases& cases, Type type, uint32_t group) {
    const std::string name = fmt::format("int4pack_mm_{}_{}", group, torch_name(type));
    cases.push_back({"quantized", name, "", [=](Session& session) {
                         const uint32_t m = 3, n = 36, k = 512;
                         Array x = random_array(type, m * k, 16), w = random_bytes(n * k / 2, 17),
                               scales = uniform_array(type, k / group * n * 2, 18, -0.1, 0.1), y(type, m * n);
                         const auto weight = [&](uint32_t row, uint32_t column) {
                             const uint32_t byte = uint32_t(w.get((row * k + column) / 2)),
                                            at = (column / group * n + row) * 2;
                             const int four = int(column % 2 == 0 ? byte & 15 : byte >> 4);
                             return (four - 8) * scales.get(at) + scales.get(at + 1);
                         };
                         auto dispatch = session.kernel(name);
                         dispatch.add(x).add(w).add(scales).add(y).add(std::array{m, k, n, 0u});
                         dispatch.threads({n / 4 * 32, 1, m}, {32, 1, 1});
                         // Zero points are made in the type.
                         session.near(y, product(x, m, n, k, weight),
                                      row_tolerance(type) + 4 * rounding(type));
                     }});
}

// (Of the kernels for 8 bits the one by matrices, large_m_int8pack_mm, reads what other simdgroups store
// without a barrier in between.)
void add_torch_eight_bits(Cases& cases, Type type) {
    const std::string name = "int8pack_mv_" + torch_name(type);
    cases.push_back({"quantized", name, "", [=](Session& session) {
                         const uint32_t m = 3, n = 72, k = 288;
                         Array x = random_array(type, m * k, 19), w = random_array(kI8, n * k, 20, 40),
                               scales = uniform_array(type, n, 21, -0.1, 0.1), y(type, m * n);
                         const auto weight = [&](uint32_t row, uint32_t column) {
                             return w.get(row * k + column) * scales.get(row);
                         };
                         auto dispatch = session.kernel(name);
                         dispatch.add(x).add(w).add(scales).add(y).add(std::array{m, k, n, 0u});
                         dispatch.threadgroup(0, 32).groups({n / 8, m, 1}, {64, 1, 1});
                         session.near(y, product(x, m, n, k, weight), row_tolerance(type));
                     }});
}

}  // namespace

Cases torch_row_cases() {
    Cases cases;
    for (const Type type : kTorchFloats) {
        for (const bool flag : {false, true}) {
            add_torch_norms(cases, type, flag);
            add_torch_softmax(cases, type, flag);
        }
        for (const TorchFold& row : kTorchFolds) add_torch_reductions(cases, row, type);
        add_torch_scan(cases, type);
        add_torch_eight_bits(cases, type);
        for (const TorchMask mask :
             {TorchMask::kNone, TorchMask::kCausal, TorchMask::kBool, TorchMask::kFloat}) {
            for (const uint32_t d : {64, 96, 128}) add_torch_attention(cases, type, d, mask);
        }
        for (const uint32_t group : {32, 64, 128, 256}) add_torch_four_bits(cases, type, group);
    }
    for (const Type type : {kF32, kF16, kI32}) {
        for (const bool stable : {false, true}) {
            for (const bool descending : {false, true}) add_torch_sort(cases, type, stable, descending);
        }
    }
    return cases;
}

}  // namespace ingot::metal::conformance

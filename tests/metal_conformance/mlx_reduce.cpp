// MLX's kernels along an axis: reductions of rows, columns and everything, arg reductions, softmax, norms,
// scans, sorts, searches. References fold in double, in the order of the elements.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

struct FoldRow {
    const char* name;
    double start;
    double (*fold)(double, double);
    std::vector<Type> types;
};

double log_sum_of_two(double a, double b) {
    if (std::isinf(a)) return b;
    return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

const std::vector<FoldRow>& folds() {
    static const std::vector<Type> numbers = {kF32, kF16, kBf16, kI32, kU32};
    static const std::vector<FoldRow> rows = {
        {"sum", 0, [](double a, double b) { return a + b; }, numbers},
        {"prod", 1, [](double a, double b) { return a * b; }, {kF32, kI32}},
        {"max", -INFINITY, [](double a, double b) { return std::max(a, b); }, {kF32, kBf16, kI8, kI32, kI64}},
        {"min", INFINITY, [](double a, double b) { return std::min(a, b); }, {kF32, kF16, kU8, kI32, kI64}},
        {"and", 1, [](double a, double b) { return double(a != 0 && b != 0); }, {kBool}},
        {"or", 0, [](double a, double b) { return double(a != 0 || b != 0); }, {kBool}},
    };
    return rows;
}

// Sums of 16-bit floats round at every step of a tree.
double fold_tolerance(Type type) {
    return type == kF32 ? 1e-5 : 8 * rounding(type);
}

// Values whose products stay representable, and of which "and" and "or" aren't the same everywhere.
Array fold_input(const FoldRow& row, Type type, size_t count, uint32_t seed) {
    const std::string name = row.name;
    if (name == "prod")
        return is_float(type) ? uniform_array(type, count, seed, 0.9, 1.1) : constant_array(type, count, -1);
    if (type == kBool) {
        Array x = constant_array(type, count, name == "and");
        for (size_t i = 0; i < count; i += 97) x.set(i, name == "or");
        return x;
    }
    return random_array(type, count, seed);
}

template <typename Index>
std::vector<double> fold(const FoldRow& row, const Array& x, size_t outputs, size_t length, Index index) {
    std::vector<double> out(outputs, row.start);
    for (size_t o = 0; o < outputs; ++o) {
        for (size_t i = 0; i < length; ++i) out[o] = row.fold(out[o], x.get(index(o, i)));
    }
    return out;
}

struct Strided {
    std::vector<int> shape{0};
    std::vector<int64_t> strides{0};
    int dimensions = 0;
};

void bind_strided(Dispatch& dispatch, uint32_t slot, const Strided& s) {
    dispatch.values(slot, s.shape).values(slot + 1, s.strides).value(slot + 2, s.dimensions);
}

void add_row_reductions(Cases& cases, const FoldRow& row, Type type) {
    const std::string suffix = row.name + std::string(mlx_name(type));
    cases.push_back({"reduce", "row_reduce_simple_" + suffix, "", [=, &row](Session& session) {
                         const uint64_t n = 1027;
                         const int64_t rows = 38;
                         Array x = fold_input(row, type, n * rows, 1), y(type, rows);
                         session.kernel("row_reduce_simple_" + suffix)
                             .buffer(0, x)
                             .buffer(1, y)
                             .value(2, n)
                             .value(3, rows)
                             .groups({1, uint32_t(rows + 3) / 4, 1}, {256, 1, 1});
                         session.near(y, fold(row, x, rows, n, [&](size_t o, size_t i) { return o * n + i; }),
                                      fold_tolerance(type));
                     }});
    // x[a][o][r]: sums over a and r, one output an o.
    for (const bool looped : {false, true}) {
        const std::string name =
            (looped ? "row_reduce_looped_1_reduce_" : "row_reduce_small_1_reduce_") + suffix;
        cases.push_back({"reduce", name, "", [=, &row](Session& session) {
                             const int outer = 5, outputs = 43, n = looped ? 777 : 7;
                             Array x = fold_input(row, type, outer * outputs * n, 2), y(type, outputs);
                             auto dispatch = session.kernel(name);
                             dispatch.buffer(0, x).buffer(1, y).value(2, int64_t(n)).value(3, int64_t(outer));
                             bind_strided(dispatch, 4, {{outputs}, {n}, 1});
                             bind_strided(dispatch, 7, {{outer}, {int64_t(outputs) * n}, 1});
                             if (looped) {
                                 dispatch.groups({1, outputs, 1}, {128, 1, 1});
                             } else {
                                 dispatch.threads({outputs, 1, 1}, {outputs, 1, 1});
                             }
                             const auto at = [&](size_t o, size_t i) {
                                 return (i / n * outputs + o) * n + i % n;
                             };
                             session.near(y, fold(row, x, outputs, outer * n, at), fold_tolerance(type));
                         }});
    }
    cases.push_back({"reduce", "all_reduce_" + suffix, "", [=, &row](Session& session) {
                         const int64_t n = 3001;
                         Array x = fold_input(row, type, n, 3), y(type, 1);
                         session.kernel("all_reduce_" + suffix)
                             .buffer(0, x)
                             .buffer(1, y)
                             .value(2, n)
                             .value(3, n)
                             .groups({1, 1, 1}, {768, 1, 1});
                         session.near(y, fold(row, x, 1, n, [](size_t, size_t i) { return i; }),
                                      fold_tolerance(type));
                     }});
}

// The columns of x[rows][columns].
void add_column_reductions(Cases& cases, const FoldRow& row, Type type) {
    struct Form {
        const char* name;
        int rows, columns, partial_results;
        Size3 groups, threads;
    };
    static const Form forms[] = {
        {"col_reduce_small_1", 23, 77, 0, {1, 1, 1}, {20, 8, 1}},
        {"col_reduce_looped_1_32_32", 517, 77, 0, {3, 1, 1}, {256, 1, 1}},
        {"col_reduce_longcolumn_1", 3001, 5, 32, {1, 1, 32}, {5, 32, 1}},
        {"col_reduce_2pass_1_32_32", 3001, 77, 32, {3, 32, 1}, {256, 1, 1}},
    };
    for (const Form& form : forms) {
        const std::string suffix = "_reduce_" + std::string(row.name) + std::string(mlx_name(type));
        const std::string name = form.name + suffix;
        // One dispatch: `rows` rows of x into y. The forms with partial results write 32 of them, and leave
        // the rest to a second pass.
        const auto dispatch = [](Session& session, const std::string& kernel, const Form& f, Array& x,
                                 Array& y, int rows) {
            auto d = session.kernel(kernel);
            d.buffer(0, x).buffer(1, y).value(2, int64_t(rows)).value(3, int64_t(f.columns));
            bind_strided(d, 4, {});
            bind_strided(d, 7, {{rows}, {f.columns}, 1});
            d.value(10, int64_t{1});
            const std::string kind = f.name;
            if (kind.starts_with("col_reduce_longcolumn")) d.value(11, int64_t(f.columns));
            if (kind.starts_with("col_reduce_looped")) d.value(11, int64_t{0});
            if (kind.starts_with("col_reduce_2pass")) d.value(11, int64_t{0}).value(12, int64_t{1});
            d.groups(f.groups, f.threads);
        };
        cases.push_back(
            {"reduce", name, "", [=, &row](Session& session) {
                 Array x = fold_input(row, type, form.rows * form.columns, 4), y(type, form.columns);
                 if (form.partial_results == 0) {
                     dispatch(session, name, form, x, y, form.rows);
                 } else {
                     Array partial(type, form.partial_results * form.columns);
                     dispatch(session, name, form, x, partial, form.rows);
                     Form second = forms[1];
                     second.columns = form.columns;
                     second.groups = {uint32_t(form.columns + 31) / 32, 1, 1};
                     dispatch(session, second.name + suffix, second, partial, y, form.partial_results);
                 }
                 const auto at = [&](size_t o, size_t i) { return i * form.columns + o; };
                 session.near(y, fold(row, x, form.columns, form.rows, at), fold_tolerance(type));
             }});
    }
}

void add_arg_reductions(Cases& cases) {
    for (const bool largest : {false, true}) {
        for (const Type type : {kF32, kF16, kI32, kU8}) {
            const std::string name = (largest ? "argmax_" : "argmin_") + std::string(mlx_name(type));
            cases.push_back({"argreduce", name, "", [=](Session& session) {
                                 const uint64_t n = 1009;
                                 const int rows = 7;
                                 Array x = random_array(type, n * rows, 5), y(kU32, rows);
                                 std::vector<double> expected(rows);
                                 for (int r = 0; r < rows; ++r) {
                                     for (uint64_t i = 1; i < n; ++i) {
                                         const double best = x.get(r * n + uint64_t(expected[r])),
                                                      v = x.get(r * n + i);
                                         if (largest ? v > best : v < best) expected[r] = double(i);
                                     }
                                 }
                                 session.kernel(name)
                                     .buffer(0, x)
                                     .buffer(1, y)
                                     .value(2, rows)
                                     .value(3, int64_t(n))
                                     .value(4, int64_t{1})
                                     .value(5, uint64_t{1})
                                     .value(6, int64_t{1})
                                     .value(7, n)
                                     .groups({1, rows, 1}, {256, 1, 1});
                                 session.same(y, expected);
                             }});
        }
    }
}

// A row kernel reads four elements a thread, or loops.
uint32_t row_threads(int n, bool looped, int each = 4) {
    return looped ? 1024 : uint32_t((n + each - 1) / each + 31) / 32 * 32;
}

void add_softmax(Cases& cases) {
    for (const Type type : {kF32, kF16, kBf16}) {
        for (const bool looped : {false, true}) {
            for (const bool precise : {false, true}) {
                if (precise && type == kF32) continue;
                const std::string name = std::string(looped ? "looped_" : "block_") + "softmax_" +
                                         (precise ? "precise_" : "") + std::string(mlx_name(type));
                cases.push_back({"softmax", name, "", [=](Session& session) {
                                     const int n = looped ? 5003 : 777, rows = 5;
                                     Array x = random_array(type, n * rows, 6, 2), y(type, n * rows);
                                     std::vector<double> expected(n * rows);
                                     for (int r = 0; r < rows; ++r) {
                                         double top = -INFINITY, sum = 0;
                                         for (int i = 0; i < n; ++i) top = std::max(top, x.get(r * n + i));
                                         for (int i = 0; i < n; ++i) sum += std::exp(x.get(r * n + i) - top);
                                         for (int i = 0; i < n; ++i)
                                             expected[r * n + i] = std::exp(x.get(r * n + i) - top) / sum;
                                     }
                                     session.kernel(name).buffer(0, x).buffer(1, y).value(2, n).groups(
                                         {rows, 1, 1}, {row_threads(n, looped), 1, 1});
                                     // 16-bit sums unless precise.
                                     session.near(y, expected,
                                                  type == kF32 ? 1e-5 : (precise ? 2 : 8) * rounding(type));
                                 }});
            }
            const std::string name =
                std::string(looped ? "looped_" : "block_") + "logsumexp_" + std::string(mlx_name(type));
            cases.push_back({"softmax", name, "", [=](Session& session) {
                                 const int n = looped ? 5003 : 777, rows = 5;
                                 Array x = random_array(type, n * rows, 7, 2), y(type, rows);
                                 std::vector<double> expected(rows);
                                 for (int r = 0; r < rows; ++r) {
                                     double sum = 0;
                                     for (int i = 0; i < n; ++i) sum += std::exp(x.get(r * n + i));
                                     expected[r] = std::log(sum);
                                 }
                                 session.kernel(name).buffer(0, x).buffer(1, y).value(2, n).groups(
                                     {rows, 1, 1}, {row_threads(n, looped), 1, 1});
                                 session.near(y, expected, 1e-5 + 2 * rounding(type));
                             }});
        }
    }
}

void add_norms(Cases& cases) {
    for (const Type type : {kF32, kF16, kBf16}) {
        for (const bool looped : {false, true}) {
            for (const bool centred : {false, true}) {
                const std::string name = std::string(centred ? "layer_norm" : "rms") +
                                         (looped ? "_looped" : "") + std::string(mlx_name(type));
                cases.push_back(
                    {"norm", name, "", [=](Session& session) {
                         const int n = looped ? 7001 : 1001, rows = 5;
                         const float eps = 1e-5f;
                         Array x = random_array(type, n * rows, 8, 3), w = random_array(type, n, 9),
                               b = random_array(type, n, 10), y(type, n * rows);
                         std::vector<double> expected(n * rows);
                         for (int r = 0; r < rows; ++r) {
                             double mean = 0, square = 0;
                             for (int i = 0; i < n && centred; ++i) mean += x.get(r * n + i) / n;
                             for (int i = 0; i < n; ++i) {
                                 const double d = x.get(r * n + i) - mean;
                                 square += d * d / n;
                             }
                             for (int i = 0; i < n; ++i) {
                                 const double d = (x.get(r * n + i) - mean) / std::sqrt(square + eps);
                                 expected[r * n + i] = d * w.get(i) + (centred ? b.get(i) : 0);
                             }
                         }
                         auto dispatch = session.kernel(name);
                         dispatch.buffer(0, x).buffer(1, w);
                         uint32_t slot = 2;
                         if (centred) dispatch.buffer(slot++, b);
                         dispatch.buffer(slot, y).value(slot + 1, eps).value(slot + 2, n).value(slot + 3, 1);
                         if (centred) dispatch.value(slot + 4, 1);
                         dispatch.groups({rows, 1, 1}, {row_threads(n, looped, centred ? 8 : 4), 1, 1});
                         session.near(y, expected, 1e-5 + 2 * rounding(type));
                     }});
            }
        }
    }
}

void add_scan(Cases& cases, const char* op, double start, double (*step)(double, double), Type type,
              bool reverse, bool inclusive, bool strided) {
    const std::string name = std::string(strided ? "strided" : "contig") + "_scan_" +
                             (reverse ? "reverse_" : "") + (inclusive ? "inclusive_" : "exclusive_") + op +
                             "_" + std::string(mlx_name(type)) + "_" + std::string(mlx_name(type));
    cases.push_back(
        {"scan", name, "", [=](Session& session) {
             // x[outer][n][inner], along n.
             const int n = strided ? 133 : 1777, inner = strided ? 45 : 1, outer = 3;
             Array x = std::string(op) == "prod" ? uniform_array(type, outer * n * inner, 11, 0.9, 1.1)
                                                 : random_array(type, outer * n * inner, 11);
             Array y(type, outer * n * inner);
             std::vector<double> expected(y.size());
             for (int o = 0; o < outer * inner; ++o) {
                 double running = start;
                 for (int i = 0; i < n; ++i) {
                     const int along = reverse ? n - 1 - i : i;
                     const size_t at = (size_t(o / inner) * n + along) * inner + o % inner;
                     const double next = step(running, x.get(at));
                     expected[at] = inclusive ? next : running;
                     running = next;
                 }
             }
             auto dispatch = session.kernel(name);
             dispatch.buffer(0, x).buffer(1, y).value(2, uint64_t(n));
             if (strided) {
                 const uint32_t blocks = (inner + 31) / 32;
                 dispatch.value(3, uint64_t(inner)).value(4, uint64_t(blocks));
                 dispatch.groups({1, outer * blocks, 1}, {size_bytes(type) == 8 ? 512u : 256u, 1, 1});
             } else {
                 dispatch.groups({1, outer, 1}, {size_bytes(type) == 8 ? 256u : 224u, 1, 1});
             }
             session.near(y, expected, is_float(type) ? fold_tolerance(type) * 4 : 0);
         }});
}

void add_scans(Cases& cases) {
    const auto sum = [](double a, double b) { return a + b; };
    const auto largest = [](double a, double b) { return std::max(a, b); };
    const auto smallest = [](double a, double b) { return std::min(a, b); };
    const auto product = [](double a, double b) { return a * b; };
    for (const bool strided : {false, true}) {
        for (const bool reverse : {false, true}) {
            for (const bool inclusive : {false, true}) {
                add_scan(cases, "sum", 0, sum, kF32, reverse, inclusive, strided);
                add_scan(cases, "max", -INFINITY, largest, kF32, reverse, inclusive, strided);
            }
        }
        add_scan(cases, "sum", 0, sum, kI32, false, true, strided);
        add_scan(cases, "sum", 0, sum, kI64, true, true, strided);
        add_scan(cases, "sum", 0, sum, kF16, false, true, strided);
        add_scan(cases, "min", INFINITY, smallest, kI32, false, true, strided);
        add_scan(cases, "min", INFINITY, smallest, kF32, true, true, strided);
        add_scan(cases, "prod", 1, product, kF32, false, true, strided);
        add_scan(cases, "logaddexp", -INFINITY, log_sum_of_two, kF32, false, true, strided);
    }
}

void add_block_sorts(Cases& cases) {
    for (const Type type : {kF32, kF16, kBf16, kI8, kU8, kI32, kU32, kI64}) {
        for (const bool indices : {false, true}) {
            for (const bool contiguous : {false, true}) {
                const Type out = indices ? kU32 : type;
                const std::string name = std::string(contiguous ? "c" : "nc") + (indices ? "arg" : "") +
                                         "_block_sort_" + std::string(mlx_name(type)) + "_" +
                                         std::string(mlx_name(out)) + "_bn128_tn4";
                cases.push_back(
                    {"sort", name, "", [=](Session& session) {
                         const int n = 301, rows = 5;
                         Array x = random_array(type, n * rows, 12), y(out, n * rows);
                         std::vector<double> expected(n * rows);
                         for (int r = 0; r < rows; ++r) {
                             std::vector<int> order(n);
                             std::iota(order.begin(), order.end(), 0);
                             std::ranges::stable_sort(order, {}, [&](int i) { return x.get(r * n + i); });
                             for (int i = 0; i < n; ++i)
                                 expected[r * n + i] = indices ? order[i] : x.get(r * n + order[i]);
                         }
                         auto dispatch = session.kernel(name);
                         dispatch.buffer(0, x).buffer(1, y).value(2, n).value(3, 1).value(4, 1);
                         if (contiguous) {
                             dispatch.value(5, n).value(6, n);
                         } else {
                             dispatch.value(5, 1).value(6, rows).value(7, int64_t(n)).value(8, int64_t(n));
                         }
                         dispatch.groups({1, rows, 1}, {128, 1, 1});
                         session.same(y, expected);
                     }});
            }
        }
    }
}

// Rows longer than a block: blocks are sorted, then merged by partition and merge in turns.
void add_long_sorts(Cases& cases) {
    for (const Type type : {kF32, kI32, kF16}) {
        const std::string suffix = "_mbsort_" + std::string(mlx_name(type)) + "_uint32_bn512_tn4";
        cases.push_back({"sort", "merge" + suffix, "", [=](Session& session) {
                             const int n = 7001, block = 512 * 4, blocks = (n + block - 1) / block;
                             Array x = random_array(type, n, 13);
                             Array values[2] = {{type, n}, {type, n}}, indices[2] = {{kU32, n}, {kU32, n}};
                             Array partitions(kU32, blocks + 1);
                             session.kernel("sort" + suffix)
                                 .buffer(0, x)
                                 .buffer(1, values[0])
                                 .buffer(2, indices[0])
                                 .value(3, n)
                                 .value(4, 1)
                                 .value(5, 0)
                                 .value(6, 0)
                                 .value(7, int64_t{1})
                                 .groups({uint32_t(blocks), 1, 1}, {512, 1, 1});
                             int from = 0;
                             for (int tiles = 2; tiles / 2 < blocks; tiles *= 2, from ^= 1) {
                                 session.kernel("partition" + suffix)
                                     .buffer(0, partitions)
                                     .buffer(1, values[from])
                                     .buffer(2, indices[from])
                                     .value(3, n)
                                     .value(4, tiles)
                                     .value(5, blocks)
                                     .groups({1, 1, 1}, {uint32_t(blocks + 1), 1, 1});
                                 session.kernel("merge" + suffix)
                                     .buffer(0, partitions)
                                     .buffer(1, values[from])
                                     .buffer(2, indices[from])
                                     .buffer(3, values[from ^ 1])
                                     .buffer(4, indices[from ^ 1])
                                     .value(5, n)
                                     .value(6, tiles)
                                     .value(7, blocks)
                                     .groups({uint32_t(blocks), 1, 1}, {512, 1, 1});
                             }
                             std::vector<double> expected(n), by_index(n);
                             for (int i = 0; i < n; ++i) expected[i] = x.get(i);
                             std::ranges::sort(expected);
                             for (int i = 0; i < n; ++i) by_index[i] = x.get(size_t(indices[from].get(i)));
                             session.same(values[from], expected);
                             Array gathered(type, n);
                             for (int i = 0; i < n; ++i) gathered.set(i, by_index[i]);
                             session.same(gathered, expected);
                         }});
    }
}

void add_searches(Cases& cases) {
    for (const bool right : {false, true}) {
        const std::string name = std::string("searchsorted_float32") + (right ? "_right" : "_left");
        cases.push_back({"sort", name, "", [=](Session& session) {
                             const int n = 501, queries = 300;
                             std::vector<double> sorted(n);
                             for (int i = 0; i < n; ++i) sorted[i] = i / 3;  // with repeats
                             Array a = array_of(kF32, sorted), v = uniform_array(kF32, queries, 14, -5, 180),
                                   y(kU32, queries);
                             for (int i = 0; i < queries; i += 2) v.set(i, std::floor(v.get(i)));
                             std::vector<double> expected(queries);
                             for (int i = 0; i < queries; ++i) {
                                 const double x = v.get(i);
                                 const auto at = right ? std::ranges::upper_bound(sorted, x)
                                                       : std::ranges::lower_bound(sorted, x);
                                 expected[i] = double(at - sorted.begin());
                             }
                             session.kernel(name)
                                 .buffer(0, a)
                                 .buffer(1, v)
                                 .buffer(2, y)
                                 .value(3, n)
                                 .value(4, int64_t{1})
                                 .threads({queries, 1, 1}, {256, 1, 1});
                             session.same(y, expected);
                         }});
    }
}

}  // namespace

Cases mlx_reduce_cases() {
    Cases cases;
    for (const FoldRow& row : folds()) {
        for (const Type type : row.types) {
            add_row_reductions(cases, row, type);
            add_column_reductions(cases, row, type);
        }
    }
    add_arg_reductions(cases);
    add_softmax(cases);
    add_norms(cases);
    add_scans(cases);
    add_block_sorts(cases);
    add_long_sorts(cases);
    add_searches(cases);
    return cases;
}

}  // namespace ingot::metal::conformance

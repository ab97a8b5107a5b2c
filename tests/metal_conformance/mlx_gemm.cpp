// MLX's matrix products: steel (8x8 matrices), NAX and thin (cooperative tensors), split along k, gathered,
// segmented, masked by blocks.
#include <cmath>
#include <cstring>

#include "metal_conformance/mlx_products.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

struct Tile {
    int m, n, k, simdgroups_m, simdgroups_n;
};

std::string text(Shape s) {
    return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}
std::string text(Tile t) {
    return "_bm" + std::to_string(t.m) + "_bn" + std::to_string(t.n) + "_bk" + std::to_string(t.k) + "_wm" +
           std::to_string(t.simdgroups_m) + "_wn" + std::to_string(t.simdgroups_n);
}
std::string layout(bool ta, bool tb) {
    return {ta ? 't' : 'n', tb ? 't' : 'n'};
}
std::string types(Type in, Type out) {
    return "_" + std::string(mlx_name(in)) + "_" + std::string(mlx_name(out));
}

// GEMMParams of the steel kernels.
struct GemmParams {
    int m, n, k, lda, ldb, ldd, tiles_n, tiles_m;
    int64_t batch_a, batch_b, batch_d;
    int swizzle_log, k_iterations, batch_ndim;
};

GemmParams gemm_params(Shape s, Tile t, bool ta, bool tb) {
    return {s.m,
            s.n,
            s.k,
            ta ? s.m : s.k,
            tb ? s.k : s.n,
            s.n,
            tiles(s.n, t.n),
            tiles(s.m, t.m),
            0,
            0,
            int64_t(s.m) * s.n,
            0,
            s.k / t.k,
            0};
}

Size3 threads(Tile t) {
    return {32, uint32_t(t.simdgroups_n), uint32_t(t.simdgroups_m)};
}

ConstantMap alignment(Shape s, Tile t) {
    return {{200, s.m % t.m == 0}, {201, s.n % t.n == 0}, {202, s.k % t.k == 0}};
}

void add_fused(Cases& cases, const std::string& prefix, Type type, Tile t, bool ta, bool tb, Shape s,
               bool axpby) {
    const std::string name = prefix + layout(ta, tb) + types(type, type) + text(t);
    cases.push_back({"gemm", name, text(s) + (axpby ? "_axpby" : ""), [=](Session& session) {
                         ConstantMap constants = alignment(s, t);
                         constants[10] = false;
                         constants[100] = constants[110] = axpby;
                         Array a = random_array(type, size_t(s.m) * s.k, 1),
                               b = random_array(type, size_t(s.k) * s.n, 2),
                               c = random_array(type, size_t(s.m) * s.n, 3);
                         Array d = constant_array(type, size_t(s.m) * s.n, 77);
                         std::vector<double> expected(d.size());
                         multiply({a, ta}, {b, tb}, s, expected.data());
                         if (axpby) {
                             for (size_t i = 0; i < d.size(); ++i)
                                 expected[i] = 0.5 * expected[i] + 3 * c.get(i);
                         }
                         struct {
                             int ldc, fdc;
                             int64_t batch_c;
                             float alpha, beta;
                         } add{s.n, 1, 0, 0.5f, 3.0f};
                         const GemmParams params = gemm_params(s, t, ta, tb);
                         auto dispatch = session.kernel(name, constants);
                         dispatch.buffer(0, a).buffer(1, b).buffer(3, d).value(4, params);
                         if (axpby) dispatch.buffer(2, c).value(5, add);
                         dispatch.groups({uint32_t(params.tiles_n), uint32_t(params.tiles_m), 1}, threads(t));
                         session.near(d, expected, tolerance(type));
                     }});
}

void add_fused_all(Cases& cases) {
    const Tile steel_tiles[] = {{64, 64, 16, 2, 2}, {64, 64, 16, 1, 2}, {64, 32, 32, 2, 2},
                                {32, 64, 16, 1, 2}, {32, 32, 16, 2, 2}, {64, 32, 8, 4, 1}};
    const Shape ragged{100, 70, 45}, narrow{37, 129, 100};
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            for (const Type type : {kF32, kF16, kBf16}) {
                add_fused(cases, "steel_gemm_fused_", type, steel_tiles[0], ta, tb, ragged, false);
                add_fused(cases, "steel_gemm_fused_nax_", type, {64, 64, 256, 2, 2}, ta, tb, narrow, false);
            }
            add_fused(cases, "steel_gemm_fused_nax_", kF16, {128, 128, 64, 4, 4}, ta, tb, ragged, false);
            add_fused(cases, "steel_gemm_fused_nax_", kF16, {64, 128, 256, 2, 4}, ta, tb, {64, 128, 256},
                      false);
        }
    }
    for (const Tile& t : steel_tiles) {
        add_fused(cases, "steel_gemm_fused_", kF16, t, false, true, narrow, false);
        add_fused(cases, "steel_gemm_fused_", kF32, t, true, false, {128, 64, 64}, false);
    }
    add_fused(cases, "steel_gemm_fused_", kF32, steel_tiles[0], false, false, ragged, true);
    add_fused(cases, "steel_gemm_fused_nax_", kF16, {64, 64, 256, 2, 2}, false, true, ragged, true);
}

void add_split_k(Cases& cases, bool nax, Type type, Tile t, bool ta, bool tb, Shape s) {
    const bool aligned = s.m % t.m == 0 && s.n % t.n == 0;
    const std::string name = std::string("steel_gemm_splitk_") + (nax ? "nax_" : "") + layout(ta, tb) +
                             types(type, kF32) + text(t) +
                             (nax ? ""
                                  : std::string("_MN_") + (aligned ? "t" : "n") + "aligned_K_" +
                                        (s.k % t.k == 0 ? "t" : "n") + "aligned");
    cases.push_back(
        {"gemm", name, text(s), [=](Session& session) {
             const int parts = nax ? 2 : 4, iterations = nax ? tiles(s.k, t.k) / parts : s.k / t.k / parts;
             Array a = random_array(type, size_t(s.m) * s.k, 1), b = random_array(type, size_t(s.k) * s.n, 2);
             Array partial(kF32, size_t(parts) * s.m * s.n), d(type, size_t(s.m) * s.n);
             std::vector<double> expected(d.size());
             multiply({a, ta}, {b, tb}, s, expected.data());
             struct {
                 int m, n, k, lda, ldb, ldc, tiles_n, tiles_m, parts, stride, size, swizzle_log, iterations;
             } params{s.m,
                      s.n,
                      s.k,
                      ta ? s.m : s.k,
                      tb ? s.k : s.n,
                      s.n,
                      tiles(s.n, t.n),
                      tiles(s.m, t.m),
                      parts,
                      s.m * s.n,
                      iterations * t.k,
                      0,
                      iterations};
             const uint32_t x = uint32_t(params.tiles_n), y = uint32_t(params.tiles_m);
             session.kernel(name, nax ? alignment(s, t) : ConstantMap{})
                 .buffer(0, a)
                 .buffer(1, b)
                 .buffer(2, partial)
                 .value(3, params)
                 .groups(nax ? Size3{x * y * uint32_t(parts), 1, 1} : Size3{x, y, uint32_t(parts)},
                         threads(t));
             session.kernel("steel_gemm_splitk_accum" + types(type, kF32))
                 .buffer(0, partial)
                 .buffer(1, d)
                 .value(2, parts)
                 .value(3, s.m * s.n)
                 .value(4, s.n)
                 .threads({uint32_t(s.n), uint32_t(s.m), 1}, {32, 8, 1});
             session.near(d, expected, tolerance(type));
         }});
}

void add_split_k_all(Cases& cases) {
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            add_split_k(cases, false, kF16, {16, 16, 16, 2, 2}, ta, tb, {16, 16, 512});
            add_split_k(cases, false, kF32, {32, 32, 16, 2, 2}, ta, tb, {45, 50, 391});
            add_split_k(cases, true, kF16, {64, 64, 256, 2, 2}, ta, tb, {70, 64, 1024});
        }
    }
    add_split_k(cases, false, kBf16, {16, 32, 16, 2, 2}, false, true, {10, 40, 256});
    add_split_k(cases, true, kBf16, {128, 128, 512, 4, 4}, false, true, {37, 50, 1024});
}

void add_thin(Cases& cases, bool tb, Type type, int simdgroups_n, int splits, Shape s) {
    const std::string name = std::string("steel_gemm_thin_nax_n") + (tb ? 't' : 'n') + "_" +
                             std::string(mlx_name(type)) + "_um2_un2_sm1_sn" + std::to_string(simdgroups_n) +
                             "_ks" + std::to_string(splits);
    cases.push_back(
        {"gemm", name, text(s), [=](Session& session) {
             const Tile t{32, 32 * simdgroups_n, 64 * splits, 0, 0};
             const bool aligned = s.m % t.m == 0 && s.n % t.n == 0 && s.k % t.k == 0;
             Array a = random_array(type, size_t(s.m) * s.k, 5), b = random_array(type, size_t(s.k) * s.n, 6);
             Array d = constant_array(type, size_t(s.m) * s.n, 77);
             std::vector<double> expected(d.size());
             multiply({a, false}, {b, tb}, s, expected.data());
             GemmParams params = gemm_params(s, t, false, tb);
             params.batch_d = 0;
             params.k_iterations = tiles(s.k, t.k);
             session
                 .kernel(name, {{100, false}, {110, false}, {200, aligned}, {201, aligned}, {202, aligned}})
                 .buffer(0, a)
                 .buffer(1, b)
                 .buffer(3, d)
                 .value(4, params)
                 .groups({uint32_t(params.tiles_m * params.tiles_n), 1, 1}, {uint32_t(t.n * splits), 1, 1});
             session.near(d, expected, tolerance(type));
         }});
}

// Rows of a come in groups; each group has a matrix of b. A tile holds rows of one group.
void add_gather_rhs(Cases& cases, bool nax, bool tb, Type type, Tile t) {
    const std::string name = std::string("steel_gather_mm_rhs_") + (nax ? "nax_" : "") + "n" +
                             (tb ? "t" : "n") + types(type, type) + text(t);
    const Shape s{77, 70, 90};
    cases.push_back(
        {"gemm", name, text(s), [=](Session& session) {
             const std::vector<int> starts = {0, 20, 20, 29, 77};  // an empty group, and one of 48
             const int groups = 4;
             const size_t b_size = size_t(s.k) * s.n;
             Array a = random_array(type, size_t(s.m) * s.k, 7), b = random_array(type, groups * b_size, 8),
                   d(type, size_t(s.m) * s.n), offsets = array_of(kI32, starts);
             std::vector<double> expected(d.size());
             for (int g = 0; g < groups; ++g) {
                 const int rows = starts[g + 1] - starts[g];
                 multiply({a, false, size_t(starts[g]) * s.k}, {b, tb, g * b_size}, {rows, s.n, s.k},
                          expected.data() + size_t(starts[g]) * s.n);
             }
             GemmParams params = gemm_params(s, t, false, tb);
             params.batch_b = int64_t(b_size);
             params.batch_d = 0;
             session.kernel(name, alignment(s, t))
                 .buffer(0, a)
                 .buffer(1, b)
                 .buffer(2, offsets)
                 .buffer(3, d)
                 .value(4, params)
                 .value(5, groups)
                 .groups({uint32_t(params.tiles_n), uint32_t(params.tiles_m + groups), 1}, threads(t));
             session.near(d, expected, tolerance(type));
         }});
}

// out[i] = a[lhs[i]] * b[rhs[i]].
void add_gather(Cases& cases, bool ta, bool tb, Type type, Tile t) {
    const std::string name = "steel_gather_mm_" + layout(ta, tb) + types(type, type) + text(t);
    const Shape s{45, 70, 50};
    cases.push_back(
        {"gemm", name, text(s), [=](Session& session) {
             const int out_matrices = 4, in_matrices = 3;
             const size_t a_size = size_t(s.m) * s.k, b_size = size_t(s.k) * s.n, d_size = size_t(s.m) * s.n;
             Array a = random_array(type, in_matrices * a_size, 9),
                   b = random_array(type, in_matrices * b_size, 10), d(type, out_matrices * d_size);
             Array lhs = array_of(kU32, std::vector<int>{2, 0, 1, 2}),
                   rhs = array_of(kU32, std::vector<int>{1, 1, 0, 2});
             std::vector<double> expected(d.size());
             for (int i = 0; i < out_matrices; ++i) {
                 multiply({a, ta, size_t(lhs.get(i)) * a_size}, {b, tb, size_t(rhs.get(i)) * b_size}, s,
                          &expected[i * d_size]);
             }
             GemmParams params = gemm_params(s, t, ta, tb);
             params.batch_a = params.batch_b = 1;
             params.batch_ndim = 1;
             ConstantMap constants = alignment(s, t);
             constants[10] = false;
             session.kernel(name, constants)
                 .buffer(0, a)
                 .buffer(1, b)
                 .buffer(2, lhs)
                 .buffer(3, rhs)
                 .buffer(4, d)
                 .value(5, params)
                 .value(6, out_matrices)
                 .value(7, int64_t{1})
                 .value(8, int64_t{1})
                 .value(9, 1)
                 .values(10, std::vector<int>{in_matrices, s.m, s.k})
                 .values(11, std::vector<int64_t>{int64_t(a_size), s.k, 1})
                 .value(12, 1)
                 .values(13, std::vector<int>{in_matrices, s.k, s.n})
                 .values(14, std::vector<int64_t>{int64_t(b_size), s.n, 1})
                 .groups({uint32_t(params.tiles_n), uint32_t(params.tiles_m), out_matrices}, threads(t));
             session.near(d, expected, tolerance(type));
         }});
}

// out[i] = a[:, segment] * b[segment, :], segments of k.
void add_segmented(Cases& cases, bool nax, bool ta, bool tb, Type type, Tile t) {
    const std::string name = std::string("steel_segmented_mm_") + (nax ? "nax_" : "") + layout(ta, tb) +
                             types(type, type) + text(t);
    const Shape s{45, 70, 300};
    cases.push_back({"gemm", name, text(s), [=](Session& session) {
                         const std::vector<int> bounds = {0, 64, 64, 201, 201, 300, 33, 40};
                         const uint32_t segments = uint32_t(bounds.size()) / 2;
                         Array a = random_array(type, size_t(s.m) * s.k, 11),
                               b = random_array(type, size_t(s.k) * s.n, 12);
                         Array where = array_of(kU32, bounds), d(type, size_t(segments) * s.m * s.n);
                         std::vector<double> expected(d.size());
                         for (uint32_t i = 0; i < segments; ++i) {
                             multiply({a, ta}, {b, tb}, s, &expected[size_t(i) * s.m * s.n], bounds[2 * i],
                                      bounds[2 * i + 1]);
                         }
                         GemmParams params = gemm_params(s, t, ta, tb);
                         params.k_iterations = 0;
                         const uint32_t x = uint32_t(params.tiles_n), y = uint32_t(params.tiles_m);
                         ConstantMap constants = {{199, true}, {200, s.m % t.m == 0}, {201, s.n % t.n == 0}};
                         session.kernel(name, constants)
                             .buffer(0, a)
                             .buffer(1, b)
                             .buffer(2, where)
                             .buffer(3, d)
                             .value(4, params)
                             .groups(nax && t.k == 64 ? Size3{segments, x, y} : Size3{x, y, segments},
                                     threads(t));
                         session.near(d, expected, tolerance(type));
                     }});
}

// Blocks of a, b and the result are switched by masks.
void add_masked(Cases& cases, bool ta, bool tb, Shape s) {
    const Tile t{32, 32, 16, 2, 2};
    const bool aligned = s.m % t.m == 0 && s.n % t.n == 0;
    const std::string name = "steel_gemm_block_outmask_bool__opmask_bool__" + layout(ta, tb) +
                             types(kF32, kF32) + text(t) + "_MN_" + (aligned ? "t" : "n") + "aligned_K_" +
                             (s.k % t.k == 0 ? "t" : "n") + "aligned";
    cases.push_back({"gemm", name, text(s), [=](Session& session) {
                         const int block = 32, bm = tiles(s.m, block), bn = tiles(s.n, block),
                                   bk = tiles(s.k, block);
                         Array a = random_array(kF32, size_t(s.m) * s.k, 13),
                               b = random_array(kF32, size_t(s.k) * s.n, 14), d(kF32, size_t(s.m) * s.n);
                         Array out_mask = random_array(kBool, bm * bn, 15),
                               a_mask = random_array(kBool, bm * bk, 16),
                               b_mask = random_array(kBool, bk * bn, 17);
                         std::vector<double> expected(d.size());
                         const Operand left{a, ta}, right{b, tb};
                         for (int i = 0; i < s.m; ++i) {
                             for (int j = 0; j < s.n; ++j) {
                                 if (out_mask.get(i / block * bn + j / block) == 0) continue;
                                 for (int p = 0; p < s.k; ++p) {
                                     if (a_mask.get(i / block * bk + p / block) == 0) continue;
                                     if (b_mask.get(p / block * bn + j / block) == 0) continue;
                                     expected[size_t(i) * s.n + j] +=
                                         left.get(i, p, s.m, s.k) * right.get(p, j, s.k, s.n);
                                 }
                             }
                         }
                         GemmParams params = gemm_params(s, t, ta, tb);
                         params.batch_ndim = 1;
                         session.kernel(name)
                             .buffer(0, a)
                             .buffer(1, b)
                             .buffer(3, d)
                             .value(4, params)
                             .value(6, 1)
                             .values(7, std::vector<int64_t>(5, 0))
                             .buffer(10, out_mask)
                             .buffer(11, a_mask)
                             .buffer(12, b_mask)
                             .values(13, std::vector<int>{1, bn, 1, bk, 1, bn})
                             .groups({uint32_t(params.tiles_n), uint32_t(params.tiles_m), 1}, threads(t));
                         session.near(d, expected, tolerance(kF32));
                     }});
}

}  // namespace

Cases mlx_gemm_cases() {
    Cases cases;
    add_fused_all(cases);
    add_split_k_all(cases);
    for (const Type type : {kF16, kBf16}) {
        add_thin(cases, false, type, 1, 4, {45, 70, 300});
        add_thin(cases, true, type, 1, 4, {20, 50, 200});
        add_thin(cases, true, type, 2, 2, {33, 131, 77});
    }
    for (const Type type : {kF32, kF16, kBf16}) {
        for (const bool tb : {false, true}) {
            add_gather_rhs(cases, false, tb, type, {16, 64, 16, 1, 2});
            add_gather_rhs(cases, true, tb, type, {32, 128, 128, 1, 4});
        }
    }
    add_gather_rhs(cases, true, true, kF16, {64, 128, 128, 2, 4});
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            add_gather(cases, ta, tb, ta ? kF16 : kF32, {64, 64, 16, 2, 2});
            add_segmented(cases, false, ta, tb, kF32, {64, 64, 16, 2, 2});
            add_segmented(cases, true, ta, tb, kF16, {64, 64, tb ? 128 : 64, 2, 2});
            add_masked(cases, ta, tb, ta ? Shape{64, 96, 128} : Shape{50, 70, 75});
        }
    }
    return cases;
}

}  // namespace ingot::metal::conformance

#include "tile/gemm_program.h"

#include <algorithm>
#include <cmath>

namespace ingot::tile::testing {
namespace {

std::string tensor(const GemmSpec& g, std::string_view role, std::string_view name, DType type,
                   const std::string& rows, const std::string& columns) {
    std::string text = fmt::format("  {} {}: {}[{}, {}]", role, name, tile::name(type), rows, columns);
    if (g.pad != 0 || g.inner != 1)
        text += fmt::format(" strides [({} + {}) * {}, {}]", columns, g.pad, g.inner, g.inner);
    if (g.offset != 0) text += fmt::format(" offset {}", g.offset);
    return text + "\n";
}

// Where element (i, j) of a tensor of so many columns lies, and how long its memory is.
size_t place(const GemmSpec& g, int64_t i, int64_t j, int64_t columns) {
    return size_t(g.offset + (i * (columns + g.pad) + j) * g.inner);
}
size_t length(const GemmSpec& g, int64_t rows, int64_t columns) {
    return rows <= 0 || columns <= 0 ? 0 : place(g, rows - 1, columns - 1, columns) + 1;
}

std::string epilogue(const GemmSpec& g, const std::string& tile) {
    if (g.epilogue == "none") return "";
    const std::string value = g.epilogue == "bias_relu"
                                  ? fmt::format("{}[i, j] + bias[bx * {} + j]", tile, g.tile_n)
                                  : fmt::format("{}[i, j]", tile);
    return fmt::format("  parallel i < {}, j < {} {{\n    {}[i, j] = max({}, {}(0))\n  }}\n", g.tile_m,
                       g.tile_n, tile, value, tile::name(g.accumulator));
}

std::string pick(bool swap, const std::string& a, const std::string& b) {
    return swap ? fmt::format("{}, {}", b, a) : fmt::format("{}, {}", a, b);
}

}  // namespace

std::string gemm_text(const GemmSpec& g) {
    const std::string M = g.dynamic ? "m" : fmt::format("{}", g.M),
                      N = g.dynamic ? "n" : fmt::format("{}", g.N),
                      K = g.dynamic ? "k" : fmt::format("{}", g.K);
    const int bm = g.tile_m, bn = g.tile_n, bk = g.tile_k;
    std::string t = "kernel gemm {\n";
    if (g.dynamic) t += "  dim m, n, k\n";
    t += g.trans_a ? tensor(g, "in", "A", g.type, K, M) : tensor(g, "in", "A", g.type, M, K);
    t += g.trans_b ? tensor(g, "in", "B", g.type, N, K) : tensor(g, "in", "B", g.type, K, N);
    if (g.epilogue == "bias_relu") t += fmt::format("  in bias: {}[{}]\n", tile::name(g.accumulator), N);
    t += tensor(g, "out", "C", g.out, M, N);
    t += fmt::format("  grid bx < ceildiv({}, {}), by < ceildiv({}, {})\n  threads {}\n", N, bn, M, bm,
                     g.threads);
    if (g.swizzle != "none") t += fmt::format("  swizzle {} 4\n", g.swizzle);
    const std::string rows = fmt::format("by * {0} : {0}", bm), columns = fmt::format("bx * {0} : {0}", bn);
    const std::string policy = g.policy == "square" ? "" : fmt::format(" policy({})", g.policy);
    const std::string ta = g.trans_a ? "^T" : "", tb = g.trans_b ? "^T" : "";
    if (g.c == "global") {
        return t + fmt::format("  gemm C[{}, {}] = A[{}]{} @ B[{}]{}{}\n}}\n", rows, columns,
                               pick(g.trans_a, rows, ":"), ta, pick(!g.trans_b, columns, ":"), tb, policy);
    }
    const std::string step = fmt::format("step * {0} : {0}", bk);
    t += fmt::format("  shared As: {}[{}]\n", tile::name(g.type),
                     pick(g.trans_a, fmt::format("{}", bm), fmt::format("{}", bk)));
    t += fmt::format("  shared Bs: {}[{}]\n", tile::name(g.type),
                     pick(!g.trans_b, fmt::format("{}", bn), fmt::format("{}", bk)));
    t += fmt::format("  {} Ct: {}[{}, {}]\n  fill Ct = {}(0)\n", g.c, tile::name(g.accumulator), bm, bn,
                     tile::name(g.accumulator));
    t += fmt::format("  for step < ceildiv({}, {}){} {{\n", K, bk,
                     g.stages > 0 ? fmt::format(" pipelined({})", g.stages) : "");
    t += fmt::format("    copy As = A[{}]\n    copy Bs = B[{}]\n    gemm Ct += As{} @ Bs{}{}\n  }}\n",
                     pick(g.trans_a, rows, step), pick(!g.trans_b, columns, step), ta, tb, policy);
    if (g.via_shared) {
        const std::string barrier = g.sync ? "  barrier\n" : "";
        t += fmt::format("  shared Co: {}[{}, {}]\n{}  copy Co = Ct\n{}", tile::name(g.accumulator), bm, bn,
                         barrier, barrier) +
             epilogue(g, "Co") + fmt::format("  copy C[{}, {}] = Co\n}}\n", rows, columns);
    } else {
        t += epilogue(g, "Ct") + fmt::format("  copy C[{}, {}] = Ct\n}}\n", rows, columns);
    }
    return t;
}

Kernel gemm_kernel(const GemmSpec& g) {
    const auto k = parse(gemm_text(g), g.name + ".tile");
    EXPECT_TRUE(k) << (k ? "" : k.error().describe()) << "\n" << gemm_text(g);
    const auto legal = verify(*k);
    EXPECT_TRUE(legal) << (legal ? "" : legal.error().describe()) << "\n" << gemm_text(g);
    return *k;
}

Arguments gemm_arguments(const GemmSpec& g) {
    Arguments x;
    if (g.dynamic) x.dims = {{"m", g.M}, {"n", g.N}, {"k", g.K}};
    x.tensors["A"] = numbers(g.trans_a ? length(g, g.K, g.M) : length(g, g.M, g.K), g.type, 1);
    x.tensors["B"] = numbers(g.trans_b ? length(g, g.N, g.K) : length(g, g.K, g.N), g.type, 2);
    if (g.epilogue == "bias_relu") x.tensors["bias"] = numbers(size_t(g.N), g.accumulator, 3);
    return x;
}

std::vector<double> gemm_reference(const GemmSpec& g, const Arguments& x) {
    const auto &A = x.tensors.at("A"), &B = x.tensors.at("B");
    std::vector<double> c(length(g, g.M, g.N));
    for (int64_t i = 0; i < g.M; ++i)
        for (int64_t j = 0; j < g.N; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < g.K; ++k)
                sum += A[g.trans_a ? place(g, k, i, g.M) : place(g, i, k, g.K)] *
                       B[g.trans_b ? place(g, j, k, g.K) : place(g, k, j, g.N)];
            if (g.epilogue == "bias_relu") sum += x.tensors.at("bias")[size_t(j)];
            if (g.epilogue != "none") sum = std::max(sum, 0.0);
            c[place(g, i, j, g.N)] = sum;
        }
    return c;
}

// What an element of the result may be off by: the last bit of a sum, which grows as the square root of K,
// and what float loses at each of K additions in any order.
struct GemmTolerance {
    DType narrowest;  // of the sums' type and the result's
    double for_root_of_k, for_k;
};
constexpr GemmTolerance kGemmTolerances[] = {
    {DType::kF32, 0, 1e-6},
    {DType::kF16, 0x1p-10, 1e-6},
    {DType::kBF16, 0x1p-7, 1e-6},
    {DType::kI32, 0, 0},
};

double gemm_tolerance(const GemmSpec& g) {
    const double k = double(std::max<int64_t>(g.K, 16));
    const DType narrowest = g.out == DType::kF32 ? g.accumulator : g.out;
    const auto row = std::ranges::find(kGemmTolerances, narrowest, &GemmTolerance::narrowest);
    return row->for_root_of_k * std::sqrt(k) + row->for_k * k;
}

std::vector<GemmSpec> peer_gemms() {
    constexpr DType f16 = DType::kF16, bf16 = DType::kBF16, f32 = DType::kF32, i8 = DType::kI8,
                    i32 = DType::kI32;
    std::vector<GemmSpec> all = {
        {.name = "gemm_f16_64x64x32_t128"},
        {.name = "gemm_f16_128x64x32_t128", .tile_m = 128},
        {.name = "gemm_f16_32x32x32_t64", .tile_m = 32, .tile_n = 32, .threads = 64},
        {.name = "gemm_f16_64x128x64_t256", .tile_n = 128, .tile_k = 64, .threads = 256},
        {.name = "gemm_bf16_64x64x32_t128", .type = bf16},
        {.name = "gemm_f32_64x64x32_t128", .type = f32},
        {.name = "gemm_f16_outf16_64x64x32_t128", .out = f16},
        {.name = "gemm_f16_accf16_64x64x32_t128", .accumulator = f16, .out = f16},
        {.name = "gemm_f16_nt_64x64x32_t128", .trans_b = true},
        {.name = "gemm_f16_tn_64x64x32_t128", .trans_a = true},
        {.name = "gemm_f16_stages2_64x64x32_t128", .stages = 2},
        {.name = "gemm_f16_stages3_64x64x32_t128", .K = 256, .stages = 3},
        {.name = "gemm_f16_relu_64x64x32_t128", .epilogue = "relu"},
        {.name = "gemm_f16_biasrelu_64x64x32_t128", .epilogue = "bias_relu"},
        {.name = "gemm_f16_cshared_biasrelu_64x64x32_t128", .c = "shared", .epilogue = "bias_relu"},
        {.name = "gemm_f16_cshared_64x64x32_t128", .c = "shared"},
        {.name = "gemm_f16_cshared_outf16_64x64x32_t128", .out = f16, .c = "shared"},
        {.name = "gemm_f16_fullrow_64x64x32_t128", .policy = "full_row"},
        {.name = "gemm_f16_fullcol_64x64x32_t128", .policy = "full_col"},
        {.name = "gemm_f16_edge_100x72x40",
         .M = 100,
         .N = 72,
         .K = 40,
         .tile_m = 32,
         .tile_n = 32,
         .threads = 64},
        {.name = "gemm_f16_edge_cshared_100x72x40",
         .M = 100,
         .N = 72,
         .K = 40,
         .tile_m = 32,
         .tile_n = 32,
         .threads = 64,
         .c = "shared"},
        {.name = "gemm_f16_edge_k_128x128x40", .K = 40},
        {.name = "gemm_f16_viashared_64x64x32_t128", .via_shared = true},
        {.name = "gemm_f16_viashared_biasrelu_64x64x32_t128", .epilogue = "bias_relu", .via_shared = true},
        {.name = "gemm_f16_edge_viashared_100x72x40",
         .M = 100,
         .N = 72,
         .K = 40,
         .tile_m = 32,
         .tile_n = 32,
         .threads = 64,
         .epilogue = "bias_relu",
         .via_shared = true},
        {.name = "gemm_f16_viashared_sync_biasrelu_64x64x32_t128",
         .epilogue = "bias_relu",
         .via_shared = true,
         .sync = true},
        {.name = "gemm_f16_edge_viashared_sync_100x72x40",
         .M = 100,
         .N = 72,
         .K = 40,
         .tile_m = 32,
         .tile_n = 32,
         .threads = 64,
         .epilogue = "bias_relu",
         .via_shared = true,
         .sync = true},
        {.name = "gemm_f16_edge_odd_sync_33x35x37",
         .M = 33,
         .N = 35,
         .K = 37,
         .tile_m = 32,
         .tile_n = 32,
         .threads = 64,
         .via_shared = true,
         .sync = true},
        // Layouts of shared tiles are the compiler's: these rows are padded, and loads obey.
        {.name = "gemm_f16_swizzled_a_64x64x32_t128"},
        {.name = "gemm_f16_edge_odd_33x35x37",
         .M = 33,
         .N = 35,
         .K = 37,
         .tile_m = 32,
         .tile_n = 32,
         .threads = 64,
         .via_shared = true},
        {.name = "gemm_f16_kstep12_64x64x48",
         .M = 64,
         .N = 64,
         .K = 48,
         .tile_m = 32,
         .tile_n = 32,
         .tile_k = 12,
         .threads = 32},
        {.name = "gemm_f16_t64_of_16x16x16", .tile_m = 16, .tile_n = 16, .tile_k = 16, .threads = 64},
        {.name = "gemm_f16_40x40x24_t128",
         .M = 120,
         .N = 120,
         .K = 120,
         .tile_m = 40,
         .tile_n = 40,
         .tile_k = 24},
        {.name = "gemm_i8_64x64x32_t128", .type = i8, .accumulator = i32, .out = i32},
        {.name = "gemm_i8_64x64x32_novector", .type = i8, .accumulator = i32, .out = i32},
        {.name = "gemm_dynamic_m", .M = 100, .dynamic = true},
    };
    const auto direct = [&](std::string name, int bm, int bn, int threads, DType type, DType out) {
        GemmSpec g{.name = std::move(name),
                   .N = 256,
                   .tile_m = bm,
                   .tile_n = bn,
                   .threads = threads,
                   .type = type,
                   .out = out,
                   .c = "global",
                   .metal4 = true};
        all.push_back(g);
        return &all.back();
    };
    direct("mpp_direct_f16_64x128_t128", 64, 128, 128, f16, f32);
    direct("mpp_direct_f16_outf16_64x128_t128", 64, 128, 128, f16, f16);
    direct("mpp_direct_bf16_64x128_t128", 64, 128, 128, bf16, f32);
    direct("mpp_direct_f32_64x128_t128", 64, 128, 128, f32, f32);
    direct("mpp_direct_f16_64x128_t256", 64, 128, 256, f16, f32);
    direct("mpp_direct_f16_nt_64x128_t128", 64, 128, 128, f16, f32)->trans_b = true;
    direct("mpp_direct_f16_nt_square_64x64_t128", 64, 64, 128, f16, f32)->trans_b = true;
    direct("mpp_direct_f16_tn_64x64_t128", 64, 64, 128, f16, f32)->trans_a = true;
    for (const char* order : {"mlx", "row", "column"}) {
        GemmSpec* g = direct(fmt::format("mpp_direct_f16_{}_64x128_t128", order), 64, 128, 128, f16, f32);
        g->M = 320, g->swizzle = order;
    }
    GemmSpec* edge = direct("mpp_direct_f16_edge_100x72x48", 32, 64, 128, f16, f32);
    edge->M = 100, edge->N = 72, edge->K = 48;
    direct("mpp_direct_f16_edge_k_128x128x40", 64, 64, 128, f16, f32)->K = 40;
    direct("mpp_direct_f16_32x32_t32", 32, 32, 32, f16, f32);
    direct("mpp_direct_f16_128x128_t128", 128, 128, 128, f16, f32);
    direct("direct_f16_64x128_t128_without_metal4", 64, 128, 128, f16, f32)->metal4 = false;
    // The peer's two kinds of threadgroup memory, static and dynamic, are one here.
    for (const std::string kind : {"mpp_cshared_", "mpp_cshared_static_"}) {
        const auto shared = [&](const std::string& name) {
            all.push_back({.name = kind + name, .c = "shared", .metal4 = true});
            return &all.back();
        };
        shared("f16_64x64x32_t128");
        shared("f16_nt_64x64x32_t128")->trans_b = true;
        shared("bf16_64x64x32_t128")->type = bf16;
        shared("f16_64x64x64_t128")->tile_k = 64;
        shared("biasrelu_64x64x32_t128")->epilogue = "bias_relu";
        GemmSpec* over = shared(kind == "mpp_cshared_" ? "f16_edge_100x72x40" : "edge_100x72x40");
        over->M = 100, over->N = 72, over->K = 40, over->tile_m = over->tile_n = 32, over->threads = 64;
    }
    all.push_back({.name = "metal4_cfragment_f16_64x64x32_t128", .metal4 = true});
    return all;
}

}  // namespace ingot::tile::testing

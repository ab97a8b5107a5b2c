// Matrix products on the virtual Metal device against loops in double: the peer's programs, and every path
// with every type, transposition and kind of edge.
#include "tile/gemm_program.h"
#include "tile_device/device.h"

namespace ingot::tile::testing {
namespace {

struct Case {
    GemmSpec spec;
    std::optional<Path> path;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.spec.name;
}

class GemmOnDevice : public ::testing::TestWithParam<Case> {};

TEST_P(GemmOnDevice, IsRight) {
    const GemmSpec& g = GetParam().spec;
    const Kernel k = gemm_kernel(g);
    CompileOptions options;
    options.target = g.metal4 ? "metal-m5" : "metal-m4";
    options.path = GetParam().path;
    const auto compiled = compile(k, options);
    ASSERT_TRUE(compiled) << compiled.error().describe() << "\n" << gemm_text(g);
    if (GetParam().path) {
        for (const auto& [id, plan] : compiled->plan.gemms) EXPECT_EQ(plan.path, *GetParam().path);
    }
    const Arguments x = gemm_arguments(g);
    const std::vector<double> expected = gemm_reference(g, x);
    for (const metal::CooperativeLayout layout : layouts_of(*compiled)) {
        const auto results = run_on_device(*compiled, x, layout);
        ASSERT_TRUE(results) << results.error().describe() << "\n" << compiled->source;
        EXPECT_LE(worst_difference(results->at("C"), expected), gemm_tolerance(g))
            << "layout " << int(layout) << "\n"
            << gemm_text(g) << compiled->source;
    }
}

std::vector<Case> peers() {
    std::vector<Case> all;
    for (const GemmSpec& g : peer_gemms()) all.push_back({g, {}});
    return all;
}

// Paths x types x transpositions x edges.
std::vector<Case> sweep() {
    struct Size {
        int64_t m, n, k;
    };
    constexpr Size kSizes[] = {{64, 64, 64}, {33, 70, 45}, {1, 40, 16}, {40, 1, 17}, {5, 7, 1}, {64, 64, 0}};
    constexpr DType kIn[] = {DType::kF16, DType::kBF16, DType::kF32};
    std::vector<Case> all;
    size_t number = 0;
    for (const Path path :
         {Path::kDirectCooperative, Path::kSharedCooperative, Path::kSimdgroup, Path::kScalar})
        for (const DType type : kIn)
            for (const int transposes : {0, 1, 2, 3})
                for (const Size& size : kSizes) {
                    GemmSpec g{.name = {},
                               .M = size.m,
                               .N = size.n,
                               .K = size.k,
                               .tile_m = 32,
                               .tile_n = 64,
                               .tile_k = 32,
                               .type = type};
                    g.trans_a = transposes & 1, g.trans_b = transposes & 2;
                    g.metal4 = path == Path::kDirectCooperative || path == Path::kSharedCooperative;
                    g.c = path == Path::kDirectCooperative ? "global"
                          : g.metal4                       ? "shared"
                          : number % 2                     ? "fragment"
                                                           : "global";
                    g.out = number % 3 == 0 ? type : DType::kF32;
                    g.threads = number % 4 == 0 ? 64 : 128;
                    g.dynamic = number % 2;
                    g.pad = number % 5 == 0 ? 3 : 0;
                    g.stages = int(number % 3);
                    g.name =
                        fmt::format("{}_{}_{}{}_{}x{}x{}", kPathNames[size_t(path)], tile::name(type),
                                    g.trans_a ? 't' : 'n', g.trans_b ? 't' : 'n', size.m, size.n, size.k);
                    all.push_back({g, path});
                    ++number;
                }
    return all;
}

// Blocks from 16 to 128, four and eight simdgroups, every order of groups, tensors that start inside of their
// memory and whose rows have gaps between elements.
std::vector<Case> shapes() {
    struct Block {
        int m, n;
    };
    constexpr Block kBlocks[] = {{16, 32}, {16, 128}, {32, 32},  {48, 96},
                                 {64, 64}, {64, 128}, {128, 32}, {128, 64}};
    constexpr const char* kOrders[] = {"none", "row", "column", "mlx"};
    std::vector<Case> all;
    for (const bool direct : {false, true})
        for (const int threads : {128, 256})
            for (const Block& block : kBlocks) {
                const size_t number = all.size();
                GemmSpec g{.name = {},
                           .M = 150,
                           .N = 200,
                           .K = 40,
                           .tile_m = block.m,
                           .tile_n = block.n,
                           .tile_k = 16};
                g.threads = threads, g.metal4 = direct, g.c = direct ? "global" : "fragment";
                g.swizzle = kOrders[number % 4], g.dynamic = number % 3 == 0;
                g.offset = number % 2 == 0 ? 0 : 5;
                g.pad = int64_t(number % 3), g.inner = number % 5 == 4 ? 2 : 1;
                g.name = fmt::format("{}_{}x{}_t{}_{}", direct ? "direct" : "staged", block.m, block.n,
                                     threads, g.swizzle);
                all.push_back({g, {}});
            }
    return all;
}

const auto kName = [](const auto& test) { return test.param.spec.name; };
INSTANTIATE_TEST_SUITE_P(Peer, GemmOnDevice, ::testing::ValuesIn(peers()), kName);
INSTANTIATE_TEST_SUITE_P(Shapes, GemmOnDevice, ::testing::ValuesIn(shapes()), kName);
INSTANTIATE_TEST_SUITE_P(Sweep, GemmOnDevice, ::testing::ValuesIn(sweep()), kName);

}  // namespace
}  // namespace ingot::tile::testing

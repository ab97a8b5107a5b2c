// What the program and its plan say a group does, against what the emitted kernel did on the device, counted
// there; both against the peer's figures and against the least that a partition of the product can do.
#include "tile/api/counts.h"
#include "tile/gemm_program.h"
#include "tile_device/device.h"

namespace ingot::tile::testing {
namespace {

// The device's counts under the names of ours, of all groups of a launch.
Counts in_our_terms(const metal::count::Counts& d) {
    Counts c;
    c.matrix_products = int64_t(d.matrix_products);
    c.tensor_products = int64_t(d.tensor_operations);
    c.fragment_loads = int64_t(d.matrix_loads_device + d.matrix_loads_threadgroup);
    c.threadgroup_bytes_stored = int64_t(d.threadgroup_memory.bytes_written);
    c.threadgroup_bytes_loaded = int64_t(d.threadgroup_memory.bytes_read);
    c.barriers = int64_t(d.barriers);
    for (const metal::count::MemoryCounts& b : d.buffers) {
        c.device_bytes_read += int64_t(b.bytes_read);
        c.device_bytes_written += int64_t(b.bytes_written);
    }
    return c;
}

struct BothCounts {
    Counts planned, done;  // of one group
    uint64_t unique_bytes_read = 0;
};

// All groups of the launch do the same: its sizes are multiples of the tile.
BothCounts count_both(const GemmSpec& g) {
    CompileOptions options;
    options.target = g.metal4 ? "metal-m5" : "metal-m4";
    const auto compiled = compile(gemm_kernel(g), options);
    EXPECT_TRUE(compiled) << compiled.error().describe();
    const auto planned = count(*compiled, {});
    EXPECT_TRUE(planned) << planned.error().describe();
    const auto done = count_on_device(*compiled, gemm_arguments(g));
    EXPECT_TRUE(done) << done.error().describe();
    if (!planned || !done) return {};
    BothCounts out{.planned = *planned, .done = in_our_terms(*done)};
    const auto groups = int64_t(done->threadgroups);
#define X(field, meaning)                                           \
    EXPECT_EQ(out.done.field % groups, 0) << g.name << ": " #field; \
    out.done.field /= groups;
    INGOT_TILE_COUNTS(X)
#undef X
    for (const auto& b : done->buffers) out.unique_bytes_read += b.unique_bytes_read;
    return out;
}

// A step of K in the middle: what four steps more cost, divided by four. Planned and done alike.
Counts one_step(GemmSpec g, int64_t step) {
    constexpr int64_t kSteps = 4;
    g.K = 4 * step;
    const BothCounts few = count_both(g);
    g.K += kSteps * step;
    const BothCounts many = count_both(g);
    Counts planned, done;
#define X(field, meaning)                                                       \
    planned.field = (many.planned.field - few.planned.field) / kSteps;          \
    EXPECT_EQ((many.done.field - few.done.field) % kSteps, 0) << #field;        \
    done.field = (many.done.field - few.done.field) / kSteps;                   \
    EXPECT_EQ(planned.field, done.field) << g.name << ": " #field " of a step"; \
    EXPECT_EQ(many.planned.field, many.done.field) << g.name << ": " #field;
    INGOT_TILE_COUNTS(X)
#undef X
    return done;
}

struct StepCase {
    GemmSpec spec;
    int64_t step;
    Counts most;  // what the peer does, or better where a mapping allows it
};

void PrintTo(const StepCase& c, std::ostream* out) {
    *out << c.spec.name;
}

const StepCase kSteps[] = {
    // The peer: 256 / 128 / 8192 / 16384 / 2 barriers / 8192.
    {{.name = "staged_64x64x32_of_128_threads", .stages = 2},
     32,
     {.matrix_products = 256,
      .fragment_loads = 128,
      .threadgroup_bytes_stored = 8192,
      .threadgroup_bytes_loaded = 16384,
      .barriers = 1,
      .device_bytes_read = 8192}},
    // The peer: 1024 / 640 / 24576 / 81920 / 2 / 24576. 2 x 4 simdgroups of 32 x 32 load a fifth less.
    {{.name = "staged_64x128x64_of_256_threads", .tile_n = 128, .tile_k = 64, .threads = 256},
     64,
     {.matrix_products = 1024,
      .fragment_loads = 512,
      .threadgroup_bytes_stored = 24576,
      .threadgroup_bytes_loaded = 65536,
      .barriers = 2,
      .device_bytes_read = 24576}},
    // As the peer; of 8 simdgroups of 32 x 32 each reads 32 + 32 rows of 16 halves.
    {{.name = "direct_64x128x16_of_256_threads",
      .N = 256,
      .tile_n = 128,
      .threads = 256,
      .c = "global",
      .metal4 = true},
     16,
     {.tensor_products = 8, .device_bytes_read = 16384}},
    // 2 x 2 simdgroups of 32 x 64: the least that four can read.
    {{.name = "direct_64x128x16_of_128_threads", .N = 256, .tile_n = 128, .c = "global", .metal4 = true},
     16,
     {.tensor_products = 4, .device_bytes_read = 4 * (32 + 64) * 16 * 2}},
};

class StepCounts : public ::testing::TestWithParam<StepCase> {};

TEST_P(StepCounts, AreThoseOfThePlanAndNeverMoreThanThePeers) {
    const Counts done = one_step(GetParam().spec, GetParam().step);
#define X(field, meaning) EXPECT_LE(done.field, GetParam().most.field) << #field;
    INGOT_TILE_COUNTS(X)
#undef X
}

INSTANTIATE_TEST_SUITE_P(Counts, StepCounts, ::testing::ValuesIn(kSteps),
                         [](const auto& test) { return test.param.spec.name; });

// The default product, scaled from 4096 to 256 each way. Eight groups, four simdgroups each, of 32 x 64; an
// operation covers 32 x 64 x 16, for which a simdgroup must read 32 rows of A and 64 columns of B.
TEST(CountsOnDevice, TheDefaultProductDoesTheMinimumOfItsMapping) {
    constexpr int64_t kSize = 256, kGroups = 4 * 2, kOperations = 4 * kSize / 16;
    for (const DType out : {DType::kF32, DType::kF16}) {
        const BothCounts c = count_both({.name = "default_gemm",
                                         .M = kSize,
                                         .N = kSize,
                                         .K = kSize,
                                         .tile_n = 128,
                                         .out = out,
                                         .c = "global",
                                         .metal4 = true});
        EXPECT_EQ(c.done.tensor_products, kOperations);
        EXPECT_EQ(c.done.device_bytes_read, kOperations * (32 + 64) * 16 * 2);
        EXPECT_EQ(c.done.device_bytes_written * kGroups, kSize * kSize * int64_t(size_bytes(out)));
        EXPECT_EQ(c.unique_bytes_read, uint64_t{2 * kSize * kSize * 2});
        EXPECT_EQ(c.done.threadgroup_bytes_stored + c.done.threadgroup_bytes_loaded + c.done.barriers, 0);
        EXPECT_EQ(c.planned, c.done);
    }
}

}  // namespace
}  // namespace ingot::tile::testing

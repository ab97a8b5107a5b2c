// What a group does for a step of K, against what the peer's kernels do: never more in any column.
#include "tile/api/counts.h"

#include "tile/gemm_program.h"
#include "tile/peer_programs.h"

namespace ingot::tile::testing {
namespace {

Counts counted(const GemmSpec& g) {
    CompileOptions options;
    options.target = g.metal4 ? "metal-m5" : "metal-m4";
    const auto compiled = compile(gemm_kernel(g), options);
    EXPECT_TRUE(compiled) << compiled.error().describe();
    const auto counts = count(*compiled, {});
    EXPECT_TRUE(counts) << counts.error().describe();
    return counts.value_or(Counts{});
}

// Of one step in the middle: what four steps more cost, divided by four.
Counts per_step(GemmSpec g, int64_t step) {
    constexpr int64_t kSteps = 4;
    g.K = 4 * step;
    const Counts few = counted(g);
    g.K += kSteps * step;
    const Counts many = counted(g);
    Counts one;
#define X(name, meaning)                                    \
    EXPECT_EQ((many.name - few.name) % kSteps, 0) << #name; \
    one.name = (many.name - few.name) / kSteps;
    INGOT_TILE_COUNTS(X)
#undef X
    return one;
}

TEST(Counts, AStepOf64x64x32On128ThreadsIsTheMinimumOfItsPartition) {
    const Counts c = per_step({.name = "gemm", .stages = 2}, 32);
    EXPECT_EQ(c.matrix_products, 256);
    EXPECT_EQ(c.fragment_loads, 128);  // 2 x 2 simdgroups of 4 x 4 matrices: (4 + 4) * 4 * 4
    EXPECT_EQ(c.threadgroup_bytes_stored, 8192);
    EXPECT_EQ(c.threadgroup_bytes_loaded, 16384);
    EXPECT_EQ(c.barriers, 1);  // the peer needs 2
    EXPECT_EQ(c.device_bytes_read, 8192);
    EXPECT_EQ(c.device_bytes_written, 0);
}

TEST(Counts, AStepWithoutPipeliningNeedsTwoBarriers) {
    EXPECT_EQ(per_step({.name = "gemm"}, 32).barriers, 2);
}

TEST(Counts, AStepOf64x128x64On256ThreadsLoadsFewerFragmentsThanThePeer) {
    const Counts c = per_step({.name = "gemm", .tile_n = 128, .tile_k = 64, .threads = 256}, 64);
    EXPECT_EQ(c.matrix_products, 1024);
    EXPECT_EQ(c.fragment_loads, 512);  // the peer: 640
    EXPECT_EQ(c.threadgroup_bytes_stored, 24576);
    EXPECT_EQ(c.threadgroup_bytes_loaded, 65536);  // the peer: 81920
    EXPECT_LE(c.barriers, 2);
    EXPECT_EQ(c.device_bytes_read, 24576);
}

TEST(Counts, ADirectStepOf64x128On256ThreadsReadsWhatItsPartitionNeeds) {
    const Counts c = per_step(
        {.name = "gemm", .N = 256, .tile_n = 128, .threads = 256, .c = "global", .metal4 = true}, 16);
    EXPECT_EQ(c.device_bytes_read,
              16384);  // as the peer; 8 simdgroups of 32 x 32 read 32 + 32 rows of 16 halves each
    EXPECT_EQ(c.tensor_products, 8);
    EXPECT_EQ(c.barriers, 0);
    EXPECT_EQ(c.threadgroup_bytes_stored, 0);
    EXPECT_EQ(c.threadgroup_bytes_loaded, 0);
}

// The default product, 64 x 128 on four simdgroups: 2 x 2 of 32 x 64 each.
TEST(Counts, TheDefaultDirectProductReadsTheLeastThatFourSimdgroupsCan) {
    const Counts c =
        per_step({.name = "gemm", .M = 256, .N = 256, .tile_n = 128, .c = "global", .metal4 = true}, 16);
    EXPECT_EQ(c.device_bytes_read, 4 * (32 + 64) * 16 * 2);
    EXPECT_EQ(c.tensor_products, 4);
}

TEST(Counts, BranchesAndLoopsCountAsTheyRun) {
    const auto compiled = compile(kernel_of(R"(kernel k {
  dim n
  in A: f32[64]
  out C: f32[64]
  shared t: f32[64]
  for i < n {
    if i % 2 == 0 {
      copy t = A
    }
  }
  copy C = t
}
)",
                                            "k"));
    ASSERT_TRUE(compiled) << compiled.error().describe();
    const auto c = count(*compiled, {{"n", 5}});
    ASSERT_TRUE(c) << c.error().describe();
    EXPECT_EQ(c->device_bytes_read, 3 * 256);
    EXPECT_EQ(c->threadgroup_bytes_stored, 3 * 256);
    EXPECT_EQ(c->device_bytes_written, 256);
    EXPECT_FALSE(count(*compiled, {}));
}

}  // namespace
}  // namespace ingot::tile::testing

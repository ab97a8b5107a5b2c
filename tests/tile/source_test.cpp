// The shape of the emitted source: what a reader, and Apple's compiler, are promised.
#include <regex>

#include <gmock/gmock.h>

#include "tile/api/compile.h"
#include "tile/library.h"

namespace ingot::tile::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string source_of(const std::string& name, std::string_view target, std::optional<Path> path = {},
                      Sizes dims = {}) {
    CompileOptions options;
    options.target = target;
    options.path = path;
    options.dims = dims;
    const auto compiled = compile(read_kernel(name), options);
    EXPECT_TRUE(compiled) << name << ": " << (compiled ? "" : compiled.error().describe());
    return compiled ? compiled->source : "";
}

size_t count(const std::string& text, std::string_view what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

class EverySource : public ::testing::TestWithParam<LibraryCase> {};

TEST_P(EverySource, KeepsTheRulesOfItsShape) {
    for (const Target& target : targets()) {
        const std::string source = source_of(GetParam().name, target.name);
        // Pointers are cast with their address space, never without.
        const std::regex casts(R"(\(([^()]*)\*\)\()");
        for (std::sregex_iterator it(source.begin(), source.end(), casts), end; it != end; ++it)
            EXPECT_TRUE(std::regex_search((*it)[1].str(), std::regex("device|threadgroup|constant")))
                << it->str();
        // Roles show in the signature.
        const Kernel k = read_kernel(GetParam().name);
        for (const BufferId b : k.tensors()) {
            const std::string type(facts(k[b].type).msl);
            const std::string expected =
                (k[b].role == Role::kIn ? "    const device " : "    device ") + type + "* __restrict";
            EXPECT_THAT(source, HasSubstr(expected)) << k[b].name;
        }
        EXPECT_THAT(source,
                    HasSubstr(fmt::format("[[kernel, max_total_threads_per_threadgroup({})]]", k.threads)));
        // Lanes and simdgroups come from their attributes.
        EXPECT_THAT(source, Not(ContainsRegex("thread_index [/%] 32")));
        if (count(source, "lane") > 0) {
            EXPECT_THAT(source, HasSubstr("ushort lane [[thread_index_in_simdgroup]]"));
        }
        if (count(source, "(simdgroup ") > 0) {
            EXPECT_THAT(source, HasSubstr("ushort simdgroup [[simdgroup_index_in_threadgroup]]"));
        }
        // MPP only where the target has it.
        if (!target.metal4) {
            EXPECT_THAT(source, Not(HasSubstr("mpp")));
            EXPECT_THAT(source, Not(HasSubstr("tensor")));
        }
        // One comment for each tile operation, and nothing but Apple's headers.
        EXPECT_EQ(count(source, "#include"),
                  count(source, "#include <metal_") + count(source, "#include <MetalPerf"));
        EXPECT_EQ(count(source, "{"), count(source, "}"));
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EverySource, ::testing::ValuesIn(library_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Source, TheDirectPathTouchesNoThreadgroupMemoryAndHasNoBarrier) {
    const std::string source = source_of("gemm_direct", "metal-m5", Path::kDirectCooperative);
    EXPECT_THAT(source, HasSubstr("mpp::tensor_ops::matmul2d<descriptor, execution_simdgroup>"));
    EXPECT_THAT(source, Not(HasSubstr("barrier")));
    EXPECT_THAT(source, Not(ContainsRegex("threadgroup (half|float|bfloat)")));
    EXPECT_THAT(source, HasSubstr("/*relaxed precision*/ false"));
}

TEST(Source, CooperativeElementsAreAskedForTheirPlace) {
    const std::string source = source_of("gemm_direct", "metal-m5");
    EXPECT_THAT(source, HasSubstr("get_multidimensional_index"));
    EXPECT_THAT(source, HasSubstr("is_valid_element"));
}

TEST(Source, SumsAreFloatAndCastAtTheStore) {
    const std::string direct = source_of("gemm_direct", "metal-m5"),
                      staged = source_of("gemm_direct", "metal-m1");
    EXPECT_THAT(direct, HasSubstr("float>()"));
    EXPECT_THAT(direct, HasSubstr("= half(total[e]);"));
    EXPECT_THAT(staged, HasSubstr("simdgroup_float8x8 C_acc"));
    EXPECT_THAT(staged, HasSubstr("= half(C_acc[atom].thread_elements()[ah]);"));
}

TEST(Source, AnAccumulatorInMatricesNeverLoadsC) {
    const std::string source = source_of("gemm", "metal-m4");
    EXPECT_THAT(source, Not(ContainsRegex("simdgroup_load\\([^;]*&C\\[")));
    EXPECT_EQ(count(source, "simdgroup_store"), 1u);
}

TEST(Source, BfloatOperandsAreBfloatMatrices) {
    EXPECT_THAT(source_of("gemm_bias_gelu", "metal-m4"), HasSubstr("simdgroup_bfloat8x8 left"));
}

TEST(Source, TheMlxOrderShiftsAndMasksAndForgetsThePhysicalIndex) {
    const std::string source = source_of("gemm_direct", "metal-m5");
    EXPECT_THAT(source, HasSubstr("const int bx = int(group.x >> 2);"));
    EXPECT_THAT(source, HasSubstr("const int by = int((group.y << 2) + (group.x & 3));"));
    const size_t last = source.rfind("group.");
    EXPECT_LT(last, source.find("if (by >= "));
}

TEST(Source, RowsThatMeetInBanksArePadded) {
    // 32 halves are 64 bytes: 8 more a row. 64 halves likewise.
    const std::string source = source_of("gemm_shared", "metal-m4");
    EXPECT_THAT(source, HasSubstr("threadgroup half As[1280];"));
    EXPECT_THAT(source, HasSubstr("threadgroup half Bs[2304];"));
}

TEST(Source, WholeTilesHaveNoGuards) {
    const std::string source = source_of("gemm", "metal-m4", {}, {{"m", 128}, {"n", 128}, {"k", 64}});
    EXPECT_THAT(source, Not(HasSubstr("?")));
    EXPECT_THAT(source, Not(HasSubstr("args")));
    EXPECT_THAT(source, HasSubstr("*(threadgroup half4*)(&As["));
}

TEST(Source, APipelinedLoopHasOneBarrierAStep) {
    const std::string source = source_of("gemm", "metal-m4", {}, {{"m", 128}, {"n", 128}, {"k", 64}});
    const size_t loop = source.find("for (int step");
    ASSERT_NE(loop, std::string::npos);
    EXPECT_EQ(count(source.substr(loop), "threadgroup_barrier"), 1u) << source;
}

}  // namespace
}  // namespace ingot::tile::testing

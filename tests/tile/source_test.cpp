// The shape of the emitted source: what a reader, and Apple's compiler, are promised.
#include <algorithm>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>

#include "tile/api/compile.h"
#include "tile/library.h"
#include "tile/passes/rewrite.h"
#include "tile/peer_programs.h"

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

class EverySource : public ::testing::TestWithParam<LibraryCase> {
  protected:
    // Calls `check` with what is emitted for each target.
    void for_each_source(const std::function<void(const Target&, const std::string&)>& check) const {
        for (const Target& target : targets()) {
            SCOPED_TRACE(std::string(target.name));
            check(target, source_of(GetParam().name, target.name));
        }
    }
};

TEST_P(EverySource, CastsPointersWithTheirAddressSpaceAlone) {
    for_each_source([](const Target&, const std::string& source) {
        const std::regex casts(R"(\(([^()]*)\*\)\()");
        for (std::sregex_iterator it(source.begin(), source.end(), casts), end; it != end; ++it)
            EXPECT_TRUE(std::regex_search((*it)[1].str(), std::regex("device|threadgroup|constant")))
                << it->str();
    });
}

TEST_P(EverySource, ShowsRolesInTheSignature) {
    const Kernel k = read_kernel(GetParam().name);
    for_each_source([&](const Target&, const std::string& source) {
        for (const BufferId b : k.tensors()) {
            const std::string type(facts(k[b].type).msl);
            const std::string expected =
                (k[b].role == Role::kIn ? "    const device " : "    device ") + type + "* __restrict";
            EXPECT_THAT(source, HasSubstr(expected)) << k[b].name;
        }
    });
}

TEST_P(EverySource, StatesItsThreads) {
    const Kernel k = read_kernel(GetParam().name);
    for_each_source([&](const Target&, const std::string& source) {
        EXPECT_THAT(source,
                    HasSubstr(fmt::format("[[kernel, max_total_threads_per_threadgroup({})]]", k.threads)));
    });
}

TEST_P(EverySource, TakesLanesAndSimdgroupsFromTheirAttributes) {
    for_each_source([](const Target&, const std::string& source) {
        EXPECT_THAT(source, Not(ContainsRegex("thread_index [/%] 32")));
        if (count(source, "lane") > 0) {
            EXPECT_THAT(source, HasSubstr("ushort lane [[thread_index_in_simdgroup]]"));
        }
        if (count(source, "(simdgroup ") > 0) {
            EXPECT_THAT(source, HasSubstr("ushort simdgroup [[simdgroup_index_in_threadgroup]]"));
        }
    });
}

TEST_P(EverySource, NamesNoPerformancePrimitivesWithoutMetal4) {
    for_each_source([](const Target& target, const std::string& source) {
        if (target.metal4) return;
        EXPECT_THAT(source, Not(HasSubstr("mpp")));
        EXPECT_THAT(source, Not(HasSubstr("tensor")));
    });
}

TEST_P(EverySource, DependsOnApplesHeadersAlone) {
    for_each_source([](const Target&, const std::string& source) {
        EXPECT_EQ(count(source, "#include"),
                  count(source, "#include <metal_") + count(source, "#include <MetalPerf"));
    });
}

TEST_P(EverySource, HasOneCommentForEachTileOperation) {
    CompileOptions options;
    options.target = "metal-m4";
    const auto compiled = compile(read_kernel(GetParam().name), options);
    ASSERT_TRUE(compiled);
    size_t operations = 0;
    walk(compiled->kernel, compiled->kernel.body, [&](StmtId id) {
        const StmtOp op = compiled->kernel[id].op;
        operations += op == StmtOp::kCopy || op == StmtOp::kFill || op == StmtOp::kGemm ||
                      op == StmtOp::kReduce || op == StmtOp::kCumSum || op == StmtOp::kParallel;
    });
    size_t comments = 0;
    std::istringstream lines(compiled->source);
    for (std::string line; std::getline(lines, line);)
        comments += std::regex_search(line, std::regex("^ +// (copy|fill|gemm|reduce|cumsum|parallel) "));
    EXPECT_EQ(comments, operations);
}

TEST_P(EverySource, IsIndentedByItsBraces) {
    for_each_source([](const Target&, const std::string& source) {
        size_t depth = 0;
        std::istringstream lines(source);
        for (std::string line; std::getline(lines, line);) {
            const size_t text = line.find_first_not_of(' ');
            if (text == std::string::npos || line[0] == '#') continue;
            const size_t closes = line[text] == '}';
            const bool parameter = line.find("[[") != std::string::npos && depth == 0;
            if (!parameter) {
                EXPECT_GE(text, 4 * (depth - closes)) << line;
            }
            depth += size_t(std::ranges::count(line, '{')) - size_t(std::ranges::count(line, '}'));
        }
        EXPECT_EQ(depth, 0u);
    });
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

TEST(Source, PointersOfTheDirectPathStartOnceAndWalkAlongK) {
    const std::string source = source_of("gemm_direct", "metal-m5");
    const size_t loop = source.find("for (int kk");
    ASSERT_NE(loop, std::string::npos);
    const std::string before = source.substr(0, loop),
                      inside = source.substr(loop, source.find("if (rest > 0)") - loop);
    EXPECT_THAT(before, HasSubstr("const device half* left_at = &A["));
    EXPECT_THAT(before, HasSubstr("const device half* right_at = &B["));
    EXPECT_THAT(inside, HasSubstr("left_at += 16;"));
    EXPECT_THAT(inside, HasSubstr("right_at += 16 * long(args.n);"));
    EXPECT_THAT(inside, Not(HasSubstr("A[")));
    EXPECT_THAT(inside, Not(HasSubstr("B[")));
}

TEST(Source, FourFloatsAreStoredAsFourHalves) {
    const auto compiled =
        compile(kernel_of("kernel k {\n  in A: f32[8, 64]\n  out C: f16[8, 64]\n  copy C = A\n}", "k"));
    ASSERT_TRUE(compiled) << compiled.error().describe();
    EXPECT_THAT(compiled->source, HasSubstr("*(device half4*)(&C["));
    EXPECT_THAT(compiled->source, HasSubstr("= half4(*(const device float4*)(&A["));
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

TEST(Source, TilesThatTakeTurnsAreKeptApartByABarrier) {
    const PeerProgram turns = peer_program("tiles_that_take_turns");
    const auto compiled = compile(kernel_of(turns.text, turns.name));
    ASSERT_TRUE(compiled) << compiled.error().describe();
    const std::string& source = compiled->source;
    EXPECT_THAT(source, HasSubstr("alignas(16) threadgroup uchar shared_memory["));
    EXPECT_THAT(source, HasSubstr("threadgroup float* const Cs = (threadgroup float*)(&shared_memory[0]);"));
    EXPECT_LE(compiled->threadgroup_bytes, 32768);
    EXPECT_THAT(compiled->explain(), HasSubstr("bytes of shared tiles take turns in"));
    // Between the last read of the operands and the first write of what lies in their place.
    const size_t product = source.find("// gemm"), store = source.find("// copy Cs");
    ASSERT_NE(store, std::string::npos);
    EXPECT_EQ(count(source.substr(product, store - product), "threadgroup_barrier"), 1u) << source;
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

// `ingot tile run`: kernels of the tile language on the device, files in and out.
#include <cstring>

#include <gmock/gmock.h>

#include "metal_cli/program.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TileRun : public Program {
  protected:
    std::string good_tile(const std::string& arguments) {
        const Outcome outcome = ingot("tile " + arguments);
        EXPECT_EQ(0, outcome.status) << arguments << "\n" << outcome.output;
        return outcome.output;
    }
    std::string bad_tile(const std::string& arguments) {
        const Outcome outcome = ingot("tile " + arguments);
        EXPECT_EQ(1, outcome.status) << arguments << "\n" << outcome.output;
        return outcome.output;
    }
};

constexpr const char* kDouble = R"(kernel twice {
  dim n
  scalar by: i32
  in X: i32[n]
  inout T: i32[1]
  out Y: i32[n]
  grid bx < ceildiv(n, 32)
  threads 32
  parallel i < 32 {
    Y[bx * 32 + i] = X[bx * 32 + i] * by
    atomic_add T[0] += X[bx * 32 + i]
  }
}
)";

TEST_F(TileRun, ReadsAndWritesFilesAndLearnsDimsFromThem) {
    write("twice.tile", kDouble);
    write("x.npy", numpy_file("<i4", "(3,)", bytes_of<int32_t>({1, 20, -3})));
    write("t.npy", numpy_file("<i4", "(1,)", bytes_of<int32_t>({100})));
    const std::string output =
        good_tile("run twice.tile --scalar by=2 --in X=x.npy --in T=t.npy --out Y=y.npy --out T=sum.npy");
    EXPECT_THAT(output, StartsWith("Ingot virtual Metal device, twice for metal-m4: "));
    EXPECT_THAT(output, HasSubstr("1 x 1 x 1 groups of 32 threads"));
    EXPECT_EQ(read("y.npy"), numpy_file("<i4", "(3,)", bytes_of<int32_t>({2, 40, -6})));
    EXPECT_EQ(read("sum.npy"), numpy_file("<i4", "(1,)", bytes_of<int32_t>({118})));
}

TEST_F(TileRun, GivesWhatTheReferenceGivesOnEachPathAndLayout) {
    const std::string inputs =
        " gemm_direct -D m=40 -D n=70 -D k=24 --in A=randn:1 --in B=randn:2 --out C=c.npy ";
    good_tile("ref" + inputs);
    const std::string expected = read("c.npy");
    for (const std::string flags :
         {"--target metal-m4", "--target metal-m5 --path direct", "--target metal-m5 --layout scrambled",
          "--target metal-m5 --layout rowmajor --specialise"}) {
        good_tile("run" + inputs + flags);
        // Halves whose sums are rounded once, in another order: the last bit may differ.
        const std::string actual = read("c.npy");
        ASSERT_EQ(actual.size(), expected.size());
        const size_t header = actual.size() - 40 * 70 * 2;
        for (size_t at = header; at < actual.size(); at += 2) {
            uint16_t a = 0, b = 0;
            std::memcpy(&a, actual.data() + at, 2), std::memcpy(&b, expected.data() + at, 2);
            ASSERT_LE(std::abs(int(a & 0x7FFF) - int(b & 0x7FFF)), 64)
                << flags << " element " << (at - header) / 2;
        }
    }
}

TEST_F(TileRun, AGridWithoutGroupsDoesNothing) {
    write("twice.tile", kDouble);
    write("t.npy", numpy_file("<i4", "(1,)", bytes_of<int32_t>({7})));
    good_tile("run twice.tile --scalar by=2 -D n=0 --in X=zeros --in T=t.npy --out T=sum.npy");
    EXPECT_EQ(read("sum.npy"), numpy_file("<i4", "(1,)", bytes_of<int32_t>({7})));
}

TEST_F(TileRun, ReportsAsJson) {
    write("twice.tile", kDouble);
    const auto json = nlohmann::json::parse(
        good_tile("run twice.tile --scalar by=2 -D n=40 --in X=zeros --in T=zeros --json"), nullptr, false);
    EXPECT_EQ(json["kernel"], "twice");
    EXPECT_EQ(json["groups"], (nlohmann::json{2, 1, 1}));
    EXPECT_EQ(json["findings"].size(), 0u);
}

TEST_F(TileRun, ChecksAndCounts) {
    const std::string output = good_tile(
        "run gemm --check --count --json -D m=64 -D n=64 -D k=64 --in A=randn:1 --in B=randn:2 --out "
        "C=c.npy");
    const auto json = nlohmann::json::parse(output, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << output;
    EXPECT_EQ(json["findings"].size(), 0u) << output;
    EXPECT_EQ(json["counts"]["matrix_products"], 512) << output;  // 64^3 / 8^3
    EXPECT_FALSE(read("c.npy").empty());
    // A group that reads what another wrote.
    write("race.tile", R"(kernel race {
  inout X: i32[8]
  grid bx < 2
  threads 32
  parallel i < 8 {
    X[i] = X[7 - i] + bx
  }
}
)");
    const Outcome found = ingot("tile run race.tile --check --in X=zeros");
    EXPECT_EQ(found.status, 1) << found.output;
    EXPECT_THAT(found.output, HasSubstr("race"));
}

TEST_F(TileRun, RefusesWhatItCannotUse) {
    write("twice.tile", kDouble);
    write("x.npy", numpy_file("<i4", "(3,)", bytes_of<int32_t>({1, 2, 3})));
    const std::string start = "run twice.tile --scalar by=2 ";
    EXPECT_THAT(bad_tile(start + "--in X=x.npy"), HasSubstr("nothing is given for T"));
    EXPECT_THAT(bad_tile(start + "--in x=x.npy"), HasSubstr("twice has no tensor 'x'; there are X, T, Y"));
    EXPECT_THAT(bad_tile(start + "-D n=5 --in X=x.npy --in T=zeros"),
                HasSubstr("dimension 0 is 3, dim n is 5"));
    EXPECT_THAT(bad_tile(start + "--in X=x.npy --in T=x.npy"), HasSubstr("T takes 1 elements, 3 are given"));
    EXPECT_THAT(bad_tile("run twice.tile --in X=x.npy --in T=zeros"), HasSubstr("by has no value"));
    EXPECT_THAT(bad_tile(start + "--in X=x.npy --in T=zeros --layout diagonal"),
                HasSubstr("there are nax, rowmajor, scrambled"));
    EXPECT_THAT(bad_tile(start + "--in X=x.npy --in T=zeros --target metal-m9"),
                HasSubstr("there are metal-m1"));
    EXPECT_THAT(bad_tile(start + "--in X=x.npy --in T=zeros --out Q=q.npy"),
                HasSubstr("no output of that name"));
}

// `ingot tile plan`.
class TilePlan : public TileRun {};

TEST_F(TilePlan, SaysWhatWasChosenWhatElseThereWasAndWhyNotTheRest) {
    const std::string text = good_tile("plan gemm_shared -D m=64 -D n=64 -D k=64 --svg plan.svg");
    EXPECT_THAT(text, HasSubstr("planner: 64 threads, score "));
    EXPECT_THAT(text, HasSubstr("gemm_shared.tile:17:5: 1 x 2 simdgroups with 4 x 4 atoms of 8 x 8, direct"));
    EXPECT_THAT(text, HasSubstr("instead: 64 threads; "));
    EXPECT_THAT(text, HasSubstr("refused at gemm_shared.tile:17:5: a faster instruction: metal-m4 isn't"));
    EXPECT_THAT(read("plan.svg"), StartsWith("<svg "));
    EXPECT_THAT(read("plan.svg"), HasSubstr(">0.0</text>"));
}

TEST_F(TilePlan, PrintsJsonForProgramsAndTakesOptions) {
    const auto chosen = nlohmann::json::parse(good_tile("plan gemm --json"));
    EXPECT_EQ(chosen.at("products").at(0).at("chosen").at("accumulator"), "direct");
    EXPECT_EQ(chosen["threads"], 128);
    const auto other = nlohmann::json::parse(
        good_tile("plan gemm_shared --json --threads 128 --off direct_accumulator_store --copy-batch 4"));
    EXPECT_EQ(other.at("products").at(0).at("chosen").at("accumulator"), "resident");
    EXPECT_EQ(other["threads"], 128);
    EXPECT_EQ(other["copy_batch"]["requested"], 4);
}

TEST_F(TilePlan, RefusesWhatItDoesntKnowByName) {
    EXPECT_THAT(bad_tile("plan gemm --off speed"),
                HasSubstr("no option 'speed' of the planner; there are residency, "));
    EXPECT_THAT(bad_tile("plan gemm --threads 2048"), HasSubstr("2048 threads; metal-m4 takes 1 to 1024"));
    EXPECT_THAT(bad_tile("plan gemm --copy-batch 17"),
                HasSubstr("max_copy_batch is 17; 1 to 16 are accepted"));
    write("bad.costs", "like metal-m4\nmpp_operation -1\n");
    EXPECT_THAT(bad_tile("plan gemm --costs bad.costs"),
                HasSubstr("bad.costs:2: mpp_operation is -1; 0 and more are accepted"));
}

TEST_F(TilePlan, CompilesWithoutPlannerWhenTold) {
    EXPECT_THAT(good_tile("compile gemm --explain --no-planner"), HasSubstr("planner: off"));
    EXPECT_THAT(good_tile("compile gemm --explain"), HasSubstr("planner: 128 threads"));
}

}  // namespace
}  // namespace ingot::metal::testing

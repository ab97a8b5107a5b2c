// `ingot tile run`: kernels of the tile language on the device, files in and out.
#include <cstring>

#include <gmock/gmock.h>

#include "metal_cli/program.h"

namespace ingot::metal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
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
    EXPECT_THAT(bad_tile(start + "--in X=x.npy --in T=x.npy"), HasSubstr("T is [1], x.npy has shape [3]"));
    EXPECT_THAT(bad_tile("run twice.tile --in X=x.npy --in T=zeros"), HasSubstr("by has no value"));
    EXPECT_THAT(bad_tile(start + "--in X=x.npy --in T=zeros --layout diagonal"),
                HasSubstr("there are nax, rowmajor, scrambled"));
    EXPECT_THAT(bad_tile(start + "--in X=x.npy --in T=zeros --target metal-m9"),
                HasSubstr("there are metal-m1"));
    EXPECT_THAT(bad_tile(start + "--in X=x.npy --in T=zeros --out Q=q.npy"),
                HasSubstr("twice has no output 'Q'; there are T, Y"));
}

// Y[bx] = 7 in each group of 32 threads, of which there are m * n.
constexpr const char* kGroups = R"(kernel groups {
  dim m, n
  out Y: u8[8]
  grid bx < m * n
  threads 32
  parallel i < 1 {
    Y[bx % 8] = u8(7)
  }
}
)";

TEST_F(TileRun, AGridThatTheDeviceCannotCountIsRefusedAndNotTakenForAnEmptyOne) {
    write("groups.tile", kGroups);
    for (const std::string width : {"8192", "8193"}) {  // 2^27 groups of 32 threads: 2^32
        EXPECT_THAT(bad_tile("run groups.tile -D m=16384 -D n=" + width),
                    HasSubstr("groups of 32 threads along one axis; 4294967295 threads are accepted"));
    }
    EXPECT_THAT(good_tile("run groups.tile -D m=0 -D n=8192"), HasSubstr("0 x 1 x 1 groups"));
}

TEST_F(TileRun, SizesThatDoNotFitAreRefusedBeforeAnythingIsAllocated) {
    write("groups.tile", kGroups);
    write("copy.tile", R"(kernel copies {
  dim m, n
  in A: f32[m, n]
  out Y: f32[m, n]
  grid bx < 1
  copy Y[0 : 8, 0 : 8] = A[0 : 8, 0 : 8]
}
)");
    for (const std::string command : {"ref ", "run ", "run --specialise "}) {
        EXPECT_THAT(bad_tile(command + "groups.tile -D m=65536 -D n=65536"),
                    HasSubstr("m * n is 4294967296, which i32 can't hold"));
        EXPECT_THAT(bad_tile(command + "groups.tile -D m=2147483648 -D n=0"),
                    HasSubstr("dim m is 2147483648; multiples of 1 from 0 to 2147483647 are accepted"));
        const std::string copies = command + "copy.tile --in A=zeros ";
        EXPECT_THAT(bad_tile(copies + "-D m=9223372036854775807 -D n=2"), HasSubstr("from 0 to 2147483647"));
        EXPECT_THAT(bad_tile(copies + "-D m=2147483647 -D n=2147483647"),
                    HasSubstr("A has more than 2^40 elements"));
        EXPECT_THAT(bad_tile(copies + "-D m=100000 -D n=1000000"),
                    HasSubstr("A takes 100000000000 elements of f32; at most 4294967296 bytes are accepted"));
    }
}

TEST_F(TileRun, AFileHoldsTheTypeOfItsTensor) {
    const std::pair<const char*, const char*> types[] = {{"f32", "<f4"}, {"f16", "<f2"}, {"bf16", "<u2"},
                                                         {"i32", "<i4"}, {"u32", "<u4"}, {"i16", "<i2"},
                                                         {"u16", "<u2"}, {"i8", "|i1"},  {"u8", "|u1"}};
    for (const auto& [name, descr] : types) write(descr + std::string(".npy"), numpy_file(descr, "(0,)", ""));
    for (const auto& [name, descr] : types) {
        write("take.tile", std::string("kernel take {\n  dim n\n  in A: ") + name +
                               "[n]\n  out Y: i32[1]\n  parallel i < 1 {\n    Y[0] = n\n  }\n}\n");
        for (const auto& [other, file] : types) {
            const std::string arguments = std::string("ref take.tile --in 'A=") + file + ".npy'";
            if (std::string_view(file) == descr) {
                good_tile(arguments);
            } else {
                EXPECT_THAT(bad_tile(arguments), HasSubstr(std::string("A is ") + name + "; a file of "));
            }
        }
    }
}

TEST_F(TileRun, ShapesOfFilesAreThoseOfTheProgram) {
    write("take.tile", R"(kernel take {
  dim m, n
  in A: u8[m, n]
  in B: u8[2, n] strides [n + 2, 1]
  in C: u8[2, 3]
  out Y: u8[m, n]
  grid bx < 1
  parallel i < m, j < n {
    Y[i, j] = A[i, j] + C[i, j]
  }
}
)");
    const auto file = [&](const char* name, const char* shape, size_t count) {
        write(name, numpy_file("|u1", shape, std::string(count, '\1')));
    };
    file("cube.npy", "(2, 2, 2)", 8);
    file("tall.npy", "(3, 2)", 6);
    file("wide.npy", "(2, 3)", 6);
    file("eight.npy", "(8,)", 8);  // B's memory: 5 elements to the second row, 3 in it
    for (const std::string command : {"ref take.tile ", "run take.tile "}) {
        EXPECT_THAT(bad_tile(command + "--in A=cube.npy --in B=zeros --in C=zeros"),
                    HasSubstr("A is [m, n], cube.npy has shape [2, 2, 2]"));
        EXPECT_THAT(bad_tile(command + "--in A=wide.npy --in B=zeros --in C=tall.npy"),
                    HasSubstr("C is [2, 3], tall.npy has shape [3, 2]"));
        EXPECT_THAT(bad_tile(command + "--in A=wide.npy --in B=wide.npy --in C=wide.npy"),
                    HasSubstr("B takes 8 elements, wide.npy has 6"));
        EXPECT_THAT(bad_tile(command + "--in A=wide.bin --in B=zeros --in C=zeros"),
                    HasSubstr("'A=wide.bin': NAME=FILE.npy, NAME=zeros or NAME=randn[:SEED] is meant"));
        good_tile(command + "--in A=wide.npy --in B=eight.npy --in C=wide.npy --out Y=y.npy");
        EXPECT_EQ(read("y.npy"), numpy_file("|u1", "(2, 3)", std::string(6, '\2'))) << command;
    }
}

TEST_F(TileRun, NoFlagIsLeftOut) {
    write("twice.tile", kDouble);
    for (const std::string command : {"ref", "run"}) {
        const std::string start = command + " twice.tile --scalar by=2 --in T=zeros --in X=zeros -D n=2 ";
        good_tile(start);
        EXPECT_THAT(bad_tile(start + "-D z=2"), HasSubstr("twice has no dim 'z'; there are n"));
        EXPECT_THAT(bad_tile(start + "--scalar x=3"), HasSubstr("twice has no scalar 'x'; there are by"));
        EXPECT_THAT(bad_tile(start + "-D n=3"), HasSubstr("'n=3': n is given twice"));
        EXPECT_THAT(bad_tile(start + "--scalar by=3"), HasSubstr("'by=3': by is given twice"));
        EXPECT_THAT(bad_tile(start + "--in X=randn"), HasSubstr("'X=randn': X is given twice"));
        EXPECT_THAT(bad_tile(start + "--out X=o.npy"), HasSubstr("no output 'X'; there are T, Y"));
        for (const std::string text : {"randn:x", "randn:", "randn:1x", "randn2", "randn:-1", "random"})
            EXPECT_THAT(bad_tile(command + " twice.tile --scalar by=2 --in T=zeros -D n=2 --in X=" + text),
                        HasSubstr("'X=" + text + "': NAME=FILE.npy, NAME=zeros or NAME=randn[:SEED]"));
    }
}

TEST_F(TileRun, TensorsWithoutElementsAreBoundAndNothingIsFoundInThem) {
    const std::string output =
        good_tile("run gemm -D m=8 -D n=8 -D k=0 --in A=zeros --in B=zeros --check all --json --out C=c.npy");
    EXPECT_EQ(nlohmann::json::parse(output, nullptr, false)["findings"].size(), 0u) << output;
    EXPECT_EQ(read("c.npy"), numpy_file("<f4", "(8, 8)", std::string(8 * 8 * 4, '\0')));
    good_tile("run row_reduce -D m=4 -D n=0 --in X=zeros --check");
}

TEST_F(TileRun, HelpNamesTheValueOfEachFlag) {
    for (const std::string command : {"compile", "ref", "run"}) {
        const std::string help = good_tile(command + " --help");
        EXPECT_THAT(help, HasSubstr("ingot tile " + command + " [OPTIONS] FILE"));
        EXPECT_THAT(help, HasSubstr("-D,--dim NAME=SIZE ..."));
        EXPECT_THAT(help, Not(::testing::ContainsRegex("\n  -[-,A-Za-z]+ +(=|[.][.][.])")));
    }
    EXPECT_THAT(good_tile("compile --help"), HasSubstr("-o,--output FILE"));
    EXPECT_THAT(good_tile("run --help"),
                AllOf(HasSubstr("--target TARGET [metal-m4]"), HasSubstr("--in NAME=FILE.npy ...")));
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

// `ingot tile tune`.
class TileTune : public TileRun {};

TEST_F(TileTune, TriesPlansOnTheDeviceKeepsThemAllAndLaterCompilesGetTheBest) {
    const std::string dims = " -D m=64 -D n=64 -D k=64 ";
    const std::string text =
        good_tile("tune gemm_shared --device virtual --budget 60s --shortlist 3 --db t.db" + dims);
    EXPECT_THAT(text, HasSubstr("measured the planner's choice; "));
    EXPECT_THAT(text, HasSubstr("measured the reference way: "));
    EXPECT_THAT(text, HasSubstr("left     "));
    EXPECT_THAT(text, HasSubstr("behind the shortlist by its score"));
    EXPECT_THAT(text, HasSubstr("medians (counters of the virtual device, priced; no time): "));
    EXPECT_THAT(good_tile("compile gemm_shared --explain --tuned t.db" + dims), HasSubstr("planner: "));
    EXPECT_THAT(good_tile("plan gemm_shared --tuned t.db" + dims), HasSubstr("planner: "));
    good_tile("run gemm_shared --in A=randn:1 --in B=randn:2 --out C=tuned.npy --tuned t.db" + dims);
    good_tile("run gemm_shared --in A=randn:1 --in B=randn:2 --out C=plain.npy" + dims);
    EXPECT_EQ(read("tuned.npy").size(), read("plain.npy").size());
    EXPECT_THAT(bad_tile("plan gemm_shared --tuned t.db -D m=64 -D n=64 -D k=32"),
                HasSubstr("no plan of gemm_shared for shapes "));
    EXPECT_THAT(bad_tile("plan gemm --tuned t.db -D m=64 -D n=64 -D k=32"),
                HasSubstr("no plan of gemm for kernel_hash "));
    EXPECT_THAT(bad_tile("plan gemm_shared --tuned no.db" + dims), HasSubstr("no.db: "));
}

TEST_F(TileTune, RefusesDevicesAndBudgetsItDoesntKnow) {
    EXPECT_THAT(bad_tile("tune gemm --device gpu"),
                HasSubstr("no device 'gpu' to tune on; there are virtual and metal"));
    EXPECT_THAT(bad_tile("tune gemm --device virtual --budget soon -D m=8 -D n=8 -D k=8"),
                HasSubstr("a budget of 'soon'; 90s, 5m or 2h is meant"));
    EXPECT_THAT(bad_tile("tune gemm --device virtual"), HasSubstr("dim "));
}

}  // namespace
}  // namespace ingot::metal::testing

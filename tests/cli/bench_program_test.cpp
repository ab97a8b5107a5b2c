#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_program.h"

namespace ingot {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(BenchProgram, MeasuresAModelThatHoldsNoVocabulary) {
    std::string bytes = test::read_bytes(INGOT_TEST_DATA "/models/qwen2.gguf");
    const size_t key = bytes.find("tokenizer.ggml.model");
    ASSERT_NE(std::string::npos, key);
    const size_t value = bytes.find("gpt2", key);
    ASSERT_NE(std::string::npos, value);
    bytes.replace(value, 4, "none");
    const test::TemporaryFolder folder;
    const std::string file = folder.write("no-vocabulary.gguf", bytes);

    const auto bench = test::run_program({"bench", file, "-p", "4", "-n", "2", "-r", "1"});
    EXPECT_EQ(0, bench.exit_code) << bench.err;
    EXPECT_THAT(bench.out, AllOf(HasSubstr("pp4"), HasSubstr("tg2")));

    const auto deep = test::run_program({"bench", file, "-p", "4", "-n", "2", "-r", "2", "-d", "30"});
    EXPECT_EQ(0, deep.exit_code) << deep.err;
    EXPECT_THAT(deep.out, AllOf(HasSubstr("pp4 @ d30"), HasSubstr("tg2 @ d30")));

    const auto together =
        test::run_program({"bench", file, "-p", "4", "-n", "2", "-r", "1", "-d", "3", "-s", "1,3"});
    EXPECT_EQ(0, together.exit_code) << together.err;
    EXPECT_THAT(together.out,
                AllOf(HasSubstr("tg2 @ d3 "), HasSubstr("pp4 @ d3 x3"), HasSubstr("tg2 @ d3 x3")));

    const auto run = test::run_program({"run", file, "-p", "text"});
    EXPECT_EQ(1, run.exit_code) << "the file has no vocabulary after all";
    EXPECT_THAT(run.err, HasSubstr("vocabulary"));
}

}  // namespace
}  // namespace ingot

// `ingot run --session` as its users call it: the second run takes the prompt from the file and says the
// same; a damaged file is a message, not a failure.
#include <filesystem>

#include "real_model.h"
#include "support/run_program.h"

namespace ingot {
namespace {

TEST(SessionProgram, TheSecondRunTakesThePromptFromTheFile) {
    const RealModel model{"SmolLM2", "SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2", "make model"};
    ASSERT_TRUE(std::filesystem::exists(cached_model(model))) << "'make model' gets it";
    const test::TemporaryFolder folder;
    const std::string path = folder.file("s.kv");
    const auto run = [&] {
        return test::run_program({"run", cached_model(model), "-c", "128", "-n", "6", "--greedy",
                                  "--kv-format", "q8_0", "--session", path, "-p",
                                  "Once upon a time there was a"});
    };
    const test::ProgramResult first = run(), second = run();
    EXPECT_EQ(0, first.exit_code) << first.err;
    EXPECT_EQ(0, second.exit_code) << second.err;
    EXPECT_EQ(first.out, second.out);
    EXPECT_EQ(std::string::npos, first.err.find("session:")) << first.err;
    EXPECT_NE(std::string::npos, second.err.find("session: 6 tokens of the prompt")) << second.err;

    std::filesystem::resize_file(path, 100);
    const test::ProgramResult third = run();
    EXPECT_EQ(0, third.exit_code) << third.err;
    EXPECT_EQ(first.out, third.out);
    EXPECT_NE(std::string::npos, third.err.find("starting afresh")) << third.err;
}

}  // namespace
}  // namespace ingot

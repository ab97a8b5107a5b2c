// What a model takes beyond its file: packed weights replace the mapped pages, they don't double them.
#include <filesystem>

#include "real_model.h"
#include "support/run_program.h"

namespace ingot {
namespace {

class PeakMemory : public testing::TestWithParam<RealModel> {};

TEST_P(PeakMemory, IsTheFileAndTheCacheAnd64MiB) {
    const std::string path = cached_model(GetParam());
    ASSERT_TRUE(std::filesystem::exists(path)) << "'" << GetParam().fetched_by << "' gets it";
    const test::ProgramResult result =
        test::run_program({"bench", path, "-p", "512", "-n", "4", "-r", "1", "-t", "2", "-o", "json"});
    ASSERT_EQ(0, result.exit_code) << result.err;
    const auto peak = nlohmann::json::parse(result.out).at(0).at("peak_memory_bytes").get<uint64_t>();
    // Keys and values of 512 tokens as halves: 30 layers of 192 elements, and 18 of 256.
    const bool smol = std::string_view(GetParam().name) == "SmolLM2";
    const uint64_t cache = 512 * 2 * 2 * (smol ? 30 * 192 : 18 * 256);
    RecordProperty("peak_memory_bytes", std::to_string(peak));
    EXPECT_LE(peak, std::filesystem::file_size(path) + cache + (uint64_t(64) << 20));
}

INSTANTIATE_TEST_SUITE_P(Real, PeakMemory, kRealModels, [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot

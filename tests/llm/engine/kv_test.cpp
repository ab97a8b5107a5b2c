// The KV cache of engines on the CPU: removal and sessions, for each format that the tiny models' cells can
// have. tests/llm_metal has the same for the device.
#include "llm/engine/kv_cases.h"
#include "llm/model/expect_golden.h"

namespace ingot {
namespace {

std::unique_ptr<Engine> load_cpu(kv::Format format) {
    return load_tiny("llama", {.kv_format = format});
}

class EngineKv : public ::testing::TestWithParam<kv::Format> {};

TEST_P(EngineKv, RemovedTokensAreAsIfTheyHadNeverBeenRun) {
    expect_removal_is_as_if_never_run(load_cpu, GetParam());
}

TEST_P(EngineKv, ASessionContinuesBitForBit) {
    expect_sessions_continue_bit_for_bit(load_cpu, GetParam());
}

INSTANTIATE_TEST_SUITE_P(, EngineKv, ::testing::Values(kv::Format::kF32, kv::Format::kF16),
                         [](const auto& test) { return std::string(kv::traits(test.param).name); });

TEST(EngineSessions, DamagedAndForeignSessionsAreRefusedAndChangeNothing) {
    expect_bad_sessions_are_refused(load_cpu, kv::Format::kF16);
}

}  // namespace
}  // namespace ingot

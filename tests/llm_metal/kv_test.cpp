// The KV cache on the Metal device: rows, removal and sessions, as tests/llm has them for the CPU, and a
// session that changes devices.
#include "llm/engine/kv_cases.h"
#include "llm/kv/rows_cases.h"
#include "llm/model/expect_golden.h"
#include "metal_test.h"

namespace ingot {
namespace {

std::unique_ptr<Engine> load_metal(kv::Format format) {
    return load_tiny(kv_model(format), {.device = "metal", .kv_format = format});
}

class MetalRows : public ::testing::TestWithParam<kv::Format> {};

TEST_P(MetalRows, TrapOverlappingMovesInBothDirections) {
    kv::expect_moves_in_both_directions(*tests::make_metal(), GetParam());
}

TEST_P(MetalRows, ChangePlacesAllAtOnce) {
    kv::expect_rows_change_places(*tests::make_metal(), GetParam());
}

TEST_P(MetalRows, KeysTurnAndAreStoredOnce) {
    kv::expect_keys_turn(*tests::make_metal(), GetParam(),
                         GetParam() == kv::Format::kF32   ? 1e-4
                         : GetParam() == kv::Format::kF16 ? 3e-3
                                                          : 2.5e-2);
}

INSTANTIATE_TEST_SUITE_P(, MetalRows,
                         ::testing::Values(kv::Format::kF32, kv::Format::kF16, kv::Format::kQ8_0),
                         [](const auto& test) { return std::string(kv::traits(test.param).name); });

class MetalKv : public ::testing::TestWithParam<kv::Format> {};

TEST_P(MetalKv, RemovedTokensAreAsIfTheyHadNeverBeenRun) {
    expect_removal_is_as_if_never_run(load_metal, GetParam());
}

TEST_P(MetalKv, ASharedBeginningIsAsIfRun) {
    expect_shared_beginnings_are_as_if_run(load_metal, GetParam());
}

TEST_P(MetalKv, ASessionContinuesBitForBit) {
    expect_sessions_continue_bit_for_bit(load_metal, GetParam());
}

TEST_P(MetalKv, TrapWhatIsStoredIsRoundedOnce) {
    expect_cells_keep_their_bytes_over_steps(load_metal, GetParam());
}

TEST_P(MetalKv, TrapTwoSequencesWhoseCellsMove) {
    expect_sequences_stay_apart_when_cells_move(load_metal, GetParam());
}

TEST_P(MetalKv, SequencesInManyRunsGoOn) {
    expect_sequences_in_many_runs_go_on(load_metal, GetParam());
}

INSTANTIATE_TEST_SUITE_P(, MetalKv, ::testing::Values(kv::Format::kF32, kv::Format::kF16, kv::Format::kQ8_0),
                         [](const auto& test) { return std::string(kv::traits(test.param).name); });

TEST(MetalSessions, DamagedAndForeignSessionsAreRefusedAndChangeNothing) {
    expect_bad_sessions_are_refused(load_metal, kv::Format::kF16);
}

TEST(MetalSessions, ASessionOfTheCpuGoesOnOnMetal) {
    const test::TemporaryFolder folder;
    const auto cpu = load_tiny("llama"), metal = load_metal(kv::Format::kF32);
    const std::vector<TokenId> prompt = kv_tokens(40), next = kv_tokens(41);
    run_tokens(*cpu, prompt);
    ASSERT_TRUE(cpu->save_session(folder.file("s"), prompt, {}));
    ASSERT_EQ(40u, *metal->load_session(folder.file("s"), prompt));
    const std::span<const TokenId> last = std::span(next).last(1);
    EXPECT_LE(kv_difference(run_tokens(*cpu, last), run_tokens(*metal, last)), kTolerance);
}

}  // namespace
}  // namespace ingot

// The KV cache of engines on the CPU: removal and sessions, for each format that the tiny models' cells can
// have. tests/llm_metal has the same for the device.
#include "llm/engine/kv_cases.h"
#include "llm/model/expect_golden.h"
#include "llm/model/patched_model.h"

namespace ingot {
namespace {

std::unique_ptr<Engine> load_cpu(kv::Format format) {
    return load_tiny(kv_model(format), {.kv_format = format});
}

class EngineKv : public ::testing::TestWithParam<kv::Format> {};

TEST_P(EngineKv, RemovedTokensAreAsIfTheyHadNeverBeenRun) {
    expect_removal_is_as_if_never_run(load_cpu, GetParam());
}

TEST_P(EngineKv, ASessionContinuesBitForBit) {
    expect_sessions_continue_bit_for_bit(load_cpu, GetParam());
}

TEST_P(EngineKv, ASharedBeginningIsAsIfRun) {
    expect_shared_beginnings_are_as_if_run(load_cpu, GetParam());
}

TEST_P(EngineKv, TrapWhatIsStoredIsRoundedOnce) {
    expect_cells_keep_their_bytes_over_steps(load_cpu, GetParam());
}

TEST_P(EngineKv, TrapTwoSequencesWhoseCellsMove) {
    expect_sequences_stay_apart_when_cells_move(load_cpu, GetParam());
}

TEST_P(EngineKv, SequencesInManyRunsGoOn) {
    expect_sequences_in_many_runs_go_on(load_cpu, GetParam());
}

INSTANTIATE_TEST_SUITE_P(, EngineKv, ::testing::Values(kv::Format::kF32, kv::Format::kF16, kv::Format::kQ8_0),
                         [](const auto& test) { return std::string(kv::traits(test.param).name); });

// Same tensors, other numbers: each would go on from rows that are wrong for it.
TEST(EngineSessions, OfAModelThatDiffersInOneNumberAreRefused) {
    const test::TemporaryFolder folder;
    const std::vector<TokenId> prompt = kv_tokens(9);
    const auto engine = load_cpu(kv::Format::kF32);
    run_tokens(*engine, prompt);
    ASSERT_TRUE(engine->save_session(folder.file("s"), prompt, {}));
    for (const char* key : {"llama.rope.freq_base", "llama.attention.layer_norm_rms_epsilon"}) {
        PatchedModel("llama")
            .set(key, 0.5f + (key[6] == 'r' ? 1000.0f : 0.0f))
            .write(folder.file("other.gguf"));
        auto other = Engine::load(folder.file("other.gguf"), {.kv_format = kv::Format::kF32});
        ASSERT_TRUE(other) << other.error().describe();
        const auto held = (*other)->load_session(folder.file("s"), prompt);
        ASSERT_FALSE(held) << key;
        EXPECT_THAT(held.error().message, ::testing::HasSubstr("another model")) << key;
    }
}

TEST(EngineSequences, BatchesThatMeanNothingRunNothing) {
    expect_bad_batches_run_nothing(load_cpu);
}

TEST(EngineSessions, DamagedAndForeignSessionsAreRefusedAndChangeNothing) {
    expect_bad_sessions_are_refused(load_cpu, kv::Format::kF16);
}

}  // namespace
}  // namespace ingot

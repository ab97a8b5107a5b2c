// `ingot run --device metal` as a user calls it: the answer of the CPU, with what the flags of the device
// say.
#include <gmock/gmock.h>

#include "metal_cli/program.h"

namespace ingot::metal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RunOnMetal : public Program {
  protected:
    std::string run(const std::string& flags) {
        // Kernels that were compiled before are good enough here.
        const Outcome outcome =
            ingot("run " INGOT_TEST_DATA "/models/qwen2.gguf -p ab -n 6 --greedy " + flags,
                  "unset INGOT_METAL_CACHE;");
        EXPECT_EQ(0, outcome.status) << flags << "\n" << outcome.output;
        return outcome.output;
    }
};

TEST_F(RunOnMetal, GivesTheAnswerOfTheCpuWithAllOrSomeOfTheLayers) {
    const std::string cpu = run("-q");
    for (const char* flags : {"--device metal", "--device metal --gpu-layers 1",
                              "--device metal --gpu-layers auto", "--device metal --set attn.decode=classic"})
        EXPECT_EQ(cpu, run(std::string("-q ") + flags)) << flags;
}

TEST_F(RunOnMetal, ProfileListsTheKernelsThatRan) {
    EXPECT_THAT(run("--device metal --profile"),
                AllOf(HasSubstr("dispatches in 6 submissions"), HasSubstr("x attention_decode_f32"),
                      HasSubstr("x mat_mul_one_f32")));
    EXPECT_THAT(run("--device metal --profile --set attn.decode=classic"),
                HasSubstr("x attention_classic_f32"));
}

TEST_F(RunOnMetal, ASessionOfTheCpuGoesOnThere) {
    const std::string first = run("-q --session s");
    EXPECT_THAT(run("--device metal --session s"), HasSubstr("session: 1 token of the prompt; "));
    EXPECT_EQ(first, run("-q --device metal --session s"));
}

TEST_F(RunOnMetal, WhatDoesNotFitItsMemoryIsSaidWithTheNumbers) {
    const Outcome outcome =
        ingot("run " INGOT_TEST_DATA "/models/qwen2.gguf -p ab -n 1 --device metal --gpu-memory 1 -c 100000");
    EXPECT_EQ(1, outcome.status);
    EXPECT_THAT(outcome.output, StartsWith("ingot run: 19200000 bytes for the KV cells of layer 0 don't fit "
                                           "the Metal device's 1048576: weights take 533760"));
}

}  // namespace
}  // namespace ingot::metal::testing

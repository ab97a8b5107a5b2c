// Estimates against what an engine really allocates.
#include "llm/model/memory.h"

#include <gtest/gtest.h>

#include "llm/backend/cpu/cpu_backend.h"
#include "llm/engine/engine.h"
#include "patched_model.h"

namespace ingot::model {
namespace {

TEST(Memory, EstimatesAreWhatAnEngineAllocates) {
    for (const char* name : {"llama", "qwen3", "gemma3"}) {
        SCOPED_TRACE(name);
        constexpr uint32_t kContext = 96, kBatch = 48;
        const Result<gguf::File> file = gguf::File::open(tiny_model_path(name));
        const Result<Model> model = Model::load(*file);
        ASSERT_TRUE(model) << model.error().describe();
        const auto backend = cpu::CpuBackend::create({.threads = 1});
        const auto use =
            estimate_memory(*model, **backend, default_kv_format(model->hyper()), kContext, kBatch);
        ASSERT_TRUE(use) << use.error().describe();

        const auto engine =
            Engine::load(tiny_model_path(name), {.threads = 1, .context = kContext, .batch = kBatch});
        ASSERT_TRUE(engine) << engine.error().describe();
        ASSERT_TRUE((*engine)->forward(std::vector<TokenId>(kBatch, 7)));
        const Engine::Stats stats = (*engine)->stats();
        EXPECT_EQ(use->kv_bytes, stats.kv_bytes);
        uint64_t tensors = 0;
        for (const gguf::TensorInfo& tensor : file->tensors()) tensors += tensor.data.size();
        EXPECT_EQ(use->weight_bytes, tensors);
        // The engine also holds the small buffers of the decode graph and the kernels' workspace.
        EXPECT_GT(use->compute_bytes, kBatch * model->hyper().ffn * sizeof(float));
        EXPECT_GE(stats.compute_bytes, use->compute_bytes);
        EXPECT_LE(stats.compute_bytes, 2 * use->compute_bytes + (1u << 20));
    }
}

TEST(Memory, CachedKeysAndValuesOfAKnownModel) {
    HyperParams hyper;
    hyper.layers = 30, hyper.kv_heads = 3, hyper.head_dim = 64;
    EXPECT_EQ(kv_size_bytes(hyper, kv::Format::kF32, 2048), 2ull * 30 * 2048 * 192 * 4);
    EXPECT_EQ(kv_size_bytes(hyper, kv::Format::kF16, 2048), 2ull * 30 * 2048 * 192 * 2);
    EXPECT_EQ(kv_size_bytes(hyper, kv::Format::kQ8_0, 2048), 2ull * 30 * 2048 * 6 * 34);
    EXPECT_EQ(default_kv_format(hyper), kv::Format::kF32) << "30 layers of 192";
    hyper.layers = 28, hyper.kv_heads = 4, hyper.head_dim = 128;
    EXPECT_EQ(default_kv_format(hyper), kv::Format::kF16) << "28 layers of 512";
}

}  // namespace
}  // namespace ingot::model

// What a model's file must hold, and the messages when it doesn't.
#include "llm/model/model.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/gguf/writer.h"
#include "llm/graph/rope.h"
#include "llm/model/weights.h"
#include "patched_model.h"

namespace ingot::model {
namespace {

using testing::HasSubstr;

// The message of loading, or "accepted".
std::string refusal(const PatchedModel& bytes) {
    const Result<gguf::File> file = bytes.parse();
    if (!file) return "gguf: " + file.error().describe();
    const Result<Model> model = Model::load(*file);
    return model ? "accepted" : model.error().describe();
}

TEST(Model, ReadsTheNumbersOfEveryArchitecture) {
    struct Expected {
        const char* name;
        uint32_t layers, width, heads, kv_heads, head_dim, vocab;
        graph::RopeStyle style;
    };
    constexpr auto kPairs = graph::RopeStyle::kInterleaved, kHalves = graph::RopeStyle::kNeox;
    for (const Expected& e : {Expected{"llama", 2, 48, 3, 1, 16, 501, kPairs},
                              {"qwen2", 2, 72, 9, 3, 8, 501, kHalves},
                              {"qwen3", 3, 48, 9, 3, 20, 501, kHalves},
                              {"gemma3", 7, 48, 3, 1, 24, 503, kHalves}}) {
        const Result<gguf::File> file = gguf::File::open(tiny_model_path(e.name));
        ASSERT_TRUE(file) << file.error().describe();
        const Result<Model> model = Model::load(*file);
        ASSERT_TRUE(model) << model.error().describe();
        const HyperParams& h = model->hyper();
        EXPECT_EQ(model->architecture().name, e.name);
        EXPECT_EQ(h.layers, e.layers);
        EXPECT_EQ(h.width, e.width);
        EXPECT_EQ(h.heads, e.heads);
        EXPECT_EQ(h.kv_heads, e.kv_heads);
        EXPECT_EQ(h.head_dim, e.head_dim);
        EXPECT_EQ(h.vocab, e.vocab);
        EXPECT_EQ(h.rope.style, e.style);
    }
}

TEST(Model, TrapHeadSizeIsTheFilesAndNotWidthOverHeads) {
    const Result<gguf::File> file = gguf::File::open(tiny_model_path("qwen3"));
    const Result<Model> model = Model::load(*file);
    ASSERT_TRUE(model) << model.error().describe();
    EXPECT_EQ(model->hyper().head_dim, 20u);
    EXPECT_NE(model->hyper().width / model->hyper().heads, 20u);
}

TEST(Model, GemmasSixthLayerAloneSeesEverything) {
    const Result<gguf::File> file = gguf::File::open(tiny_model_path("gemma3"));
    const Result<Model> model = Model::load(*file);
    ASSERT_TRUE(model) << model.error().describe();
    EXPECT_EQ(model->hyper().slides, (std::vector<bool>{true, true, true, true, true, false, true}));
    EXPECT_EQ(model->hyper().window, 32u);
    EXPECT_FLOAT_EQ(model->hyper().rope.base, 1e6f);
    EXPECT_FLOAT_EQ(model->hyper().rope_local.base, 1e4f);
}

TEST(Model, RefusesAnUnknownArchitectureAndListsThoseThereAre) {
    EXPECT_EQ(refusal(PatchedModel("llama").rename("llama", "lamma")),
              "llama.gguf: architecture 'lamma' is unknown; llama, qwen2, qwen3, gemma3 are accepted");
}

TEST(Model, RefusesAMissingTensorByName) {
    EXPECT_EQ(refusal(PatchedModel("llama").rename("blk.1.attn_k.weight", "blk.1.attn_X.weight")),
              "llama.gguf: tensor 'blk.1.attn_k.weight' is missing");
    EXPECT_EQ(refusal(PatchedModel("qwen2").rename("blk.0.attn_v.bias", "blk.0.attn_X.bias")),
              "qwen2.gguf: tensor 'blk.0.attn_v.bias' is missing");
}

TEST(Model, TrapMissingNormGainIsAnError) {
    EXPECT_EQ(refusal(PatchedModel("qwen3").rename("blk.2.attn_q_norm.weight", "blk.2.attn_X_norm.weight")),
              "qwen3.gguf: tensor 'blk.2.attn_q_norm.weight' is missing");
    EXPECT_EQ(
        refusal(PatchedModel("gemma3").rename("blk.6.post_ffw_norm.weight", "blk.6.post_XXX_norm.weight")),
        "gemma3.gguf: tensor 'blk.6.post_ffw_norm.weight' is missing");
}

TEST(Model, TrapATensorThatNobodyReadsIsRefusedRatherThanDropped) {
    // The bias of an architecture that has none, and a layer past the last.
    EXPECT_EQ(refusal(PatchedModel("llama").rename("output.weight", "lm_XXX.weight")),
              "llama.gguf: tensor 'lm_XXX.weight' is not one that architecture 'llama' with 2 layers has; "
              "leaving it "
              "out would change the results");
    EXPECT_THAT(refusal(PatchedModel("qwen3").set("qwen3.block_count", uint32_t(2))),
                HasSubstr("tensor 'blk.2.attn_norm.weight' is not one"));
}

// The rotary table of a tiny model whose file has one more number.
graph::RopeTable rope_with(const char* name, const char* key, float value) {
    const gguf::File original = *gguf::File::open(tiny_model_path(name));
    gguf::Writer writer;
    for (const gguf::MetadataEntry& entry : original.metadata()) writer.set(entry.key, entry.value);
    writer.set(key, gguf::Value{value});
    for (const gguf::TensorInfo& tensor : original.tensors())
        writer.add_tensor(tensor.name, tensor.type, tensor.shape);
    std::string bytes = writer.header();
    for (const gguf::TensorInfo& tensor : original.tensors()) {
        bytes.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
        bytes.append(writer.padding_bytes(tensor.data.size()), '\0');
    }
    const Result<gguf::File> file = gguf::File::parse(std::as_bytes(std::span(bytes)), "changed.gguf");
    EXPECT_TRUE(file) << file.error().describe();
    const Result<Model> model = Model::load(*file);
    EXPECT_TRUE(model) << model.error().describe();
    return graph::rope_table(model->hyper().rope);
}

TEST(Model, EveryRotaryScalingKeyHasItsEffect) {
    const auto plain = graph::rope_table({.dims = 16});
    // Both multiply sine and cosine: attn_factor what there is, with any scheme or none; yarn_attn_factor is
    // what transformers calls attention_factor, the whole of it (transformers, ROPE_INIT_FUNCTIONS["yarn"]).
    const float yarn = float(1 + 0.1 * std::log(4.0));
    EXPECT_FLOAT_EQ(rope_with("llama-yarn", "llama.rope.scaling.attn_factor", 3.0f).magnitude, 3 * yarn);
    EXPECT_FLOAT_EQ(rope_with("llama-yarn", "llama.rope.scaling.yarn_attn_factor", 2.0f).magnitude, 2.0f);
    EXPECT_FLOAT_EQ(rope_with("llama", "llama.rope.scaling.attn_factor", 1.5f).magnitude, 1.5f);
    EXPECT_FLOAT_EQ(rope_with("llama-yarn", "llama.rope.scaling.factor", 0.5f).magnitude, 1.0f);
    // A factor without a type divides every frequency, as llama.cpp has it.
    const auto linear = rope_with("llama", "llama.rope.scaling.factor", 4.0f);
    ASSERT_EQ(linear.frequencies.size(), plain.frequencies.size());
    for (size_t i = 0; i < plain.frequencies.size(); ++i)
        EXPECT_FLOAT_EQ(linear.frequencies[i], plain.frequencies[i] / 4);
}

TEST(Model, RefusesAWrongShapeWithBothShapes) {
    EXPECT_EQ(refusal(PatchedModel("llama").set_dimension("blk.0.ffn_up.weight", 1, 111)),
              "llama.gguf: tensor 'blk.0.ffn_up.weight' has the shape [48, 111]; [48, 112] is accepted");
    EXPECT_EQ(refusal(PatchedModel("llama").set("llama.attention.head_count_kv", uint32_t(3))),
              "llama.gguf: tensor 'blk.0.attn_k.weight' has the shape [48, 16]; [48, 48] is accepted");
}

TEST(Model, RefusesNumbersThatAreNotFinite) {
    EXPECT_EQ(refusal(PatchedModel("llama").set_element("blk.1.ffn_down.weight", 5000, std::nanf(""))),
              "llama.gguf: tensor 'blk.1.ffn_down.weight' (F32) holds a NaN or an infinity at element 5000");
    EXPECT_THAT(refusal(PatchedModel("llama").set_element("output_norm.weight", 47,
                                                          std::numeric_limits<float>::infinity())),
                HasSubstr("tensor 'output_norm.weight' (F32) holds a NaN or an infinity at element 47"));
}

TEST(Model, RefusesBadNumbersWithKeyAndValue) {
    const auto with = [](const char* key, auto value) {
        return refusal(PatchedModel("llama").set(key, value));
    };
    EXPECT_EQ(with("llama.block_count", uint32_t(0)),
              "llama.gguf: key 'llama.block_count' is 0; 1 to 1024 is accepted");
    EXPECT_THAT(with("llama.embedding_length", uint32_t(0xFFFFFFFF)),
                HasSubstr("'llama.embedding_length' is 4294967295"));
    EXPECT_THAT(with("llama.attention.head_count", uint32_t(0)),
                HasSubstr("'llama.attention.head_count' is 0"));
    EXPECT_THAT(with("llama.attention.head_count", uint32_t(5)),
                HasSubstr("is 5; a divisor of the width 48"));
    EXPECT_THAT(with("llama.attention.head_count_kv", uint32_t(2)),
                HasSubstr("is 2; a divisor of the 3 heads"));
    EXPECT_THAT(with("llama.rope.dimension_count", uint32_t(7)),
                HasSubstr("'llama.rope.dimension_count' is 7; an even"));
    EXPECT_THAT(with("llama.rope.freq_base", std::nanf("")), HasSubstr("'llama.rope.freq_base' is nan"));
    EXPECT_THAT(with("llama.attention.layer_norm_rms_epsilon", -1.0f),
                HasSubstr("rms_epsilon' is -1; 0 to 1"));
    EXPECT_EQ(refusal(PatchedModel("llama").rename("llama.context_length", "llama.context_XXXXXX")),
              "llama.gguf: key 'llama.context_length' is missing");
    EXPECT_EQ(refusal(PatchedModel("llama-tied-linear").rename("linear", "banana")),
              "llama-tied-linear.gguf: key 'llama.rope.scaling.type' is 'banana'; 'none', 'linear' or 'yarn' "
              "is accepted");
    EXPECT_THAT(refusal(PatchedModel("llama-yarn").set("llama.rope.scaling.factor", 0.0f)),
                HasSubstr("'llama.rope.scaling.factor' is 0"));
}

TEST(Model, RefusesAVectorThatIsNotF32) {
    EXPECT_THAT(refusal(PatchedModel("llama").set_type("output_norm.weight", QuantType::kF16, 1)),
                HasSubstr("tensor 'output_norm.weight' is F16; a vector is accepted as F32"));
}

TEST(Model, TrapAKQuantRowThatIsNoMultipleOf256IsRefusedByName) {
    // 48 x 112 elements are 21 blocks: only the row length is wrong.
    EXPECT_THAT(refusal(PatchedModel("llama").set_type("blk.0.ffn_up.weight", QuantType::kQ4_K, 2)),
                testing::AllOf(HasSubstr("blk.0.ffn_up.weight"), HasSubstr("Q4_K"), HasSubstr("256"),
                               HasSubstr("48")));
}

TEST(Model, TheFiniteCheckLooksAtEveryScaleOfEveryType) {
    for (const QuantTraits& type : all_quant_types()) {
        std::vector<std::byte> blocks(4 * type.block_size_bytes);
        const gguf::TensorInfo tensor{"t", type.type, {4 * type.block_size}, blocks};
        ASSERT_TRUE(check_finite(tensor)) << type.name;
        // Where the reference dequantizer yields a NaN once every byte of one 16-bit word is set, the check
        // must see it.
        for (size_t word = 0; word + 1 < type.block_size_bytes; word += 2) {
            auto* block = blocks.data() + 2 * type.block_size_bytes;
            block[word] = block[word + 1] = std::byte{0xFF};
            std::vector<float> values(4 * type.block_size);
            type.dequantize(blocks.data(), values.data(), values.size());
            const bool finite = std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
            EXPECT_EQ(bool(check_finite(tensor)), finite) << type.name << " word " << word;
            block[word] = block[word + 1] = std::byte{0};
        }
    }
}

// What looks at the head of a file alone is done at once, however large the file.
TEST(Model, WithoutTheFiniteCheckNoWeightIsRead) {
    PatchedModel patched("llama");
    patched.set_element("blk.1.ffn_norm.weight", 3, NAN);
    const Result<gguf::File> file = patched.parse();
    EXPECT_FALSE(Model::load(*file));
    const Result<Model> model = Model::load(*file, {.look_for_nans = false});
    ASSERT_TRUE(model) << model.error().describe();
    EXPECT_TRUE(model->weights()->find("blk.1.ffn_norm.weight").valid());
}

TEST(Model, GraphsDependOnTheirParametersAlone) {
    const Result<gguf::File> file = gguf::File::open(tiny_model_path("gemma3"));
    const Result<Model> model = Model::load(*file);
    ASSERT_TRUE(model) << model.error().describe();
    const Result<graph::Graph> graph = model->build({.tokens = 5, .outputs = 2});
    ASSERT_TRUE(graph) << graph.error().describe();
    ASSERT_EQ(graph->outputs().size(), 1u);
    EXPECT_EQ((*graph)[graph->outputs()[0]].shape, (graph::Shape{2, 503}));
    const Result<graph::Graph> fill = model->build({.tokens = 5, .outputs = 0});
    ASSERT_TRUE(fill) << fill.error().describe();
    EXPECT_TRUE(fill->outputs().empty());
}

}  // namespace
}  // namespace ingot::model

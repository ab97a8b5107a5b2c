// Golden: tools/oracle/check_quantize.py, hashes of what llama-quantize --pure writes; shapes.gguf is by
// tools/oracle/make_quantize_model.py. Byte for byte.
#include "llm/gguf/quantize_file.h"

#include <cstring>
#include <set>

#include <nlohmann/json.hpp>

#include "base/half.h"
#include "base/mapped_file.h"
#include "llm/gguf/quantize_plan.h"
#include "llm/gguf/test_files.h"

namespace ingot::gguf {
namespace {

using gguf_test::TemporaryFolder;

std::string fnv1a(std::string_view bytes) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (const char byte : bytes) hash = (hash ^ uint8_t(byte)) * 0x100000001B3u;
    return fmt::format("{:016x}", hash);
}

std::string contents(const std::string& path) {
    const auto text = read_text_file(path);
    EXPECT_TRUE(text) << text.error().describe();
    return text.value_or("");
}

const std::string kShapes = INGOT_TEST_DATA "/quant/shapes.gguf";

Result<QuantizeReport> quantize(const std::string& input_path, const std::string& output_path, QuantType type,
                                uint32_t threads = 2) {
    INGOT_ASSIGN(const File input, File::open(input_path));
    return quantize_file(input, output_path, {.type = type, .threads = threads, .progress = {}});
}

void expect_hashes(const std::string& input, const nlohmann::json& hashes, const std::string& source) {
    const TemporaryFolder folder;
    for (const QuantTraits& row : all_quant_types()) {
        const std::string output = folder.file("out.gguf");
        const auto report = quantize(input, output, row.type);
        ASSERT_TRUE(report) << report.error().describe();
        EXPECT_EQ(hashes.at(fmt::format("{} {}", source, row.name)), fnv1a(contents(output)))
            << input << " (" << source << ") to " << row.name;
    }
}

class QuantizeFile : public ::testing::TestWithParam<const char*> {};

TEST_P(QuantizeFile, GivesTheFilesOfLlamaQuantizePure) {
    const auto golden = nlohmann::json::parse(contents(INGOT_TEST_DATA "/quant/quantized_models.json"));
    const std::string model = std::string(INGOT_TEST_DATA) + GetParam();
    const auto& hashes = golden.at(std::filesystem::path(model).filename().string());
    expect_hashes(model, hashes, "as is");
    const TemporaryFolder folder;
    for (const QuantType source : {QuantType::kF16, QuantType::kBF16}) {
        const std::string name(traits(source).name);
        ASSERT_TRUE(quantize(model, folder.file(name), source));
        expect_hashes(folder.file(name), hashes, name);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, QuantizeFile,
                         ::testing::Values("/quant/shapes.gguf", "/models/qwen3-tied.gguf"),
                         [](const auto& model) { return model.index == 0 ? "Shapes" : "Qwen3Tied"; });

TEST(QuantizeFile, ThreadsDoNotChangeTheResult) {
    const TemporaryFolder folder;
    ASSERT_TRUE(quantize(kShapes, folder.file("one"), QuantType::kQ6_K, 1));
    ASSERT_TRUE(quantize(kShapes, folder.file("three"), QuantType::kQ6_K, 3));
    EXPECT_EQ(contents(folder.file("one")), contents(folder.file("three")));
}

TEST(QuantizeFile, SaysWhichTensorsGetAnotherTypeThanTheOneAskedFor) {
    const TemporaryFolder folder;
    const auto report = quantize(kShapes, folder.file("out"), QuantType::kQ4_K);
    ASSERT_TRUE(report);
    EXPECT_EQ((std::vector<std::string>{
                  "tensor 'blk.2.attn_k.weight': rows of 32 elements aren't blocks of Q4_K, stored as Q5_0",
                  "tensor 'blk.2.attn_v.weight': rows of 20 elements aren't blocks of Q4_K, stored as F16"}),
              report->replacements);
    EXPECT_EQ(13u, report->num_tensors);
}

TEST(QuantizeFile, RefusesAModelThatIsQuantizedAlready) {
    const TemporaryFolder folder;
    ASSERT_TRUE(quantize(kShapes, folder.file("q8"), QuantType::kQ8_0));
    const auto again = quantize(folder.file("q8"), folder.file("q4"), QuantType::kQ4_0);
    ASSERT_FALSE(again);
    EXPECT_EQ(ErrorKind::kUnsupported, again.error().kind);
    EXPECT_THAT(again.error().describe(),
                ::testing::HasSubstr("is Q8_0 already, F32, F16 and BF16 can be quantized, and anything "
                                     "decoded to F32"));
    EXPECT_FALSE(std::filesystem::exists(folder.file("q4")));
}

TEST(QuantizeFile, DecodesAQuantizedModelToF32) {
    const TemporaryFolder folder;
    ASSERT_TRUE(quantize(kShapes, folder.file("q8"), QuantType::kQ8_0));
    ASSERT_TRUE(quantize(folder.file("q8"), folder.file("f32"), QuantType::kF32));
    const auto coded = gguf::File::open(folder.file("q8")), decoded = gguf::File::open(folder.file("f32"));
    ASSERT_TRUE(coded && decoded);
    size_t num_decoded = 0;
    for (const gguf::TensorInfo& tensor : coded->tensors()) {
        const gguf::TensorInfo* result = decoded->find_tensor(tensor.name);
        ASSERT_NE(nullptr, result) << tensor.name;
        if (tensor.type != QuantType::kQ8_0) continue;
        ++num_decoded;
        EXPECT_EQ(QuantType::kF32, result->type);
        for (size_t i = 0; i < tensor.num_elements(); ++i) {
            const std::byte* block = tensor.data.data() + i / 32 * 34;
            uint16_t scale;
            std::memcpy(&scale, block, 2);
            float value;
            std::memcpy(&value, result->data.data() + i * 4, 4);
            ASSERT_EQ(half_to_float(scale) * float(int8_t(block[2 + i % 32])), value)
                << tensor.name << ' ' << i;
        }
    }
    EXPECT_GT(num_decoded, 3u);
}

TEST(QuantizeFile, ToTheTypeThatItHasCopiesTheTensors) {
    const TemporaryFolder folder;
    ASSERT_TRUE(quantize(kShapes, folder.file("q8"), QuantType::kQ8_0));
    ASSERT_TRUE(quantize(folder.file("q8"), folder.file("copy"), QuantType::kQ8_0));
    EXPECT_EQ(contents(folder.file("q8")), contents(folder.file("copy")));
}

TEST(QuantizeFile, RefusesToWriteOverItsInput) {
    const TemporaryFolder folder;
    const std::string path = folder.write("model.gguf", contents(kShapes));
    const auto report = quantize(path, path, QuantType::kQ8_0);
    ASSERT_FALSE(report);
    EXPECT_EQ(ErrorKind::kInvalidArgument, report.error().kind);
    EXPECT_EQ(contents(kShapes), contents(path));
}

TEST(QuantizeFile, RefusesToWriteOverAnyPartOfItsInput) {
    const TemporaryFolder folder;
    const auto part = [&](uint16_t index) {
        gguf_test::RawFile file;
        file.header(1, 2);
        file.string("split.no").put(uint32_t(2)).put(index);  // 2: of type uint16
        file.string("split.count").put(uint32_t(2)).put(uint16_t(2));
        file.tensor(index == 0 ? "a.weight" : "b.weight", {32, 1}, uint32_t(QuantType::kF32), 0).align();
        const std::string name = fmt::format("m-{:05}-of-00002.gguf", index + 1);
        return folder.write(name, file.zeros(32 * 4).bytes());
    };
    const std::string first = part(0), second = part(1), before = contents(second);
    std::filesystem::create_symlink(second, folder.file("link"));
    for (const std::string& target : {second, folder.file("link")}) {
        const auto report = quantize(first, target, QuantType::kQ8_0);
        ASSERT_FALSE(report);
        EXPECT_EQ(ErrorKind::kInvalidArgument, report.error().kind);
        EXPECT_THAT(report.error().describe(), ::testing::HasSubstr("is the input (a part of it)"));
    }
    EXPECT_EQ(before, contents(second));
    ASSERT_TRUE(quantize(first, folder.file("joined"), QuantType::kQ8_0));
}

// Whatever the input is called, it isn't where the output is written first.
TEST(QuantizeFile, LeavesAnInputAloneThatIsNamedLikeAnUnfinishedOutput) {
    const TemporaryFolder folder;
    const std::string path = folder.write("x.gguf.partial", contents(kShapes));
    ASSERT_TRUE(quantize(path, folder.file("x.gguf"), QuantType::kQ8_0));
    ASSERT_TRUE(quantize(kShapes, folder.file("same"), QuantType::kQ8_0));
    EXPECT_EQ(contents(kShapes), contents(path));
    EXPECT_EQ(contents(folder.file("same")), contents(folder.file("x.gguf")));
}

// A file with one matrix of 2 rows of 32, all 1 but `value` in the second row.
std::string matrix_with(float value) {
    gguf_test::RawFile file;
    file.header(1, 0).tensor("a.weight", {32, 2}, uint32_t(QuantType::kF32), 0).align();
    for (int i = 0; i < 64; ++i) file.put(i == 40 ? value : 1.0f);
    return file.bytes();
}

TEST(QuantizeFile, RefusesValuesThatAreNotFiniteAndNamesTensorAndRow) {
    const TemporaryFolder folder;
    for (const float value :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const auto report =
            quantize(folder.write("in.gguf", matrix_with(value)), folder.file("out.gguf"), QuantType::kQ4_0);
        ASSERT_FALSE(report);
        EXPECT_EQ(ErrorKind::kCorrupt, report.error().kind);
        EXPECT_THAT(
            report.error().describe(),
            ::testing::HasSubstr("in.gguf: tensor 'a.weight' holds a value in row 1 that is not finite"));
    }
}

TEST(QuantizeFile, RefusesValuesWhoseScaleOverflowsAndLeavesNoFile) {
    const TemporaryFolder folder;
    const std::string before = "what was there before";
    folder.write("out.gguf", before);
    const auto report =
        quantize(folder.write("in.gguf", matrix_with(1e9f)), folder.file("out.gguf"), QuantType::kQ4_0);
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().describe(),
                ::testing::HasSubstr("can't be stored as Q4_0: the values of row 1 are too large"));
    EXPECT_EQ(before, contents(folder.file("out.gguf")));
    EXPECT_EQ((std::set<std::string>{"in.gguf", "out.gguf"}), folder.names());
}

TEST(QuantizeFile, StopsWhenProgressSaysSo) {
    const TemporaryFolder folder;
    const auto input = File::open(kShapes);
    ASSERT_TRUE(input);
    const auto report =
        quantize_file(*input, folder.file("out"),
                      {.type = QuantType::kQ8_0, .threads = 2, .progress = [](float) { return false; }});
    ASSERT_FALSE(report);
    EXPECT_EQ(ErrorKind::kCancelled, report.error().kind);
    EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
}

TEST(QuantizeFile, ProgressGrowsToOne) {
    const TemporaryFolder folder;
    const auto input = File::open(kShapes);
    ASSERT_TRUE(input);
    float last = 0.0f;
    const auto progress = [&](float fraction) {
        EXPECT_GE(fraction, last);
        last = fraction;
        return true;
    };
    ASSERT_TRUE(quantize_file(*input, folder.file("out"),
                              {.type = QuantType::kQ8_0, .threads = 2, .progress = progress}));
    EXPECT_FLOAT_EQ(1.0f, last);
}

TEST(QuantizePlan, PutsLayersInNumericOrderAfterTheTensorsOutsideThem) {
    const auto input = File::open(kShapes);
    ASSERT_TRUE(input);
    const auto plan = plan_quantization(*input, QuantType::kQ8_0);
    ASSERT_TRUE(plan);
    std::vector<std::string_view> names;
    for (const PlannedTensor& tensor : *plan) names.push_back(tensor.source->name);
    EXPECT_EQ("output.weight", names.front());
    EXPECT_EQ("blk.10.attn_q.weight", names.back());
    EXPECT_TRUE(std::ranges::find(names, "blk.2.attn_q.weight") <
                std::ranges::find(names, "blk.10.attn_norm.weight"));
}

}  // namespace
}  // namespace ingot::gguf

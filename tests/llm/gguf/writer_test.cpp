// The oracle for bytes is quantize_file_test.cpp; here, that what is written is read back.
#include "llm/gguf/writer.h"

#include "llm/gguf/test_files.h"

namespace ingot::gguf {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> keys_of(const std::string& header) {
    const auto file = File::parse(gguf_test::bytes_of(header), "written");
    EXPECT_TRUE(file) << file.error().describe();
    std::vector<std::string> keys;
    if (file) {
        for (const MetadataEntry& entry : file->metadata()) keys.emplace_back(entry.key);
    }
    return keys;
}

TEST(GgufWriter, AKeyThatIsSetAgainMovesToTheEnd) {
    Writer writer;
    writer.set("a", Value{uint32_t(1)});
    writer.set("b", Value{uint32_t(2)});
    writer.set("c", Value{true});
    writer.set("a", Value{std::string_view("new")});
    writer.erase("c");
    const std::string header = writer.header();
    EXPECT_THAT(keys_of(header), ElementsAre("b", "a"));
    const auto file = File::parse(gguf_test::bytes_of(header), "written");
    EXPECT_EQ("new", file->get_string("a").value());
}

TEST(GgufWriter, PadsHeaderAndDataToTheAlignmentThatTheFileNames) {
    for (const uint32_t alignment : {8u, 32u, 128u}) {
        Writer writer;
        writer.set("general.alignment", Value{alignment});
        writer.add_tensor("a", QuantType::kF32, std::vector<uint64_t>{3});
        writer.add_tensor("b", QuantType::kQ8_0, std::vector<uint64_t>{32, 2});
        EXPECT_EQ((alignment - 12 % alignment) % alignment, writer.padding_bytes(12));
        std::string bytes = writer.header();
        EXPECT_EQ(0u, bytes.size() % alignment);
        bytes.append(12 + writer.padding_bytes(12) + 68, '\0');
        const auto file = File::parse(gguf_test::bytes_of(bytes), "written");
        ASSERT_TRUE(file) << file.error().describe();
        EXPECT_EQ(68u, file->find_tensor("b")->data.size());
    }
}

TEST(GgufWriter, LeavesOutTrailingDimensionsOfOne) {
    Writer writer;
    writer.add_tensor("a", QuantType::kF32, std::vector<uint64_t>{4, 1, 2, 1});
    writer.add_tensor("b", QuantType::kF32, std::vector<uint64_t>{1, 1});
    const std::string bytes = writer.header() + std::string(36, '\0');
    const auto file = File::parse(gguf_test::bytes_of(bytes), "written");
    ASSERT_TRUE(file) << file.error().describe();
    EXPECT_THAT(file->tensors()[0].shape, ElementsAre(4, 1, 2));
    EXPECT_THAT(file->tensors()[1].shape, ElementsAre(1));
}

TEST(GgufWriterDeath, RowsThatAreNotWholeBlocksAreAnErrorOfTheCaller) {
    Writer writer;
    EXPECT_DEATH(writer.add_tensor("a", QuantType::kQ4_K, std::vector<uint64_t>{576, 256}),
                 "rows of 576 elements");
}

}  // namespace
}  // namespace ingot::gguf

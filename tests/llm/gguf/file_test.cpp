#include <cstring>
#include <limits>

#include "llm/gguf/test_files.h"

namespace ingot::gguf {
namespace {

using gguf_test::bytes_of;
using gguf_test::RawFile;
using gguf_test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One key of each value type, by their ids in the GGUF specification.
std::string file_with_every_value(uint32_t version = 3) {
    RawFile file;
    file.header(0, 12, version);
    file.string("u8").put(uint32_t(0)).put(uint8_t(200));
    file.string("i8").put(uint32_t(1)).put(int8_t(-3));
    file.string("u16").put(uint32_t(2)).put(uint16_t(60000));
    file.string("i16").put(uint32_t(3)).put(int16_t(-300));
    file.string("u32").put(uint32_t(4)).put(uint32_t(4000000000));
    file.string("i32").put(uint32_t(5)).put(int32_t(-70000));
    file.string("f32").put(uint32_t(6)).put(0.5f);
    file.string("bool").put(uint32_t(7)).put(uint8_t(1));
    file.string("string").put(uint32_t(8)).string("text");
    file.string("u64").put(uint32_t(10)).put(std::numeric_limits<uint64_t>::max());
    file.string("i64").put(uint32_t(11)).put(int64_t(5));
    file.string("f64").put(uint32_t(12)).put(0.25);
    return file.bytes();
}

File parsed(const std::string& bytes) {
    auto file = File::parse(bytes_of(bytes), "test.gguf");
    if (!file) throw std::runtime_error(file.error().describe());
    return *std::move(file);
}

template <typename T>
T held(const File& file, std::string_view key) {
    return std::get<T>(file.find(key)->value);
}

class GgufVersions : public ::testing::TestWithParam<uint32_t> {};

TEST_P(GgufVersions, EveryValueTypeIsRead) {
    const std::string bytes = file_with_every_value(GetParam());
    const File file = parsed(bytes);
    EXPECT_EQ(GetParam(), file.version());
    EXPECT_EQ(bytes.size(), file.size_bytes());
    ASSERT_EQ(12u, file.metadata().size());
    EXPECT_EQ("u8", file.metadata()[0].key);
    EXPECT_EQ(200, held<uint8_t>(file, "u8"));
    EXPECT_EQ(-3, held<int8_t>(file, "i8"));
    EXPECT_EQ(60000, held<uint16_t>(file, "u16"));
    EXPECT_EQ(-300, held<int16_t>(file, "i16"));
    EXPECT_EQ(4000000000u, held<uint32_t>(file, "u32"));
    EXPECT_EQ(-70000, held<int32_t>(file, "i32"));
    EXPECT_EQ(0.5f, held<float>(file, "f32"));
    EXPECT_TRUE(held<bool>(file, "bool"));
    EXPECT_EQ("text", held<std::string_view>(file, "string"));
    EXPECT_EQ(std::numeric_limits<uint64_t>::max(), held<uint64_t>(file, "u64"));
    EXPECT_EQ(5, held<int64_t>(file, "i64"));
    EXPECT_EQ(0.25, held<double>(file, "f64"));
}

INSTANTIATE_TEST_SUITE_P(Gguf, GgufVersions, ::testing::Values(2, 3));

template <typename T>
std::vector<T> array_of(const File& file, std::string_view key) {
    return std::get<std::vector<T>>(file.get_array(key).value()->items);
}

TEST(GgufFile, ArraysOfNumbersBoolsAndStringsAreRead) {
    RawFile raw;
    raw.header(0, 5);
    raw.string("ints").put(uint32_t(9)).put(uint32_t(5)).put(uint64_t(3)).put(1).put(-2).put(3);
    raw.string("doubles").put(uint32_t(9)).put(uint32_t(12)).put(uint64_t(2)).put(0.5).put(-1.5);
    raw.string("bools").put(uint32_t(9)).put(uint32_t(7)).put(uint64_t(2)).put(uint8_t(1)).put(uint8_t(0));
    raw.string("strings")
        .put(uint32_t(9))
        .put(uint32_t(8))
        .put(uint64_t(3))
        .string("a")
        .string("")
        .string("\u4f60");
    raw.string("empty").put(uint32_t(9)).put(uint32_t(0)).put(uint64_t(0));
    const File file = parsed(raw.bytes());
    EXPECT_THAT(array_of<int32_t>(file, "ints"), ElementsAre(1, -2, 3));
    EXPECT_THAT(array_of<double>(file, "doubles"), ElementsAre(0.5, -1.5));
    EXPECT_THAT(array_of<bool>(file, "bools"), ElementsAre(true, false));
    EXPECT_THAT(array_of<std::string_view>(file, "strings"), ElementsAre("a", "", "\u4f60"));
    EXPECT_EQ(0u, file.get_array("empty").value()->size());
    EXPECT_EQ(3u, file.get_array("strings").value()->size());
}

TEST(GgufFile, IntegersConvertWhenTheValueFits) {
    const std::string bytes = file_with_every_value();
    const File file = parsed(bytes);
    EXPECT_EQ(200u, file.get_uint("u8").value());
    EXPECT_EQ(60000u, file.get_uint("u16").value());
    EXPECT_EQ(5u, file.get_uint("i64").value());
    EXPECT_EQ(std::numeric_limits<uint64_t>::max(), file.get_uint("u64").value());
    EXPECT_EQ(0.5, file.get_float("f32").value());
    EXPECT_EQ(0.25, file.get_float("f64").value());
    for (const char* negative : {"i8", "i16", "i32"}) {
        EXPECT_EQ(ErrorKind::kCorrupt, file.get_uint(negative).error().kind) << negative;
    }
}

TEST(GgufFile, LookupsNameFileKeyAndWhatWasFound) {
    const std::string bytes = file_with_every_value();
    const File file = parsed(bytes);
    EXPECT_EQ("test.gguf: key 'none' is missing", file.get_uint("none").error().describe());
    EXPECT_EQ(ErrorKind::kNotFound, file.get_string("none").error().kind);
    EXPECT_EQ("test.gguf: key 'f32' is of type float32, an integer from 0 on is needed",
              file.get_uint("f32").error().describe());
    EXPECT_EQ("test.gguf: key 'u8' is of type uint8, string is needed",
              file.get_string("u8").error().describe());
    EXPECT_EQ("test.gguf: key 'string' is of type string, bool is needed",
              file.get_bool("string").error().describe());
    EXPECT_EQ("test.gguf: key 'u32' is of type uint32, float32 or float64 is needed",
              file.get_float("u32").error().describe());
    EXPECT_EQ("test.gguf: key 'bool' is of type bool, an array is needed",
              file.get_array("bool").error().describe());
}

TEST(GgufFile, ADefaultIsForAMissingKeyOnly) {
    const std::string bytes = file_with_every_value();
    const File file = parsed(bytes);
    EXPECT_EQ(7u, file.get_uint("none", 7).value());
    EXPECT_EQ(200u, file.get_uint("u8", 7).value());
    EXPECT_EQ(ErrorKind::kCorrupt, file.get_uint("string", 7).error().kind);
    EXPECT_EQ(1.5, file.get_float("none", 1.5).value());
    EXPECT_EQ(ErrorKind::kCorrupt, file.get_float("u8", 1.5).error().kind);
    EXPECT_TRUE(file.get_bool("none", true).value());
    EXPECT_EQ(ErrorKind::kCorrupt, file.get_bool("u8", true).error().kind);
}

// Two F32 tensors of 3 and 1 elements, the second behind the padding of the first.
std::string file_with_two_tensors() {
    RawFile file;
    file.header(2, 0).tensor("a", {3}, 0, 0).tensor("b", {1, 1}, 0, 32).align();
    file.put(1.0f).put(2.0f).put(3.0f).align().put(4.0f);
    return file.bytes();
}

TEST(GgufFile, TensorsPointAtTheirData) {
    const std::string bytes = file_with_two_tensors();
    const File file = parsed(bytes);
    ASSERT_EQ(2u, file.tensors().size());
    const TensorInfo* a = file.find_tensor("a");
    const TensorInfo* b = file.find_tensor("b");
    ASSERT_TRUE(a != nullptr && b != nullptr);
    EXPECT_EQ(QuantType::kF32, a->type);
    EXPECT_THAT(a->shape, ElementsAre(3));
    EXPECT_THAT(b->shape, ElementsAre(1, 1));
    EXPECT_EQ(12u, a->data.size());
    float last = 0;
    std::memcpy(&last, a->data.data() + 8, 4);
    EXPECT_EQ(3.0f, last);
    std::memcpy(&last, b->data.data(), 4);
    EXPECT_EQ(4.0f, last);
    EXPECT_EQ(nullptr, file.find_tensor("c"));
}

TEST(GgufFile, ATensorWithoutDimensionsHasOneElement) {
    RawFile raw;
    raw.header(1, 0).tensor("scalar", {}, 0, 0).align().put(4.0f);
    const File file = parsed(raw.bytes());
    EXPECT_EQ(1u, file.tensors()[0].num_elements());
    EXPECT_EQ(1u, file.tensors()[0].row_length());
    EXPECT_EQ(1u, file.tensors()[0].num_rows());
}

TEST(GgufFile, AnotherAlignmentMovesTheData) {
    RawFile raw;
    raw.header(1, 1).string("general.alignment").put(uint32_t(4)).put(uint32_t(256));
    raw.tensor("a", {1}, 0, 0).align(256).put(4.0f);
    const File file = parsed(raw.bytes());
    float value = 0;
    std::memcpy(&value, file.tensors()[0].data.data(), 4);
    EXPECT_EQ(4.0f, value);
}

TEST(GgufFile, WhatWasReleasedCanBeReadAgain) {
    const TemporaryFolder folder;
    const auto file = File::open(folder.write("model.gguf", file_with_two_tensors()));
    ASSERT_TRUE(file) << file.error().describe();
    const TensorInfo& tensor = file->tensors()[1];
    file->release(tensor.data);
    file->release_metadata();
    EXPECT_EQ(&tensor, file->find_tensor(tensor.name));
    float value = 0;
    std::memcpy(&value, tensor.data.data(), 4);
    EXPECT_EQ(4.0f, value);
}

TEST(GgufFile, AMovedFileStillFindsEverything) {
    const std::string bytes = file_with_two_tensors();
    File first = parsed(bytes);
    const File second = std::move(first);
    EXPECT_NE(nullptr, second.find_tensor("b"));
}

TEST(GgufFile, FilesThatCannotBeOpenedSayWhy) {
    const TemporaryFolder folder;
    const auto missing = File::open(folder.file("none.gguf"));
    EXPECT_EQ(ErrorKind::kNotFound, missing.error().kind);
    EXPECT_THAT(missing.error().describe(), HasSubstr("none.gguf: can't open: No such file or directory"));
    const auto directory = File::open(folder.file(""));
    EXPECT_EQ(ErrorKind::kIo, directory.error().kind);
    EXPECT_THAT(directory.error().describe(), HasSubstr("is a directory"));
    const auto empty = File::open(folder.write("empty.gguf", ""));
    EXPECT_EQ(ErrorKind::kCorrupt, empty.error().kind);
    EXPECT_THAT(empty.error().describe(), HasSubstr("empty.gguf: is not a GGUF file: it has 0 bytes"));
}

}  // namespace
}  // namespace ingot::gguf

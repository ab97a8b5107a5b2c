#include "llm/gguf/split.h"

#include <cstring>

#include "llm/gguf/test_files.h"

namespace ingot::gguf {
namespace {

using gguf_test::TemporaryFolder;
using ::testing::HasSubstr;

// A part with one F32 tensor of one element, its value the part's index.
std::string part(uint16_t index, uint16_t count, int32_t num_tensors, const std::string& tensor) {
    gguf_test::RawFile file;
    file.header(1, 3);
    file.string("split.no").put(uint32_t(2)).put(index);
    file.string("split.count").put(uint32_t(2)).put(count);
    file.string("split.tensors.count").put(uint32_t(5)).put(num_tensors);
    file.tensor(tensor, {1}, 0, 0).align().put(float(index));
    return file.bytes();
}

class SplitModel : public ::testing::Test {
  protected:
    void SetUp() override {
        for (uint16_t i = 0; i < 3; ++i) write(i, part(i, 3, 3, fmt::format("t{}", i)));
    }
    static std::string name(uint32_t index) { return fmt::format("m-{:05}-of-00003.gguf", index + 1); }
    void write(uint32_t index, const std::string& bytes) const { folder_.write(name(index), bytes); }
    Result<File> open(uint32_t index = 0) const { return File::open(folder_.file(name(index))); }
    void expect_refused(ErrorKind kind, const std::string& message) const {
        const auto file = open();
        ASSERT_FALSE(file);
        EXPECT_EQ(kind, file.error().kind);
        EXPECT_THAT(file.error().describe(), HasSubstr(message));
    }

    const TemporaryFolder folder_;
};

TEST_F(SplitModel, IsJoinedFromItsFirstPart) {
    const auto file = open();
    ASSERT_TRUE(file) << file.error().describe();
    ASSERT_EQ(3u, file->tensors().size());
    for (int i = 0; i < 3; ++i) {
        float value = -1;
        std::memcpy(&value, file->find_tensor(fmt::format("t{}", i))->data.data(), 4);
        EXPECT_EQ(float(i), value);
        file->release(file->tensors()[size_t(i)].data);
    }
    EXPECT_EQ(3 * part(0, 3, 3, "t0").size(), file->size_bytes());
}

TEST_F(SplitModel, OpenedByAnotherPartNamesTheFirst) {
    const auto file = open(1);
    ASSERT_FALSE(file);
    EXPECT_EQ(ErrorKind::kInvalidArgument, file.error().kind);
    EXPECT_THAT(file.error().describe(),
                HasSubstr("is part 2 of 3, open the first one, " + folder_.file(name(0))));
}

TEST_F(SplitModel, WithAMissingPartNamesIt) {
    std::filesystem::remove(folder_.file(name(2)));
    expect_refused(ErrorKind::kNotFound, name(2) + ": can't open");
}

TEST_F(SplitModel, WhosePartIsAnotherOneIsRefused) {
    write(2, part(1, 3, 3, "t2"));
    expect_refused(ErrorKind::kCorrupt, name(2) + ": says that it is part 2 of 3, part 3 of 3 is needed");
}

TEST_F(SplitModel, WhosePartIsOfAnotherModelIsRefused) {
    write(1, part(1, 4, 3, "t1"));
    expect_refused(ErrorKind::kCorrupt, name(1) + ": says that it is part 2 of 4, part 2 of 3 is needed");
}

TEST_F(SplitModel, WithADamagedPartNamesThatPart) {
    write(1, "GGUF");
    expect_refused(ErrorKind::kCorrupt, name(1) + ": the version takes 4 bytes");
}

TEST_F(SplitModel, WithOneTensorInTwoPartsIsRefused) {
    write(1, part(1, 3, 3, "t0"));
    expect_refused(ErrorKind::kCorrupt, "tensor 't0' is in more than one part");
}

TEST_F(SplitModel, WithFewerTensorsThanItSaysIsRefused) {
    write(0, part(0, 3, 7, "t0"));
    expect_refused(ErrorKind::kCorrupt, "key 'split.tensors.count' is 7, but the 3 parts hold 3 tensors");
}

TEST_F(SplitModel, UnderANameThatIsNotAPartsIsRefused) {
    const auto file = File::open(folder_.write("renamed.gguf", part(0, 3, 3, "t0")));
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().describe(), HasSubstr("its name must end in -00001-of-00003.gguf"));
}

TEST_F(SplitModel, WithAPartNumberBeyondTheCountIsRefused) {
    write(0, part(3, 3, 3, "t0"));
    expect_refused(ErrorKind::kCorrupt, "key 'split.no' is 3, below 'split.count' 3 is accepted");
}

TEST_F(SplitModel, FromBytesIsRefusedAsItsPartsCannotBeFound) {
    const std::string bytes = part(0, 3, 3, "t0");
    const auto file = File::parse(gguf_test::bytes_of(bytes), "bytes");
    ASSERT_FALSE(file);
    EXPECT_EQ("bytes: is part 1 of 3, which only opening by path joins", file.error().describe());
}

TEST(SplitName, IsTheEndOfAPath) {
    const auto name = parse_split_name("dir/model-q4-00002-of-00010.gguf");
    ASSERT_TRUE(name);
    EXPECT_EQ("dir/model-q4", name->prefix);
    EXPECT_EQ(2u, name->number);
    EXPECT_EQ(10u, name->count);
    EXPECT_EQ("dir/model-q4-00010-of-00010.gguf", name->path_of(10));
    for (const char* other : {"model.gguf", "m-0001-of-00002.gguf", "m-00001-of-00002.bin",
                              "m-00001of-00002.gguf", "m-0000x-of-00002.gguf", "m_00001-of-00002.gguf", ""}) {
        EXPECT_FALSE(parse_split_name(other)) << other;
    }
}

}  // namespace
}  // namespace ingot::gguf

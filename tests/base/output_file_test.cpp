#include "base/output_file.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/mapped_file.h"

namespace ingot {
namespace {

class OutputFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "ingot-output-XXXXXX").string();
        ASSERT_NE(nullptr, ::mkdtemp(name.data()));
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path() const { return (folder_ / "out").string(); }
    size_t num_files() const {
        const std::filesystem::directory_iterator entries(folder_);
        return size_t(std::distance(begin(entries), end(entries)));
    }

    std::filesystem::path folder_;
};

Result<void> write(OutputFile& file, const std::string& text) {
    return file.write(std::as_bytes(std::span(text)));
}

TEST_F(OutputFileTest, HasItsNameOnceCommitted) {
    auto file = OutputFile::create(path());
    ASSERT_TRUE(file);
    ASSERT_TRUE(write(*file, "some "));
    ASSERT_TRUE(write(*file, "text"));
    EXPECT_FALSE(std::filesystem::exists(path()));
    ASSERT_TRUE(file->commit());
    EXPECT_EQ("some text", read_text_file(path()).value());
    EXPECT_EQ(1u, num_files());
}

TEST_F(OutputFileTest, ThatIsNotCommittedLeavesWhatWasThere) {
    {
        auto file = OutputFile::create(path());
        ASSERT_TRUE(file && write(*file, "first") && file->commit());
    }
    {
        auto file = OutputFile::create(path());
        ASSERT_TRUE(file && write(*file, "second"));
    }
    EXPECT_EQ("first", read_text_file(path()).value());
    EXPECT_EQ(1u, num_files());
}

TEST_F(OutputFileTest, InAFolderThatIsNotThereIsNotFound) {
    const auto file = OutputFile::create(path() + "/none/out");
    ASSERT_FALSE(file);
    EXPECT_EQ(ErrorKind::kNotFound, file.error().kind);
    EXPECT_EQ(path() + "/none/out: can't create: No such file or directory", file.error().describe());
}

TEST_F(OutputFileTest, OverAFolderIsRefused) {
    auto file = OutputFile::create(folder_.string());
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->commit());
}

// /dev/full refuses each write as a full disk does.
TEST_F(OutputFileTest, OnAFullDiskFailsWhenTheBytesAreFlushed) {
    std::filesystem::create_symlink("/dev/full", path() + ".partial");
    auto file = OutputFile::create(path());
    const bool written = file && write(*file, "text") && file->commit();
    EXPECT_FALSE(written);
    EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace ingot

#include "base/output_file.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

TEST_F(OutputFileTest, WithoutANameIsRefused) {
    const auto file = OutputFile::create("");
    ASSERT_FALSE(file);
    EXPECT_EQ("the name of the file to write is empty", file.error().describe());
}

TEST_F(OutputFileTest, OverAFolderIsRefusedAtOnce) {
    const auto file = OutputFile::create(folder_.string());
    ASSERT_FALSE(file);
    EXPECT_EQ(folder_.string() + ": is a directory, a file is needed", file.error().describe());
}

// No device is tried: a program that fails this test, run by root, would replace it.
TEST_F(OutputFileTest, OverWhatIsNoRegularFileIsRefused) {
    ASSERT_EQ(0, ::mkfifo(path().c_str(), 0600));
    std::filesystem::create_symlink("out", folder_ / "link");
    for (const std::string& target : {path(), (folder_ / "link").string()}) {
        const auto file = OutputFile::create(target);
        ASSERT_FALSE(file) << target;
        EXPECT_EQ(target + ": not a regular file, only such a one can be written", file.error().describe());
    }
    EXPECT_TRUE(std::filesystem::is_fifo(path()));
}

TEST_F(OutputFileTest, TouchesNoOtherFileBesideIt) {
    const auto write_beside = [&](const std::string& name) { std::ofstream(folder_ / name) << name; };
    write_beside("out.partial");
    write_beside(fmt::format("out.{}-1.partial", ::getpid()));
    const size_t before = num_files();
    {
        auto first = OutputFile::create(path()), second = OutputFile::create(path());
        ASSERT_TRUE(first && write(*first, "first"));
        ASSERT_TRUE(second && write(*second, "second") && second->commit());
        EXPECT_EQ("second", read_text_file(path()).value());
        ASSERT_TRUE(first->commit());
    }
    EXPECT_EQ("first", read_text_file(path()).value());
    EXPECT_EQ("out.partial", read_text_file(path() + ".partial").value());
    EXPECT_EQ(before + 1, num_files());
}

TEST_F(OutputFileTest, ThroughLinksReplacesWhatTheyName) {
    std::filesystem::create_directory(folder_ / "inner");
    std::filesystem::create_symlink("inner/link", path());
    std::filesystem::create_symlink("file", folder_ / "inner/link");  // names nothing yet
    for (const std::string text : {"new", "newer"}) {
        auto file = OutputFile::create(path());
        ASSERT_TRUE(file) << file.error().describe();
        ASSERT_TRUE(write(*file, text) && file->commit());
        EXPECT_EQ(text, read_text_file((folder_ / "inner/file").string()).value());
    }
    EXPECT_TRUE(std::filesystem::is_symlink(path()));
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "inner/link"));
}

TEST_F(OutputFileTest, ThroughALinkToItselfIsRefused) {
    std::filesystem::create_symlink("out", path());
    EXPECT_FALSE(OutputFile::create(path()));
}

TEST_F(OutputFileTest, HasTheModeThatTheUmaskLeaves) {
    const mode_t before = ::umask(0027);
    auto file = OutputFile::create(path());
    const bool written = file && write(*file, "text") && file->commit();
    ::umask(before);
    ASSERT_TRUE(written);
    EXPECT_EQ(0640u, unsigned(std::filesystem::status(path()).permissions()));
}

// A limit on the size of files refuses a write as a full disk does.
TEST_F(OutputFileTest, OnAFullDiskFailsWhenTheBytesAreFlushed) {
    const auto before_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(0, ::getrlimit(RLIMIT_FSIZE, &before));
    const rlimit small{2, before.rlim_max};
    bool written = true;
    {
        auto file = OutputFile::create(path());
        ASSERT_TRUE(file && write(*file, "text"));
        ASSERT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &small));
        written = file->commit().has_value();
        ASSERT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &before));
    }
    std::signal(SIGXFSZ, before_handler);
    EXPECT_FALSE(written);
    EXPECT_EQ(0u, num_files());
}

}  // namespace
}  // namespace ingot

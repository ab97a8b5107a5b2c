#include "base/mapped_file.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/run_program.h"

namespace ingot {
namespace {

TEST(ReadTextFile, ReadsWhatTheFileHolds) {
    const test::TemporaryFolder folder;
    for (const size_t size : {size_t(0), size_t(1), size_t(1) << 16, (size_t(1) << 16) + 1, size_t(300000)}) {
        std::string text(size, 'x');
        for (size_t i = 0; i < size; i += 7) text[i] = char(i);
        const auto read = read_text_file(folder.write("text", text));
        ASSERT_TRUE(read) << read.error().describe();
        EXPECT_EQ(text, *read) << size;
    }
}

TEST(ReadTextFile, ReadsAPipeToItsEnd) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("pipe"), text(200000, 'p');
    ASSERT_EQ(0, ::mkfifo(path.c_str(), 0600));
    std::thread writer([&] { std::ofstream(path) << text; });
    const auto read = read_text_file(path);
    writer.join();
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_EQ(text, *read);
}

// They say that they have no bytes.
TEST(ReadTextFile, ReadsTheFilesOfProc) {
    std::ifstream stream("/proc/version");
    const std::string version{std::istreambuf_iterator<char>(stream), {}};
    ASSERT_FALSE(version.empty());
    EXPECT_EQ(version, read_text_file("/proc/version").value_or("an error"));
}

TEST(ReadTextFile, RefusesAFolderAndNamesAMissingFile) {
    const test::TemporaryFolder folder;
    const auto read = read_text_file(folder.file(""));
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().describe(), ::testing::HasSubstr("is a directory, a file is needed"));
    const auto missing = read_text_file(folder.file("none"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(ErrorKind::kNotFound, missing.error().kind);
}

TEST(MappedFile, RefusesAPipe) {
    const test::TemporaryFolder folder;
    ASSERT_EQ(0, ::mkfifo(folder.file("pipe").c_str(), 0600));
    // No one writes to it: opening must not wait for that.
    const auto file = MappedFile::open(folder.file("pipe"));
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().describe(), ::testing::HasSubstr("not a regular file, it can't be mapped"));
}

}  // namespace
}  // namespace ingot

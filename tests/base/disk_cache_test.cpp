#include "base/disk_cache.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ingot {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "ingot-cache-XXXXXX").string();
        ASSERT_NE(nullptr, ::mkdtemp(name.data()));
        folder_ = fs::path(name) / "objects";
    }
    void TearDown() override { fs::remove_all(folder_.parent_path()); }

    static std::vector<std::byte> value(size_t size, int seed) {
        std::vector<std::byte> bytes(size);
        for (size_t i = 0; i < size; ++i) bytes[i] = std::byte(i * 31 + size_t(seed));
        return bytes;
    }
    fs::path only_file() const { return fs::directory_iterator(folder_)->path(); }
    size_t num_files() const {
        return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
};

TEST_F(DiskCacheTest, WhatWasStoredIsFoundByThisProcessAndTheNext) {
    DiskCache cache(folder_);
    EXPECT_EQ(std::nullopt, cache.find("a"));
    cache.store("a", value(1000, 1));
    cache.store("b", {});
    EXPECT_EQ(value(1000, 1), cache.find("a"));
    EXPECT_EQ(value(0, 0), cache.find("b"));
    EXPECT_EQ(value(1000, 1), DiskCache(folder_).find("a"));
    EXPECT_EQ(2u, cache.usage().entries);
    EXPECT_GE(cache.usage().bytes, 1000u);
}

TEST_F(DiskCacheTest, KeysTellPartsApart) {
    const auto key = [](std::string_view a, std::string_view b) { return CacheKey().add(a).add(b).finish(); };
    EXPECT_EQ(64u, key("a", "b").size());
    EXPECT_EQ(key("ab", "c"), key("ab", "c"));
    EXPECT_NE(key("ab", "c"), key("a", "bc"));
    EXPECT_NE(CacheKey().add(uint64_t{1}).finish(), CacheKey().add(uint64_t{2}).finish());
}

TEST_F(DiskCacheTest, DamagedEntriesAreNotThereAndCanBeReplaced) {
    DiskCache cache(folder_);
    cache.store("a", value(300, 1));
    const auto size = fs::file_size(only_file());
    for (uintmax_t at = 0; at < size; ++at) {
        std::fstream file(only_file(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(std::streamoff(at));
        const char before = char(file.get());
        file.seekp(std::streamoff(at));
        file.put(char(before ^ 0x10));
        file.flush();
        EXPECT_EQ(std::nullopt, cache.find("a")) << "byte " << at;
        file.seekp(std::streamoff(at));
        file.put(before);
    }
    EXPECT_EQ(value(300, 1), cache.find("a"));
    for (const uintmax_t cut : {uintmax_t{0}, uintmax_t{7}, uintmax_t{47}, size - 1}) {
        fs::resize_file(only_file(), cut);
        EXPECT_EQ(std::nullopt, cache.find("a")) << cut;
    }
    cache.store("a", value(300, 2));
    EXPECT_EQ(value(300, 2), cache.find("a"));
}

TEST_F(DiskCacheTest, AnEntryUnderAnotherNameIsNotThatEntry) {
    DiskCache cache(folder_);
    cache.store("a", value(10, 1));
    fs::rename(only_file(), folder_ / "b.entry");
    EXPECT_EQ(std::nullopt, cache.find("b"));
}

// Waits for a child and tells whether it ended as it should.
void expect_success(pid_t child) {
    int status = 0;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(DiskCacheTest, ProcessesMayStoreAndReadTheSameEntriesAtOnce) {
    std::vector<pid_t> children;
    for (int number = 0; number < 4; ++number) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            DiskCache cache(folder_);
            bool whole = true;
            for (int round = 0; round < 300; ++round) {
                const std::string key = std::to_string(round % 3);
                cache.store(key, value(5000 + size_t(round % 3), round % 3));
                const auto found = cache.find(key);
                whole = whole && found == value(5000 + size_t(round % 3), round % 3);
            }
            ::_exit(whole ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) expect_success(child);
    EXPECT_EQ(3u, num_files()) << "no partial file is left";
}

TEST_F(DiskCacheTest, FullDiskIsWarnedOfOnceAndLeavesNoHalfEntry) {
    DiskCache(folder_).store("before", value(10, 1));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        // A limit on the size of files fails writes as a full disk does.
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        ::testing::internal::CaptureStderr();
        DiskCache cache(folder_);
        cache.store("a", value(100'000, 1));
        cache.store("b", value(100'000, 2));
        const std::string warnings = ::testing::internal::GetCapturedStderr();
        const bool once = std::count(warnings.begin(), warnings.end(), '\n') == 1 &&
                          warnings.find("can't write to the cache folder") != std::string::npos;
        const bool right = !cache.find("a") && cache.find("before") == value(10, 1);
        ::_exit(once && right ? 0 : 1);
    }
    expect_success(child);
    EXPECT_EQ(1u, num_files());
}

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeIsWarnedOf) {
    fs::create_directories(folder_.parent_path());
    std::ofstream(folder_.string()) << "a file";
    ::testing::internal::CaptureStderr();
    DiskCache cache(folder_ / "below");
    cache.store("a", value(10, 1));
    cache.store("b", value(10, 1));
    const std::string warnings = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(1, std::count(warnings.begin(), warnings.end(), '\n')) << warnings;
    EXPECT_EQ(std::nullopt, cache.find("a"));
}

TEST_F(DiskCacheTest, AFolderThatOthersCanWriteToIsNotUsed) {
    DiskCache cache(folder_);
    cache.store("a", value(10, 1));
    fs::permissions(folder_, fs::perms::group_write, fs::perm_options::add);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(std::nullopt, cache.find("a"));
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("other users"));
}

TEST_F(DiskCacheTest, TheOldestEntriesGoWhenItGrowsBeyondItsCapacity) {
    DiskCache cache(folder_, 100'000);
    for (int i = 0; i < 12; ++i) {
        cache.store(std::to_string(i), value(10'000, i));
        const auto written = fs::file_time_type::clock::now() - std::chrono::minutes(20 - i);
        fs::last_write_time(folder_ / (std::to_string(i) + ".entry"), written);
    }
    EXPECT_LE(cache.usage().bytes, 100'000u);
    EXPECT_EQ(std::nullopt, cache.find("0"));
    EXPECT_EQ(value(10'000, 11), cache.find("11"));
}

TEST_F(DiskCacheTest, ClearRemovesEntriesAndSaysHowMany) {
    DiskCache cache(folder_);
    EXPECT_EQ(0u, cache.clear()->entries);
    cache.store("a", value(10, 1));
    cache.store("b", value(10, 1));
    std::ofstream(folder_ / "someone-elses.txt") << "text";
    const auto removed = cache.clear();
    ASSERT_TRUE(removed);
    EXPECT_EQ(2u, removed->entries);
    EXPECT_EQ(std::nullopt, cache.find("a"));
    EXPECT_EQ("someone-elses.txt", only_file().filename());
}

TEST_F(DiskCacheTest, WithoutAFolderNothingIsKept) {
    DiskCache cache("");
    cache.store("a", value(10, 1));
    EXPECT_EQ(std::nullopt, cache.find("a"));
    EXPECT_EQ(0u, cache.usage().entries);
}

}  // namespace
}  // namespace ingot

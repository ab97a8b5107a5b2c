// The container reader on libraries made here byte by byte, and on broken ones: each must be refused with a
// message, never read out of bounds (run under AddressSanitizer too).
#include "metal/air/library_file.h"

#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/library_bytes.h"

namespace ingot::metal {
namespace {

using ::testing::HasSubstr;

using testing::Bytes;
constexpr size_t kHeaderBytes = testing::kLibraryHeaderBytes;

// Two functions; 8 bytes of "bitcode" each.
Bytes library() {
    return testing::make_library({{"first", "module-0"}, {"second", "module-1"}});
}

std::string error_of(const Bytes& bytes) {
    const auto file = LibraryFile::from_bytes(bytes.bytes, "test");
    return file ? "" : file.error().describe();
}

TEST(LibraryFile, ListsFunctionsWithTheirModules) {
    const auto file = LibraryFile::from_bytes(library().bytes, "test");
    ASSERT_TRUE(file) << file.error().describe();
    ASSERT_EQ(2u, file->functions().size());
    EXPECT_EQ("first", file->functions()[0].name);
    const LibraryFunction* second = file->find("second");
    ASSERT_NE(nullptr, second);
    EXPECT_EQ(0, std::memcmp(second->bitcode.data(), "module-1", 8));
    EXPECT_EQ((std::array<uint16_t, 4>{2, 8, 4, 0}), second->version);
    EXPECT_EQ((std::array<uint16_t, 2>{2, 9}), file->file_version());
    EXPECT_EQ(nullptr, file->find("third"));
}

TEST(LibraryFile, UnknownKernelIsAnErrorThatNamesCloseOnes) {
    const auto file = LibraryFile::from_bytes(library().bytes, "test");
    const auto missing = file->require("seco");
    ASSERT_FALSE(missing);
    EXPECT_EQ(ErrorKind::kNotFound, missing.error().kind);
    EXPECT_THAT(missing.error().describe(), HasSubstr("close: 'second'"));
}

TEST(LibraryFile, TruncatedAnywhereIsRefused) {
    const Bytes whole = library();
    for (size_t size = 0; size < whole.bytes.size(); ++size) {
        Bytes cut;
        cut.bytes.assign(whole.bytes.begin(), whole.bytes.begin() + std::ptrdiff_t(size));
        EXPECT_NE("", error_of(cut)) << size;
        if (size < kHeaderBytes) continue;
        cut.set(16, uint64_t(size));  // a header that agrees with the truncation
        if (size < whole.bytes.size() - 8) {
            EXPECT_NE("", error_of(cut)) << size;
        }
    }
}

TEST(LibraryFile, FlippedBytesNeverCrash) {
    const Bytes whole = library();
    std::mt19937 generator(1);
    for (int round = 0; round < 20000; ++round) {
        Bytes broken = whole;
        for (int flips = 0; flips < 1 + round % 4; ++flips) {
            broken.bytes[generator() % broken.bytes.size()] = std::byte(generator());
        }
        const auto file = LibraryFile::from_bytes(broken.bytes, "test");
        if (!file) continue;
        for (const LibraryFunction& function : file->functions()) (void)file->reflect(function);
    }
}

TEST(LibraryFile, SectionsMustLieInsideAndApart) {
    Bytes overlapping = library();
    overlapping.set(40, uint64_t{kHeaderBytes + 8});  // public metadata on the function list
    EXPECT_THAT(error_of(overlapping), HasSubstr("overlap"));
    Bytes outside = library();
    outside.set(72, uint64_t{1} << 62);
    EXPECT_THAT(error_of(outside), HasSubstr("the bitcode at 4611686018427387904"));
    Bytes wrapping = library();
    wrapping.set(80, ~uint64_t{0});
    EXPECT_THAT(error_of(wrapping), HasSubstr("outside the file"));
}

TEST(LibraryFile, HugeCountsAndBadLengthsAreRefused) {
    Bytes counts = library();
    counts.set(kHeaderBytes, uint32_t{0xFFFFFFFF});
    EXPECT_THAT(error_of(counts), HasSubstr("4294967295 functions don't fit"));
    Bytes length = library();
    length.set(kHeaderBytes + 4, uint32_t{3});
    EXPECT_THAT(error_of(length), HasSubstr("runs past"));
}

TEST(LibraryFile, ModuleOutsideTheBitcodeIsRefused) {
    Bytes list;
    Bytes bytes = library();
    // The second entry's MDSZ is the last 8 bytes before its ENDT, which ends the list.
    const size_t list_end = kHeaderBytes + 4 + 2 * testing::library_entry("first", 0, 8).bytes.size() + 1;
    bytes.set(list_end - 4 - 8, uint64_t{9});
    EXPECT_THAT(error_of(bytes), HasSubstr("'second': its module at 8 with 9 bytes"));
}

TEST(LibraryFile, TwoFunctionsOfOneNameAreRefused) {
    Bytes bytes = library();
    const std::string_view text(reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size());
    const size_t at = text.find("second");
    Bytes same = library();
    std::memcpy(same.bytes.data() + at, "first\0", 6);
    EXPECT_THAT(error_of(same), HasSubstr("'first' occurs twice"));
}

}  // namespace
}  // namespace ingot::metal

// Files made to break a reader: each must give an Error that names file, field and values, and touch nothing
// outside the bytes (the sanitizer builds watch that, and tests/fuzz/fuzz_gguf.cpp goes on where these
// examples end).
#include <limits>

#include "base/mapped_file.h"
#include "llm/gguf/test_files.h"

namespace ingot::gguf {
namespace {

using gguf_test::bytes_of;
using gguf_test::RawFile;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kUint32 = 4, kBool = 7, kString = 8, kArray = 9;
constexpr uint32_t kF32 = 0, kQ4_0 = 2, kQ4_K = 12;

// Parses a copy of exactly the file's size on the heap, so that a sanitizer sees a read past the end.
Error error_of(const std::string& bytes) {
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const auto file = File::parse(std::as_bytes(std::span(exact)), "bad.gguf");
    EXPECT_FALSE(file) << "accepted";
    return file ? Error{} : file.error();
}

void expect_refused(const RawFile& file, ErrorKind kind, const std::string& message) {
    const Error error = error_of(file.bytes());
    EXPECT_EQ(kind, error.kind) << error.describe();
    EXPECT_THAT(error.describe(), StartsWith("bad.gguf: "));
    EXPECT_THAT(error.describe(), HasSubstr(message));
}

void expect_corrupt(const RawFile& file, const std::string& message) {
    expect_refused(file, ErrorKind::kCorrupt, message);
}

TEST(HostileGguf, AFileTruncatedAnywhereIsRefused) {
    const std::string whole = read_text_file(INGOT_TEST_DATA "/quant/shapes.gguf").value();
    const auto file = File::parse(bytes_of(whole), "whole.gguf");
    ASSERT_TRUE(file) << file.error().describe();
    size_t needed = 0;  // what follows the last tensor is padding
    for (const TensorInfo& tensor : file->tensors()) {
        const auto* end = reinterpret_cast<const char*>(tensor.data.data() + tensor.data.size());
        needed = std::max(needed, size_t(end - whole.data()));
    }
    ASSERT_GT(needed, 1000u);
    for (size_t length = 0; length < needed; ++length) {
        const Error error = error_of(whole.substr(0, length));
        ASSERT_EQ(ErrorKind::kCorrupt, error.kind) << "at " << length;
        ASSERT_THAT(error.describe(), StartsWith("bad.gguf: ")) << "at " << length;
    }
}

TEST(HostileGguf, AFlippedByteAnywhereIsRefusedOrRead) {
    std::string bytes = read_text_file(INGOT_TEST_DATA "/quant/shapes.gguf").value();
    const size_t header = 2048;
    size_t refused = 0;
    for (size_t at = 0; at < header; ++at) {
        for (const char flip : {'\x01', '\x80', '\xFF'}) {
            bytes[at] ^= flip;
            refused += !File::parse(bytes_of(bytes), "bad.gguf").has_value();
            bytes[at] ^= flip;
        }
    }
    EXPECT_GT(refused, header / 4);
}

TEST(HostileGguf, SomethingElseThanGguf) {
    expect_corrupt(RawFile().raw("PK\x03\x04 and more"),
                   "is not a GGUF file: it starts with 'PK\\x03\\x04', not with 'GGUF'");
    expect_corrupt(RawFile().raw("GG"), "is not a GGUF file: it has 2 bytes");
}

TEST(HostileGguf, VersionsThatAreNotRead) {
    expect_refused(RawFile().header(0, 0, 1), ErrorKind::kUnsupported,
                   "is GGUF version 1, versions 2 and 3 are read");
    expect_refused(RawFile().header(0, 0, 4), ErrorKind::kUnsupported, "is GGUF version 4");
    expect_refused(RawFile().header(0, 0, 0), ErrorKind::kUnsupported, "is GGUF version 0");
    expect_refused(RawFile().header(0, 0, 0x03000000), ErrorKind::kUnsupported, "is a big-endian GGUF file");
}

TEST(HostileGguf, CountsThatTheFileCannotHold) {
    expect_corrupt(RawFile().header(0, kHuge),
                   "the number of metadata entries is 18446744073709551615, but the 0 bytes");
    expect_corrupt(RawFile().header(kHuge, 0),
                   "the number of tensors is 18446744073709551615, but the 0 bytes left");
    expect_corrupt(RawFile().header(0, 5).zeros(40),
                   "the number of metadata entries is 5, but the 40 bytes left hold at most 2");
    expect_corrupt(RawFile().header(2, 0).zeros(40),
                   "the number of tensors is 2, but the 40 bytes left hold at most 1");
}

TEST(HostileGguf, HugeStrings) {
    expect_corrupt(RawFile().header(0, 1).put(kHuge).zeros(20),
                   "metadata entry 1 of 1: the key is 18446744073709551615 bytes long");
    expect_corrupt(RawFile().header(0, 1).put(uint64_t(100)).zeros(20),
                   "the key takes 100 bytes at offset 32, but the file ends after 20");
    expect_corrupt(RawFile().header(0, 1).string("k").put(kString).put(kHuge).zeros(8),
                   "key 'k': the value takes 18446744073709551615 bytes at offset");
    expect_corrupt(RawFile().header(0, 1).put(uint64_t(70000)).zeros(80000),
                   "the key is 70000 bytes long, at most 65535");
}

TEST(HostileGguf, KeysThatAreEmptyOrThereTwice) {
    expect_corrupt(RawFile().header(0, 1).string("").zeros(20), "metadata entry 1 of 1 has an empty key");
    RawFile twice;
    twice.header(0, 2).string("k").put(kUint32).put(1u).string("k").put(kUint32).put(2u);
    expect_corrupt(twice, "key 'k' is there twice");
}

TEST(HostileGguf, ValueTypesThatDoNotExist) {
    expect_corrupt(RawFile().header(0, 1).string("k").put(13u).zeros(20),
                   "key 'k': has a value of type 13, types 0 to 12 exist");
    expect_corrupt(RawFile().header(0, 1).string("k").put(kArray).put(13u).put(uint64_t(1)).zeros(20),
                   "key 'k': has array items of type 13");
}

TEST(HostileGguf, ABoolThatIsNeitherZeroNorOne) {
    expect_corrupt(RawFile().header(0, 1).string("k").put(kBool).put(uint8_t(2)),
                   "the value is a bool with byte 2");
    RawFile array;
    array.header(0, 1).string("k").put(kArray).put(kBool).put(uint64_t(2)).put(uint8_t(1)).put(uint8_t(255));
    expect_corrupt(array, "an array item is a bool with byte 255");
}

TEST(HostileGguf, ArraysLongerThanTheFile) {
    for (const uint64_t count : {kHuge, kHuge / 4 + 1, uint64_t(100)}) {
        for (uint32_t type = 0; type <= 12; ++type) {
            if (type == kArray) continue;
            expect_corrupt(RawFile().header(0, 1).string("k").put(kArray).put(type).put(count).zeros(20),
                           fmt::format("key 'k': the array length is {}, but", count));
        }
    }
}

TEST(HostileGguf, AnArrayOfArrays) {
    expect_refused(RawFile().header(0, 1).string("k").put(kArray).put(kArray).put(uint64_t(1)).zeros(40),
                   ErrorKind::kUnsupported, "key 'k': is an array of arrays");
}

RawFile with_alignment(uint32_t alignment) {
    RawFile file;
    file.header(1, 1).string("general.alignment").put(kUint32).put(alignment);
    file.tensor("a", {1}, kF32, 0).align().zeros(32);
    return file;
}

TEST(HostileGguf, AlignmentsThatAreNoPowerOfTwo) {
    for (const uint32_t alignment : {0u, 1u, 4u, 24u, 0xFFFFFFFFu}) {
        expect_corrupt(with_alignment(alignment),
                       fmt::format("key 'general.alignment' is {}, a power of two from 8", alignment));
    }
    expect_corrupt(with_alignment(0x80000000u), "no data follows at the next multiple of 2147483648");
    RawFile other_type;
    other_type.header(1, 1).string("general.alignment").put(kString).string("32").zeros(40);
    expect_corrupt(other_type, "key 'general.alignment' is of type string, uint32 is accepted");
}

TEST(HostileGguf, TensorNamesThatAreTooLongOrThereTwice) {
    expect_corrupt(RawFile().header(1, 0).string(std::string(65, 'n')).zeros(40),
                   "tensor 1 of 1: the name is 65 bytes long, at most 64");
    expect_corrupt(RawFile().header(1, 0).put(kHuge).zeros(40),
                   "tensor 1 of 1: the name is 18446744073709551615 bytes long");
    RawFile twice;
    twice.header(2, 0).tensor("a", {1}, kF32, 0).tensor("a", {1}, kF32, 32).align().zeros(64);
    expect_corrupt(twice, "tensor 'a' is there twice");
}

TEST(HostileGguf, ShapesThatMakeNoSense) {
    expect_corrupt(RawFile().header(1, 0).tensor("a", {1, 1, 1, 1, 1}, kF32, 0).align().zeros(32),
                   "tensor 'a': has 5 dimensions, at most 4");
    expect_corrupt(RawFile().header(1, 0).string("a").put(0xFFFFFFFFu).zeros(64),
                   "tensor 'a': has 4294967295 dimensions");
    expect_corrupt(RawFile().header(1, 0).tensor("a", {4, 0}, kF32, 0).align().zeros(32),
                   "tensor 'a': has a dimension of 0");
    for (const uint64_t extent : {kHuge, uint64_t(1) << 62}) {
        expect_corrupt(RawFile().header(1, 0).tensor("a", {4, extent}, kF32, 0).align().zeros(32),
                       fmt::format("tensor 'a': has more than 2^63 elements: dimension {} makes", extent));
    }
    expect_corrupt(
        RawFile().header(1, 0).tensor("a", {uint64_t(1) << 61, 2}, kF32, 0).align().zeros(32),
        "tensor 'a': has 4611686018427387904 elements of type F32, more bytes than a file can hold");
}

TEST(HostileGguf, AnUnknownWeightTypeNeverRunsAnotherTypesKernel) {
    for (const uint32_t type : {4u, 16u, 24u, 1000u, 0xFFFFFFFFu}) {
        const RawFile file = RawFile().header(1, 0).tensor("a", {32}, type, 0).align().zeros(256);
        expect_refused(file, ErrorKind::kUnsupported,
                       fmt::format("tensor 'a': has type {}, accepted are F32 (0), F16 (1)", type));
    }
}

TEST(HostileGguf, AKQuantRowThatIsNotAMultipleOf256IsRefusedWithTheTensorsName) {
    expect_corrupt(
        RawFile().header(1, 0).tensor("blk.0.ffn_up.weight", {576, 4}, kQ4_K, 0).align().zeros(4096),
        "tensor 'blk.0.ffn_up.weight': has rows of 576 elements, type Q4_K needs a multiple of 256");
    // 512 elements in all, but rows of 8.
    expect_corrupt(RawFile().header(1, 0).tensor("a", {8, 64}, kQ4_K, 0).align().zeros(4096),
                   "tensor 'a': has rows of 8 elements");
    expect_corrupt(RawFile().header(1, 0).tensor("a", {48, 2}, kQ4_0, 0).align().zeros(4096),
                   "type Q4_0 needs a multiple of 32");
}

TEST(HostileGguf, TensorsOutsideTheFile) {
    expect_corrupt(RawFile().header(1, 0).tensor("a", {16}, kF32, 0).align().zeros(32),
                   "tensor 'a': takes 64 bytes from offset 0 on, but the data section has 32 bytes");
    expect_corrupt(RawFile().header(1, 0).tensor("a", {1}, kF32, 64).align().zeros(32),
                   "tensor 'a': takes 4 bytes from offset 64 on");
    const uint64_t last = kHuge / 32 * 32;
    expect_corrupt(RawFile().header(1, 0).tensor("a", {16}, kF32, last).align().zeros(32),
                   fmt::format("tensor 'a': takes 64 bytes from offset {} on", last));
    expect_corrupt(RawFile().header(1, 0).tensor("a", {1}, kF32, 0),
                   "no data follows at the next multiple of 32");
}

TEST(HostileGguf, MisalignedTensors) {
    expect_corrupt(RawFile().header(1, 0).tensor("a", {1}, kF32, 4).align().zeros(64),
                   "tensor 'a': starts at offset 4, a multiple of the alignment 32 is accepted");
}

TEST(HostileGguf, OverlappingTensors) {
    RawFile file;
    file.header(3, 0)
        .tensor("late", {8}, kF32, 64)
        .tensor("early", {17}, kF32, 0)
        .tensor("c", {1}, kF32, 128)
        .align();
    expect_corrupt(file.zeros(256), "tensors 'early' (offset 0, 68 bytes) and 'late' (offset 64) overlap");
    RawFile same;
    same.header(2, 0).tensor("a", {1}, kF32, 32).tensor("b", {1}, kF32, 32).align();
    expect_corrupt(same.zeros(64), "overlap");
}

TEST(HostileGguf, TextFromTheFileIsEscapedAndShortenedInMessages) {
    expect_corrupt(RawFile().header(0, 1).string("a\n\x1b[31m\xff").put(99u).zeros(20),
                   "key 'a\\n\\x1b[31m\\xff': has a value of type 99");
    expect_corrupt(RawFile().header(0, 1).string(std::string(1000, 'x')).put(99u).zeros(20),
                   "xxx...' (1000 bytes): has a value");
}

}  // namespace
}  // namespace ingot::gguf

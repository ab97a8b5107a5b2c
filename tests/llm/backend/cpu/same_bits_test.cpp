// The vector kernels of all instruction sets are one template, whose sums are exact integers and whose float
// operations come in one order: their results have the same bits, so what is measured about a model's quality
// on one set holds on all. The hashes stand for AVX2's results, whose values mat_mul_test.cpp checks; Arm's
// kernels are compared with them under emulation (tests/arm).
#include "llm/backend/cpu/kernel_test.h"
#include "llm/backend/cpu/kernels/mat_mul.h"

namespace ingot::cpu {
namespace {

struct ExpectedHash {
    QuantType type;
    uint64_t hash;
};
constexpr ExpectedHash kExpected[] = {
    {QuantType::kF32, 0x287e3adb51df3710},  {QuantType::kF16, 0xf3e61b421061b9d9},
    {QuantType::kBF16, 0x9ce19d3cfd0059ab}, {QuantType::kQ4_0, 0xa38e1f54a3c0b22d},
    {QuantType::kQ4_1, 0xe19b5dc48cc0d2ab}, {QuantType::kQ5_0, 0x2f1274be0b9fe4b1},
    {QuantType::kQ5_1, 0xe6a1e7fe1da449cc}, {QuantType::kQ8_0, 0xfba5b143fefc282d},
    {QuantType::kQ2_K, 0x7814e8875d6a5485}, {QuantType::kQ3_K, 0xc5b6487c742b8153},
    {QuantType::kQ4_K, 0x10e537fe437ade60}, {QuantType::kQ5_K, 0x57519bbbc8d549e7},
    {QuantType::kQ6_K, 0xe7d4222f5cbe8f65}, {QuantType::kIQ4_NL, 0xd6ff6e0cb068ac22},
    {QuantType::kMXFP4, 0xd172513ab616fac0}};

constexpr uint32_t kRows = 37, kCols = 1536;  // more columns than the smallest panel has

// In [-1, 1], from the generator's bits alone: the standard's distributions differ between libraries.
float small_float(std::mt19937& generator) {
    return float(int(generator() % 2001) - 1000) / 1000;
}

std::vector<std::byte> weights_of(QuantType type) {
    std::mt19937 generator(uint32_t(type) + 1);
    const QuantTraits& quant = traits(type);
    std::vector<std::byte> bytes(size_t(kRows) * kCols / quant.block_size * quant.block_size_bytes);
    if (quant.block_size == 1) {
        std::vector<float> values(size_t(kRows) * kCols);
        for (float& value : values) value = small_float(generator);
        quant.quantize(values.data(), bytes.data(), values.size());
        return bytes;
    }
    for (std::byte& byte : bytes) byte = std::byte(generator());
    for (size_t at = 0; at < bytes.size(); at += quant.block_size_bytes) {
        if (type == QuantType::kMXFP4) {
            bytes[at] = std::byte(118 + generator() % 8);
            continue;
        }
        const auto [scale, minimum] = scale_offsets(type);
        for (const int offset : {scale, minimum}) {
            const auto half = uint16_t(0x1400 + generator() % 0x0C00);  // 0.001 to 0.016
            if (offset >= 0) std::memcpy(&bytes[at + size_t(offset)], &half, 2);
        }
    }
    return bytes;
}

uint64_t hash_of(uint64_t hash, const std::vector<float>& values) {
    for (const float value : values) {
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        hash = (hash ^ bits) * 0x100000001B3u;
    }
    return hash;
}

class SameBits : public testing::TestWithParam<TestedTable> {};

std::vector<TestedTable> vector_tables() {
    std::vector<TestedTable> tables = tested_tables();
    std::erase_if(tables, [](const TestedTable& table) { return table.kernels->isa == Isa::kPlain; });
    return tables;
}
INSTANTIATE_TEST_SUITE_P(Vectors, SameBits, testing::ValuesIn(vector_tables()),
                         [](const auto& test) { return test.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SameBits);  // on a machine with the plain kernels alone

TEST_P(SameBits, MatrixProductsOfEveryTypeAreEqualOnEveryInstructionSet) {
    for (const ExpectedHash& expected : kExpected) {
        const auto bytes = weights_of(expected.type);
        PackedStorage storage;
        auto matrix =
            PackedMatrix::prepare(*GetParam().kernels, expected.type, kRows, kCols, bytes, {storage});
        ASSERT_TRUE(matrix) << matrix.error().describe();
        ThreadPool pool(1);
        uint64_t hash = 0xCBF29CE484222325u;
        for (const uint32_t tokens : {1, 2, 3, 5, 14, 27}) {
            std::mt19937 generator(tokens);
            std::vector<float> x(size_t(tokens) * kCols), y(size_t(tokens) * kRows);
            for (float& value : x) value = small_float(generator);
            const MatMulOutput output{.weights = &*matrix, .y = y.data(), .y_stride = kRows};
            Workspace workspace(mat_mul_workspace_bytes({&output, 1}, tokens, 1));
            pool.run([&](Worker& worker) {
                mat_mul(worker, {&output, 1}, x.data(), kCols, tokens, workspace.data());
            });
            hash = hash_of(hash, y);
        }
        EXPECT_EQ(fmt::format("{} {:016x}", traits(expected.type).name, expected.hash),
                  fmt::format("{} {:016x}", traits(expected.type).name, hash));
    }
}

}  // namespace
}  // namespace ingot::cpu

#include <gtest/gtest.h>

#include "llm/quant/quant.h"

namespace ingot {
namespace {

TEST(QuantTraits, EveryTypeOfTheEnumerationHasOneRow) {
    EXPECT_EQ(15u, all_quant_types().size());
    for (const QuantTraits& row : all_quant_types()) {
        EXPECT_EQ(&row, &traits(row.type));
        EXPECT_EQ(row.type, quant_type_from_gguf_id(uint32_t(row.type)));
        EXPECT_EQ(row.type, quant_type_from_name(row.name));
    }
}

TEST(QuantTraits, NamesAreFoundInAnyCase) {
    EXPECT_EQ(QuantType::kQ4_K, quant_type_from_name("q4_k"));
    EXPECT_EQ(QuantType::kBF16, quant_type_from_name("bf16"));
    EXPECT_EQ(std::nullopt, quant_type_from_name("Q4"));
    EXPECT_EQ(std::nullopt, quant_type_from_name(""));
}

TEST(QuantTraits, AnIdThatIsNotInTheTableIsNoType) {
    for (const uint32_t id : {4u, 5u, 9u, 15u, 16u, 24u, 40u, 0xFFFFFFFFu}) {
        EXPECT_EQ(std::nullopt, quant_type_from_gguf_id(id)) << id;
    }
}

TEST(QuantTraits, StorageIsWholeBlocksAndDoesNotOverflow) {
    EXPECT_EQ(0u, storage_size_bytes(QuantType::kQ4_0, 0));
    EXPECT_EQ(36u, storage_size_bytes(QuantType::kQ4_0, 64));
    EXPECT_EQ(std::nullopt, storage_size_bytes(QuantType::kQ4_0, 33));
    EXPECT_EQ(std::nullopt, storage_size_bytes(QuantType::kQ6_K, 128));
    EXPECT_EQ(std::nullopt, storage_size_bytes(QuantType::kF32, uint64_t(1) << 62));
    EXPECT_EQ(std::nullopt, storage_size_bytes(QuantType::kQ8_0, ~uint64_t(31)));
}

TEST(QuantTraitsDeath, AnIdThatIsNotInTheTableNeverGivesAnotherTypesRow) {
    EXPECT_DEATH(traits(QuantType(4)), "no quant type has id 4");
}

}  // namespace
}  // namespace ingot

#include "llm/gguf/file_type.h"

#include <algorithm>

#include "base/check.h"

namespace ingot::gguf {
namespace {

struct FileType {
    uint32_t id;
    std::string_view name;
    std::optional<QuantType> throughout;  // the type for whose files it stands
};

// clang-format off
constexpr FileType kFileTypes[] = {
    {0, "F32", QuantType::kF32},
    {1, "F16", QuantType::kF16},
    {2, "Q4_0", QuantType::kQ4_0},
    {3, "Q4_1", QuantType::kQ4_1},
    {7, "Q8_0", QuantType::kQ8_0},
    {8, "Q5_0", QuantType::kQ5_0},
    {9, "Q5_1", QuantType::kQ5_1},
    {10, "Q2_K", QuantType::kQ2_K},
    {11, "Q3_K_S", {}},
    {12, "Q3_K_M", QuantType::kQ3_K},
    {13, "Q3_K_L", {}},
    {14, "Q4_K_S", {}},
    {15, "Q4_K_M", QuantType::kQ4_K},
    {16, "Q5_K_S", {}},
    {17, "Q5_K_M", QuantType::kQ5_K},
    {18, "Q6_K", QuantType::kQ6_K},
    {21, "Q2_K_S", {}},
    {25, "IQ4_NL", QuantType::kIQ4_NL},
    {32, "BF16", QuantType::kBF16},
    {38, "MXFP4", QuantType::kMXFP4},
};
// clang-format on

}  // namespace

uint32_t file_type_id(QuantType type) {
    const auto* row = std::ranges::find(kFileTypes, std::optional(type), &FileType::throughout);
    INGOT_CHECK(row != std::end(kFileTypes), "no file type for {}", traits(type).name);
    return row->id;
}

std::optional<std::string_view> file_type_name(uint64_t id) {
    const auto* row = std::ranges::find(kFileTypes, id, &FileType::id);
    if (row == std::end(kFileTypes)) return std::nullopt;
    return row->name;
}

}  // namespace ingot::gguf

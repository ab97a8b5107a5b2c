// The golden files of tests/data/quant; the scripts named in each test made them.
#pragma once

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "llm/quant/quant.h"

namespace ingot {

inline void PrintTo(const QuantTraits& row, std::ostream* out) {
    *out << row.name;
}

}  // namespace ingot

namespace ingot::quant_test {

inline std::string read_golden(const std::string& name) {
    auto text = read_text_file(std::string(INGOT_TEST_DATA) + "/quant/" + name);
    EXPECT_TRUE(text) << text.error().describe();
    return text.value_or("");
}

template <typename T>
std::vector<T> items_of(std::string_view bytes) {
    std::vector<T> items(bytes.size() / sizeof(T));
    std::memcpy(items.data(), bytes.data(), items.size() * sizeof(T));
    return items;
}

// The rows that the quantizers are tried on, one after the other.
constexpr size_t kRowLength = 256;
inline std::vector<float> golden_rows() {
    return items_of<float>(read_golden("rows.f32"));
}

struct TypeName {
    std::string operator()(const ::testing::TestParamInfo<QuantTraits>& info) const {
        return std::string(info.param.name);
    }
};

inline auto every_type() {
    const auto types = all_quant_types();
    return ::testing::ValuesIn(types.begin(), types.end());
}

}  // namespace ingot::quant_test

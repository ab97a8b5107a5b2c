// A tiny model of tests/data/models with something wrong: its bytes, changed where a test says. Offsets are
// found by the text of keys and tensor names, whose encoding (a 64-bit length, then the bytes) GGUF fixes.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "llm/gguf/gguf.h"

namespace ingot {

inline std::string tiny_model_path(const std::string& name) {
    return std::string(INGOT_TEST_DATA) + "/models/" + name + ".gguf";
}

class PatchedModel {
  public:
    explicit PatchedModel(const std::string& name) : name_(name) {
        std::ifstream file(tiny_model_path(name), std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
        EXPECT_FALSE(bytes_.empty()) << "no model " << name;
    }

    // A key, a tensor or a string value gets another name of the same length.
    PatchedModel& rename(std::string_view from, std::string_view to) {
        EXPECT_EQ(from.size(), to.size());
        to.copy(bytes_.data() + find(from), to.size());
        return *this;
    }
    // The scalar value of a key; T must be the type it is stored as.
    template <typename T>
    PatchedModel& set(std::string_view key, T value) {
        std::memcpy(bytes_.data() + find(key) + key.size() + sizeof(uint32_t), &value, sizeof value);
        return *this;
    }
    PatchedModel& set_dimension(std::string_view tensor, uint32_t index, uint64_t value) {
        const size_t at = find(tensor) + tensor.size() + sizeof(uint32_t) + index * sizeof value;
        std::memcpy(bytes_.data() + at, &value, sizeof value);
        return *this;
    }
    PatchedModel& set_type(std::string_view tensor, QuantType type, uint32_t dimensions) {
        const size_t at = find(tensor) + tensor.size() + sizeof(uint32_t) + dimensions * sizeof(uint64_t);
        const uint32_t id = uint32_t(type);
        std::memcpy(bytes_.data() + at, &id, sizeof id);
        return *this;
    }
    PatchedModel& set_element(std::string_view tensor, size_t index, float value) {
        const Result<gguf::File> file = parse();
        const auto offset =
            reinterpret_cast<const char*>(file->find_tensor(tensor)->data.data()) - bytes_.data();
        std::memcpy(bytes_.data() + offset + index * sizeof value, &value, sizeof value);
        return *this;
    }

    // Refers to this object's bytes.
    Result<gguf::File> parse() const {
        return gguf::File::parse(std::as_bytes(std::span(bytes_)), name_ + ".gguf");
    }
    void write(const std::string& path) const {
        std::ofstream(path, std::ios::binary).write(bytes_.data(), long(bytes_.size()));
    }

  private:
    size_t find(std::string_view text) const {
        const uint64_t length = text.size();
        std::string pattern(reinterpret_cast<const char*>(&length), sizeof length);
        pattern += text;
        const size_t at = std::string_view(bytes_).find(pattern);
        EXPECT_NE(at, std::string::npos) << "'" << text << "' is not in " << name_;
        return at + sizeof length;
    }

    std::string name_, bytes_;
};

}  // namespace ingot

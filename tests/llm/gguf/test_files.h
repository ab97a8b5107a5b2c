// Files for tests: a folder that goes away, and GGUF files put together from the writer's header or byte by
// byte.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/gguf/writer.h"

namespace ingot::gguf_test {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "ingot-gguf-XXXXXX").string();
        EXPECT_NE(nullptr, ::mkdtemp(name.data()));
        path_ = name;
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;

    std::string file(const std::string& name) const { return (path_ / name).string(); }
    std::set<std::string> names() const {  // of all files in it
        std::set<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            names.insert(entry.path().filename().string());
        return names;
    }
    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path_ / name, std::ios::binary) << bytes;
        return file(name);
    }

  private:
    std::filesystem::path path_;
};

inline std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

// Appends what the calls name, as a GGUF file has it; nothing is checked.
class RawFile {
  public:
    template <typename T>
    RawFile& put(T value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    RawFile& raw(std::string_view text) {
        bytes_.append(text);
        return *this;
    }
    RawFile& string(std::string_view text) { return put(uint64_t(text.size())).raw(text); }
    RawFile& header(uint64_t num_tensors, uint64_t num_entries, uint32_t version = 3) {
        return raw("GGUF").put(version).put(num_tensors).put(num_entries);
    }
    RawFile& tensor(std::string_view name, std::initializer_list<uint64_t> shape, uint32_t type,
                    uint64_t offset) {
        string(name).put(uint32_t(shape.size()));
        for (const uint64_t extent : shape) put(extent);
        return put(type).put(offset);
    }
    RawFile& align(size_t alignment = 32) {
        while (bytes_.size() % alignment != 0) bytes_ += '\0';
        return *this;
    }
    RawFile& zeros(size_t count) {
        bytes_.append(count, '\0');
        return *this;
    }

    const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

}  // namespace ingot::gguf_test

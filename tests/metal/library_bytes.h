// Metal libraries made byte by byte, for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::metal::testing {

class Bytes {
  public:
    template <typename T>
    Bytes& put(T value) {
        const auto* begin = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), begin, begin + sizeof value);
        return *this;
    }
    Bytes& text(std::string_view value) {
        for (const char c : value) put(c);
        return *this;
    }
    Bytes& tag(std::string_view name, const Bytes& data) {
        text(name).put(uint16_t(data.bytes.size()));
        bytes.insert(bytes.end(), data.bytes.begin(), data.bytes.end());
        return *this;
    }
    template <typename T>
    void set(size_t at, T value) {
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }

    std::vector<std::byte> bytes;
};

constexpr size_t kLibraryHeaderBytes = 88;

inline Bytes library_entry(std::string_view name, uint64_t offset, uint64_t size) {
    Bytes tags;
    Bytes name_data, type, offsets, module_size, version;
    name_data.text(name).put('\0');
    type.put(uint8_t{2});
    offsets.put(uint64_t{0}).put(uint64_t{0}).put(offset);
    module_size.put(size);
    version.put(uint16_t{2}).put(uint16_t{8}).put(uint16_t{4}).put(uint16_t{0});
    tags.tag("NAME", name_data)
        .tag("TYPE", type)
        .tag("OFFT", offsets)
        .tag("VERS", version)
        .tag("MDSZ", module_size);
    tags.text("ENDT");
    Bytes all;
    all.put(uint32_t(tags.bytes.size() + 4));
    all.bytes.insert(all.bytes.end(), tags.bytes.begin(), tags.bytes.end());
    return all;
}

// A library of kernels: (name, module). A module is bitcode, or IR as text.
inline Bytes make_library(const std::vector<std::pair<std::string, std::string>>& kernels) {
    Bytes list, modules;
    list.put(uint32_t(kernels.size()));
    for (const auto& [name, module] : kernels) {
        const Bytes one = library_entry(name, modules.bytes.size(), module.size());
        list.bytes.insert(list.bytes.end(), one.bytes.begin(), one.bytes.end());
        modules.text(module);
    }
    const uint64_t metadata = kLibraryHeaderBytes + list.bytes.size() + 4;
    Bytes all;
    all.text("MTLB")
        .put(uint16_t{0x8001})
        .put(uint16_t{2})
        .put(uint16_t{9})
        .put(uint8_t{0})
        .put(uint8_t{0x81});
    all.put(uint16_t{26}).put(uint16_t{2}).put(uint64_t{metadata + 16 + modules.bytes.size()});
    all.put(uint64_t{kLibraryHeaderBytes}).put(uint64_t(list.bytes.size() - 4));
    all.put(metadata).put(uint64_t{8}).put(metadata + 8).put(uint64_t{8});
    all.put(metadata + 16).put(uint64_t{modules.bytes.size()});
    all.bytes.insert(all.bytes.end(), list.bytes.begin(), list.bytes.end());
    all.text("ENDT");
    all.put(uint32_t{8}).text("ENDT").put(uint32_t{8}).text("ENDT");
    all.bytes.insert(all.bytes.end(), modules.bytes.begin(), modules.bytes.end());
    return all;
}

}  // namespace ingot::metal::testing

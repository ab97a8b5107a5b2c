#include "llm/gguf/writer.h"

#include <algorithm>
#include <type_traits>

#include "base/check.h"
#include "llm/gguf/value_types.h"

namespace ingot::gguf {
namespace {

constexpr uint32_t kVersion = 3;

// Appends little-endian scalars and strings (cursor.h holds the assertion on the machine's byte order).
class Encoder {
  public:
    template <typename T>
        requires std::is_arithmetic_v<T>
    void put(T value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void put_raw(std::string_view text) { bytes_.append(text); }
    void put(std::string_view text) {
        put(uint64_t(text.size()));
        put_raw(text);
    }
    void put(const Array& array) {
        std::visit(
            [&](const auto& items) {
                using Item = typename std::decay_t<decltype(items)>::value_type;
                put(kTypeId<Item>);
                put(uint64_t(items.size()));
                for (const Item item : items) put(item);
            },
            array.items);
    }
    void put(const Value& value) {
        std::visit(
            [&](const auto& held) {
                using Held = std::decay_t<decltype(held)>;
                put(std::is_same_v<Held, Array> ? kArrayTypeId : kTypeId<Held>);
                put(held);
            },
            value.value);
    }

    void pad(uint64_t count) { bytes_.append(count, '\0'); }
    uint64_t size() const { return bytes_.size(); }
    std::string take() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

}  // namespace

void Writer::set(std::string_view key, Value value) {
    erase(key);
    metadata_.push_back({std::string(key), std::move(value)});
}

void Writer::erase(std::string_view key) {
    std::erase_if(metadata_, [&](const Entry& entry) { return entry.key == key; });
}

void Writer::add_tensor(std::string_view name, QuantType type, std::span<const uint64_t> shape) {
    // As ggml writes it: trailing extents of 1 are left out, one dimension at least is kept.
    std::vector<uint64_t> stored(shape.begin(), shape.end());
    if (stored.empty()) stored.push_back(1);
    while (stored.size() > 1 && stored.back() == 1) stored.pop_back();
    uint64_t num_elements = 1;
    for (const uint64_t extent : stored) num_elements *= extent;
    const auto size_bytes = storage_size_bytes(type, num_elements);
    INGOT_CHECK(stored[0] % traits(type).block_size == 0 && size_bytes,
                "tensor {} has rows of {} elements as {}", name, stored[0], traits(type).name);
    tensors_.push_back({std::string(name), type, std::move(stored), *size_bytes});
}

uint64_t Writer::alignment() const {
    constexpr uint64_t kDefault = 32;
    const auto entry = std::ranges::find(metadata_, "general.alignment", &Entry::key);
    return entry == metadata_.end() ? kDefault : as_uint(entry->value).value_or(kDefault);
}

uint64_t Writer::padding_bytes(uint64_t size_bytes) const {
    return (alignment() - size_bytes % alignment()) % alignment();
}

std::string Writer::header() const {
    Encoder out;
    out.put_raw("GGUF");
    out.put(kVersion);
    out.put(uint64_t(tensors_.size()));
    out.put(uint64_t(metadata_.size()));
    for (const Entry& entry : metadata_) {
        out.put(std::string_view(entry.key));
        out.put(entry.value);
    }
    uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
        out.put(std::string_view(tensor.name));
        out.put(uint32_t(tensor.shape.size()));
        for (const uint64_t extent : tensor.shape) out.put(extent);
        out.put(uint32_t(tensor.type));
        out.put(offset);
        offset += tensor.size_bytes + padding_bytes(tensor.size_bytes);
    }
    out.pad(padding_bytes(out.size()));
    return out.take();
}

}  // namespace ingot::gguf

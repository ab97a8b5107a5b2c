// Little-endian reads out of bytes nobody vouches for: every read is bounded, an overrun sets a sticky flag
// and yields zeros, so that a parser checks once per record instead of once per field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace ingot::metal {

class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes, size_t position = 0)
        : bytes_(bytes), at_(position) {}

    size_t position() const { return at_; }
    bool ok() const { return ok_; }
    size_t left() const { return ok_ && at_ <= bytes_.size() ? bytes_.size() - at_ : 0; }

    template <typename T>
    T read() {
        T value{};
        if (const auto bytes = take(sizeof(T)); !bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
        return value;
    }

    // The next `size` bytes, or an empty span (and !ok()) if there are fewer.
    std::span<const std::byte> take(size_t size) {
        if (!ok_ || at_ > bytes_.size() || size > bytes_.size() - at_) {
            ok_ = false;
            return {};
        }
        const auto result = bytes_.subspan(at_, size);
        at_ += size;
        return result;
    }

  private:
    std::span<const std::byte> bytes_;
    size_t at_;
    bool ok_ = true;
};

// Text up to the first zero byte, or all of it.
inline std::string_view zero_terminated(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.substr(0, text.find('\0'));
}

}  // namespace ingot::metal

#include "llm/gguf/cursor.h"

namespace ingot::gguf {

Result<std::span<const std::byte>> Cursor::bytes(uint64_t count, std::string_view field) {
    if (count > remaining()) {
        return fail(ErrorKind::kCorrupt, "{} takes {} bytes at offset {}, but the file ends after {} more",
                    field, count, offset_, remaining());
    }
    const auto result = bytes_.subspan(offset_, count);
    offset_ += count;
    return result;
}

Result<std::string_view> Cursor::string(std::string_view field, uint64_t max_bytes) {
    INGOT_ASSIGN(const uint64_t length, scalar<uint64_t>(field));
    if (length > max_bytes) {
        return fail(ErrorKind::kCorrupt, "{} is {} bytes long, at most {} are accepted", field, length,
                    max_bytes);
    }
    INGOT_ASSIGN(const std::span<const std::byte> raw, bytes(length, field));
    return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
}

Result<void> Cursor::expect_items(uint64_t count, uint64_t min_bytes, std::string_view field) const {
    if (count > remaining() / min_bytes) {
        return fail(ErrorKind::kCorrupt, "{} is {}, but the {} bytes left hold at most {}", field, count,
                    remaining(), remaining() / min_bytes);
    }
    return {};
}

}  // namespace ingot::gguf

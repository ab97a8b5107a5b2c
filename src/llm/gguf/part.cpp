#include "llm/gguf/part.h"

#include <algorithm>
#include <bit>

#include "base/quoted.h"
#include "llm/gguf/value_types.h"

namespace ingot::gguf {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kSmallestAlignment = 8;
// Fewest bytes that one entry takes in a file: an entry of metadata is a key of one byte, a type and a value
// of one byte, a tensor has a name of one byte, no dimensions, a type and an offset.
constexpr uint64_t kMetadataMinBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kTensorMinBytes = 8 + 1 + 4 + 4 + 8;

Result<void> check_magic(Cursor& cursor) {
    if (cursor.remaining() < kMagic.size()) {
        return fail(ErrorKind::kCorrupt, "is not a GGUF file: it has {} bytes", cursor.remaining());
    }
    INGOT_ASSIGN(const std::span<const std::byte> raw, cursor.bytes(kMagic.size(), "the magic"));
    const std::string_view magic(reinterpret_cast<const char*>(raw.data()), raw.size());
    if (magic != kMagic) {
        return fail(ErrorKind::kCorrupt, "is not a GGUF file: it starts with {}, not with 'GGUF'",
                    quoted(magic));
    }
    return {};
}

Result<uint32_t> parse_version(Cursor& cursor) {
    INGOT_ASSIGN(const uint32_t version, cursor.scalar<uint32_t>("the version"));
    if (version == 2 || version == 3) return version;
    if (version != 0 && (version & 0xFFFFu) == 0) {
        return fail(ErrorKind::kUnsupported, "is a big-endian GGUF file, only little-endian ones are read");
    }
    return fail(ErrorKind::kUnsupported, "is GGUF version {}, versions 2 and 3 are read", version);
}

Result<uint64_t> alignment_of(const Part& part) {
    constexpr std::string_view kKey = "general.alignment";
    const Value* value = part.find(kKey);
    if (value == nullptr) return kDefaultAlignment;
    const uint32_t* alignment = std::get_if<uint32_t>(&value->value);
    if (alignment == nullptr) {
        return fail(ErrorKind::kCorrupt, "key '{}' is of type {}, uint32 is accepted", kKey,
                    type_name(*value));
    }
    if (!std::has_single_bit(*alignment) || *alignment < kSmallestAlignment) {
        return fail(ErrorKind::kCorrupt, "key '{}' is {}, a power of two from {} on is accepted", kKey,
                    *alignment, kSmallestAlignment);
    }
    return uint64_t(*alignment);
}

}  // namespace

const Value* Part::find(std::string_view key) const {
    const auto entry = std::ranges::find(metadata, key, &MetadataEntry::key);
    return entry == metadata.end() ? nullptr : &entry->value;
}

Result<Part> parse_part(std::span<const std::byte> bytes) {
    Cursor cursor(bytes);
    Part part;
    INGOT_TRY(check_magic(cursor));
    INGOT_ASSIGN(part.version, parse_version(cursor));
    INGOT_ASSIGN(const uint64_t num_tensors, cursor.scalar<uint64_t>("the number of tensors"));
    INGOT_ASSIGN(const uint64_t num_entries, cursor.scalar<uint64_t>("the number of metadata entries"));
    INGOT_TRY(cursor.expect_items(num_entries, kMetadataMinBytes, "the number of metadata entries"));
    INGOT_TRY(cursor.expect_items(num_tensors, kTensorMinBytes, "the number of tensors"));
    INGOT_ASSIGN(part.metadata, parse_metadata(cursor, num_entries));
    INGOT_ASSIGN(const uint64_t alignment, alignment_of(part));
    INGOT_ASSIGN(part.tensors, parse_tensors(cursor, num_tensors, alignment, bytes));
    return part;
}

}  // namespace ingot::gguf

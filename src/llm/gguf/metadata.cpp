// Keys and values. Strings stay views into the file; numbers are copied out, as a file aligns nothing here.
#include <unordered_set>

#include "base/quoted.h"
#include "llm/gguf/part.h"
#include "llm/gguf/value_types.h"

namespace ingot::gguf {
namespace {

constexpr uint64_t kLongestKey = 65535;  // GGUF specification

template <typename T>
Result<T> parse_scalar(Cursor& cursor, std::string_view field) {
    if constexpr (std::is_same_v<T, std::string_view>) {
        return cursor.string(field);
    } else if constexpr (std::is_same_v<T, bool>) {
        INGOT_ASSIGN(const uint8_t byte, cursor.scalar<uint8_t>(field));
        if (byte > 1)
            return fail(ErrorKind::kCorrupt, "{} is a bool with byte {}, 0 and 1 are accepted", field, byte);
        return byte == 1;
    } else {
        return cursor.scalar<T>(field);
    }
}

template <typename T>
Result<std::vector<T>> parse_items(Cursor& cursor, uint64_t count) {
    constexpr bool kCopied = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
    constexpr uint64_t kMinBytes = std::is_same_v<T, std::string_view> ? sizeof(uint64_t) : sizeof(T);
    INGOT_TRY(cursor.expect_items(count, kMinBytes, "the array length"));
    std::vector<T> items;
    if constexpr (kCopied) {
        INGOT_ASSIGN(const std::span<const std::byte> raw, cursor.bytes(count * sizeof(T), "the array"));
        items.resize(count);
        if (count != 0) std::memcpy(items.data(), raw.data(), raw.size());
    } else {
        items.reserve(count);
        for (uint64_t i = 0; i < count; ++i) {
            INGOT_ASSIGN(const T item, parse_scalar<T>(cursor, "an array item"));
            items.push_back(item);
        }
    }
    return items;
}

Result<Array> parse_array(Cursor& cursor) {
    INGOT_ASSIGN(const uint32_t type, cursor.scalar<uint32_t>("the array's item type"));
    INGOT_ASSIGN(const uint64_t count, cursor.scalar<uint64_t>("the array length"));
    Array array;
    switch (type) {
#define INGOT_PARSE_ITEMS(id, item_type, name)                            \
    case id: {                                                            \
        INGOT_ASSIGN(array.items, parse_items<item_type>(cursor, count)); \
        return array;                                                     \
    }
        INGOT_GGUF_VALUE_TYPES(INGOT_PARSE_ITEMS)
#undef INGOT_PARSE_ITEMS
        case kArrayTypeId:
            return fail(ErrorKind::kUnsupported,
                        "is an array of arrays, arrays of scalars and strings are read");
        default:
            return fail(ErrorKind::kCorrupt, "has array items of type {}, types 0 to 12 exist", type);
    }
}

Result<Value> parse_value(Cursor& cursor) {
    INGOT_ASSIGN(const uint32_t type, cursor.scalar<uint32_t>("the value's type"));
    Value value;
    switch (type) {
#define INGOT_PARSE_VALUE(id, value_type, name)                                   \
    case id: {                                                                    \
        INGOT_ASSIGN(value.value, parse_scalar<value_type>(cursor, "the value")); \
        return value;                                                             \
    }
        INGOT_GGUF_VALUE_TYPES(INGOT_PARSE_VALUE)
#undef INGOT_PARSE_VALUE
        case kArrayTypeId: {
            INGOT_ASSIGN(value.value, parse_array(cursor));
            return value;
        }
        default:
            return fail(ErrorKind::kCorrupt, "has a value of type {}, types 0 to 12 exist", type);
    }
}

}  // namespace

Result<std::vector<MetadataEntry>> parse_metadata(Cursor& cursor, uint64_t count) {
    std::vector<MetadataEntry> metadata;
    std::unordered_set<std::string_view> seen;
    for (uint64_t i = 0; i < count; ++i) {
        const auto key = cursor.string("the key", kLongestKey);
        if (!key)
            return Failure(with_context(key.error(), fmt::format("metadata entry {} of {}", i + 1, count)));
        if (key->empty())
            return fail(ErrorKind::kCorrupt, "metadata entry {} of {} has an empty key", i + 1, count);
        if (!seen.insert(*key).second)
            return fail(ErrorKind::kCorrupt, "key {} is there twice", quoted(*key));
        auto value = parse_value(cursor);
        if (!value)
            return Failure(with_context(std::move(value).error(), fmt::format("key {}", quoted(*key))));
        metadata.push_back({*key, *std::move(value)});
    }
    return metadata;
}

}  // namespace ingot::gguf

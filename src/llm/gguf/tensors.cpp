// The tensor table: names, shapes, types and where the data lies. Every tensor is inside the data section,
// aligned, and shares no byte with another.
#include <algorithm>
#include <unordered_set>

#include "base/quoted.h"
#include "llm/gguf/part.h"

namespace ingot::gguf {
namespace {

constexpr uint64_t kLongestName = 64;  // GGUF specification
constexpr uint32_t kMostDimensions = 4;

struct Entry {
    TensorInfo info;
    uint64_t offset = 0;  // from the start of the data section
    uint64_t size_bytes = 0;
};

std::string accepted_types() {
    std::string list;
    for (const QuantTraits& row : all_quant_types()) {
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", row.name, uint32_t(row.type));
    }
    return list;
}

Result<std::vector<uint64_t>> parse_shape(Cursor& cursor) {
    INGOT_ASSIGN(const uint32_t num_dimensions, cursor.scalar<uint32_t>("the number of dimensions"));
    if (num_dimensions > kMostDimensions) {
        return fail(ErrorKind::kCorrupt, "has {} dimensions, at most {} are accepted", num_dimensions,
                    kMostDimensions);
    }
    std::vector<uint64_t> shape(num_dimensions);
    uint64_t product = 1;
    for (uint64_t& extent : shape) {
        INGOT_ASSIGN(extent, cursor.scalar<uint64_t>("a dimension"));
        if (extent == 0) return fail(ErrorKind::kCorrupt, "has a dimension of 0");
        if (__builtin_mul_overflow(product, extent, &product) || product > uint64_t(INT64_MAX)) {
            return fail(ErrorKind::kCorrupt,
                        "has more than 2^63 elements: dimension {} makes the product overflow", extent);
        }
    }
    return shape;
}

Result<Entry> parse_entry(Cursor& cursor, std::string_view name) {
    Entry entry;
    entry.info.name = name;
    INGOT_ASSIGN(entry.info.shape, parse_shape(cursor));
    INGOT_ASSIGN(const uint32_t id, cursor.scalar<uint32_t>("the type"));
    const std::optional<QuantType> type = quant_type_from_gguf_id(id);
    if (!type) return fail(ErrorKind::kUnsupported, "has type {}, accepted are {}", id, accepted_types());
    entry.info.type = *type;
    const QuantTraits& row = traits(*type);
    if (entry.info.row_length() % row.block_size != 0) {
        return fail(ErrorKind::kCorrupt, "has rows of {} elements, type {} needs a multiple of {}",
                    entry.info.row_length(), row.name, row.block_size);
    }
    const std::optional<uint64_t> size_bytes = storage_size_bytes(*type, entry.info.num_elements());
    if (!size_bytes) {
        return fail(ErrorKind::kCorrupt, "has {} elements of type {}, more bytes than a file can hold",
                    entry.info.num_elements(), row.name);
    }
    entry.size_bytes = *size_bytes;
    INGOT_ASSIGN(entry.offset, cursor.scalar<uint64_t>("the offset"));
    return entry;
}

Result<void> place(Entry& entry, uint64_t alignment, std::span<const std::byte> data) {
    if (entry.offset % alignment != 0) {
        return fail(ErrorKind::kCorrupt, "starts at offset {}, a multiple of the alignment {} is accepted",
                    entry.offset, alignment);
    }
    if (entry.offset > data.size() || entry.size_bytes > data.size() - entry.offset) {
        return fail(ErrorKind::kCorrupt,
                    "takes {} bytes from offset {} on, but the data section has {} bytes", entry.size_bytes,
                    entry.offset, data.size());
    }
    entry.info.data = data.subspan(entry.offset, entry.size_bytes);
    return {};
}

Result<void> check_overlaps(const std::vector<Entry>& entries) {
    std::vector<const Entry*> by_offset;
    by_offset.reserve(entries.size());
    for (const Entry& entry : entries) by_offset.push_back(&entry);
    std::ranges::sort(by_offset, {}, &Entry::offset);
    for (size_t i = 1; i < by_offset.size(); ++i) {
        const Entry& before = *by_offset[i - 1];
        const Entry& after = *by_offset[i];
        if (before.offset + before.size_bytes > after.offset) {
            return fail(ErrorKind::kCorrupt, "tensors {} (offset {}, {} bytes) and {} (offset {}) overlap",
                        quoted(before.info.name), before.offset, before.size_bytes, quoted(after.info.name),
                        after.offset);
        }
    }
    return {};
}

// What follows the tensor table, from the next multiple of the alignment on.
Result<std::span<const std::byte>> data_section(uint64_t table_end, uint64_t alignment,
                                                std::span<const std::byte> file) {
    const uint64_t padding = (alignment - table_end % alignment) % alignment;
    if (padding > file.size() - table_end) {
        return fail(ErrorKind::kCorrupt,
                    "the tensor table ends at offset {}, and no data follows at the next multiple of {}: the "
                    "file has {} bytes",
                    table_end, alignment, file.size());
    }
    return file.subspan(table_end + padding);
}

}  // namespace

uint64_t TensorInfo::num_elements() const {
    uint64_t product = 1;
    for (const uint64_t extent : shape) product *= extent;
    return product;
}

Result<std::vector<TensorInfo>> parse_tensors(Cursor& cursor, uint64_t count, uint64_t alignment,
                                              std::span<const std::byte> file) {
    std::vector<Entry> entries;
    std::unordered_set<std::string_view> seen;
    for (uint64_t i = 0; i < count; ++i) {
        const auto name = cursor.string("the name", kLongestName);
        if (!name) return Failure(with_context(name.error(), fmt::format("tensor {} of {}", i + 1, count)));
        if (!seen.insert(*name).second)
            return fail(ErrorKind::kCorrupt, "tensor {} is there twice", quoted(*name));
        auto entry = parse_entry(cursor, *name);
        if (!entry)
            return Failure(with_context(std::move(entry).error(), fmt::format("tensor {}", quoted(*name))));
        entries.push_back(*std::move(entry));
    }
    if (count == 0) return std::vector<TensorInfo>{};  // a vocabulary; nothing says where data would start
    INGOT_ASSIGN(const std::span<const std::byte> data, data_section(cursor.offset(), alignment, file));
    for (Entry& entry : entries) {
        if (auto placed = place(entry, alignment, data); !placed) {
            return Failure(
                with_context(std::move(placed).error(), fmt::format("tensor {}", quoted(entry.info.name))));
        }
    }
    INGOT_TRY(check_overlaps(entries));
    std::vector<TensorInfo> tensors;
    tensors.reserve(entries.size());
    for (Entry& entry : entries) tensors.push_back(std::move(entry.info));
    return tensors;
}

}  // namespace ingot::gguf

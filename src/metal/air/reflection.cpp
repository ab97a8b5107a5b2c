#include "metal/air/reflection.h"

#include <optional>
#include <string_view>

#include "metal/air/byte_reader.h"

namespace ingot::metal {
namespace {

// Node kinds of the argument graph.
constexpr uint32_t kNodeFunction = 0x2;
constexpr uint32_t kNodeMaxThreads = 0x1003;
constexpr uint32_t kNodeBuffer = 0x40000;
constexpr uint32_t kNodeConstant = 0x80000;
constexpr uint32_t kMaxNodes = 4096;

// A table of a FlatBuffer: a signed offset back to its vtable, which lists where each field lies (0:
// default).
class Table {
  public:
    Table(std::span<const std::byte> buffer, size_t at) : buffer_(buffer), at_(at) {
        const int64_t vtable = int64_t(at) - read<int32_t>(at);
        if (vtable < 0 || size_t(vtable) + 4 > buffer.size()) return;
        vtable_ = size_t(vtable);
        num_fields_ = read<uint16_t>(vtable_) >= 4 ? (read<uint16_t>(vtable_) - 4u) / 2 : 0;
    }

    template <typename T>
    T scalar(size_t field, T otherwise) const {
        const auto at = field_at(field);
        return at ? read<T>(*at) : otherwise;
    }

    std::string string(size_t field) const {
        const auto at = target(field);
        if (!at) return {};
        const uint32_t length = read<uint32_t>(*at);
        if (*at + 4 > buffer_.size() || length > buffer_.size() - *at - 4) return {};
        return std::string(reinterpret_cast<const char*>(buffer_.data() + *at + 4), length);
    }

    std::optional<Table> table(size_t field) const {
        const auto at = target(field);
        return at ? std::optional<Table>(Table(buffer_, *at)) : std::nullopt;
    }

    uint32_t length(size_t field) const {
        const auto at = target(field);
        return at ? read<uint32_t>(*at) : 0;
    }

    // Element `index` of a vector of scalars, or of tables.
    uint32_t element(size_t field, uint32_t index) const {
        const auto at = target(field);
        return at ? read<uint32_t>(*at + 4 + size_t{4} * index) : 0;
    }
    Table element_table(size_t field, uint32_t index) const {
        const size_t at = target(field).value_or(0) + 4 + size_t{4} * index;
        return Table(buffer_, at + read<uint32_t>(at));
    }

  private:
    template <typename T>
    T read(size_t at) const {
        return ByteReader(buffer_, at).read<T>();
    }
    std::optional<size_t> field_at(size_t field) const {
        if (field >= num_fields_) return std::nullopt;
        const uint16_t offset = read<uint16_t>(vtable_ + 4 + 2 * field);
        return offset == 0 ? std::nullopt : std::optional<size_t>(at_ + offset);
    }
    std::optional<size_t> target(size_t field) const {
        const auto at = field_at(field);
        if (!at) return std::nullopt;
        const size_t to = *at + read<uint32_t>(*at);
        return to + 4 <= buffer_.size() ? std::optional<size_t>(to) : std::nullopt;
    }

    std::span<const std::byte> buffer_;
    size_t at_;
    size_t vtable_ = 0;
    size_t num_fields_ = 0;
};

Access access_from(uint8_t code) {
    return code == 3 ? Access::kReadWrite : code == 2 ? Access::kWrite : Access::kRead;
}

Argument buffer_argument(const Table& data) {
    constexpr uint8_t kConstantSpace = 2, kThreadgroupSpace = 3;
    Argument argument;
    const uint8_t space = data.scalar<uint8_t>(5, 1);
    argument.kind = space == kThreadgroupSpace ? ArgumentKind::kThreadgroup : ArgumentKind::kBuffer;
    argument.guarded = data.scalar<uint8_t>(0, 0) != 0;
    argument.reference_size_bytes = data.scalar<uint32_t>(1, 0);
    argument.slot = data.scalar<uint32_t>(2, 0);
    argument.access = access_from(data.scalar<uint8_t>(4, 1));
    argument.in_constant_space = space == kConstantSpace;
    argument.type_size_bytes = data.scalar<uint32_t>(8, 0);
    argument.type_align_bytes = data.scalar<uint32_t>(9, 0);
    argument.type_name = data.string(10);
    argument.name = data.string(11);
    return argument;
}

Result<std::span<const std::byte>> flatbuffer_at(std::span<const std::byte> section, uint64_t offset) {
    ByteReader record(section, offset);
    record.read<uint32_t>();
    const auto tag = record.take(4);
    const auto data = record.take(record.read<uint16_t>());
    constexpr std::string_view kTag = "RBUF", kIdentifier = "AIRR";
    if (!record.ok() || zero_terminated(tag) != kTag) {
        return fail(ErrorKind::kCorrupt, "no RBUF record at {} of the reflection section's {} bytes", offset,
                    section.size());
    }
    const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    const size_t identifier = text.find(kIdentifier);
    if (identifier == std::string_view::npos || identifier < 4) {
        return fail(ErrorKind::kCorrupt, "no FlatBuffer 'AIRR' in the record at {}", offset);
    }
    return data.subspan(identifier - 4);
}

}  // namespace

Result<KernelInfo> parse_reflection(std::span<const std::byte> section, uint64_t offset) {
    INGOT_ASSIGN(const auto buffer, flatbuffer_at(section, offset));
    const Table root(buffer, ByteReader(buffer).read<uint32_t>());
    constexpr size_t kNodes = 1;
    const uint32_t num_nodes = root.length(kNodes);
    if (num_nodes == 0 || num_nodes > kMaxNodes) {
        return fail(ErrorKind::kCorrupt, "{} nodes, 1 to {} accepted", num_nodes, kMaxNodes);
    }
    KernelInfo info;
    for (uint32_t i = 0; i < num_nodes; ++i) {
        const Table node = root.element_table(kNodes, i);
        const uint32_t kind = node.scalar<uint32_t>(0, 0);
        const auto data = node.table(1);
        if (!data) continue;
        if (kind == kNodeFunction) {
            info.name = data->string(0);
        } else if (kind == kNodeMaxThreads) {
            info.max_threads_per_threadgroup = data->scalar<uint32_t>(0, info.max_threads_per_threadgroup);
        } else if (kind == kNodeBuffer) {
            info.arguments.push_back(buffer_argument(*data));
        } else if (kind == kNodeConstant) {
            info.constants.push_back({data->string(1), data->string(0), data->scalar<uint32_t>(2, 0)});
        } else if (const auto index = index_kind_from_reflection(kind)) {
            Argument argument;
            argument.kind = *index;
            argument.type_name = data->string(1);
            argument.name = data->string(2);
            argument.unused = data->scalar<uint8_t>(3, 0) != 0;
            info.arguments.push_back(std::move(argument));
        }
    }
    for (uint32_t i = 0; i < info.arguments.size(); ++i) info.arguments[i].position = i;
    return info;
}

}  // namespace ingot::metal

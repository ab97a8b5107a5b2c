#include "metal/air/library_file.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "metal/air/byte_reader.h"
#include "metal/air/reflection.h"

namespace ingot::metal {
namespace {

constexpr size_t kHeaderBytes = 88;
constexpr std::string_view kMagic = "MTLB";
constexpr std::string_view kEndTag = "ENDT";
// A name longer than this is no kernel's; keeps a crafted file from costing memory in messages.
constexpr size_t kMaxNameBytes = 4096;

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Walks a list of (4-character tag, u16 length, data) up to ENDT. False if the list runs past its end.
bool for_each_tag(ByteReader& reader,
                  const std::function<void(std::string_view, std::span<const std::byte>)>& visit) {
    for (;;) {
        const std::string_view tag = as_text(reader.take(4));
        if (!reader.ok()) return false;
        if (tag == kEndTag) return true;
        const auto data = reader.take(reader.read<uint16_t>());
        if (!reader.ok()) return false;
        visit(tag, data);
    }
}

// The part [offset, offset + size) of `bytes`, if it lies inside.
std::optional<std::span<const std::byte>> part(std::span<const std::byte> bytes, uint64_t offset,
                                               uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(offset, size);
}

// Where the libraries embedded in `bytes` lie: the magic alone occurs by chance, so the header must be
// plausible.
std::vector<std::span<const std::byte>> find_embedded(std::span<const std::byte> bytes) {
    std::vector<std::span<const std::byte>> found;
    const std::string_view text = as_text(bytes);
    for (size_t at = text.find(kMagic); at != std::string_view::npos; at = text.find(kMagic, at + 1)) {
        ByteReader reader(bytes, at + 16);
        const uint64_t size = reader.read<uint64_t>();
        const uint64_t list = reader.read<uint64_t>();
        if (!reader.ok() || list != kHeaderBytes || size < kHeaderBytes || size > bytes.size() - at) continue;
        found.push_back(bytes.subspan(at, size));
    }
    return found;
}

// "dir/file.dylib:3" -> ("dir/file.dylib", 3); no suffix of digits -> nullopt.
std::pair<std::string, std::optional<size_t>> split_index(const std::string& path) {
    const size_t colon = path.rfind(':');
    if (colon == std::string::npos || colon + 1 == path.size()) return {path, std::nullopt};
    size_t index = 0;
    const char* end = path.data() + path.size();
    const auto parsed = std::from_chars(path.data() + colon + 1, end, index);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return {path, std::nullopt};
    return {path.substr(0, colon), index};
}

}  // namespace

struct LibraryFile::Sections {
    std::span<const std::byte> public_metadata, private_metadata, bitcode;
};

Result<LibraryFile> LibraryFile::open(const std::string& path) {
    const auto [file_path, index] = split_index(path);
    INGOT_ASSIGN(MappedFile mapped, MappedFile::open(file_path));
    LibraryFile library;
    library.file_ = std::make_shared<MappedFile>(std::move(mapped));
    library.label_ = path;
    std::span<const std::byte> bytes = library.file_->bytes();
    const bool embedded = index.has_value() || !as_text(bytes).starts_with(kMagic);
    if (embedded) {
        const auto candidates = find_embedded(bytes);
        if (candidates.empty()) {
            return fail(ErrorKind::kCorrupt,
                        "{}: no Metal library: it doesn't start with 'MTLB' and embeds none", path);
        }
        const size_t chosen = index.value_or(0);
        if (!index && candidates.size() > 1) {
            return fail(ErrorKind::kInvalidArgument,
                        "{}: embeds {} Metal libraries, choose one as '{}:0' to '{}:{}'", path,
                        candidates.size(), path, path, candidates.size() - 1);
        }
        if (chosen >= candidates.size()) {
            return fail(ErrorKind::kNotFound, "{}: embeds {} Metal libraries, there is no number {}",
                        file_path, candidates.size(), chosen);
        }
        bytes = candidates[chosen];
    }
    if (auto parsed = library.parse(bytes); !parsed) return Failure(with_context(parsed.error(), path));
    return library;
}

Result<LibraryFile> LibraryFile::from_bytes(std::span<const std::byte> bytes, std::string label) {
    LibraryFile library;
    library.owned_ = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    library.label_ = std::move(label);
    if (auto parsed = library.parse(*library.owned_); !parsed) {
        return Failure(with_context(parsed.error(), library.label_));
    }
    return library;
}

Result<void> LibraryFile::parse(std::span<const std::byte> bytes) {
    bytes_ = bytes;
    ByteReader header(bytes);
    if (as_text(header.take(4)) != kMagic)
        return fail(ErrorKind::kCorrupt, "no Metal library: 'MTLB' is missing");
    header.take(2);
    file_version_ = {header.read<uint16_t>(), header.read<uint16_t>()};
    header.take(2);
    target_version_ = {header.read<uint16_t>(), header.read<uint16_t>()};
    const uint64_t file_size = header.read<uint64_t>();
    std::array<std::array<uint64_t, 2>, 4> ranges{};
    for (auto& range : ranges) range = {header.read<uint64_t>(), header.read<uint64_t>()};
    if (!header.ok())
        return fail(ErrorKind::kCorrupt, "{} bytes, the header alone takes {}", bytes.size(), kHeaderBytes);
    if (file_size != bytes.size()) {
        return fail(ErrorKind::kCorrupt, "the header says {} bytes, there are {}: truncated?", file_size,
                    bytes.size());
    }
    constexpr std::string_view kNames[] = {"function list", "public metadata", "private metadata", "bitcode"};
    std::array<std::span<const std::byte>, 4> sections;
    for (size_t i = 0; i < 4; ++i) {
        // The function list's size leaves out its 4-byte count.
        const uint64_t size = ranges[i][1] + (i == 0 ? 4 : 0);
        const auto section = part(bytes, ranges[i][0], size);
        if (size < ranges[i][1] || !section || ranges[i][0] < kHeaderBytes) {
            return fail(ErrorKind::kCorrupt, "the {} at {} with {} bytes lies outside the file's {}",
                        kNames[i], ranges[i][0], ranges[i][1], bytes.size());
        }
        sections[i] = *section;
    }
    for (size_t i = 0; i < 4; ++i) {
        for (size_t k = i + 1; k < 4; ++k) {
            const auto& [a, a_size] = ranges[i];
            const auto& [b, b_size] = ranges[k];
            if (a_size != 0 && b_size != 0 && a < b + b_size && b < a + a_size) {
                return fail(ErrorKind::kCorrupt, "the {} and the {} overlap", kNames[i], kNames[k]);
            }
        }
    }
    INGOT_TRY(parse_header_extension(ranges[0][0] + 4 + ranges[0][1], ranges[1][0]));
    ByteReader list(sections[0]);
    const uint32_t count = list.read<uint32_t>();
    constexpr size_t kSmallestEntry = 8;
    if (count > list.left() / kSmallestEntry) {
        return fail(ErrorKind::kCorrupt, "{} functions don't fit the function list's {} bytes", count,
                    list.left());
    }
    functions_.reserve(count);
    by_name_.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t length = list.read<uint32_t>();
        const auto entry = length >= 4 ? list.take(length - 4) : std::span<const std::byte>{};
        if (length < 4 || !list.ok()) {
            return fail(ErrorKind::kCorrupt, "function {}: its entry of {} bytes runs past the function list",
                        i, length);
        }
        auto function = parse_entry(entry, {sections[1], sections[2], sections[3]});
        if (!function) return Failure(with_context(function.error(), fmt::format("function {}", i)));
        if (!by_name_.emplace(function->name, functions_.size()).second) {
            return fail(ErrorKind::kCorrupt, "function {}: the name '{}' occurs twice", i, function->name);
        }
        functions_.push_back(*function);
    }
    return {};
}

// Between the function list and the public metadata: a tag list that says where reflection lies.
Result<void> LibraryFile::parse_header_extension(size_t begin, size_t end) {
    if (begin >= end) return {};
    bool bad_range = false;
    ByteReader reader(bytes_.subspan(begin, end - begin));
    const bool complete = for_each_tag(reader, [&](std::string_view tag, std::span<const std::byte> data) {
        if (tag != "RLST") return;
        ByteReader values(data);
        const uint64_t offset = values.read<uint64_t>();
        const uint64_t size = values.read<uint64_t>();
        const auto section = part(bytes_, offset, size);
        if (!values.ok() || !section) {
            bad_range = true;
            return;
        }
        reflection_ = *section;
    });
    if (!complete) return fail(ErrorKind::kCorrupt, "the header extension at {} has no end", begin);
    if (bad_range) return fail(ErrorKind::kCorrupt, "the reflection section lies outside the file");
    return {};
}

Result<LibraryFunction> LibraryFile::parse_entry(std::span<const std::byte> entry,
                                                 const Sections& sections) const {
    LibraryFunction function;
    uint64_t offsets[3] = {}, size = 0;
    bool has_offsets = false, has_size = false, type_known = true;
    ByteReader reader(entry);
    const bool complete = for_each_tag(reader, [&](std::string_view tag, std::span<const std::byte> data) {
        ByteReader values(data);
        if (tag == "NAME") {
            function.name = zero_terminated(data);
        } else if (tag == "TYPE") {
            const uint8_t type = values.read<uint8_t>();
            type_known = type <= uint8_t(FunctionType::kKernel);
            function.type = FunctionType(type);
        } else if (tag == "HASH" && data.size() == 32) {
            function.hash = data;
        } else if (tag == "OFFT") {
            for (uint64_t& offset : offsets) offset = values.read<uint64_t>();
            has_offsets = values.ok();
        } else if (tag == "VERS") {
            for (uint16_t& number : function.version) number = values.read<uint16_t>();
        } else if (tag == "MDSZ") {
            size = values.read<uint64_t>();
            has_size = values.ok();
        } else if (tag == "RFLT") {
            function.reflection_offset = values.read<uint64_t>();
        }
    });
    if (!complete) return fail(ErrorKind::kCorrupt, "its tag list has no end");
    if (function.name.empty() || function.name.size() > kMaxNameBytes) {
        return fail(ErrorKind::kCorrupt, "a name of {} bytes, 1 to {} accepted", function.name.size(),
                    kMaxNameBytes);
    }
    if (!type_known)
        return fail(ErrorKind::kUnsupported, "'{}' is of a type this reader doesn't know", function.name);
    if (!has_offsets || !has_size) return fail(ErrorKind::kCorrupt, "'{}' lacks OFFT or MDSZ", function.name);
    const auto bitcode = part(sections.bitcode, offsets[2], size);
    if (!bitcode) {
        return fail(ErrorKind::kCorrupt,
                    "'{}': its module at {} with {} bytes lies outside the bitcode section's {}",
                    function.name, offsets[2], size, sections.bitcode.size());
    }
    function.bitcode = *bitcode;
    if (const auto rest = part(sections.public_metadata, offsets[0], 4)) {
        const uint32_t length = ByteReader(*rest).read<uint32_t>();
        const auto tags = part(sections.public_metadata, offsets[0], length);
        if (tags && length > 4) function.constants = tags->subspan(4);
    }
    return function;
}

const LibraryFunction* LibraryFile::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &functions_[found->second];
}

Result<const LibraryFunction*> LibraryFile::require(std::string_view name) const {
    if (const LibraryFunction* function = find(name)) return function;
    std::string near;
    int listed = 0;
    for (const LibraryFunction& function : functions_) {
        if (listed == 3) break;
        if (function.name.find(name) == std::string_view::npos) continue;
        near += fmt::format("{} '{}'", listed++ == 0 ? "; close:" : ",", function.name);
    }
    return fail(ErrorKind::kNotFound, "{}: no kernel '{}' among {}{}", label_, name, functions_.size(), near);
}

Result<KernelInfo> LibraryFile::reflect(const LibraryFunction& function) const {
    if (function.reflection_offset == LibraryFunction::kNoReflection || reflection_.empty()) {
        return fail(ErrorKind::kNotFound, "{}: no reflection for '{}'", label_, function.name);
    }
    auto info = parse_reflection(reflection_, function.reflection_offset);
    if (!info) {
        return Failure(
            with_context(info.error(), fmt::format("{}: reflection of '{}'", label_, function.name)));
    }
    info->name = std::string(function.name);
    return info;
}

}  // namespace ingot::metal

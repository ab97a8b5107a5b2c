#include "cli/npy.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "base/mapped_file.h"

namespace ingot::cli {
namespace {

constexpr ElementType kTypes[] = {
    {"f32", "<f4", 4}, {"f16", "<f2", 2}, {"bf16", "<u2", 2}, {"i8", "|i1", 1},
    {"u8", "|u1", 1},  {"i16", "<i2", 2}, {"u16", "<u2", 2},  {"i32", "<i4", 4},
    {"u32", "<u4", 4}, {"i64", "<i8", 8}, {"u64", "<u8", 8},  {"bool", "|b1", 1},
};
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxElements = size_t{1} << 40;
constexpr size_t kMaxMadeBytes = size_t{16} << 30;  // of an array described in text

Failure not_npy(std::string_view what) {
    return fail(ErrorKind::kCorrupt, "not a .npy file: {}", what);
}

// "3, 4" or "3," -> {3, 4}; the count is bounded, so that products can't overflow.
Result<std::vector<size_t>> parse_shape(std::string_view text) {
    std::vector<size_t> shape;
    size_t count = 1;
    while (true) {
        const size_t begin = text.find_first_not_of(" \t,");
        if (begin == std::string_view::npos) return shape;
        text.remove_prefix(begin);
        size_t value = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
        if (parsed.ec != std::errc{})
            return fail(ErrorKind::kInvalidArgument, "'{}' is no list of sizes", text);
        if (value != 0 && count > kMaxElements / value) {
            return fail(ErrorKind::kLimit, "more than {} elements", kMaxElements);
        }
        count *= value;
        shape.push_back(value);
        text.remove_prefix(size_t(parsed.ptr - text.data()));
    }
}

// The text after "'key':" in the header's dictionary.
std::string_view value_of(std::string_view header, std::string_view key) {
    const size_t at = header.find(key);
    if (at == std::string_view::npos) return {};
    const size_t colon = header.find(':', at + key.size());
    if (colon == std::string_view::npos) return {};
    const size_t begin = header.find_first_not_of(' ', colon + 1);
    return begin == std::string_view::npos ? std::string_view{} : header.substr(begin);
}

}  // namespace

size_t element_count(std::span<const size_t> shape) {
    size_t elements = 1;
    for (const size_t size : shape) elements *= size;
    return elements;
}

Result<const ElementType*> element_type(std::string_view name) {
    std::string names;
    for (const ElementType& type : kTypes) {
        if (type.name == name) return &type;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", type.name);
    }
    return fail(ErrorKind::kInvalidArgument, "no element type '{}'; there are {}", name, names);
}

Result<Array> parse_array_type(std::string_view text) {
    const size_t open = text.find('[');
    if (open == std::string_view::npos || !text.ends_with(']')) {
        return fail(ErrorKind::kInvalidArgument, "'{}' is no array type; one looks like f32[64,64]", text);
    }
    Array array;
    INGOT_ASSIGN(array.type, element_type(text.substr(0, open)));
    INGOT_ASSIGN(array.shape, parse_shape(text.substr(open + 1, text.size() - open - 2)));
    if (array.count() > kMaxMadeBytes / array.type->size_bytes) {
        return fail(ErrorKind::kLimit, "'{}' takes more than {} bytes", text, kMaxMadeBytes);
    }
    array.data.resize(array.count() * array.type->size_bytes);
    return array;
}

Result<Array> parse_npy(std::string_view bytes) {
    constexpr size_t kPrefixBytes = 8;
    if (!bytes.starts_with(kMagic) || bytes.size() < kPrefixBytes + 4)
        return not_npy("it doesn't start as one");
    const uint8_t major = uint8_t(bytes[6]);
    const size_t length_bytes = major == 1 ? 2 : 4;
    uint32_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes.data() + kPrefixBytes, length_bytes);
    const size_t data_begin = kPrefixBytes + length_bytes + header_bytes;
    if (major < 1 || major > 3 || data_begin > bytes.size()) return not_npy("its header runs past the end");
    const std::string_view header = bytes.substr(kPrefixBytes + length_bytes, header_bytes);
    if (value_of(header, "'fortran_order'").starts_with("True")) {
        return fail(ErrorKind::kUnsupported, "the array is in Fortran order; save it in C order");
    }
    const std::string_view descr = value_of(header, "'descr'");
    Array array;
    for (const ElementType& type : kTypes) {
        if (descr.size() > 4 && descr.substr(1, 3) == type.descr && type.name != "bf16") array.type = &type;
    }
    if (array.type == nullptr) {
        return fail(ErrorKind::kUnsupported, "element type {} isn't served",
                    descr.substr(0, descr.find(',')));
    }
    const std::string_view shape = value_of(header, "'shape'");
    const size_t close = shape.find(')');
    if (!shape.starts_with('(') || close == std::string_view::npos) return not_npy("its header has no shape");
    INGOT_ASSIGN(array.shape, parse_shape(shape.substr(1, close - 1)));
    const std::string_view data = bytes.substr(data_begin);
    if (data.size() != array.count() * array.type->size_bytes) {
        return fail(ErrorKind::kCorrupt, "{} bytes of data, the shape takes {}", data.size(),
                    array.count() * array.type->size_bytes);
    }
    const auto* begin = reinterpret_cast<const std::byte*>(data.data());
    array.data.assign(begin, begin + data.size());
    return array;
}

Result<Array> read_npy(const std::string& path) {
    INGOT_ASSIGN(const std::string text, read_text_file(path));
    auto array = parse_npy(text);
    if (!array) return Failure(with_context(array.error(), path));
    return array;
}

std::string npy_bytes(const Array& array) {
    // A tuple as Python spells it: (), (4,), (2, 3).
    const std::string shape =
        fmt::format("{}{}", fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", array.type->descr, shape);
    constexpr size_t kPrefixBytes = 10, kAlignment = 64;
    const size_t total = (kPrefixBytes + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
    header.resize(total - kPrefixBytes - 1, ' ');
    header += '\n';
    std::string bytes(kMagic);
    bytes += '\x01';
    bytes += '\0';
    bytes += char(header.size() & 0xFF);
    bytes += char(header.size() >> 8);
    bytes += header;
    bytes.append(reinterpret_cast<const char*>(array.data.data()), array.data.size());
    return bytes;
}

Result<void> write_npy(const std::string& path, const Array& array) {
    const std::string bytes = npy_bytes(array);
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), std::streamsize(bytes.size()));
    file.close();
    if (!file) return fail(ErrorKind::kIo, "{}: can't write {} bytes", path, bytes.size());
    return {};
}

}  // namespace ingot::cli

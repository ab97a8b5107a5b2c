#include "llm/kv/session.h"

#include <cstring>

#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/sha256.h"

namespace ingot::kv {
namespace {

constexpr std::string_view kMagic = "INGOTKVS";
constexpr uint32_t kVersion = 2;
constexpr size_t kChecksumBytes = 32;

// The file's numbers are little-endian, as this machine's are (the build checks it where GGUF is read).
struct Header {
    char magic[8];
    uint32_t version;
    uint32_t format;
    uint64_t model;
    uint32_t num_layers;
    uint32_t num_tokens;
    uint64_t note_bytes;
};
static_assert(sizeof(Header) == 40);

size_t session_row_bytes(Format format, const KvLayer& layer) {
    return row_bytes(format, layer.kv_heads * layer.head_dim);
}

Header header_of(const SessionShape& shape, size_t num_tokens, size_t note_bytes) {
    Header header{.magic = {},
                  .version = kVersion,
                  .format = uint32_t(shape.format),
                  .model = shape.model,
                  .num_layers = uint32_t(shape.layers.size()),
                  .num_tokens = uint32_t(num_tokens),
                  .note_bytes = note_bytes};
    std::memcpy(header.magic, kMagic.data(), sizeof header.magic);
    return header;
}

// Bytes in front of the rows.
size_t rows_offset(const Header& header) {
    return sizeof(Header) + header.num_layers * sizeof(KvLayer) +
           size_t(header.num_tokens) * sizeof(TokenId) + header.note_bytes;
}

size_t session_bytes(const Header& header, const SessionShape& shape) {
    size_t bytes = rows_offset(header) + kChecksumBytes;
    for (const LayerCells& layer : shape.layers)
        bytes += size_t(2) * header.num_tokens * session_row_bytes(shape.format, layer.layer);
    return bytes;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

// Writes through to the file and hashes what goes by.
class HashedFile {
  public:
    explicit HashedFile(OutputFile& file) : file_(file) {}
    Result<void> write(std::span<const std::byte> bytes) {
        hash_.add(bytes);
        return file_.write(bytes);
    }
    Result<void> finish() {
        const Sha256Digest digest = hash_.finish();
        INGOT_TRY(file_.write(digest));
        return file_.commit();
    }

  private:
    OutputFile& file_;
    Sha256 hash_;
};

Result<void> check_header(const std::string& path, const Header& header, const SessionShape& shape) {
    if (header.version != kVersion) {
        return fail(ErrorKind::kUnsupported, "'{}' is a session of version {}; {} is accepted", path,
                    header.version, kVersion);
    }
    if (header.model != shape.model) {
        return fail(ErrorKind::kInvalidArgument, "'{}' is a session of another model", path);
    }
    if (header.format != uint32_t(shape.format)) {
        return fail(ErrorKind::kInvalidArgument, "'{}' holds {} cells; this engine's are {}", path,
                    header.format < kFormats.size() ? traits(Format(header.format)).name : "unknown",
                    traits(shape.format).name);
    }
    if (header.num_layers != shape.layers.size()) {
        return fail(ErrorKind::kInvalidArgument, "'{}' has {} layers; {} are accepted", path,
                    header.num_layers, shape.layers.size());
    }
    return {};
}

}  // namespace

Result<void> save_session(const std::string& path, const SessionShape& shape, std::span<const Run> runs,
                          std::span<const TokenId> tokens, std::string_view note) {
    const Header header = header_of(shape, tokens.size(), note.size());
    INGOT_ASSIGN(OutputFile output, OutputFile::create(path));
    HashedFile file(output);
    INGOT_TRY(file.write(bytes_of(header)));
    for (const LayerCells& layer : shape.layers) INGOT_TRY(file.write(bytes_of(layer.layer)));
    INGOT_TRY(file.write(std::as_bytes(tokens)));
    INGOT_TRY(file.write(std::as_bytes(std::span(note))));
    std::vector<std::byte> rows;
    for (const LayerCells& layer : shape.layers) {
        for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
            for (const Run& run : runs) {
                rows.resize(run.length * session_row_bytes(shape.format, layer.layer));
                INGOT_TRY(layer.backend->read_kv(layer.layer.layer, side, run.cell, rows));
                INGOT_TRY(file.write(rows));
            }
        }
    }
    return file.finish();
}

Result<Session> Session::read(const std::string& path, const SessionShape& shape) {
    Session session;
    INGOT_ASSIGN(session.file_, read_text_file(path));
    const std::span<const std::byte> bytes = session.bytes();
    if (!session.file_.starts_with(kMagic))
        return fail(ErrorKind::kInvalidArgument, "'{}' is no session file: it doesn't begin with {}", path,
                    kMagic);
    Header header;
    if (bytes.size() < sizeof header + kChecksumBytes)
        return fail(ErrorKind::kCorrupt, "'{}' is damaged: it has only {} bytes", path, bytes.size());
    std::memcpy(&header, bytes.data(), sizeof header);
    INGOT_TRY(check_header(path, header, shape));
    const bool fits = header.note_bytes <= bytes.size() && header.num_tokens <= bytes.size();
    if (!fits || bytes.size() != session_bytes(header, shape)) {
        return fail(ErrorKind::kCorrupt,
                    "'{}' has {} bytes; a session of {} tokens and {} bytes of text has {}", path,
                    bytes.size(), header.num_tokens, header.note_bytes, session_bytes(header, shape));
    }
    Sha256 hash;
    hash.add(bytes.first(bytes.size() - kChecksumBytes));
    const auto sum = hash.finish();
    if (std::memcmp(sum.data(), bytes.last(kChecksumBytes).data(), kChecksumBytes) != 0)
        return fail(ErrorKind::kCorrupt, "'{}' is damaged: its checksum is wrong", path);
    for (size_t i = 0; i < shape.layers.size(); ++i) {
        KvLayer layer;
        std::memcpy(&layer, bytes.data() + sizeof(Header) + i * sizeof layer, sizeof layer);
        if (layer == shape.layers[i].layer) continue;
        return fail(ErrorKind::kInvalidArgument,
                    "'{}' has cells of {} x {} in layer {}; {} x {} are accepted", path, layer.kv_heads,
                    layer.head_dim, layer.layer, shape.layers[i].layer.kv_heads,
                    shape.layers[i].layer.head_dim);
    }
    session.rows_at_ = rows_offset(header);
    session.note_bytes_ = header.note_bytes;
    session.format_ = shape.format;
    session.tokens_.resize(header.num_tokens);
    std::memcpy(session.tokens_.data(),
                bytes.data() + session.rows_at_ - header.note_bytes - header.num_tokens * sizeof(TokenId),
                header.num_tokens * sizeof(TokenId));
    return session;
}

Result<void> Session::restore(std::span<const LayerCells> layers, std::span<const Run> runs) const {
    size_t at = rows_at_;
    for (const LayerCells& layer : layers) {
        const size_t row = session_row_bytes(format_, layer.layer);
        for (const KvSide side : {KvSide::kKey, KvSide::kValue}) {
            size_t from = at;
            for (const Run& run : runs) {
                INGOT_TRY(layer.backend->write_kv(layer.layer.layer, side, run.cell,
                                                  bytes().subspan(from, run.length * row)));
                from += run.length * row;
            }
            at += tokens_.size() * row;
        }
    }
    return {};
}

}  // namespace ingot::kv

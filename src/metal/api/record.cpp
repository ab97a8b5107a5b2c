// Launch files of dispatches: what `ingot metal check --launch` reads (docs/checking.md), with the library
// and a .npy file of bytes for each buffer beside it.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/output_file.h"
#include "metal/api/watch.h"

namespace ingot::metal::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostInline = 64;  // bytes that the launch file itself holds

std::span<const std::byte> bytes_at(const BufferBinding& bound) {
    return {static_cast<const std::byte*>(bound.address), bound.size_bytes};
}

// An array of u8, format 1.0: the header ends at a multiple of 64.
std::vector<std::byte> npy_of(std::span<const std::byte> bytes) {
    std::string header =
        fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}", bytes.size());
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
    header += '\n';
    std::string file = "\x93NUMPY";
    file += {'\x01', '\x00', char(header.size() & 0xFF), char(header.size() >> 8)};
    file += header;
    const auto head = std::as_bytes(std::span(file));
    std::vector<std::byte> all(head.begin(), head.end());
    all.insert(all.end(), bytes.begin(), bytes.end());
    return all;
}

std::string list_of(std::span<const std::byte> bytes) {
    std::string text = "u8:";
    for (const std::byte byte : bytes) text += fmt::format("{}{}", text.back() == ':' ? "" : ",", int(byte));
    return text;
}

std::string constant_text(const ConstantValue& value) {
    if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "bool:true" : "bool:false";
    if (const int64_t* number = std::get_if<int64_t>(&value)) return fmt::format("long:{}", *number);
    if (const float* number = std::get_if<float>(&value)) return fmt::format("float:{}", *number);
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
        return fmt::format("long{}:{}", numbers->size(), fmt::join(*numbers, ","));
    }
    const auto& numbers = std::get<std::vector<float>>(value);
    return fmt::format("float{}:{}", numbers.size(), fmt::join(numbers, ","));
}

Json constants_of(const Constants& constants) {
    Json json = Json::object();
    for (const auto& [index, value] : constants.by_index) json[std::to_string(index)] = constant_text(value);
    for (const auto& [name, value] : constants.by_name) json[name] = constant_text(value);
    return json;
}

// Names of templates hold what file names can't.
std::string file_name(const std::string& kernel) {
    std::string name = kernel.substr(0, 100);
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return name;
}

class Recording {
  public:
    Recording(const WatchedDispatch& dispatch, std::filesystem::path folder, unsigned number)
        : dispatch_(dispatch),
          folder_(std::move(folder)),
          name_(fmt::format("{:04}-{}", number, file_name(dispatch.pipeline.kernel->info.name))) {}

    Result<void> write();

  private:
    Result<std::string> write_library() const;
    Result<Json> write_buffers(Json& bytes) const;

    const WatchedDispatch& dispatch_;
    std::filesystem::path folder_;
    std::string name_;
};

// The library is written once, under the number of its bytes and their hash.
Result<std::string> Recording::write_library() const {
    const LibraryImpl& library = *dispatch_.pipeline.library;
    const auto bytes = library.bytes();
    const auto hash =
        std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const std::string name =
        fmt::format("library-{:016x}.{}", hash, library.is_from_source() ? "metal" : "metallib");
    if (!std::filesystem::exists(folder_ / name)) INGOT_TRY(write_file((folder_ / name).string(), bytes));
    return name;
}

Result<Json> Recording::write_buffers(Json& bytes) const {
    Json buffers = Json::object();
    for (uint32_t slot = 0; slot < kNumBufferSlots; ++slot) {
        const BufferBinding& bound = dispatch_.launch.buffers[slot];
        const BufferImpl* buffer = dispatch_.buffers[slot];
        const std::string key = std::to_string(slot);
        if (bound.address == nullptr || bound.size_bytes == 0) continue;
        if (buffer == nullptr && bound.size_bytes <= kMostInline) {
            bytes[key] = list_of(bytes_at(bound));
        } else if (buffer != nullptr && !buffer->memory->has_contents) {
            buffers[key] = fmt::format("out:u8[{}]", bound.size_bytes);
        } else {
            const std::string file = fmt::format("{}-{}.npy", name_, slot);
            INGOT_TRY(write_file((folder_ / file).string(), npy_of(bytes_at(bound))));
            buffers[key] = file;
        }
    }
    return buffers;
}

Result<void> Recording::write() {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    const Launch& launch = dispatch_.launch;
    Json json, bytes = Json::object(), threadgroup = Json::object();
    INGOT_ASSIGN(json["file"], write_library());
    json["kernel"] = dispatch_.pipeline.kernel->info.name;
    json["grid_threads"] = {launch.grid_threads.x, launch.grid_threads.y, launch.grid_threads.z};
    json["threads"] = {launch.group_threads.x, launch.group_threads.y, launch.group_threads.z};
    INGOT_ASSIGN(json["buffers"], write_buffers(bytes));
    json["bytes"] = bytes;
    for (uint32_t slot = 0; slot < kNumThreadgroupSlots; ++slot) {
        if (launch.threadgroup_bytes[slot] != 0)
            threadgroup[std::to_string(slot)] = launch.threadgroup_bytes[slot];
    }
    json["threadgroup"] = threadgroup;
    json["constants"] = constants_of(dispatch_.pipeline.constants);
    const std::string text = json.dump(1) + "\n";
    return write_file((folder_ / (name_ + ".launch.json")).string(), std::as_bytes(std::span(text)));
}

}  // namespace

void Watch::record(const WatchedDispatch& dispatch) {
    const auto done = Recording(dispatch, record_folder, ++num_recorded_).write();
    if (!done) fmt::print(stderr, "ingot: a launch isn't recorded: {}\n", done.error().describe());
}

}  // namespace ingot::metal::api

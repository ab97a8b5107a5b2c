#include "cli/launch_file.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;
using Slots = std::vector<std::pair<std::string, std::string>>;

class LaunchReader {
  public:
    LaunchReader(std::filesystem::path folder, LaunchFlags& flags)
        : folder_(std::move(folder)), flags_(flags) {}

    Result<void> read(const std::string& key, const Json& value);

  private:
    Result<void> read_text(const std::string& key, const Json& value, std::string& into);
    // The library, where the caller doesn't name another.
    Result<void> read_library(const std::string& key, const Json& value, std::string& into);
    Result<void> read_flag(const std::string& key, const Json& value, bool& into);
    Result<void> read_size(const std::string& key, const Json& value, std::string& into);
    Result<void> read_list(const std::string& key, const Json& value, std::vector<std::string>& into);
    // {"SLOT": "REST"} as flags "SLOT=REST".
    Result<void> read_slots(const std::string& key, const Json& value, std::vector<std::string>& into);
    // The same, with files that lie in the folder.
    Result<void> read_files(const std::string& key, const Json& value, std::vector<std::string>& into);
    std::string with_folder(const std::string& binding) const;

    std::filesystem::path folder_;
    LaunchFlags& flags_;
};

Failure wrong(const std::string& key, const char* expected, const Json& value) {
    return fail(ErrorKind::kCorrupt, "\"{}\": {} is expected, not {}", key, expected, value.dump());
}

Result<void> LaunchReader::read_text(const std::string& key, const Json& value, std::string& into) {
    if (!value.is_string()) return wrong(key, "a text", value);
    into = value.get<std::string>();
    return {};
}

Result<void> LaunchReader::read_library(const std::string& key, const Json& value, std::string& into) {
    std::string file;
    INGOT_TRY(read_text(key, value, file));
    if (into.empty()) into = (folder_ / file).string();
    return {};
}

Result<void> LaunchReader::read_flag(const std::string& key, const Json& value, bool& into) {
    if (!value.is_boolean()) return wrong(key, "true or false", value);
    into = value.get<bool>();
    return {};
}

// 64 or [8, 8] as "8,8".
Result<void> LaunchReader::read_size(const std::string& key, const Json& value, std::string& into) {
    const Json list = value.is_array() ? value : Json::array({value});
    into.clear();
    for (const Json& number : list) {
        if (!number.is_number_unsigned()) return wrong(key, "one to three numbers", value);
        into += fmt::format("{}{}", into.empty() ? "" : ",", number.get<uint64_t>());
    }
    return {};
}

Result<void> LaunchReader::read_list(const std::string& key, const Json& value,
                                     std::vector<std::string>& into) {
    if (!value.is_array()) return wrong(key, "a list of texts", value);
    for (const Json& item : value) {
        std::string& last = into.emplace_back();
        INGOT_TRY(read_text(key, item, last));
    }
    return {};
}

std::string LaunchReader::with_folder(const std::string& binding) const {
    constexpr std::string_view kInOut = "inout:";
    if (binding.starts_with(kInOut))
        return std::string(kInOut) + (folder_ / binding.substr(kInOut.size())).string();
    return binding.find(':') == std::string::npos ? (folder_ / binding).string() : binding;
}

Result<Slots> slots_of(const std::string& key, const Json& value) {
    if (!value.is_object()) return wrong(key, "an object with a key for each slot", value);
    Slots slots;
    for (const auto& [slot, item] : value.items()) {
        if (!item.is_string() && !item.is_number_unsigned()) return wrong(key, "a text for each slot", item);
        slots.emplace_back(slot, item.is_string() ? item.get<std::string>() : item.dump());
    }
    return slots;
}

Result<void> LaunchReader::read_slots(const std::string& key, const Json& value,
                                      std::vector<std::string>& into) {
    INGOT_ASSIGN(const Slots slots, slots_of(key, value));
    for (const auto& [slot, rest] : slots) into.push_back(fmt::format("{}={}", slot, rest));
    return {};
}

Result<void> LaunchReader::read_files(const std::string& key, const Json& value,
                                      std::vector<std::string>& into) {
    INGOT_ASSIGN(const Slots slots, slots_of(key, value));
    for (const auto& [slot, rest] : slots) into.push_back(fmt::format("{}={}", slot, with_folder(rest)));
    return {};
}

// What a launch file may hold: key, how its value is read, the flag that it stands for.
#define INGOT_LAUNCH_KEYS(X)            \
    X(file, library, file)              \
    X(kernel, text, kernel)             \
    X(grid, size, grid)                 \
    X(grid_threads, size, grid_threads) \
    X(threads, size, threads)           \
    X(buffers, files, buffers)          \
    X(tensors, files, tensors)          \
    X(bytes, slots, bytes)              \
    X(threadgroup, slots, threadgroup)  \
    X(constants, slots, constants)      \
    X(layout, text, device.layout)      \
    X(standard, text, source.standard)  \
    X(strict, flag, source.strict)      \
    X(macros, list, source.macros)      \
    X(include_folders, list, source.include_folders)

Result<void> LaunchReader::read(const std::string& key, const Json& value) {
    std::string known;
#define X(name, kind, flag)                                        \
    if (key == #name) return read_##kind(key, value, flags_.flag); \
    known += known.empty() ? #name : ", " #name;
    INGOT_LAUNCH_KEYS(X)
#undef X
    return fail(ErrorKind::kCorrupt, "no key \"{}\"; there are {}", key, known);
}

Result<void> read_all(const std::string& path, LaunchFlags& flags) {
    std::ifstream file(path);
    if (!file) return fail(ErrorKind::kIo, "can't be read");
    const Json json = Json::parse(file, nullptr, false);
    if (!json.is_object()) return fail(ErrorKind::kCorrupt, "it isn't a JSON object");
    LaunchReader reader(std::filesystem::path(path).parent_path(), flags);
    for (const auto& [key, value] : json.items()) INGOT_TRY(reader.read(key, value));
    if (flags.threads.empty()) return fail(ErrorKind::kCorrupt, "\"threads\" is missing");
    if (flags.grid.empty() == flags.grid_threads.empty()) {
        return fail(ErrorKind::kCorrupt, "one of \"grid\" and \"grid_threads\" is needed");
    }
    return {};
}

}  // namespace

Result<void> read_launch_file(const std::string& path, LaunchFlags& flags) {
    auto done = read_all(path, flags);
    if (!done) return Failure(with_context(done.error(), path));
    return {};
}

}  // namespace ingot::cli

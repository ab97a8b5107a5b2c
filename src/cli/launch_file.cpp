#include "cli/launch_file.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

class LaunchReader {
  public:
    LaunchReader(std::filesystem::path folder, LaunchFlags& flags)
        : folder_(std::move(folder)), flags_(flags) {}

    Result<void> read(const std::string& key, const Json& value);

  private:
    Result<void> text(const std::string& key, const Json& value, std::string& into);
    Result<void> flag(const std::string& key, const Json& value, bool& into);
    Result<void> size(const std::string& key, const Json& value, std::string& into);
    Result<void> list(const std::string& key, const Json& value, std::vector<std::string>& into);
    // {"SLOT": "REST"} as flags "SLOT=REST".
    Result<void> slots(const std::string& key, const Json& value, std::vector<std::string>& into,
                       bool has_files);
    std::string with_folder(const std::string& binding) const;

    std::filesystem::path folder_;
    LaunchFlags& flags_;
};

Failure wrong(const std::string& key, const char* expected, const Json& value) {
    return fail(ErrorKind::kCorrupt, "\"{}\": {} is expected, not {}", key, expected, value.dump());
}

Result<void> LaunchReader::text(const std::string& key, const Json& value, std::string& into) {
    if (!value.is_string()) return wrong(key, "a text", value);
    into = value.get<std::string>();
    return {};
}

Result<void> LaunchReader::flag(const std::string& key, const Json& value, bool& into) {
    if (!value.is_boolean()) return wrong(key, "true or false", value);
    into = value.get<bool>();
    return {};
}

// 64 or [8, 8] as "8,8".
Result<void> LaunchReader::size(const std::string& key, const Json& value, std::string& into) {
    const Json list = value.is_array() ? value : Json::array({value});
    into.clear();
    for (const Json& number : list) {
        if (!number.is_number_unsigned()) return wrong(key, "one to three numbers", value);
        into += fmt::format("{}{}", into.empty() ? "" : ",", number.get<uint64_t>());
    }
    return {};
}

Result<void> LaunchReader::list(const std::string& key, const Json& value, std::vector<std::string>& into) {
    if (!value.is_array()) return wrong(key, "a list of texts", value);
    for (const Json& item : value) {
        std::string& last = into.emplace_back();
        INGOT_TRY(text(key, item, last));
    }
    return {};
}

std::string LaunchReader::with_folder(const std::string& binding) const {
    constexpr std::string_view kInOut = "inout:";
    if (binding.starts_with(kInOut))
        return std::string(kInOut) + (folder_ / binding.substr(kInOut.size())).string();
    return binding.find(':') == std::string::npos ? (folder_ / binding).string() : binding;
}

Result<void> LaunchReader::slots(const std::string& key, const Json& value, std::vector<std::string>& into,
                                 bool has_files) {
    if (!value.is_object()) return wrong(key, "an object with a key for each slot", value);
    for (const auto& [slot, item] : value.items()) {
        if (!item.is_string() && !item.is_number_unsigned()) return wrong(key, "a text for each slot", item);
        const std::string rest = item.is_string() ? item.get<std::string>() : item.dump();
        into.push_back(fmt::format("{}={}", slot, has_files ? with_folder(rest) : rest));
    }
    return {};
}

Result<void> LaunchReader::read(const std::string& key, const Json& value) {
    if (key == "kernel") return text(key, value, flags_.kernel);
    if (key == "grid") return size(key, value, flags_.grid);
    if (key == "grid_threads") return size(key, value, flags_.grid_threads);
    if (key == "threads") return size(key, value, flags_.threads);
    if (key == "buffers") return slots(key, value, flags_.buffers, true);
    if (key == "tensors") return slots(key, value, flags_.tensors, true);
    if (key == "bytes") return slots(key, value, flags_.bytes, false);
    if (key == "threadgroup") return slots(key, value, flags_.threadgroup, false);
    if (key == "constants") return slots(key, value, flags_.constants, false);
    if (key == "layout") return text(key, value, flags_.layout);
    if (key == "standard") return text(key, value, flags_.source.standard);
    if (key == "strict") return flag(key, value, flags_.source.strict);
    if (key == "macros") return list(key, value, flags_.source.macros);
    if (key == "include_folders") return list(key, value, flags_.source.include_folders);
    return fail(
        ErrorKind::kCorrupt,
        "no key \"{}\"; there are kernel, grid, grid_threads, threads, buffers, tensors, bytes, threadgroup, "
        "constants, layout, standard, strict, macros, include_folders",
        key);
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

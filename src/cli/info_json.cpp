#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/info_report.h"
#include "llm/gguf/value_types.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostItemsAsJson = 16;  // longer arrays are shortened

Json array_json(const gguf::Value& value, const gguf::Array& array) {
    return std::visit(
        [&](const auto& items) {
            using Item = typename std::decay_t<decltype(items)>::value_type;
            Json shown = Json::array();
            for (size_t i = 0; i < std::min(items.size(), kMostItemsAsJson); ++i)
                shown.push_back(Item(items[i]));
            if (items.size() <= kMostItemsAsJson) return shown;
            return Json{
                {"type", gguf::type_name(value)}, {"length", items.size()}, {"first", std::move(shown)}};
        },
        array.items);
}

Json value_json(const gguf::Value& value) {
    return std::visit(
        [&](const auto& held) -> Json {
            if constexpr (std::is_same_v<std::decay_t<decltype(held)>, gguf::Array>) {
                return array_json(value, held);
            } else {
                return held;
            }
        },
        value.value);
}

Json run_json(const RunPlan& run) {
    Json devices = Json::array();
    for (const RunPlan::Device& device : run.devices) {
        devices.push_back({{"device", device.description}, {"operations", device.num_operations}});
    }
    return {{"devices", std::move(devices)},   {"context", run.context},
            {"kv_format", run.kv_format},      {"weight_bytes", run.weight_bytes},
            {"kv_bytes", run.kv_bytes},        {"compute_bytes", run.compute_bytes},
            {"total_bytes", run.total_bytes()}};
}

}  // namespace

std::string to_json(const InfoReport& report) {
    const gguf::File& file = report.file;
    Json json{
        {"path", file.path()},       {"version", file.version()},   {"size_bytes", file.size_bytes()},
        {"name", report.facts.name}, {"quant", report.facts.quant}, {"parameters", report.facts.parameters}};
    Json& metadata = json["metadata"] = Json::object();
    for (const gguf::MetadataEntry& entry : file.metadata()) {
        metadata[std::string(entry.key)] = value_json(entry.value);
    }
    Json& tensors = json["tensors"] = Json::array();
    for (const gguf::TensorInfo& tensor : file.tensors()) {
        tensors.push_back({{"name", tensor.name},
                           {"type", traits(tensor.type).name},
                           {"shape", tensor.shape},
                           {"size_bytes", tensor.data.size()}});
    }
    Json& types = json["types"] = Json::array();
    for (const TypeTotal& total : report.types) {
        types.push_back({{"type", traits(total.type).name},
                         {"tensors", total.num_tensors},
                         {"elements", total.num_elements},
                         {"size_bytes", total.size_bytes}});
    }
    if (report.run) {
        json["run"] = run_json(*report.run);
    } else {
        json["run_error"] = report.run.error().describe();
    }
    // Text that isn't UTF-8 has replacement characters, as JSON must be UTF-8.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ingot::cli

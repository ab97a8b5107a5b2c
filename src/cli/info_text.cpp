#include <algorithm>

#include "base/quoted.h"
#include "cli/info_report.h"
#include "llm/gguf/value_types.h"

namespace ingot::cli {
namespace {

constexpr size_t kMostItemsAsText = 6;   // of an array
constexpr size_t kMostItemBytes = 24;    // of a string in an array
constexpr size_t kMostStringBytes = 80;  // of a string by itself

template <typename T>
std::string item_text(const T& item) {
    if constexpr (std::is_same_v<T, std::string_view>) {
        return fmt::format("'{}'", printable(item, kMostItemBytes));
    } else {
        return fmt::format("{}", item);
    }
}

std::string array_text(const gguf::Array& array) {
    return std::visit(
        [](const auto& items) {
            using Item = typename std::decay_t<decltype(items)>::value_type;
            std::string text = fmt::format("{} items: ", items.size());
            for (size_t i = 0; i < std::min(items.size(), kMostItemsAsText); ++i) {
                text += (i == 0 ? "" : ", ") + item_text<Item>(items[i]);
            }
            return text + (items.size() > kMostItemsAsText ? ", ..." : "");
        },
        array.items);
}

std::string value_text(const gguf::Value& value) {
    return std::visit(
        [](const auto& held) -> std::string {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, gguf::Array>) {
                return array_text(held);
            } else if constexpr (std::is_same_v<Held, std::string_view>) {
                return printable(held, kMostStringBytes);
            } else {
                return fmt::format("{}", held);
            }
        },
        value.value);
}

// Rows as columns that line up, indented; `right` says which columns are numbers.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    std::vector<size_t> widths(right.size());
    for (const auto& row : rows) {
        for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) {
            line += right[i] ? fmt::format("  {:>{}}", row[i], widths[i])
                             : fmt::format("  {:<{}}", row[i], widths[i]);
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

std::string metadata_text(const gguf::File& file) {
    std::vector<std::vector<std::string>> rows;
    for (const gguf::MetadataEntry& entry : file.metadata()) {
        rows.push_back({printable(entry.key, 64), gguf::type_name(entry.value), value_text(entry.value)});
    }
    return fmt::format("metadata ({})\n{}", rows.size(), table(rows, {false, false, false}));
}

std::string tensors_text(const gguf::File& file) {
    std::vector<std::vector<std::string>> rows{{"name", "type", "shape", "bytes"}};
    for (const gguf::TensorInfo& tensor : file.tensors()) {
        rows.push_back({printable(tensor.name, 64), std::string(traits(tensor.type).name),
                        fmt::format("{}", fmt::join(tensor.shape, " x ")), short_bytes(tensor.data.size())});
    }
    return fmt::format("tensors ({})\n{}", file.tensors().size(), table(rows, {false, false, false, true}));
}

std::string types_text(const std::vector<TypeTotal>& types) {
    std::vector<std::vector<std::string>> rows{{"type", "tensors", "elements", "bytes"}};
    for (const TypeTotal& total : types) {
        rows.push_back({std::string(traits(total.type).name), fmt::format("{}", total.num_tensors),
                        short_count(total.num_elements), short_bytes(total.size_bytes)});
    }
    return "types\n" + table(rows, {false, true, true, true});
}

std::string run_text(const Result<RunPlan>& run) {
    if (!run) return fmt::format("run\n  this program can't run it: {}\n", run.error().describe());
    std::string text = "run\n";
    for (const RunPlan::Device& device : run->devices) {
        text +=
            fmt::format("  {}: {} operations of a decode step\n", device.description, device.num_operations);
    }
    return text + fmt::format("  memory: {} weights + {} KV cache ({} tokens, {}) + {} compute = {}\n",
                              short_bytes(run->weight_bytes), short_bytes(run->kv_bytes), run->context,
                              run->kv_format, short_bytes(run->compute_bytes),
                              short_bytes(run->total_bytes()));
}

}  // namespace

std::string to_text(const InfoReport& report) {
    const gguf::File& file = report.file;
    std::string text = fmt::format("{}: GGUF v{}, {}, {}, {}\n\n", file.path(), file.version(),
                                   short_bytes(file.size_bytes()), report.facts.name, report.facts.quant);
    text += metadata_text(file) + "\n";
    if (!file.tensors().empty()) text += tensors_text(file) + "\n" + types_text(report.types) + "\n";
    return text + run_text(report.run);
}

}  // namespace ingot::cli

#include "cli/model_facts.h"

#include <algorithm>
#include <map>

#include "base/quoted.h"
#include "llm/gguf/file_type.h"

namespace ingot::cli {
namespace {

constexpr size_t kMostNameBytes = 64;

std::string quant_name(const gguf::File& file, const std::map<QuantType, uint64_t>& parameters) {
    if (const auto id = file.get_uint("general.file_type")) {
        if (const auto name = gguf::file_type_name(*id)) return std::string(*name);
    }
    const auto most =
        std::ranges::max_element(parameters, {}, [](const auto& entry) { return entry.second; });
    return most == parameters.end() ? "none" : std::string(traits(most->first).name);
}

}  // namespace

ModelFacts model_facts(const gguf::File& file) {
    ModelFacts facts;
    std::map<QuantType, uint64_t> parameters;
    for (const gguf::TensorInfo& tensor : file.tensors()) {
        parameters[tensor.type] += tensor.num_elements();
        facts.parameters += tensor.num_elements();
        facts.weight_bytes += tensor.data.size();
    }
    const auto architecture = file.get_string("general.architecture");
    facts.name = fmt::format("{} {}", printable(architecture.value_or("unknown"), kMostNameBytes),
                             short_count(facts.parameters));
    facts.quant = quant_name(file, parameters);
    return facts;
}

std::string short_count(uint64_t count) {
    constexpr const char* kUnits[] = {"", "K", "M", "B", "T"};
    double value = double(count);
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
    return fmt::format("{:.{}f}{}", value, unit > 0 && value < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string short_bytes(uint64_t bytes) {
    constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = double(bytes);
    size_t unit = 0;
    for (; value >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
    return fmt::format("{:.{}f} {}", value, unit > 0 ? 1 : 0, kUnits[unit]);
}

}  // namespace ingot::cli

#include "cli/model_facts.h"

#include <algorithm>
#include <map>

namespace ingot::cli {
namespace {

// Values of general.file_type (GGUF specification) for mixtures and types that this program reads.
struct FileType {
    uint64_t id;
    std::string_view name;
};
constexpr FileType kFileTypes[] = {
    {0, "F32"},     {1, "F16"},     {2, "Q4_0"},    {3, "Q4_1"},    {7, "Q8_0"},
    {8, "Q5_0"},    {9, "Q5_1"},    {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"},
    {13, "Q3_K_L"}, {14, "Q4_K_S"}, {15, "Q4_K_M"}, {16, "Q5_K_S"}, {17, "Q5_K_M"},
    {18, "Q6_K"},   {21, "Q2_K_S"}, {25, "IQ4_NL"}, {32, "BF16"},   {38, "MXFP4"},
};

std::string quant_name(const gguf::File& file, const std::map<QuantType, uint64_t>& parameters) {
    if (const auto id = file.get_uint("general.file_type")) {
        const auto row = std::ranges::find(kFileTypes, *id, &FileType::id);
        if (row != std::end(kFileTypes)) return std::string(row->name);
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
    facts.name = fmt::format("{} {}", architecture.value_or("unknown"), short_count(facts.parameters));
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

// ingot models: the files of the model folder, which other commands take by name.
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/model_facts.h"
#include "cli/model_path.h"

namespace ingot::cli {
namespace {

Result<void> print_models() {
    INGOT_ASSIGN(const std::string folder, model_folder());
    INGOT_ASSIGN(const std::vector<std::string> names, list_models());
    if (names.empty()) {
        fmt::print(stderr, "no models in {}; `make model` gets the demo model\n", folder);
        return {};
    }
    for (const std::string& name : names) {
        const auto file = gguf::File::open((std::filesystem::path(folder) / name).string());
        if (!file) {
            fmt::print("{}  can't be read: {}\n", name, file.error().describe());
            continue;
        }
        const ModelFacts facts = model_facts(*file);
        fmt::print("{}  {}, {}, {}\n", name, facts.name, facts.quant, short_bytes(file->size_bytes()));
    }
    return {};
}

}  // namespace

Action add_models(CLI::App&) {
    return print_models;
}

}  // namespace ingot::cli

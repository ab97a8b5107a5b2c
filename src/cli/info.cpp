// ingot info MODEL: what is in a file, and what running it takes.
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/info_report.h"
#include "cli/model_path.h"
#include "cli/options.h"

namespace ingot::cli {
namespace {

struct InfoFlags {
    std::string model;
    uint32_t context = 0;
    bool json = false;
};

Result<void> info(const InfoFlags& flags) {
    INGOT_ASSIGN(const std::string path, resolve_model(flags.model));
    INGOT_ASSIGN(const gguf::File file, gguf::File::open(path));
    const InfoReport report = make_info_report(file, flags.context);
    fmt::print("{}", flags.json ? to_json(report) : to_text(report));
    return {};
}

}  // namespace

Action add_info(CLI::App& app) {
    const auto flags = std::make_shared<InfoFlags>();
    app.add_option("MODEL", flags->model, "Path of a GGUF file, or the name of one in the model folder")
        ->required();
    app.add_option("-c,--ctx", flags->context,
                   "Context that memory is counted for; 0: the model's own, at most 4096")
        ->check(whole_number(0, 1 << 24))
        ->option_text("N [0]");
    app.add_flag("--json", flags->json, "Print one JSON object");
    return [flags] { return info(*flags); };
}

}  // namespace ingot::cli

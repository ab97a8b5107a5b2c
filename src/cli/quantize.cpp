// ingot quantize IN OUT TYPE: a model stored again in one type.
#include <cstdio>

#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/model_facts.h"
#include "cli/model_path.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "llm/gguf/quantize_file.h"

namespace ingot::cli {
namespace {

struct QuantizeFlags {
    std::string input;
    std::string output;
    std::string type;
    uint32_t threads = 0;
};

std::string type_names() {
    std::string names;
    for (const QuantTraits& row : all_quant_types())
        names += fmt::format("{}{}", names.empty() ? "" : " ", row.name);
    return names;
}

Result<void> quantize(const QuantizeFlags& flags) {
    INGOT_ASSIGN(const std::string path, resolve_model(flags.input));
    INGOT_ASSIGN(const gguf::File input, gguf::File::open(path));
    ProgressBar bar("quantizing");
    const Interrupt interrupt;
    gguf::QuantizeOptions options;
    options.type = quant_type_from_name(flags.type).value();
    options.threads = flags.threads != 0 ? flags.threads : num_available_cores();
    options.progress = [&](float fraction) {
        bar.update(fraction);
        return !interrupt.requested();
    };
    INGOT_ASSIGN(const gguf::QuantizeReport report, gguf::quantize_file(input, flags.output, options));
    bar.erase();
    for (const std::string& line : report.replacements) fmt::print(stderr, "{}\n", line);
    fmt::print("{}: {} of {} tensors quantized, {} -> {}\n", flags.output, report.num_quantized,
               report.num_tensors, short_bytes(report.source_bytes), short_bytes(report.result_bytes));
    return {};
}

}  // namespace

Action add_quantize(CLI::App& app) {
    const auto flags = std::make_shared<QuantizeFlags>();
    app.add_option("IN", flags->input, "Model in F32, F16 or BF16: a path, or a name in the model folder")
        ->required();
    app.add_option("OUT", flags->output, "File to write")->required();
    app.add_option("TYPE", flags->type, "Type of the matrices: " + type_names())
        ->required()
        ->check([](const std::string& name) {
            if (quant_type_from_name(name)) return std::string();
            return fmt::format("no type {}; there are {}", name, type_names());
        });
    app.add_option("-t,--threads", flags->threads, "Threads; 0: one for each hardware thread")
        ->check(whole_number(0, 1024))
        ->option_text("N [0]");
    return [flags] { return quantize(*flags); };
}

}  // namespace ingot::cli

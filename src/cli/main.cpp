// The program: parses the command line, runs one subcommand, turns its Error into a line on stderr.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/exit_code.h"

namespace {

using ingot::ErrorKind;
using ingot::cli::Action;

struct Command {
    const char* name;
    const char* help;
    ingot::cli::AddCommand add;
};

constexpr Command kCommands[] = {
    {"chat", "Talk with a model, turn by turn", ingot::cli::add_chat},
    {"run", "Continue a prompt as it stands", ingot::cli::add_run},
    {"bench", "Measure prompt and generation speed", ingot::cli::add_bench},
    {"perplexity", "Measure how well a model predicts a text", ingot::cli::add_perplexity},
    {"tokenize", "Turn text into token ids", ingot::cli::add_tokenize},
    {"detokenize", "Turn token ids into text", ingot::cli::add_detokenize},
    {"info", "Show what a model file holds and what running it takes", ingot::cli::add_info},
    {"models", "List the models in the model folder", ingot::cli::add_models},
    {"quantize", "Store a model again in one type", ingot::cli::add_quantize},
    {"metal", "List, check, compile and run Metal kernels", ingot::cli::add_metal},
    {"tile", "Compile tile programs to Metal, and compute what they mean", ingot::cli::add_tile},
    {"devices", "List the devices that can run a model", ingot::cli::add_devices},
};

enum ExitCode { kDone = 0, kFailed = 1, kWrongUsage = 2, kInterrupted = 130 };

// A first argument that is neither a flag nor a command, which CLI11 would call "not expected".
bool is_unknown_command(int argc, char** argv) {
    if (argc < 2 || argv[1][0] == '-') return false;
    return std::ranges::none_of(kCommands,
                                [&](const Command& c) { return std::string_view(argv[1]) == c.name; });
}

int report_unknown_command(const char* name) {
    std::string names;
    for (const Command& command : kCommands)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", command.name);
    fmt::print(stderr, "ingot: unknown command '{}'; there are: {}\n", name, names);
    return kWrongUsage;
}

// Help goes to stdout; a mistake yields one line on stderr and where to find help.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? kDone : kFailed;
    std::string name = "ingot";
    for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands()) {
        name += " " + chosen.front()->get_name();
    }
    fmt::print(stderr, "{}: {}\nRun `{} --help` for its flags.\n", name, error.what(), name);
    return kWrongUsage;
}

int report_failure(const std::string& name, const std::string& message) {
    fmt::print(stderr, "{}: {}\n", name, message);
    return kFailed;
}

// Output that got lost is a failure, whatever it was.
int finish(const std::string& name, int code) {
    const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
    if (code != kDone || !lost) return code;
    return report_failure(name, "can't write to standard output");
}

int run_action(const CLI::App& command, const Action& action) {
    const std::string name = "ingot " + command.get_name();
    try {
        const auto result = action();
        if (result) return finish(name, kDone);
        if (result.error().kind == ErrorKind::kCancelled) return kInterrupted;
        report_failure(name, result.error().describe());
        return ingot::cli::code_of_failure();
    } catch (const std::exception& error) {
        // {fmt} throws where it can't print.
        return std::ferror(stdout) ? finish(name, kDone) : report_failure(name, error.what());
    }
}

int run_program(int argc, char** argv) {
    CLI::App app{"Ingot runs large language models, and Metal kernels, on any machine.", "ingot"};
    app.require_subcommand(0, 1);
    app.get_formatter()->label("TEXT", "");
    app.get_formatter()->label("REQUIRED", "");
    app.set_version_flag("--version", INGOT_VERSION);
    std::vector<std::pair<CLI::App*, Action>> actions;
    for (const Command& command : kCommands) {
        CLI::App* sub = app.add_subcommand(command.name, command.help);
        actions.emplace_back(sub, command.add(*sub));
    }
    if (argc == 1) {
        const std::string help = app.help();
        std::fwrite(help.data(), 1, help.size(), stdout);
        return finish("ingot", kDone);
    }
    if (is_unknown_command(argc, argv)) return report_unknown_command(argv[1]);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return finish("ingot", report_parse_error(app, error));
    }
    for (const auto& [sub, action] : actions) {
        if (sub->parsed()) return run_action(*sub, action);
    }
    fmt::print(stderr, "{}", app.help());
    return kWrongUsage;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run_program(argc, argv);
    } catch (const std::exception& error) {
        return report_failure("ingot", error.what());
    }
}

// What a subcommand is: one file that adds itself to the parser. main.cpp holds the table of all of them.
// Exit codes: 0 done, 1 failed (one line on stderr says why), 2 wrong usage, 130 stopped by Ctrl-C
// (kCancelled).
#pragma once

#include <functional>

#include <CLI/App.hpp>  // main.cpp alone has <CLI/CLI.hpp>: its help and config writers are dear to compile

#include "base/result.h"

namespace ingot::cli {

// Called after parsing if the subcommand was chosen.
using Action = std::function<Result<void>()>;

// Declares the subcommand's flags on `app` and returns what it does.
using AddCommand = Action (*)(CLI::App& app);

Action add_bench(CLI::App& app);
Action add_chat(CLI::App& app);
Action add_detokenize(CLI::App& app);
Action add_devices(CLI::App& app);
Action add_info(CLI::App& app);
Action add_metal(CLI::App& app);
Action add_models(CLI::App& app);
Action add_perplexity(CLI::App& app);
Action add_quantize(CLI::App& app);
Action add_run(CLI::App& app);
Action add_tile(CLI::App& app);
Action add_tokenize(CLI::App& app);

}  // namespace ingot::cli

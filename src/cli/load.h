// Opening what a command line names: the model with its tokenizer, under a progress bar, and text from a
// flag, a file or stdin.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "llm/engine/engine.h"
#include "llm/text/tokenizer.h"

namespace ingot::cli {

struct LoadedModel {
    std::unique_ptr<Engine> engine;
    Tokenizer tokenizer;
};

// Runs on token ids alone, so the file needs no vocabulary.
Result<std::unique_ptr<Engine>> load_engine(const ModelFlags& flags);
Result<LoadedModel> load_model(const ModelFlags& flags);

// What --profile asked for, on stderr.
void print_profile(const Engine& engine);

// What an Error of a session file comes to: a message on stderr and a fresh start, or just the latter if
// there is no such file. Whether it may be written over: one that is no session, or somebody else's, stays as
// it is. An Error if the file can't be read.
Result<bool> start_afresh(std::string_view command, const Error& error);

// The file, or stdin for "-". Trailing newlines are kept.
Result<std::string> read_text(const std::string& path);

}  // namespace ingot::cli

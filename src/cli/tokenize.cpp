// ingot tokenize: text to token ids, with any GGUF file that holds a vocabulary.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/quoted.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/model_path.h"
#include "llm/gguf/gguf.h"
#include "llm/text/tokenizer.h"

namespace ingot::cli {
namespace {

struct TokenizeFlags {
    std::string model;
    std::string text;
    std::string file;
    std::string separator;
    bool json = false;
    bool pieces = false;
    bool no_special = false;
};

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> parts;
    if (separator.empty()) return {text};
    size_t begin = 0;
    for (size_t end; (end = text.find(separator, begin)) != std::string_view::npos;
         begin = end + separator.size()) {
        parts.push_back(text.substr(begin, end - begin));
    }
    parts.push_back(text.substr(begin));
    return parts;
}

void print_ids(const std::vector<TokenId>& ids, bool json) {
    if (json) {
        fmt::print("[{}]\n", fmt::join(ids, ","));
    } else {
        fmt::print("{}\n", fmt::join(ids, " "));
    }
}

constexpr size_t kWholePiece = std::string_view::npos;

void print_pieces(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    for (const TokenId id : ids)
        fmt::print("{:>7}  '{}'\n", id, printable(tokenizer.piece(id, true), kWholePiece));
}

Result<void> tokenize(const TokenizeFlags& options, bool has_text) {
    INGOT_ASSIGN(const std::string path, resolve_model(options.model));
    INGOT_ASSIGN(const gguf::File file, gguf::File::open(path));
    INGOT_ASSIGN(const Tokenizer tokenizer, Tokenizer::from_gguf(file));
    std::string text = options.text;
    if (!has_text) {
        INGOT_ASSIGN(text, read_text(options.file.empty() ? "-" : options.file));
    }
    const EncodeOptions encode{.add_special = !options.no_special, .parse_special = !options.no_special};
    for (const std::string_view part : split_at(text, options.separator)) {
        INGOT_ASSIGN(const std::vector<TokenId> ids, tokenizer.encode(part, encode));
        if (options.pieces) {
            print_pieces(tokenizer, ids);
        } else {
            print_ids(ids, options.json);
        }
    }
    return {};
}

}  // namespace

Action add_tokenize(CLI::App& app) {
    auto options = std::make_shared<TokenizeFlags>();
    app.add_option("MODEL", options->model, "A GGUF file, or the name of one in the model folder")
        ->required();
    auto* text = app.add_option("TEXT", options->text, "The text to tokenize; without it, -f or stdin");
    app.add_option("-f,--file", options->file, "Read the text from this file; - is stdin")
        ->option_text("FILE")
        ->excludes(text);
    auto* json = app.add_flag("--json", options->json, "Print the ids as one JSON array");
    app.add_flag("--pieces", options->pieces, "Print one token a line: its id and its text")->excludes(json);
    app.add_flag("--no-special", options->no_special,
                 "Add no BOS or EOS, and take names of special tokens in the text as plain text");
    app.add_option("--separator", options->separator,
                   "Cut the text at each occurrence and tokenize the parts one by one, a line each")
        ->check([](const std::string& separator) { return separator.empty() ? "is empty" : ""; })
        ->option_text("TEXT");
    return [options, text] { return tokenize(*options, text->count() > 0); };
}

}  // namespace ingot::cli

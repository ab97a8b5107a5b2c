// ingot detokenize: token ids to text, with any GGUF file that holds a vocabulary.
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/model_path.h"
#include "llm/gguf/gguf.h"
#include "llm/text/tokenizer.h"

namespace ingot::cli {
namespace {

struct DetokenizeFlags {
    std::string model;
    std::vector<std::string> ids;
    bool special = false;
};

// Ids from arguments such as "1 2 3", "1,2,3" and "[1, 2, 3]".
Result<std::vector<TokenId>> parse_ids(const std::vector<std::string>& arguments, uint32_t vocab_size) {
    constexpr std::string_view kSeparators = " ,[]\t\r\n";
    std::vector<TokenId> ids;
    for (const std::string_view argument : arguments) {
        for (size_t begin = 0;
             (begin = argument.find_first_not_of(kSeparators, begin)) != std::string_view::npos;) {
            const size_t end = std::min(argument.find_first_of(kSeparators, begin), argument.size());
            const std::string_view word = argument.substr(begin, end - begin);
            TokenId id = 0;
            const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), id);
            if (error != std::errc() || last != word.data() + word.size() || id < 0 ||
                static_cast<uint32_t>(id) >= vocab_size) {
                return fail(ErrorKind::kInvalidArgument, "'{}' is no token id; 0 to {} are", word,
                            vocab_size - 1);
            }
            ids.push_back(id);
            begin = end;
        }
    }
    return ids;
}

Result<void> detokenize(const DetokenizeFlags& options) {
    INGOT_ASSIGN(const std::string path, resolve_model(options.model));
    INGOT_ASSIGN(const gguf::File file, gguf::File::open(path));
    INGOT_ASSIGN(const Tokenizer tokenizer, Tokenizer::from_gguf(file));
    INGOT_ASSIGN(const std::vector<TokenId> ids, parse_ids(options.ids, tokenizer.vocab_size()));
    const std::string text = tokenizer.decode(ids, options.special);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fputc('\n', stdout);
    return {};
}

}  // namespace

Action add_detokenize(CLI::App& app) {
    auto options = std::make_shared<DetokenizeFlags>();
    app.add_option("MODEL", options->model, "A GGUF file, or the name of one in the model folder")
        ->required();
    app.add_option("IDS", options->ids, "Token ids, separated by spaces or commas, or a JSON array")
        ->required();
    app.add_flag("--special", options->special, "Show special tokens by name");
    return [options] { return detokenize(*options); };
}

}  // namespace ingot::cli

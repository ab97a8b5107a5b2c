// `ingot perplexity`: how well a model predicts a text file; the figure alone goes to stdout.
#include "llm/engine/perplexity.h"

#include "cli/command.h"
#include "cli/load.h"
#include "cli/progress.h"

namespace ingot::cli {
namespace {

constexpr uint32_t kDefaultChunk = 512;

struct PerplexityFlags {
    ModelFlags model;
    std::string file;
};

Result<void> print_perplexity(PerplexityFlags flags) {
    if (flags.model.engine.context == 0) flags.model.engine.context = kDefaultChunk;
    INGOT_ASSIGN(const std::string text, read_text(flags.file));
    INGOT_ASSIGN(const LoadedModel model, load_model(flags.model));
    auto tokens = model.tokenizer.encode(text);
    if (!tokens) return Failure(with_context(tokens.error(), flags.file));

    ProgressBar bar("scoring");
    PerplexityOptions options;
    options.context = flags.model.engine.context;
    options.bos = model.tokenizer.adds_bos() ? model.tokenizer.bos() : -1;
    options.progress = [&bar](size_t done, size_t all, double so_far) {
        bar.update(double(done) / double(all),
                   fmt::format("chunk {}/{}, perplexity {:.4f}", done, all, so_far));
        return true;
    };
    INGOT_ASSIGN(const Perplexity result, perplexity(*model.engine, *tokens, options));
    bar.erase();
    fmt::print("perplexity: {:.4f} ± {:.4f} ({} chunks of {} tokens, {} scored)\n", result.value,
               result.deviation, result.chunks, options.context, result.scored_tokens);
    print_profile(*model.engine);
    return {};
}

}  // namespace

Action add_perplexity(CLI::App& app) {
    auto flags = std::make_shared<PerplexityFlags>();
    add_model_flags(app, flags->model, true);
    app.get_option("--ctx")->description("Tokens in a chunk, of which the second half is scored; 0: 512");
    app.add_option("-f,--file", flags->file, "The text; - is stdin")->option_text("FILE")->required();
    return [flags] { return print_perplexity(*flags); };
}

}  // namespace ingot::cli

// `ingot run`: completes a prompt as it stands, without a chat template, and streams the text to stdout.
#include <cstdio>

#include <unistd.h>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/stream.h"

namespace ingot::cli {
namespace {

struct RunFlags {
    ModelFlags model;
    SamplingFlags sampling;
    std::optional<std::string> prompt, file, session;
    uint32_t max_tokens = 0;
    bool shift = false;
    uint32_t keep = 1;
    bool quiet = false;
};

Result<std::string> prompt_text(const RunFlags& flags) {
    if (flags.prompt) return *flags.prompt;
    if (!flags.file && isatty(STDIN_FILENO)) fmt::print(stderr, "Type the prompt, then Ctrl-D:\n");
    INGOT_ASSIGN(std::string text, read_text(flags.file.value_or("-")));
    // Editors and echo end a text with a newline that its author doesn't mean.
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

std::string tokens(size_t count) {
    return fmt::format("{} token{}", count, count == 1 ? "" : "s");
}

// "prompt: 5 tokens, 120.3 tokens/s; generated: ..."; the rate is left out where nothing was measured.
std::string summary(const Generation& generation, const SamplerOptions& sampler) {
    std::string text =
        fmt::format("prompt: {}, {:.1f} tokens/s; generated: {}", tokens(generation.prompt_tokens),
                    generation.prompt_rate(), tokens(generation.tokens.size()));
    if (generation.decode_steps > 0) text += fmt::format(", {:.1f} tokens/s", generation.decode_rate());
    if (!sampler.greedy && sampler.temperature > 0) text += fmt::format("; seed {}", sampler.seed);
    if (generation.finish == FinishReason::kContextFull)
        text += "; the context is full (--ctx, --context-shift)";
    uint64_t forgotten = 0;
    for (const auto& [begin, end] : generation.forgotten) forgotten += end - begin;
    if (forgotten > 0) text += fmt::format("; forgotten: {}", tokens(forgotten));
    if (generation.finish == FinishReason::kCancelled) text += "; stopped by Ctrl-C";
    return text;
}

// What a session file gave: how many tokens of the prompt, which the engine and the sampler then have, and
// whether the file may be written over.
struct Resumed {
    uint32_t tokens = 0;
    bool is_ours = true;
};

Result<Resumed> resume(Engine& engine, Sampler& sampler, const std::string& path,
                       std::span<const TokenId> prompt) {
    // The last one is run in any case: its logits choose what follows.
    const auto held = engine.load_session(path, prompt.first(prompt.empty() ? 0 : prompt.size() - 1));
    if (!held) {
        INGOT_ASSIGN(const bool is_ours, start_afresh("run", held.error()));
        return Resumed{.is_ours = is_ours};
    }
    for (const TokenId token : prompt.first(*held)) sampler.accept(token);
    return Resumed{.tokens = *held};
}

Result<void> save(Engine& engine, const std::string& path, std::vector<TokenId> tokens,
                  const Generation& generation) {
    tokens.insert(tokens.end(), generation.tokens.begin(), generation.tokens.end());
    for (const auto& [begin, end] : generation.forgotten)
        tokens.erase(tokens.begin() + begin, tokens.begin() + end);
    tokens.resize(engine.num_tokens());  // the last one may not have been run
    return engine.save_session(path, tokens, {});
}

Result<void> complete(const RunFlags& flags) {
    INGOT_ASSIGN(const SamplerOptions sampler_options, flags.sampling.options());
    INGOT_ASSIGN(const std::string text, prompt_text(flags));
    // What can't be written is said before the work is done, not after it.
    if (flags.session) INGOT_TRY(OutputFile::create(*flags.session));
    INGOT_ASSIGN(const LoadedModel model, load_model(flags.model));
    INGOT_ASSIGN(const auto prompt, model.tokenizer.encode(text));

    Sampler sampler(sampler_options);
    const Interrupt interrupt;
    GenerateOptions options = stream_to_stdout(flags.max_tokens, flags.sampling, interrupt);
    if (flags.shift) options.shift_keep = flags.keep;
    Resumed held;
    if (flags.session) {
        INGOT_ASSIGN(held, resume(*model.engine, sampler, *flags.session, prompt));
    }
    auto generated =
        generate(*model.engine, model.tokenizer, sampler, std::span(prompt).subspan(held.tokens), options);
    if (!generated && generated.error().kind == ErrorKind::kLimit)
        generated.error().message += "; --ctx makes it larger";
    INGOT_ASSIGN(const Generation generation, std::move(generated));
    if (!generation.text.ends_with('\n')) std::fputc('\n', stdout);
    if (std::fflush(stdout) != 0) return fail(ErrorKind::kIo, "can't write the answer to standard output");
    if (!flags.quiet) {
        if (held.tokens > 0) fmt::print(stderr, "session: {} of the prompt; ", tokens(held.tokens));
        fmt::print(stderr, "{}\n", summary(generation, sampler_options));
    }
    print_profile(*model.engine);
    if (flags.session && held.is_ours) INGOT_TRY(save(*model.engine, *flags.session, prompt, generation));
    if (generation.finish == FinishReason::kCancelled)
        return fail(ErrorKind::kCancelled, "stopped by Ctrl-C");
    return {};
}

}  // namespace

Action add_run(CLI::App& app) {
    auto flags = std::make_shared<RunFlags>();
    add_model_flags(app, flags->model, false);
    auto* prompt = app.add_option("-p,--prompt", flags->prompt, "The text to continue")->option_text("TEXT");
    app.add_option("-f,--file", flags->file,
                   "Read the prompt from a file, less its last newline; - or neither flag: from stdin")
        ->option_text("FILE")
        ->excludes(prompt);
    app.add_option("--session", flags->session,
                   "Go on from what this file holds of the prompt, and keep there what was run")
        ->option_text("FILE");
    app.add_option("-n,--max-tokens", flags->max_tokens,
                   "Generate at most N tokens; 0: until the model ends or the context is full")
        ->check(whole_number(0, 1 << 30))
        ->option_text("N [0]");
    auto* shift = app.add_flag("--context-shift", flags->shift,
                               "When the context is full, forget the older half of it and go on");
    app.add_option("--keep", flags->keep, "First tokens that --context-shift never forgets")
        ->check(whole_number(0, 1 << 30))
        ->option_text("N [1]")
        ->needs(shift);
    app.add_flag("-q,--quiet", flags->quiet, "No closing line with the rates on stderr");
    add_sampling_flags(app, flags->sampling);
    return [flags] { return complete(*flags); };
}

}  // namespace ingot::cli

#include "cli/load.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/mapped_file.h"
#include "cli/model_path.h"
#include "cli/progress.h"

namespace ingot::cli {

Result<std::unique_ptr<Engine>> load_engine(const ModelFlags& flags) {
    INGOT_ASSIGN(const std::string path, resolve_model(flags.model));
    EngineOptions options = flags.engine;
    ProgressBar bar("loading");
    options.progress = [&bar](float fraction) {
        bar.update(fraction);
        return true;
    };
    return Engine::load(path, std::move(options));
}

Result<LoadedModel> load_model(const ModelFlags& flags) {
    INGOT_ASSIGN(auto engine, load_engine(flags));
    INGOT_ASSIGN(auto tokenizer, Tokenizer::from_gguf(engine->file()));
    engine->file().release_metadata();
    return LoadedModel{std::move(engine), std::move(tokenizer)};
}

void print_profile(const Engine& engine) {
    fmt::print(stderr, "{}", engine.stats().profile);
}

Result<bool> start_afresh(std::string_view command, const Error& error) {
    if (error.kind == ErrorKind::kNotFound) return true;
    if (error.kind == ErrorKind::kIo) return Failure(error);
    const bool is_ours = error.kind == ErrorKind::kCorrupt;
    fmt::print(stderr, "ingot {}: {}; starting afresh{}\n", command, error.describe(),
               is_ours ? "" : ", and nothing will be saved: remove it or name another file");
    return is_ours;
}

Result<std::string> read_text(const std::string& path) {
    if (path != "-") return read_text_file(path);
    std::string text;
    char block[1 << 16];
    while (const size_t count = std::fread(block, 1, sizeof block, stdin)) text.append(block, count);
    if (std::ferror(stdin))
        return fail(ErrorKind::kIo, "can't read standard input: {}", std::strerror(errno));
    return text;
}

}  // namespace ingot::cli

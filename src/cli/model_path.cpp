#include "cli/model_path.h"

#include <algorithm>
#include <filesystem>

#include "base/disk_cache.h"
#include "llm/gguf/split.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

}  // namespace

Result<std::string> model_folder() {
    return user_cache_folder("models");
}

Result<std::string> resolve_model(const std::string& model) {
    if (!model.empty() && is_there(model)) return model;
    const bool plain_name = model.find('/') == std::string::npos;
    if (!plain_name) return fail(ErrorKind::kNotFound, "{}: no such file", model);
    const auto where = model_folder();
    if (!where) {
        return fail(ErrorKind::kNotFound, "{}; {}",
                    model.empty() ? "no MODEL given" : model + ": no such file here", where.error().message);
    }
    const fs::path folder = *where;
    if (model.empty()) {
        const fs::path demo = folder / kDemoModel;
        if (is_there(demo)) return demo.string();
        return fail(ErrorKind::kNotFound,
                    "no MODEL given, and the demo model {} isn't there; run `make model` to get it",
                    demo.string());
    }
    if (is_there(folder / model)) return (folder / model).string();
    return fail(ErrorKind::kNotFound, "{}: no such file here or in {}; `ingot models` lists what is there",
                model, folder.string());
}

Result<std::vector<std::string>> list_models() {
    INGOT_ASSIGN(const fs::path folder, model_folder());
    std::vector<std::string> names;
    if (!is_there(folder)) return names;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        const auto split = gguf::parse_split_name(name);
        if (entry->path().extension() == ".gguf" && (!split || split->number == 1)) names.push_back(name);
    }
    if (error) return fail(ErrorKind::kIo, "{}: can't list: {}", folder.string(), error.message());
    std::ranges::sort(names);
    return names;
}

}  // namespace ingot::cli

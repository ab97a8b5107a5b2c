#include "metal_conformance/corpora.h"

#include <cstdlib>
#include <optional>

#include "metal/air/library_file.h"
#include "metal/msl/source_library.h"
#include "metal_conformance/checked.h"
#include "metal_conformance/ggml_support.h"

namespace ingot::metal::conformance {
namespace {

class LibraryCorpus : public Corpus {
  public:
    LibraryCorpus(std::string name, std::string path) : name_(std::move(name)), path_(std::move(path)) {}

    std::string_view name() const override { return name_; }

    bool has(const std::string& kernel) const override {
        const auto& library = opened();
        return library && library->find(kernel) != nullptr;
    }

    Result<std::shared_ptr<const Kernel>> kernel(const std::string& kernel,
                                                 const ConstantMap& constants) override {
        const auto& library = opened();
        if (!library) return Failure(library.error());
        INGOT_ASSIGN(const LibraryFunction* function, library->require(kernel));
        INGOT_ASSIGN(Compiler * compiler, metal::compiler());
        CompileOptions options = options_of_runs();
        options.constants.by_index = constants;
        return compiler->compile(function->bitcode, kernel, options);
    }

  private:
    const Result<LibraryFile>& opened() const {
        if (!library_) library_ = LibraryFile::open(path_);
        return *library_;
    }

    std::string name_, path_;
    mutable std::optional<Result<LibraryFile>> library_;
};

class GgmlCorpus : public Corpus {
  public:
    std::string_view name() const override { return "ggml"; }
    bool has(const std::string& kernel) const override { return kernel.find('/') != std::string::npos; }

    Result<std::shared_ptr<const Kernel>> kernel(const std::string& kernel,
                                                 const ConstantMap& constants) override {
        const size_t slash = kernel.find('/');
        const std::string file = kernel.substr(0, slash), name = kernel.substr(slash + 1);
        auto found = libraries_.find(file);
        if (found == libraries_.end()) {
            found = libraries_
                        .emplace(file, msl::SourceLibrary::open_file(
                                           ggml_folder() + "/kernels/" + file + ".metal", options()))
                        .first;
        }
        if (!found->second) return Failure(found->second.error());
        INGOT_ASSIGN(const std::vector<std::byte> module, found->second->compile(name));
        INGOT_ASSIGN(Compiler * compiler, metal::compiler());
        CompileOptions compile_options = options_of_runs();
        compile_options.constants.by_index = constants;
        return compiler->compile(module, name, compile_options);
    }

  private:
    static msl::SourceOptions options() {
        const std::string folder = ggml_folder();
        msl::SourceOptions options;
        options.include_folders = {folder + "/kernels", folder, folder + "/.."};
        options.macros = {"GGML_METAL_HAS_BF16=1"};
        return options;
    }

    std::map<std::string, Result<msl::SourceLibrary>> libraries_;
};

}  // namespace

std::unique_ptr<Corpus> ggml_corpus() {
    return std::make_unique<GgmlCorpus>();
}

std::string cache_folder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    return (cache && *cache ? cache : std::string(home ? home : "") + "/.cache") + "/ingot/";
}

std::unique_ptr<Corpus> library_corpus(std::string name, const std::string& path) {
    return std::make_unique<LibraryCorpus>(std::move(name), cache_folder() + path);
}

}  // namespace ingot::metal::conformance

#include "metal_conformance/corpora.h"

#include <cstdlib>
#include <optional>

#include "metal/air/library_file.h"

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
        CompileOptions options;
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

}  // namespace

std::string cache_folder() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    return (cache && *cache ? cache : std::string(home ? home : "") + "/.cache") + "/ingot/";
}

std::unique_ptr<Corpus> library_corpus(std::string name, const std::string& path) {
    return std::make_unique<LibraryCorpus>(std::move(name), cache_folder() + path);
}

}  // namespace ingot::metal::conformance

// clang-19 as a child process: finds it, runs its preprocessor and its front end on a text, within limits and
// without access to files outside the include path (a file system overlay redirects every path the compiler
// opens; what isn't in it doesn't exist). Knows the flags; knows nothing of Metal's language.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "metal/msl/child_process.h"

namespace ingot::metal::msl {

class Clang {
  public:
    // Error kUnsupported, saying what to install.
    static Result<Clang> find();

    struct Preprocessing {
        std::string file;                  // names the text in diagnostics
        std::string folder;                // where its own quoted includes are looked for; may be empty
        std::vector<std::string> folders;  // -I
        std::vector<std::string> macros;   // -D, "NAME" or "NAME=VALUE"
        std::string header_folder;         // install_headers()
    };
    // Errors: kCorrupt with the diagnostics as message, kLimit.
    Result<std::string> preprocess(std::string_view text, const Preprocessing& options,
                                   const ChildLimits& limits) const;
    struct Compilation {
        std::string file;           // names the text where the compiler has no line of it
        std::string header_folder;  // install_headers()
        bool fast_math = true;      // defines __FAST_MATH__ for the library's headers
        bool check_only = false;    // no output
    };
    // Bitcode, not optimised. The library's headers are precompiled once, next to themselves. Errors as
    // preprocess().
    Result<std::string> compile(std::string_view text, const Compilation& options,
                                const ChildLimits& limits) const;

    const std::string& path() const { return path_; }

  private:
    explicit Clang(std::string path) : path_(std::move(path)) {}
    Result<std::string> run(std::vector<std::string> arguments, std::string_view file, std::string_view input,
                            const std::vector<std::string>& visible_folders, const ChildLimits& limits) const;
    // The precompiled header's path; empty if there is no place to keep one.
    Result<std::string> precompile(const std::vector<std::string>& arguments, const Compilation& options,
                                   const ChildLimits& limits) const;

    std::string path_;
};

}  // namespace ingot::metal::msl

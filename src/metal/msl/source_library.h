// Metal source as a library of kernels: what `newLibrary(source)` and `ingot metal run FILE.metal` stand on.
// Opening preprocesses and rewrites (fractions of a second); each kernel is compiled when it is asked for,
// alone: whole libraries take minutes and hold templates that no host uses. The result of compiling is an AIR
// module such as compiled libraries hold; from there both doors are one. Compiled modules are kept on disk.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "metal/msl/clang.h"

namespace ingot::metal::msl {

struct SourceOptions {
    std::string file = "program_source";       // names the source in diagnostics
    std::string folder;                        // where its own quoted includes are looked for; may be empty
    std::vector<std::string> include_folders;  // nothing outside of these and `folder` can be included
    std::vector<std::string> macros;           // "NAME" or "NAME=VALUE"
    std::string standard = "metal3.2";
    bool fast_math = true;      // __FAST_MATH__: functions that aren't named precise:: or fast:: are fast
    bool strict = false;        // check address spaces as Apple's compiler does
    bool watch_locals = false;  // keep apart what variables hold before they have a value, for checkers
    ChildLimits limits;
};

class Program;

class SourceLibrary {
  public:
    // Errors: kCorrupt with the compiler's diagnostics at lines of the source, kUnsupported, kLimit.
    static Result<SourceLibrary> open(std::string_view text, const SourceOptions& options);
    static Result<SourceLibrary> open_file(const std::string& path, SourceOptions options);

    // Kernels and instantiated templates, in the order of the source, by their [[host_name]].
    std::vector<std::string> kernel_names() const;
    // AIR major and minor, language major and minor.
    std::array<uint16_t, 4> versions() const;
    // Type-checks the source; what only an instantiation would show isn't seen.
    Result<void> check() const;
    // An AIR module as bitcode. Errors: as open(), and kNotFound naming close matches.
    Result<std::vector<std::byte>> compile(std::string_view kernel) const;
    // What a kernel's visible_function_table refers to: a record of [[visible]] functions of this source, to
    // be bound as a buffer; an empty name is an empty place. Errors: kNotFound.
    Result<std::vector<std::byte>> function_table(std::span<const std::string_view> names) const;
    // The C++ that is compiled for a kernel.
    Result<std::string> rewritten(std::string_view kernel) const;

  private:
    Clang::Compilation compilation(bool check_only) const;
    Result<void> check_spaces(std::string_view kernel) const;

    SourceOptions options_;
    std::shared_ptr<const Program> program_;
    std::shared_ptr<const Program> strict_program_;  // the same with notes; null unless strict
    std::string header_folder_;
};

}  // namespace ingot::metal::msl

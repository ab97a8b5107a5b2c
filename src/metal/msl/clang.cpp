#include "metal/msl/clang.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/disk_cache.h"
#include "base/output_file.h"

namespace ingot::metal::msl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"clang-19", "clang++-19"};
constexpr const char* kElsewhere[] = {"/usr/lib/llvm-19/bin/clang", "/opt/homebrew/opt/llvm@19/bin/clang",
                                      "/usr/local/opt/llvm@19/bin/clang"};

// What both runs share. The target passes every scalar and vector to functions as LLVM's type of that name,
// which is what AIR's functions take; no code is generated for it.
const std::vector<std::string> kCommon = {"--target=nvptx64-nvidia-cuda",
                                          "--no-default-config",
                                          "-std=c++20",
                                          "-nostdinc",
                                          "-nocudainc",
                                          "-nocudalib",
                                          "-fno-color-diagnostics",
                                          "-fno-crash-diagnostics",
                                          "-fno-caret-diagnostics",
                                          "-fno-show-column",
                                          "-fno-diagnostics-show-option",
                                          "-fdiagnostics-absolute-paths",
                                          "-ferror-limit=20",
                                          "-ivfsoverlay",
                                          "/dev/fd/3"};

// Only these folders exist for the child.
std::string overlay(const std::vector<std::string>& folders) {
    nlohmann::json roots = nlohmann::json::array();
    for (const std::string& folder : folders) {
        roots.push_back({{"type", "directory-remap"}, {"name", folder}, {"external-contents", folder}});
    }
    return nlohmann::json{
        {"version", 0}, {"case-sensitive", "true"}, {"redirecting-with", "redirect-only"}, {"roots", roots}}
        .dump();
}

bool lies_in(const std::string& file, const std::vector<std::string>& folders) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    if (error) return true;  // no file: nothing was read
    for (const std::string& folder : folders) {
        const fs::path root = fs::canonical(folder, error);
        if (!error && std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end())
            return true;
    }
    return false;
}

// The files that line markers ("# 1 \"/a.h\" 1") or diagnostics ("/a.h:1: ") name.
std::set<std::string> files_named(std::string_view text) {
    constexpr std::string_view kIncluded = "In file included from ";
    std::set<std::string> files;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.starts_with("# ")) {
            const size_t quote = line.find('"');
            if (quote != std::string_view::npos)
                files.emplace(line.substr(quote + 1, line.rfind('"') - quote - 1));
            continue;
        }
        if (line.starts_with(kIncluded)) line.remove_prefix(kIncluded.size());
        if (line.starts_with('/')) files.emplace(line.substr(0, line.find(':')));
    }
    return files;
}

// The overlay hides what lies elsewhere, but not where links lead.
Result<void> refuse_links(const std::string& text, const std::vector<std::string>& folders) {
    for (const std::string& file : files_named(text)) {
        if (!file.starts_with('/') || lies_in(file, folders)) continue;
        return fail(ErrorKind::kCorrupt, "'{}' is a link that leads outside of the include path", file);
    }
    return {};
}

// Diagnostics without where our headers lie, by which way they were read, and what macros they consist of.
std::string without_headers(std::string_view errors, const std::string& header_folder) {
    constexpr std::string_view kIncluded = "In file included from ";
    std::string text;
    while (!errors.empty()) {
        const size_t end = std::min(errors.find('\n'), errors.size());
        std::string line(errors.substr(0, end));
        errors.remove_prefix(std::min(end + 1, errors.size()));
        const bool is_inclusion = line.starts_with(kIncluded);
        const size_t ours = line.find(header_folder + "/");
        const bool is_ours = ours != std::string::npos || line.find("<stdin>") != std::string::npos ||
                             line.starts_with("<scratch space>");
        if (is_ours && (is_inclusion || line.find(": note: expanded from ") != std::string::npos)) continue;
        if (ours != std::string::npos) line.erase(ours, header_folder.size() + 1);
        text += (text.empty() ? "" : "\n") + line;
    }
    return text;
}

// What is worth telling of a compiler's last words: the first error of the source, if it came to one.
std::string crash_message(std::string_view errors, std::string_view file) {
    const std::string_view before = errors.substr(0, errors.find("PLEASE submit a bug report"));
    const size_t error = before.find(": error: ");
    if (error == std::string_view::npos)
        return fmt::format("{}: error: the compiler crashed on this source", file);
    const size_t begin = before.rfind('\n', error) + 1;  // npos + 1 is the text's beginning
    return std::string(before.substr(begin, before.find('\n', error) - begin));
}

std::string absolute(const std::string& folder) {
    std::error_code error;
    const fs::path path = fs::absolute(folder.empty() ? "." : folder, error).lexically_normal();
    return error ? folder : path.string();
}

}  // namespace

Result<Clang> Clang::find() {
    if (const char* chosen = std::getenv("INGOT_CLANG"); chosen != nullptr && *chosen != '\0') {
        return Clang(chosen);
    }
    const char* path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
        const size_t colon = std::min(rest.find(':'), rest.size());
        for (const char* name : kNames) {
            const std::string candidate = fmt::format("{}/{}", rest.substr(0, colon), name);
            if (colon != 0 && ::access(candidate.c_str(), X_OK) == 0) return Clang(candidate);
        }
        rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    for (const char* candidate : kElsewhere) {
        if (::access(candidate, X_OK) == 0) return Clang(candidate);
    }
    return fail(ErrorKind::kUnsupported,
                "compiling Metal source needs clang-19, which isn't in PATH: install the package clang-19 "
                "(`make packages-metal`), or name the program in INGOT_CLANG");
}

Result<std::string> Clang::run(std::vector<std::string> arguments, std::string_view file,
                               std::string_view input, const std::vector<std::string>& visible_folders,
                               const ChildLimits& limits) const {
    arguments.insert(arguments.begin(), kCommon.begin(), kCommon.end());
    arguments.insert(arguments.begin(), path_);
    arguments.insert(arguments.end(), {"-o", "-", "-"});
    INGOT_ASSIGN(ChildResult result, run_child(arguments, input, overlay(visible_folders), limits));
    if (result.timed_out) {
        return fail(ErrorKind::kLimit,
                    "the compiler was stopped after {} s; raise the limit, or simplify "
                    "the source",
                    limits.seconds);
    }
    if (result.signal != 0 || result.errors.find("LLVM ERROR: out of memory") != std::string::npos) {
        return fail(ErrorKind::kLimit, "the compiler ended by signal {} ({} MiB of memory allowed)",
                    result.signal, limits.memory_bytes >> 20);
    }
    if (result.exit_code != 0 && result.errors.find("PLEASE submit a bug report") != std::string::npos)
        return Failure(Error{ErrorKind::kCorrupt, crash_message(result.errors, file), {}});
    while (!result.errors.empty() && result.errors.back() == '\n') result.errors.pop_back();
    if (result.exit_code != 0) return Failure(Error{ErrorKind::kCorrupt, std::move(result.errors), {}});
    return std::move(result.output);
}

Result<std::string> Clang::preprocess(std::string_view text, const Preprocessing& options,
                                      const ChildLimits& limits) const {
    const std::string stub = options.header_folder + "/stub";
    std::vector<std::string> arguments{"-x", "c++", "-E", "-undef", "-Wno-unused-command-line-argument"},
        folders{stub};
    if (!options.folder.empty()) {
        folders.push_back(absolute(options.folder));
        arguments.insert(arguments.end(), {"-iquote", folders.back()});
    }
    for (const std::string& folder : options.folders) {
        folders.push_back(absolute(folder));
        arguments.insert(arguments.end(), {"-I", folders.back()});
    }
    arguments.insert(arguments.end(), {"-I", stub});
    for (const std::string& macro : options.macros) arguments.push_back("-D" + macro);
    // Metal has no #embed.
    arguments.emplace_back("-Werror=c23-extensions");
    std::string named = fmt::format("# 1 \"{}\"\n", options.file);
    named += text;
    named += '\n';
    auto text_or_error = run(std::move(arguments), options.file, named, folders, limits);
    INGOT_TRY(refuse_links(text_or_error ? *text_or_error : text_or_error.error().message, folders));
    return text_or_error;
}

Result<std::string> Clang::precompile(const std::vector<std::string>& arguments, const Compilation& options,
                                      const ChildLimits& limits) const {
    std::error_code error;
    CacheKey key;
    key.add(path_).add(uint64_t(fs::file_size(path_, error)));
    key.add(uint64_t(fs::last_write_time(path_, error).time_since_epoch().count()));
    for (const std::string& argument : arguments) key.add(argument);
    const std::string path = fmt::format("{}/{}.pch", options.header_folder, key.finish().substr(0, 16));
    if (fs::exists(path, error)) return path;
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"-x", "c++-header"});
    INGOT_ASSIGN(const std::string header,
                 run(std::move(all), "precompiled.h", "#include <ingot_msl/precompiled.h>\n",
                     {options.header_folder}, limits));
    // Under a name of its own until all of it is written: others may be at the same.
    static std::atomic<unsigned> count{0};
    const std::string partial = fmt::format("{}.{}-{}", path, ::getpid(), count++);
    auto file = OutputFile::create(partial);
    if (!file || !file->write(std::as_bytes(std::span(header))) || !file->commit()) return std::string();
    fs::rename(partial, path, error);
    return error ? std::string() : path;
}

Result<std::string> Clang::compile(std::string_view text, const Compilation& options,
                                   const ChildLimits& limits) const {
    std::vector<std::string> arguments{
        "-Wno-everything",
        // Of constants: clang folds a shift that has no value to some value.
        "-Werror=shift-count-overflow", "-Werror=shift-count-negative", "-Werror=division-by-zero", "-I",
        options.header_folder, "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
        "-fno-strict-aliasing", "-fno-math-errno",
        // Of constants, which clang folds: others are AIR's matter
        // (jit/define_arithmetic.h).
        "-fno-strict-float-cast-overflow", "-ffp-contract=fast", "-Xclang", "-ffloat16-excess-precision=none",
        "-Xclang", "-fbfloat16-excess-precision=none", "-gline-tables-only",
        // Debug lines name files as the caller did.
        "-fdebug-compilation-dir=/",
        // The AIR form optimises, knowing about address spaces.
        "-O2", "-Xclang", "-disable-llvm-passes"};
    if (options.fast_math) arguments.emplace_back("-D__FAST_MATH__=1");
    INGOT_ASSIGN(const std::string header, precompile(arguments, options, limits));
    if (!header.empty()) arguments.insert(arguments.end(), {"-include-pch", header});
    arguments.insert(arguments.end(), {"-x", "c++"});
    if (options.check_only) {
        arguments.emplace_back("-fsyntax-only");
    } else {
        arguments.insert(arguments.end(), {"-c", "-emit-llvm"});
    }
    auto output = run(std::move(arguments), options.file, text, {options.header_folder}, limits);
    if (!output) output.error().message = without_headers(output.error().message, options.header_folder);
    return output;
}

}  // namespace ingot::metal::msl

// `ingot metal compile`: Metal source to AIR, with diagnostics at the lines of the source.
#include <chrono>

#include "base/output_file.h"
#include "cli/metal_module.h"

namespace ingot::cli {
namespace {

struct MetalCompileFlags {
    std::string file, kernel, emit, output;
    bool all = false, verbose = false;
    SourceFlags source;
};

Result<void> write(const std::string& path, std::span<const std::byte> bytes) {
    if (path.empty() || path == "-") {
        std::fwrite(bytes.data(), 1, bytes.size(), stdout);
        return {};
    }
    return write_file(path, bytes);
}

Result<void> write(const std::string& path, const std::string& text) {
    return write(path, std::as_bytes(std::span(text)));
}

// Compiles every kernel and counts; the first few failures are printed whole.
Result<void> compile_all(const MetalCompileFlags& flags, const metal::msl::SourceLibrary& library) {
    INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
    constexpr size_t kShown = 5;
    size_t done = 0, failed = 0;
    metal::CompileOptions options;
    options.lower_only = true;
    for (const std::string& name : library.kernel_names()) {
        if (!flags.kernel.empty() && !matches_glob(name, flags.kernel)) continue;
        auto module = library.compile(name);
        auto lowered = module ? compiler->compile(*module, name, options)
                              : Result<std::shared_ptr<const metal::Kernel>>(Failure(module.error()));
        if (lowered) {
            ++done;
        } else if (failed++ < kShown) {
            fmt::print(stderr, "{}: {}\n", name, lowered.error().describe());
        }
    }
    fmt::print("{}: {} of {} kernels compiled\n", flags.file, done, done + failed);
    if (failed == 0) return {};
    return fail(ErrorKind::kCorrupt, "{}: {} kernels don't compile", flags.file, failed);
}

// How long each executor's form took, or why there is none.
void print_forms(const metal::Kernel& kernel) {
    const auto& times = kernel.times;
    fmt::print("fibers: {:.0f} ms\n", times.parse_ms + times.optimise_ms + times.generate_ms);
    for (const bool full : {true, false}) {
        const auto begin = std::chrono::steady_clock::now();
        const auto entry = kernel.lanes->entry({.full = full, .linear = true});
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
        if (!entry) {
            fmt::print("vector: refused, {}\n", entry.error().describe());
            return;
        }
        fmt::print("vector, {} simdgroups: {:.0f} ms\n", full ? "full" : "partial", elapsed.count());
    }
}

Result<void> compile_metal(const MetalCompileFlags& flags) {
    INGOT_ASSIGN(const metal::msl::SourceLibrary library, open_source(flags.file, flags.source));
    if (flags.all) return compile_all(flags, library);
    if (flags.kernel.empty() && flags.emit.empty()) {
        INGOT_TRY(library.check());
        for (const std::string& name : library.kernel_names()) fmt::print("{}\n", name);
        return {};
    }
    INGOT_ASSIGN(const KernelModule module, load_kernel(flags.file, flags.kernel, flags.source));
    if (flags.emit == "c++") {
        INGOT_ASSIGN(const std::string text, library.rewritten(module.name));
        return write(flags.output, text);
    }
    if (flags.emit == "air") return write(flags.output, module.bitcode);
    INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
    if (flags.emit == "asm") {
        INGOT_ASSIGN(const std::string text, compiler->assembly(module.bitcode, module.name, {}));
        return write(flags.output, text);
    }
    INGOT_ASSIGN(const std::string ir, compiler->disassemble(module.bitcode, module.name, {}));
    if (flags.emit == "ir") return write(flags.output, ir);
    metal::CompileOptions options;
    options.lower_only = !flags.verbose;
    INGOT_ASSIGN(const auto kernel, compiler->compile(module.bitcode, module.name, options));
    fmt::print("{}: compiled\n", module.name);
    if (flags.verbose) print_forms(*kernel);
    return {};
}

}  // namespace

Action add_metal_compile(CLI::App& app) {
    auto flags = std::make_shared<MetalCompileFlags>();
    app.add_option("file", flags->file, "A .metal file")->required();
    app.add_option("--kernel", flags->kernel,
                   "Compile this kernel; without it the source is checked, and its kernels are listed");
    app.add_flag("--all", flags->all, "Compile every kernel (of those that --kernel's * and ? match)");
    app.add_option("--emit", flags->emit,
                   "Write the kernel as air (bitcode), ir (text), c++ (what clang reads) or asm (this "
                   "machine's code)")
        ->check(CLI::IsMember({"air", "ir", "c++", "asm"}));
    app.add_option("-o", flags->output, "Where to; stdout if left out");
    app.add_flag("-v,--verbose", flags->verbose,
                 "Generate code for both executors: how long it took, and why a kernel can't run on vectors");
    add_source_flags(app, flags->source);
    return [flags] { return compile_metal(*flags); };
}

}  // namespace ingot::cli

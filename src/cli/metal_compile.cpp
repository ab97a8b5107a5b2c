// `ingot metal compile`: Metal source to AIR, with diagnostics at the lines of the source.
#include "base/output_file.h"
#include "cli/metal_module.h"

namespace ingot::cli {
namespace {

struct CompileFlags {
    std::string file, kernel, emit, output;
    bool all = false;
    SourceFlags source;
};

Result<void> write(const std::string& path, std::span<const std::byte> bytes) {
    if (path.empty() || path == "-") {
        std::fwrite(bytes.data(), 1, bytes.size(), stdout);
        return {};
    }
    INGOT_ASSIGN(OutputFile file, OutputFile::create(path));
    INGOT_TRY(file.write(bytes));
    return file.commit();
}

Result<void> write(const std::string& path, const std::string& text) {
    return write(path, std::as_bytes(std::span(text)));
}

// Compiles every kernel and counts; the first few failures are printed whole.
Result<void> compile_all(const CompileFlags& flags, const metal::msl::SourceLibrary& library) {
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

Result<void> compile(const CompileFlags& flags) {
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
    options.lower_only = true;
    INGOT_TRY(compiler->compile(module.bitcode, module.name, options));
    fmt::print("{}: compiled\n", module.name);
    return {};
}

}  // namespace

Action add_metal_compile(CLI::App& app) {
    auto flags = std::make_shared<CompileFlags>();
    app.add_option("file", flags->file, "A .metal file")->required();
    app.add_option("--kernel", flags->kernel,
                   "Compile this kernel; without it the source is checked, and its kernels are listed");
    app.add_flag("--all", flags->all, "Compile every kernel (of those that --kernel's * and ? match)");
    app.add_option("--emit", flags->emit,
                   "Write the kernel as air (bitcode), ir (text), c++ (what clang reads) or asm (this "
                   "machine's code)")
        ->check(CLI::IsMember({"air", "ir", "c++", "asm"}));
    app.add_option("-o", flags->output, "Where to; stdout if left out");
    add_source_flags(app, flags->source);
    return [flags] { return compile(*flags); };
}

}  // namespace ingot::cli

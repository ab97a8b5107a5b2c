#include "cli/metal_module.h"

namespace ingot::cli {

void add_source_flags(CLI::App& app, SourceFlags& flags) {
    constexpr const char* kGroup = "Metal source";
    app.add_option("-I", flags.include_folders, "A folder that the source may include from")
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option("-D", flags.macros, "A macro: NAME or NAME=VALUE")->allow_extra_args(false)->group(kGroup);
    app.add_option("--std", flags.standard, "Language version: metal3.0 to metal4.1")
        ->capture_default_str()
        ->group(kGroup);
    app.add_flag("--strict", flags.strict, "Check address spaces as Apple's compiler does")->group(kGroup);
    app.add_option("--compile-limit", flags.time_limit_seconds, "Seconds the compiler may take")
        ->capture_default_str()
        ->group(kGroup);
}

bool is_source_file(std::string_view path) {
    return path.ends_with(".metal");
}

Result<metal::msl::SourceLibrary> open_source(const std::string& path, const SourceFlags& flags) {
    metal::msl::SourceOptions options;
    options.include_folders = flags.include_folders;
    options.macros = flags.macros;
    options.standard = flags.standard;
    options.strict = flags.strict;
    options.watch_locals = flags.watch_locals;
    options.limits.seconds = flags.time_limit_seconds;
    return metal::msl::SourceLibrary::open_file(path, options);
}

Result<void> require_no_source_flags(const std::string& path, const SourceFlags& flags) {
    const SourceFlags defaults;
    const char* given = !flags.include_folders.empty()        ? "-I"
                        : !flags.macros.empty()               ? "-D"
                        : flags.standard != defaults.standard ? "--std"
                        : flags.strict                        ? "--strict"
                                                              : nullptr;
    if (given == nullptr) return {};
    return fail(ErrorKind::kInvalidArgument, "{} is compiled already: {} is for Metal source (.metal)", path,
                given);
}

namespace {

Result<std::string> only_name(const std::string& path, const std::vector<std::string>& names) {
    if (names.size() == 1) return names[0];
    if (names.empty()) return fail(ErrorKind::kNotFound, "{} holds no kernel", path);
    return fail(ErrorKind::kInvalidArgument,
                "{} holds {} kernels; name one with --kernel (`ingot metal list` "
                "shows them)",
                path, names.size());
}

}  // namespace

Result<KernelModule> load_kernel(const std::string& path, const std::string& name, const SourceFlags& flags) {
    KernelModule module;
    module.name = name;
    if (is_source_file(path)) {
        INGOT_ASSIGN(module.source, open_source(path, flags));
        if (name.empty()) {
            INGOT_ASSIGN(module.name, only_name(path, module.source->kernel_names()));
        }
        INGOT_ASSIGN(module.compiled, module.source->compile(module.name));
        module.bitcode = module.compiled;
        return module;
    }
    INGOT_TRY(require_no_source_flags(path, flags));
    INGOT_ASSIGN(module.library, metal::LibraryFile::open(path));
    if (name.empty()) {
        std::vector<std::string> names;
        for (const auto& function : module.library.functions()) names.emplace_back(function.name);
        INGOT_ASSIGN(module.name, only_name(path, names));
    }
    INGOT_ASSIGN(const metal::LibraryFunction* function, module.library.require(module.name));
    module.bitcode = function->bitcode;
    return module;
}

}  // namespace ingot::cli

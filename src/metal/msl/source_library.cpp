#include "metal/msl/source_library.h"

#include <array>
#include <filesystem>

#include "base/disk_cache.h"
#include "base/mapped_file.h"
#include "metal/exec/air_form.h"
#include "metal/exec/cache_folder.h"
#include "metal/exec/compiler.h"
#include "metal/msl/clang.h"
#include "metal/msl/headers.h"
#include "metal/msl/rewrite.h"

namespace ingot::metal::msl {
namespace {

struct Standard {
    std::string_view name, version;
};

// Values of __METAL_VERSION__.
constexpr std::array<Standard, 5> kStandards{{{"metal3.0", "300"},
                                              {"metal3.1", "310"},
                                              {"metal3.2", "320"},
                                              {"metal4.0", "400"},
                                              {"metal4.1", "410"}}};

Result<std::vector<std::string>> standard_macros(const std::string& standard) {
    for (const Standard& known : kStandards) {
        if (known.name != standard) continue;
        return std::vector<std::string>{"__METAL__=1", "__METAL_MACOS__=1",
                                        fmt::format("__METAL_VERSION__={}", known.version), "__AIR64__=1",
                                        "__HAVE_BFLOAT__=1"};
    }
    std::string names;
    for (const Standard& known : kStandards)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    return fail(ErrorKind::kInvalidArgument, "no language version '{}'; there are {}", standard, names);
}

// A global that jit/to_air.cpp sees.
std::string mark(std::string_view name) {
    return fmt::format(
        "\nextern \"C\" {{\nextern const int {0};\n__attribute__((used)) const int {0} = 1;\n}}\n", name);
}

DiskCache& source_cache() {
    static DiskCache cache(cache_folder(kSourceCache));
    return cache;
}

// A key for what clang makes of a text of this kind.
CacheKey clang_key(std::string_view kind, const Clang& clang) {
    CacheKey key;
    key.add(kind).add(headers_hash()).add(clang.path());
    return key;
}

// Kept on disk if the text can include nothing but the library's headers.
Result<std::string> preprocess(const Clang& clang, std::string_view text, const Clang::Preprocessing& options,
                               const ChildLimits& limits) {
    if (!options.folder.empty() || !options.folders.empty()) return clang.preprocess(text, options, limits);
    CacheKey parts = clang_key("preprocess", clang);
    parts.add(text).add(options.file);
    for (const std::string& macro : options.macros) parts.add(macro);
    const std::string key = parts.finish();
    if (const auto found = source_cache().find(key))
        return std::string(reinterpret_cast<const char*>(found->data()), found->size());
    INGOT_ASSIGN(std::string preprocessed, clang.preprocess(text, options, limits));
    source_cache().store(key, std::as_bytes(std::span(preprocessed)));
    return preprocessed;
}

}  // namespace

Result<SourceLibrary> SourceLibrary::open(std::string_view text, const SourceOptions& options) {
    SourceLibrary library;
    library.options_ = options;
    INGOT_ASSIGN(const Clang clang, Clang::find());
    INGOT_ASSIGN(library.header_folder_, install_headers());
    Clang::Preprocessing preprocessing{.file = options.file,
                                       .folder = options.folder,
                                       .folders = options.include_folders,
                                       .macros = {},
                                       .header_folder = library.header_folder_};
    INGOT_ASSIGN(preprocessing.macros, standard_macros(options.standard));
    if (options.fast_math) preprocessing.macros.emplace_back("__FAST_MATH__=1");
    preprocessing.macros.insert(preprocessing.macros.end(), options.macros.begin(), options.macros.end());
    INGOT_ASSIGN(std::string preprocessed, preprocess(clang, text, preprocessing, options.limits));
    if (options.strict) {
        INGOT_ASSIGN(Program strict, Program::rewrite(preprocessed, options.file, true));
        library.strict_program_ = std::make_shared<const Program>(std::move(strict));
    }
    INGOT_ASSIGN(Program program, Program::rewrite(std::move(preprocessed), options.file));
    library.program_ = std::make_shared<const Program>(std::move(program));
    return library;
}

Result<SourceLibrary> SourceLibrary::open_file(const std::string& path, SourceOptions options) {
    INGOT_ASSIGN(const std::string text, read_text_file(path));
    options.file = path;
    options.folder = std::filesystem::path(path).parent_path().string();
    if (options.folder.empty()) options.folder = ".";
    return open(text, options);
}

std::vector<std::string> SourceLibrary::kernel_names() const {
    std::vector<std::string> names;
    for (const EntryPoint& entry : program_->entries()) names.push_back(entry.name);
    return names;
}

Result<std::vector<std::byte>> SourceLibrary::function_table(std::span<const std::string_view> names) const {
    const std::vector<VisibleFunction>& known = program_->visible_functions();
    std::vector<uint64_t> record{names.size()};
    for (const std::string_view name : names) {
        const auto found = std::ranges::find(known, name, &VisibleFunction::name);
        if (!name.empty() && found == known.end()) {
            std::string others;
            for (const VisibleFunction& function : known)
                others += (others.empty() ? "" : ", ") + function.name;
            return fail(ErrorKind::kNotFound, "no visible function '{}' in {}; there are: {}", name,
                        options_.file, others.empty() ? "none" : others);
        }
        record.push_back(name.empty() ? 0 : uint64_t(found - known.begin()) + 1);
    }
    const auto bytes = std::as_bytes(std::span(record));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

std::array<uint16_t, 4> SourceLibrary::versions() const {
    // "metal3.2"
    const auto digit = [&](size_t at) { return uint16_t(options_.standard[at] - '0'); };
    return {2, 8, digit(5), digit(7)};
}

Result<std::string> SourceLibrary::rewritten(std::string_view kernel) const {
    const EntryPoint* entry = program_->find(kernel);
    if (entry == nullptr) {
        std::string names;
        for (const EntryPoint& other : program_->entries()) {
            names += fmt::format("{}{}", names.empty() ? "" : ", ", other.name);
            if (names.size() > 200) {
                names += "...";
                break;
            }
        }
        return fail(ErrorKind::kNotFound, "no kernel '{}' in {}; there are: {}", kernel, options_.file,
                    names.empty() ? "none" : names);
    }
    INGOT_ASSIGN(std::string unit, program_->translation_unit(entry));
    if (options_.watch_locals) unit += mark("ingot_watch_locals");
    return unit;
}

Clang::Compilation SourceLibrary::compilation(bool check_only) const {
    return {.file = options_.file,
            .header_folder = header_folder_,
            .fast_math = options_.fast_math,
            .check_only = check_only};
}

Result<void> SourceLibrary::check() const {
    INGOT_ASSIGN(const Clang clang, Clang::find());
    INGOT_ASSIGN(const std::string unit, program_->translation_unit(nullptr));
    const std::string key = clang_key("check", clang).add(unit).add(uint64_t(options_.fast_math)).finish();
    if (source_cache().find(key)) return {};
    INGOT_TRY(clang.compile(unit, compilation(true), options_.limits));
    source_cache().store(key, std::as_bytes(std::span("ok", 2)));
    return {};
}

// Notes keep variables in memory, so the module they are in is only looked at.
Result<void> SourceLibrary::check_spaces(std::string_view kernel) const {
    INGOT_ASSIGN(const Clang clang, Clang::find());
    INGOT_ASSIGN(std::string unit, strict_program_->translation_unit(strict_program_->find(kernel)));
    unit += mark("ingot_strict");
    INGOT_ASSIGN(Compiler * compiler, metal::compiler());
    const std::string key = clang_key("spaces", clang)
                                .add(compiler->version())
                                .add(unit)
                                .add(kernel)
                                .add(uint64_t(options_.fast_math))
                                .add(kAirFormVersion)
                                .finish();
    if (source_cache().find(key)) return {};
    INGOT_ASSIGN(const std::string bitcode, clang.compile(unit, compilation(false), options_.limits));
    INGOT_TRY(to_air(std::as_bytes(std::span(bitcode)), kernel));
    source_cache().store(key, std::as_bytes(std::span("ok", 2)));
    return {};
}

Result<std::vector<std::byte>> SourceLibrary::compile(std::string_view kernel) const {
    INGOT_ASSIGN(const std::string unit, rewritten(kernel));
    if (strict_program_ != nullptr) INGOT_TRY(check_spaces(kernel));
    INGOT_ASSIGN(Compiler * compiler, metal::compiler());
    INGOT_ASSIGN(const Clang clang, Clang::find());
    const std::string key = CacheKey()
                                .add(unit)
                                .add(kernel)
                                .add(headers_hash())
                                .add(uint64_t(options_.fast_math))
                                .add(clang.path())
                                .add(compiler->version())
                                .add(kAirFormVersion)
                                .finish();
    if (auto found = source_cache().find(key)) return std::move(*found);
    INGOT_ASSIGN(const std::string bitcode, clang.compile(unit, compilation(false), options_.limits));
    INGOT_ASSIGN(std::vector<std::byte> module, to_air(std::as_bytes(std::span(bitcode)), kernel));
    source_cache().store(key, module);
    return module;
}

}  // namespace ingot::metal::msl

// `ingot metal list`, `dis`, and `check` without a launch: what is in a library, without running it.
#include <algorithm>
#include <optional>
#include <random>

#include <nlohmann/json.hpp>

#include "base/thread_pool.h"
#include "cli/metal_module.h"
#include "cli/progress.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct LibraryFlags {
    std::string file;
    std::string pattern = "*";
    bool json = false, trust = false;
    SourceFlags source;
};

void add_library_flags(CLI::App& app, LibraryFlags& flags) {
    app.add_option("file", flags.file, "A .metallib, or a file that embeds one (FILE.dylib:0)")->required();
    app.add_option("--kernel", flags.pattern, "Only kernels of this name; * and ? match anything");
    add_trust_flag(app, flags.trust);
}

Json to_json(const metal::Argument& argument) {
    Json json{{"name", argument.name}, {"kind", to_string(argument.kind)}, {"type", argument.type_name}};
    if (argument.kind <= metal::ArgumentKind::kThreadgroup) {
        json["slot"] = argument.slot;
        json["access"] = to_string(argument.access);
        json["space"] = argument.in_constant_space ? "constant" : "device";
        json["type_size_bytes"] = argument.type_size_bytes;
        if (argument.guarded) json["guarded"] = argument.guard.empty() ? Json(true) : Json(argument.guard);
    }
    if (argument.unused) json["unused"] = true;
    return json;
}

// Threadgroup variables are known from modules only.
Json to_json(const metal::LibraryFunction& function, const metal::KernelInfo& info, bool modules_are_read) {
    Json arguments = Json::array(), constants = Json::array();
    for (const auto& argument : info.arguments) arguments.push_back(to_json(argument));
    for (const auto& constant : info.constants) {
        constants.push_back({{"name", constant.name},
                             {"type", constant.type_name},
                             {"index", constant.index},
                             {"required", constant.required}});
    }
    Json json{{"name", function.name},
              {"air", fmt::format("{}.{}", function.version[0], function.version[1])},
              {"language", fmt::format("{}.{}", function.version[2], function.version[3])},
              {"module_bytes", function.bitcode.size()},
              {"max_threads_per_threadgroup", info.max_threads_per_threadgroup},
              {"arguments", arguments},
              {"constants", constants}};
    if (modules_are_read) json["threadgroup_bytes"] = info.static_threadgroup_bytes;
    return json;
}

// A file's names may hold any bytes.
void print_indented(const Json& json) {
    fmt::print("{}\n", json.dump(1, ' ', false, Json::error_handler_t::replace));
}

// Bytes that a terminal might obey are spelled out.
std::string shown(std::string_view name) {
    std::string text;
    for (const char c : name) {
        const bool is_control = uint8_t(c) < 0x20 || c == 0x7F;
        text += is_control ? fmt::format("\\x{:02x}", uint8_t(c)) : std::string(1, c);
    }
    return text;
}

std::string one_line(const metal::Argument& argument) {
    const std::string type = shown(argument.type_name), name = shown(argument.name);
    if (argument.kind > metal::ArgumentKind::kThreadgroup) {
        return fmt::format("    {:<28} {} {}", to_string(argument.kind), type, name);
    }
    const std::string guard = !argument.guarded        ? ""
                              : argument.guard.empty() ? ", guarded by a constant"
                                                       : fmt::format(", if {}", shown(argument.guard));
    return fmt::format("    {}({}) {} {} {} {}{}",
                       argument.kind == metal::ArgumentKind::kThreadgroup ? "threadgroup" : "buffer",
                       argument.slot, argument.in_constant_space ? "constant" : "device",
                       to_string(argument.access), type, name, guard);
}

void print_kernel(const metal::LibraryFunction& function, const metal::KernelInfo& info) {
    fmt::print("{}  (AIR {}.{}, Metal {}.{}, at most {} threads a group)\n", shown(function.name),
               function.version[0], function.version[1], function.version[2], function.version[3],
               info.max_threads_per_threadgroup);
    for (const auto& argument : info.arguments) fmt::print("{}\n", one_line(argument));
    if (info.static_threadgroup_bytes != 0) {
        fmt::print("    {} bytes of threadgroup variables\n", info.static_threadgroup_bytes);
    }
    for (const auto& constant : info.constants) {
        fmt::print("    constant({}) {} {}{}\n", constant.index, shown(constant.type_name),
                   shown(constant.name), constant.required ? "" : ", optional");
    }
}

// A few kernels are worth reading their modules: those say which constant guards an argument.
constexpr size_t kFewKernels = 16;

// The arguments of a kernel are known when it is compiled; that is done for a few.
Result<void> list_source(const LibraryFlags& flags) {
    INGOT_ASSIGN(const metal::msl::SourceLibrary source, open_source(flags.file, flags.source));
    std::vector<std::string> chosen;
    for (const std::string& name : source.kernel_names()) {
        if (matches_glob(name, flags.pattern)) chosen.push_back(name);
    }
    Json kernels = Json::array();
    for (const std::string& name : chosen) {
        if (chosen.size() > kFewKernels) {
            if (flags.json) kernels.push_back({{"name", name}});
            if (!flags.json) fmt::print("{}\n", shown(name));
            continue;
        }
        INGOT_ASSIGN(const std::vector<std::byte> module, source.compile(name));
        INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
        INGOT_ASSIGN(const metal::KernelInfo info, compiler->inspect(module, name, {}));
        metal::LibraryFunction function;
        function.name = name;
        function.version = source.versions();
        function.bitcode = module;
        if (flags.json) kernels.push_back(to_json(function, info, true));
        if (!flags.json) print_kernel(function, info);
    }
    if (flags.json) print_indented(kernels);
    if (!flags.json) fmt::print("{} of {} kernels\n", chosen.size(), source.kernel_names().size());
    return {};
}

Result<void> list(const LibraryFlags& flags) {
    if (is_source_file(flags.file)) return list_source(flags);
    INGOT_TRY(require_no_source_flags(flags.file, flags.source));
    INGOT_ASSIGN(const metal::LibraryFile library, metal::LibraryFile::open(flags.file));
    std::vector<const metal::LibraryFunction*> chosen;
    for (const auto& function : library.functions()) {
        if (matches_glob(function.name, flags.pattern)) chosen.push_back(&function);
    }
    if (chosen.empty()) {
        return fail(ErrorKind::kNotFound, "{}: none of {} kernels matches '{}'", flags.file,
                    library.functions().size(), flags.pattern);
    }
    const auto compiler =
        chosen.size() <= kFewKernels ? metal::compiler() : Result<metal::Compiler*>(nullptr);
    metal::CompileOptions options;
    options.isolate = !flags.trust;
    const bool read_modules = compiler && *compiler != nullptr;
    Json kernels = Json::array();
    size_t num_silent = 0;  // whose container states no arguments
    for (const metal::LibraryFunction* function : chosen) {
        if (!read_modules && function->reflection_offset == metal::LibraryFunction::kNoReflection) {
            ++num_silent;
            if (flags.json) kernels.push_back({{"name", function->name}});
            if (!flags.json) fmt::print("{}\n", shown(function->name));
            continue;
        }
        auto info = read_modules ? (*compiler)->inspect(function->bitcode, function->name, options)
                                 : library.reflect(*function);
        if (!info) return Failure(with_context(info.error(), function->name));
        if (flags.json) {
            kernels.push_back(to_json(*function, *info, read_modules));
        } else {
            print_kernel(*function, *info);
        }
    }
    if (flags.json) {
        print_indented(kernels);
    } else {
        fmt::print("{} of {} kernels; file version {}.{}, for macOS {}.{}\n", chosen.size(),
                   library.functions().size(), library.file_version()[0], library.file_version()[1],
                   library.target_version()[0], library.target_version()[1]);
        if (num_silent != 0) {
            fmt::print(
                "The file doesn't state the arguments of {}: the Metal compiler reads those of up to {} that "
                "--kernel chooses from their modules.\n",
                num_silent, kFewKernels);
        }
    }
    return {};
}

struct CheckCounts {
    std::vector<std::pair<double, std::string>> milliseconds;  // of what was lowered
    std::map<std::string, std::vector<std::string>> refused;   // message -> kernels
};

void check_some(const std::vector<const metal::LibraryFunction*>& chosen, Worker& worker,
                const metal::CompileOptions& options, CheckCounts& counts, ProgressBar& bar) {
    metal::Compiler& compiler = **metal::compiler();
    for (size_t i = worker.claim(0, 1); i < chosen.size(); i = worker.claim(0, 1)) {
        if (worker.index() == 0) {
            bar.update(double(i) / double(chosen.size()), fmt::format("{} of {}", i, chosen.size()));
        }
        const auto kernel = compiler.compile(chosen[i]->bitcode, chosen[i]->name, options);
        if (kernel) {
            const metal::CompileTimes& t = (*kernel)->times;
            counts.milliseconds.emplace_back(t.parse_ms + t.optimise_ms + t.generate_ms, chosen[i]->name);
        } else {
            counts.refused[kernel.error().describe()].emplace_back(chosen[i]->name);
        }
    }
}

struct CheckFlags {
    LibraryFlags library;
    std::string executor = "fibers";
    bool compile_fully = false;
    size_t sample = 0;
    std::optional<uint32_t> seed;
};

// `count` of `chosen`, at random; in the file's order, so that a run with the same seed reads the same.
void keep_sample(std::vector<const metal::LibraryFunction*>& chosen, size_t count, uint32_t seed) {
    std::vector<const metal::LibraryFunction*> kept;
    std::ranges::sample(chosen, std::back_inserter(kept), ptrdiff_t(count), std::mt19937(seed));
    chosen = std::move(kept);
}

Result<void> check(const CheckFlags& check_flags) {
    const LibraryFlags& flags = check_flags.library;
    const bool compile_fully = check_flags.compile_fully;
    INGOT_ASSIGN(const metal::LibraryFile library, metal::LibraryFile::open(flags.file));
    if (const auto loaded = metal::compiler(); !loaded) return Failure(loaded.error());
    std::vector<const metal::LibraryFunction*> chosen;
    for (const auto& function : library.functions()) {
        if (matches_glob(function.name, flags.pattern)) chosen.push_back(&function);
    }
    std::string sampled;
    if (check_flags.sample != 0 && check_flags.sample < chosen.size()) {
        const uint32_t seed = check_flags.seed ? *check_flags.seed : std::random_device()();
        sampled = fmt::format(", a sample of {} with --seed {}", chosen.size(), seed);
        keep_sample(chosen, check_flags.sample, seed);
    }
    ThreadPool pool(num_available_cores());
    std::vector<CheckCounts> counts(pool.num_threads());
    metal::CompileOptions options;
    options.lower_only = !compile_fully;
    options.isolate = !flags.trust;
    options.use_cache = false;
    INGOT_ASSIGN(options.executor, metal::executor_kind(check_flags.executor));
    options.variant = {.full = true, .linear = true};
    ProgressBar bar(compile_fully ? "compiling" : "lowering");
    pool.run([&](Worker& worker) { check_some(chosen, worker, options, counts[worker.index()], bar); });
    bar.erase();
    CheckCounts total;
    for (auto& part : counts) {
        total.milliseconds.insert(total.milliseconds.end(), part.milliseconds.begin(),
                                  part.milliseconds.end());
        for (auto& [message, names] : part.refused) {
            auto& all = total.refused[message];
            all.insert(all.end(), names.begin(), names.end());
        }
    }
    for (const auto& [message, names] : total.refused) {
        fmt::print("{} kernels, e.g. {}: {}\n", names.size(), names[0], message);
    }
    const char* did = compile_fully ? "compiled" : "lowered";
    const size_t lowered = total.milliseconds.size();
    fmt::print("{} of {} kernels {}{}\n", lowered, chosen.size(), did, sampled);
    if (lowered != 0) {
        std::ranges::sort(total.milliseconds);
        const auto& [longest, slowest] = total.milliseconds.back();
        fmt::print("median {:.0f} ms, longest {:.0f} ms ({})\n", total.milliseconds[lowered / 2].first,
                   longest, slowest);
    }
    if (lowered == chosen.size()) return {};
    return fail(ErrorKind::kUnsupported, "{}: {} kernels not {}", flags.file, chosen.size() - lowered, did);
}

struct DisassembleFlags {
    std::string file, kernel, print_after, executor = "fibers";
    std::vector<std::string> constants;
    bool trust = false;
};

Result<void> disassemble(const DisassembleFlags& flags) {
    if (is_source_file(flags.file)) {
        return fail(ErrorKind::kUnsupported,
                    "{} is Metal source: `ingot metal compile {} --emit ir` prints its IR", flags.file,
                    flags.file);
    }
    INGOT_ASSIGN(const metal::LibraryFile library, metal::LibraryFile::open(flags.file));
    INGOT_ASSIGN(const metal::LibraryFunction* function, library.require(flags.kernel));
    INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
    metal::CompileOptions options;
    INGOT_ASSIGN(options.constants, parse_constants(flags.constants));
    options.isolate = !flags.trust;
    std::string text;
    if (flags.print_after.empty()) {
        INGOT_ASSIGN(text, compiler->disassemble(function->bitcode, function->name, options));
    } else {
        options.print_after = flags.print_after;
        options.printed = &text;
        INGOT_ASSIGN(options.executor, metal::executor_kind(flags.executor));
        options.variant = {.full = true, .linear = true};
        if (auto done = compiler->compile(function->bitcode, function->name, options); !done) {
            return Failure(done.error());
        }
    }
    fmt::print("{}", text);
    return {};
}

void add_executor_flag(CLI::App& app, std::string& executor) {
    app.add_option("--executor", executor, "Whose form: fibers or vector (full simdgroups along x)")
        ->capture_default_str()
        ->check(CLI::IsMember({"fibers", "vector"}));
}

}  // namespace

Action add_metal_list(CLI::App& app) {
    auto flags = std::make_shared<LibraryFlags>();
    add_library_flags(app, *flags);
    app.get_option("file")->description(
        "A .metal source, a .metallib, or a file that embeds one (FILE.dylib:0)");
    app.add_flag("--json", flags->json, "Print JSON");
    add_source_flags(app, flags->source);
    return [flags] { return list(*flags); };
}

Action add_lowering(CLI::App& app) {
    auto flags = std::make_shared<CheckFlags>();
    add_library_flags(app, flags->library);
    constexpr const char* kGroup = "Without --launch: lower the kernels of a library";
    app.add_flag("--compile", flags->compile_fully, "Generate machine code too")->group(kGroup);
    add_executor_flag(app, flags->executor);
    app.get_option("--executor")->group(kGroup);
    app.add_option("--sample", flags->sample, "Take this many kernels, at random (all)")
        ->check(CLI::PositiveNumber)
        ->group(kGroup);
    app.add_option("--seed", flags->seed, "What --sample takes (random; printed)")->group(kGroup);
    return [flags]() -> Result<void> {
        if (is_source_file(flags->library.file)) {
            return fail(
                ErrorKind::kInvalidArgument,
                "{} is Metal source: name a launch with --launch, or check that it compiles with `ingot "
                "metal compile`",
                flags->library.file);
        }
        return check(*flags);
    };
}

Action add_metal_dis(CLI::App& app) {
    auto flags = std::make_shared<DisassembleFlags>();
    app.add_option("file", flags->file, "A .metallib, or a file that embeds one (FILE.dylib:0)")->required();
    app.add_option("--kernel", flags->kernel, "Its name")->required();
    app.add_option("--constant", flags->constants, "INDEX=TYPE:VALUE or NAME=TYPE:VALUE, e.g. 200=bool:true");
    app.add_option("--print-air-after", flags->print_after,
                   "Show the module after this pass of the device's compiler");
    add_executor_flag(app, flags->executor);
    add_trust_flag(app, flags->trust);
    return [flags] { return disassemble(*flags); };
}

}  // namespace ingot::cli

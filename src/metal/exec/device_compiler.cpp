#include "metal/exec/device_compiler.h"

#include <chrono>

#include "metal/exec/lane_code.h"
#include "metal/exec/wire.h"

namespace ingot::metal {
namespace {

bool keeps(const CompileOptions& options) {
    return options.use_cache && !options.lower_only && options.print_after.empty();
}

}  // namespace

DeviceCompiler::DeviceCompiler(Compiler& local, std::string worker_program, std::string cache_folder)
    : local_(local),
      isolated_(worker_program),
      aside_(std::move(worker_program)),
      cache_(std::move(cache_folder)),
      identity_(local.identity()) {}

CompileCounts DeviceCompiler::counts() const {
    return {.compiled = local_.counts().compiled + num_isolated_,
            .from_cache = num_from_cache_,
            .isolated = num_isolated_};
}

std::string DeviceCompiler::key_of(std::span<const std::byte> module, std::string_view name,
                                   const CompileOptions& options) const {
    wire::Writer writer;
    writer(options);
    return CacheKey().add(identity_).add(module).add(name).add(writer.take()).finish();
}

std::shared_ptr<Kernel> DeviceCompiler::find(const std::string& key) {
    const auto translation = cache_.find(key);
    if (!translation) return nullptr;
    const auto loaded = local_.load(*translation);
    if (!loaded) return nullptr;  // made anew, and kept instead
    auto kernel = std::make_shared<Kernel>(**loaded);
    kernel->from_cache = true;
    ++num_from_cache_;
    return kernel;
}

std::shared_ptr<const Kernel> DeviceCompiler::kept(std::span<const std::byte> module, std::string_view name,
                                                   const CompileOptions& options) {
    if (!keeps(options)) return nullptr;
    const auto begin = std::chrono::steady_clock::now();
    auto kernel = find(key_of(module, name, options));
    if (kernel == nullptr) return nullptr;
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    kernel->times = {.load_ms = elapsed.count()};
    add_lanes(*kernel, module, name, options);
    return kernel;
}

Result<std::shared_ptr<const Kernel>> DeviceCompiler::compile(std::span<const std::byte> module,
                                                              std::string_view name,
                                                              const CompileOptions& options) {
    if (auto kernel = kept(module, name, options)) return kernel;
    INGOT_ASSIGN(const std::vector<std::byte> translation, translate(module, name, options));
    if (keeps(options)) cache_.store(key_of(module, name, options), translation);
    INGOT_ASSIGN(const auto loaded, local_.load(translation));
    auto kernel = std::make_shared<Kernel>(*loaded);
    add_lanes(*kernel, module, name, options);
    return kernel;
}

// What is no vector form itself has one.
void DeviceCompiler::add_lanes(Kernel& kernel, std::span<const std::byte> module, std::string_view name,
                               const CompileOptions& options) {
    if (options.executor == ExecutorKind::kVector || options.lower_only) return;
    kernel.lanes = std::make_shared<LaneCode>(module, name, options, *this);
}

Result<std::vector<std::byte>> DeviceCompiler::translate(std::span<const std::byte> module,
                                                         std::string_view name,
                                                         const CompileOptions& options) {
    if (!options.isolate && !options.aside) return local_.translate(module, name, options);
    auto translation = (options.aside ? aside_ : isolated_).translate(module, name, options);
    if (translation) ++num_isolated_;
    return translation;
}

Result<KernelInfo> DeviceCompiler::inspect(std::span<const std::byte> module, std::string_view name,
                                           const CompileOptions& options) {
    return options.isolate ? isolated_.inspect(module, name) : local_.inspect(module, name, options);
}

Result<std::string> DeviceCompiler::disassemble(std::span<const std::byte> module, std::string_view name,
                                                const CompileOptions& options) {
    return options.isolate ? isolated_.disassemble(module, name, options)
                           : local_.disassemble(module, name, options);
}

}  // namespace ingot::metal

// The Compiler behind the shared library's door.
#include <atomic>
#include <chrono>

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Target/TargetMachine.h>

#include "metal/exec/wire.h"
#include "metal/jit/build_id.h"
#include "metal/jit/host_target.h"
#include "metal/jit/import_module.h"
#include "metal/jit/metadata.h"
#include "metal/jit/object_jit.h"
#include "metal/jit/passes/passes.h"
#include "metal/jit/pipeline.h"

namespace ingot::metal::jit {
namespace {

using Clock = std::chrono::steady_clock;

// Changes when generated code and the runtime it calls (fibers/lane.h, the ingot_ functions) agree on
// something else.
constexpr uint32_t kRuntimeAbi = 5;

// Milliseconds since the last call.
class Stopwatch {
  public:
    double lap_ms() {
        const auto now = Clock::now();
        const double elapsed = std::chrono::duration<double, std::milli>(now - last_).count();
        last_ = now;
        return elapsed;
    }

  private:
    Clock::time_point last_ = Clock::now();
};

void target_host(llvm::Module& module) {
    module.setTargetTriple(host_target().getTargetTriple().str());
    module.setDataLayout(host_target().createDataLayout());
}

class LlvmCompiler final : public Compiler {
  public:
    explicit LlvmCompiler(std::span<const RuntimeSymbol> symbols) : jit_(symbols) {}

    std::string version() const override { return LLVM_VERSION_STRING; }
    std::string identity() const override {
        return fmt::format("abi {}, {}, LLVM {}, {}", kRuntimeAbi, build_id(), LLVM_VERSION_STRING,
                           describe_host());
    }
    std::vector<std::string> pass_names() const override { return jit::pass_names(); }
    Result<std::shared_ptr<const Kernel>> compile(std::span<const std::byte> module, std::string_view name,
                                                  const CompileOptions& options) override;
    std::shared_ptr<const Kernel> kept(std::span<const std::byte>, std::string_view,
                                       const CompileOptions&) override {
        return nullptr;
    }
    Result<std::vector<std::byte>> translate(std::span<const std::byte> module, std::string_view name,
                                             const CompileOptions& options) override;
    Result<std::shared_ptr<const Kernel>> load(std::span<const std::byte> translation) override;
    CompileCounts counts() const override { return {.compiled = num_compiled_}; }
    Result<KernelInfo> inspect(std::span<const std::byte> module, std::string_view name,
                               const CompileOptions& options) override;
    Result<std::string> disassemble(std::span<const std::byte> module, std::string_view name,
                                    const CompileOptions& options) override;
    Result<std::string> assembly(std::span<const std::byte> module, std::string_view name,
                                 const CompileOptions& options) override;
    Result<std::string> apply_pass(std::string_view ir, std::string_view pass,
                                   const CompileOptions& options) override;

  private:
    ObjectJit jit_;
    std::atomic<uint64_t> num_compiled_{0};
};

Result<void> check_print_after(const CompileOptions& options) {
    if (options.print_after.empty() || find_pass(options.print_after) != nullptr) return {};
    return fail(ErrorKind::kInvalidArgument, "no pass '{}'; there are {}", options.print_after,
                fmt::join(pass_names(), ", "));
}

Result<std::vector<std::byte>> LlvmCompiler::translate(std::span<const std::byte> bytes,
                                                       std::string_view name, const CompileOptions& options) {
    INGOT_TRY(check_print_after(options));
    Kernel kernel;
    Stopwatch watch;
    llvm::LLVMContext context;
    context.setDiscardValueNames(options.print_after.empty());
    INGOT_ASSIGN(std::unique_ptr<llvm::Module> module, import_module(bytes, name, context));
    kernel.times.parse_ms = watch.lap_ms();
    target_host(*module);
    PassState state{.options = options, .kernel_name = std::string(name), .info = {}};
    INGOT_TRY(run_pipeline(*module, state));
    kernel.times.optimise_ms = watch.lap_ms();
    kernel.info = std::move(state.info);
    kernel.meets = state.meets;
    kernel.private_bytes = state.private_bytes;
    kernel.matrix_operations = state.matrix_operations;
    kernel.matrix_batches = state.matrix_batches;
    kernel.layout = options.layout;
    kernel.instrumentation = std::move(state.instrumentation);
    std::vector<char> object;
    if (!options.lower_only) {
        INGOT_ASSIGN(object, jit_.generate(*module));
        kernel.times.generate_ms = watch.lap_ms();
    }
    ++num_compiled_;
    wire::Writer writer;
    writer(kRuntimeAbi, kernel, object);
    return writer.take();
}

Result<std::shared_ptr<const Kernel>> LlvmCompiler::load(std::span<const std::byte> translation) {
    Stopwatch watch;
    auto kernel = std::make_shared<Kernel>();
    std::vector<char> object;
    uint32_t abi = 0;
    wire::Reader reader(translation);
    reader(abi);
    if (abi == kRuntimeAbi) reader(*kernel, object);
    if (!reader.ok()) return fail(ErrorKind::kCorrupt, "no kernel of this build (ABI {})", kRuntimeAbi);
    if (object.empty()) return kernel;  // lowered only
    INGOT_ASSIGN(ObjectJit::Linked linked, jit_.link(object, kernel->info.name));
    kernel->entry = reinterpret_cast<void (*)(fibers::Lane*)>(linked.entry);
    kernel->code = std::move(linked.code);
    kernel->times.load_ms = watch.lap_ms();
    return kernel;
}

Result<std::shared_ptr<const Kernel>> LlvmCompiler::compile(std::span<const std::byte> bytes,
                                                            std::string_view name,
                                                            const CompileOptions& options) {
    INGOT_ASSIGN(const std::vector<std::byte> translation, translate(bytes, name, options));
    return load(translation);
}

Result<KernelInfo> LlvmCompiler::inspect(std::span<const std::byte> bytes, std::string_view name,
                                         const CompileOptions&) {
    llvm::LLVMContext context;
    INGOT_ASSIGN(const std::unique_ptr<llvm::Module> module, import_module(bytes, name, context));
    INGOT_ASSIGN(KernelMetadata metadata, read_kernel_metadata(*module));
    metadata.info.static_threadgroup_bytes = threadgroup_bytes(*module);
    return std::move(metadata.info);
}

Result<std::string> LlvmCompiler::disassemble(std::span<const std::byte> bytes, std::string_view name,
                                              const CompileOptions& options) {
    llvm::LLVMContext context;
    INGOT_ASSIGN(const std::unique_ptr<llvm::Module> module, import_module(bytes, name, context));
    const Constants& constants = options.constants;
    if (!constants.by_index.empty() || !constants.by_name.empty()) {
        PassState state{.options = options, .kernel_name = std::string(name), .info = {}};
        INGOT_TRY(specialise_constants(*module, state));
    }
    return print_module(*module);
}

Result<std::string> LlvmCompiler::assembly(std::span<const std::byte> bytes, std::string_view name,
                                           const CompileOptions& options) {
    llvm::LLVMContext context;
    INGOT_ASSIGN(const std::unique_ptr<llvm::Module> module, import_module(bytes, name, context));
    target_host(*module);
    PassState state{.options = options, .kernel_name = std::string(name), .info = {}};
    INGOT_TRY(run_pipeline(*module, state));
    return jit_.assembly(*module);
}

Result<std::string> LlvmCompiler::apply_pass(std::string_view ir, std::string_view name,
                                             const CompileOptions& options) {
    llvm::LLVMContext context;
    INGOT_ASSIGN(const std::unique_ptr<llvm::Module> module, import_text(ir, context));
    target_host(*module);
    PassState state{.options = options, .kernel_name = "test", .info = {}};
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(name.data(), name.size()).split(names, ',');
    for (const llvm::StringRef one : names) {
        const Pass* pass = find_pass({one.data(), one.size()});
        if (pass == nullptr) return fail(ErrorKind::kInvalidArgument, "no pass '{}'", one.str());
        INGOT_TRY(pass->run(*module, state));
        INGOT_TRY(verify(*module, one.str()));
    }
    return print_module(*module);
}

}  // namespace
}  // namespace ingot::metal::jit

extern "C" __attribute__((visibility("default"))) ingot::metal::Compiler* ingot_metal_make_compiler(
    const ingot::metal::RuntimeSymbol* symbols, size_t count) {
    return new ingot::metal::jit::LlvmCompiler({symbols, count});
}

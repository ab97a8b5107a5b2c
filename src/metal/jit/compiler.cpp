// The Compiler behind the shared library's door.
#include <chrono>
#include <mutex>

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Target/TargetMachine.h>

#include "metal/jit/host_target.h"
#include "metal/jit/import_module.h"
#include "metal/jit/metadata.h"
#include "metal/jit/object_jit.h"
#include "metal/jit/passes/passes.h"
#include "metal/jit/pipeline.h"

namespace ingot::metal::jit {
namespace {

using Clock = std::chrono::steady_clock;

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

// A kernel's vector form: keeps the module, compiles a variant when it is asked for first.
class LaneCode final : public LaneForm {
  public:
    LaneCode(std::span<const std::byte> module, std::string_view name, const CompileOptions& options,
             ObjectJit& jit)
        : module_(reinterpret_cast<const char*>(module.data()), module.size()),
          name_(name),
          options_(options),
          jit_(jit) {
        options_.executor = ExecutorKind::kVector;
        options_.print_after.clear();
    }

    Result<LaneEntry> entry(LaneVariant variant) override {
        const std::scoped_lock lock(mutex_);
        const auto found = entries_.find(variant);
        if (found != entries_.end()) return found->second;
        return entries_.emplace(variant, compile(variant)).first->second;
    }

  private:
    Result<LaneEntry> compile(LaneVariant variant) {
        CompileOptions options = options_;
        options.variant = variant;
        llvm::LLVMContext context;
        context.setDiscardValueNames(true);
        INGOT_ASSIGN(std::unique_ptr<llvm::Module> module,
                     import_module(std::as_bytes(std::span(module_)), name_, context));
        target_host(*module);
        PassState state{.options = options, .kernel_name = name_, .info = {}};
        INGOT_TRY(run_pipeline(*module, state));
        INGOT_ASSIGN(const std::vector<char> object, jit_.generate(*module));
        INGOT_ASSIGN(ObjectJit::Linked linked, jit_.link(object, name_));
        code_.push_back(std::move(linked.code));
        return LaneEntry{.run = reinterpret_cast<void (*)(fibers::Lane*)>(linked.entry),
                         .has_barriers = state.meets,
                         .private_bytes = kLanes * state.private_bytes};
    }

    static constexpr uint32_t kLanes = kSimdWidth;
    const std::string module_;  // ends in a zero, which text needs
    const std::string name_;
    CompileOptions options_;
    ObjectJit& jit_;
    std::mutex mutex_;
    std::map<LaneVariant, Result<LaneEntry>> entries_;
    std::vector<std::shared_ptr<void>> code_;
};

class LlvmCompiler final : public Compiler {
  public:
    explicit LlvmCompiler(std::span<const RuntimeSymbol> symbols) : jit_(symbols) {}

    std::string version() const override { return LLVM_VERSION_STRING; }
    std::vector<std::string> pass_names() const override { return jit::pass_names(); }
    Result<std::shared_ptr<const Kernel>> compile(std::span<const std::byte> module, std::string_view name,
                                                  const CompileOptions& options) override;
    Result<KernelInfo> inspect(std::span<const std::byte> module, std::string_view name) override;
    Result<std::string> disassemble(std::span<const std::byte> module, std::string_view name,
                                    const CompileOptions& options) override;
    Result<std::string> apply_pass(std::string_view ir, std::string_view pass,
                                   const CompileOptions& options) override;

  private:
    ObjectJit jit_;
};

Result<void> check_print_after(const CompileOptions& options) {
    if (options.print_after.empty() || find_pass(options.print_after) != nullptr) return {};
    return fail(ErrorKind::kInvalidArgument, "no pass '{}'; there are {}", options.print_after,
                fmt::join(pass_names(), ", "));
}

Result<std::shared_ptr<const Kernel>> LlvmCompiler::compile(std::span<const std::byte> bytes,
                                                            std::string_view name,
                                                            const CompileOptions& options) {
    INGOT_TRY(check_print_after(options));
    auto kernel = std::make_shared<Kernel>();
    Stopwatch watch;
    llvm::LLVMContext context;
    context.setDiscardValueNames(options.print_after.empty());
    INGOT_ASSIGN(std::unique_ptr<llvm::Module> module, import_module(bytes, name, context));
    kernel->times.parse_ms = watch.lap_ms();
    target_host(*module);
    PassState state{.options = options, .kernel_name = std::string(name), .info = {}};
    INGOT_TRY(run_pipeline(*module, state));
    kernel->times.optimise_ms = watch.lap_ms();
    kernel->info = std::move(state.info);
    kernel->meets = state.meets;
    kernel->private_bytes = state.private_bytes;
    kernel->matrix_operations = state.matrix_operations;
    kernel->matrix_batches = state.matrix_batches;
    kernel->layout = options.layout;
    if (options.lower_only) return kernel;
    INGOT_ASSIGN(const std::vector<char> object, jit_.generate(*module));
    INGOT_ASSIGN(ObjectJit::Linked linked, jit_.link(object, name));
    kernel->entry = reinterpret_cast<void (*)(fibers::Lane*)>(linked.entry);
    kernel->code = std::move(linked.code);
    kernel->lanes = std::make_shared<LaneCode>(bytes, name, options, jit_);
    kernel->times.generate_ms = watch.lap_ms();
    return kernel;
}

Result<KernelInfo> LlvmCompiler::inspect(std::span<const std::byte> bytes, std::string_view name) {
    llvm::LLVMContext context;
    INGOT_ASSIGN(const std::unique_ptr<llvm::Module> module, import_module(bytes, name, context));
    INGOT_ASSIGN(KernelMetadata metadata, read_kernel_metadata(*module));
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

Result<std::string> LlvmCompiler::apply_pass(std::string_view ir, std::string_view name,
                                             const CompileOptions& options) {
    const Pass* pass = find_pass(name);
    if (pass == nullptr) return fail(ErrorKind::kInvalidArgument, "no pass '{}'", name);
    llvm::LLVMContext context;
    INGOT_ASSIGN(const std::unique_ptr<llvm::Module> module, import_text(ir, context));
    target_host(*module);
    PassState state{.options = options, .kernel_name = "test", .info = {}};
    INGOT_TRY(pass->run(*module, state));
    INGOT_TRY(verify(*module, name));
    return print_module(*module);
}

}  // namespace
}  // namespace ingot::metal::jit

extern "C" __attribute__((visibility("default"))) ingot::metal::Compiler* ingot_metal_make_compiler(
    const ingot::metal::RuntimeSymbol* symbols, size_t count) {
    return new ingot::metal::jit::LlvmCompiler({symbols, count});
}

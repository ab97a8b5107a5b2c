// The door to LLVM: compiles AIR modules to kernels. The implementation lives in a shared library of its own
// (ingot_metal_jit) that is loaded by the first call of `compiler()`; nothing else in the project knows LLVM.
// `compiler()` adds what is no matter of LLVM: compiled kernels kept on disk (cache_folder.h), and child
// processes for modules that may be crafted to crash LLVM (isolated_compiler.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "metal/exec/kernel.h"

namespace ingot::metal {

// A function constant's value; integers travel sign-extended, a half or float as float, a vector as its
// elements (of bool 0 or 1).
using ConstantValue = std::variant<bool, int64_t, float, std::vector<int64_t>, std::vector<float>>;

struct Constants {
    std::map<uint32_t, ConstantValue> by_index;
    std::map<std::string, ConstantValue> by_name;
};

struct CompileOptions {
    Constants constants;
    bool require_constants = false;  // a required constant without a value is an error; it is 0 otherwise
    CooperativeLayout layout = CooperativeLayout::kNax;
    bool reconverge =
        true;  // lanes meet around divergent branches that write shared memory; off in strict mode
    bool batch_matrices = true;                     // off only to measure what batching is worth
    ExecutorKind executor = ExecutorKind::kFibers;  // whose passes run
    LaneVariant variant;                            // for kVector
    bool instrument = false;      // tells a launch's monitor what it does (monitor.h); for fibers
    bool watch_overflow = false;  // of index arithmetic, where it is instrumented
    bool lower_only = false;      // stop before optimising: checks that everything is known
    bool isolate = false;         // work on the module in a child process: for files nobody vouches for
    bool aside = false;           // generate code in a child process, so that it can be given up: by `stop`
    std::stop_token stop;
    bool use_cache = true;    // look for the kernel on disk, and keep it there
    std::string print_after;  // name of a pass: its output goes to `printed`
    std::string* printed = nullptr;
};

// An address that generated code may call.
struct RuntimeSymbol {
    std::string_view name;
    void* address;
};

struct CompileCounts {
    uint64_t compiled = 0, from_cache = 0;
    uint64_t isolated = 0;  // child processes' share of `compiled`
};

class Compiler {
  public:
    virtual ~Compiler() = default;

    virtual std::string version() const = 0;
    // All that translations depend on besides their input: this build, LLVM, the processor.
    virtual std::string identity() const = 0;
    virtual std::vector<std::string> pass_names() const = 0;
    virtual Result<std::shared_ptr<const Kernel>> compile(std::span<const std::byte> module,
                                                          std::string_view name,
                                                          const CompileOptions& options) = 0;
    // What compile() gives if the kernel is kept on disk, null otherwise.
    virtual std::shared_ptr<const Kernel> kept(std::span<const std::byte> module, std::string_view name,
                                               const CompileOptions& options) = 0;
    // The two halves of compile(). A translation is machine code with what an executor must know, as bytes
    // (wire.h) that may be kept on disk or come from another process; what isn't one is kCorrupt.
    virtual Result<std::vector<std::byte>> translate(std::span<const std::byte> module, std::string_view name,
                                                     const CompileOptions& options) = 0;
    virtual Result<std::shared_ptr<const Kernel>> load(std::span<const std::byte> translation) = 0;
    // Since the process began.
    virtual CompileCounts counts() const = 0;
    // Arguments and constants from the module's AIR metadata. Of `options`, `isolate` counts.
    virtual Result<KernelInfo> inspect(std::span<const std::byte> module, std::string_view name,
                                       const CompileOptions& options) = 0;
    // LLVM IR as text: as stored, or with constants applied if options name any.
    virtual Result<std::string> disassemble(std::span<const std::byte> module, std::string_view name,
                                            const CompileOptions& options) = 0;
    // The machine code of the form that `options` ask for, as assembly. Works in this process.
    virtual Result<std::string> assembly(std::span<const std::byte> module, std::string_view name,
                                         const CompileOptions& options) = 0;
    // Runs one pass over textual IR: how passes are tested.
    virtual Result<std::string> apply_pass(std::string_view ir, std::string_view pass,
                                           const CompileOptions& options) = 0;
};

// Whether CompileOptions::isolate may be left out for files: if INGOT_METAL_TRUST is 1.
bool trusts_files();

// Loads LLVM on first use. Error kUnsupported if the shared library isn't there.
Result<Compiler*> compiler();

}  // namespace ingot::metal

// What the shared library exports.
extern "C" ingot::metal::Compiler* ingot_metal_make_compiler(const ingot::metal::RuntimeSymbol* symbols,
                                                             size_t count);

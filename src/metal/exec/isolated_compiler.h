// Work on modules in child processes. LLVM's bitcode reader trusts its input: a crafted module can crash it,
// loop or eat all memory. Here that ends a child (program ingot_metal_worker, which has a limit on memory)
// and becomes an Error. It contains crashes; it is no sandbox against a module that takes over the child.
#pragma once

#include "metal/exec/compiler.h"
#include "metal/exec/worker_process.h"

namespace ingot::metal {

class IsolatedCompiler {
  public:
    explicit IsolatedCompiler(std::string worker_program) : pool_(std::move(worker_program)) {}

    // As the functions of Compiler.
    Result<std::vector<std::byte>> translate(std::span<const std::byte> module, std::string_view name,
                                             const CompileOptions& options);
    Result<KernelInfo> inspect(std::span<const std::byte> module, std::string_view name);
    Result<std::string> disassemble(std::span<const std::byte> module, std::string_view name,
                                    const CompileOptions& options);

  private:
    template <typename Answer>
    Result<Answer> ask(uint8_t what, std::span<const std::byte> module, std::string_view name,
                       const CompileOptions& options);

    WorkerPool pool_;
};

// The child: serves requests on standard input until it is closed. Its exit status.
int run_compiler_worker();

}  // namespace ingot::metal

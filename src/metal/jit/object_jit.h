// Host code from a lowered module: code generation to an object, and linking objects into this process. An
// object can be kept on disk and linked later without LLVM's optimiser. Generated code may call the runtime's
// symbols and a fixed list of C library functions, nothing else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <llvm/IR/Module.h>

#include "base/result.h"
#include "metal/exec/compiler.h"

namespace ingot::metal::jit {

class ObjectJit {
  public:
    explicit ObjectJit(std::span<const RuntimeSymbol> runtime);
    ~ObjectJit();

    // An ELF (or Mach-O) object with machine code for this host.
    Result<std::vector<char>> generate(llvm::Module& module);

    // The same code as text.
    Result<std::string> assembly(llvm::Module& module);

    struct Linked {
        void* entry = nullptr;
        std::shared_ptr<void> code;  // unmapped with the last reference
    };
    Result<Linked> link(std::span<const char> object, std::string_view name);

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace ingot::metal::jit

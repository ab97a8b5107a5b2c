// From bytes to a module that is fit for the passes: LLVM's verifier accepts it, it calls only functions this
// device knows by prefix, none of the device's own, and it holds nothing that a Metal compiler doesn't emit
// (inline assembly, indirect calls, exceptions, aliases, thread-local storage). The names behind the prefixes
// are checked when they are lowered.
#pragma once

#include <span>

#include <llvm/IR/Module.h>

#include "base/result.h"

namespace ingot::metal::jit {

// Bitcode, or IR as text.
Result<std::unique_ptr<llvm::Module>> import_module(std::span<const std::byte> bytes, std::string_view name,
                                                    llvm::LLVMContext& context);
// What stands between two passes, where calls of the device's own functions are.
Result<std::unique_ptr<llvm::Module>> import_text(std::string_view ir, llvm::LLVMContext& context);

enum class Origin : uint8_t { kMetal, kPass };
Result<void> check_module(const llvm::Module& module, Origin origin = Origin::kMetal);
Result<void> verify(const llvm::Module& module, std::string_view after);

}  // namespace ingot::metal::jit

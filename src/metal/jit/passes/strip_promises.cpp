// Drops what the module promises but hosts break or this machine can't use: kernels are compiled as if no two
// buffers overlap (alias scopes per argument, noalias parameters), yet hosts bind one buffer twice for
// in-place operations. What a parameter itself promised is left where only checkers see it. Also drops module
// flags and attributes that speak of Apple's targets.
#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {

Result<void> strip_promises(llvm::Module& module, PassState&) {
    if (llvm::NamedMDNode* flags = module.getModuleFlagsMetadata()) flags->eraseFromParent();
    for (llvm::Function& function : module) {
        for (llvm::Argument& argument : function.args()) {
            if (!argument.hasAttribute(llvm::Attribute::NoAlias)) continue;
            argument.removeAttr(llvm::Attribute::NoAlias);
            argument.addAttr(llvm::Attribute::get(module.getContext(), kRestrictAttribute));
        }
        if (function.isIntrinsic()) continue;
        llvm::AttributeMask strings;
        for (const llvm::Attribute attribute : function.getAttributes().getFnAttrs()) {
            if (attribute.isStringAttribute()) strings.addAttribute(attribute.getKindAsString());
        }
        function.removeFnAttrs(strings);
        for (const auto kind : {llvm::Attribute::StackProtect, llvm::Attribute::StackProtectStrong,
                                llvm::Attribute::StackProtectReq, llvm::Attribute::OptimizeNone,
                                llvm::Attribute::OptimizeForSize, llvm::Attribute::MinSize}) {
            function.removeFnAttr(kind);
        }
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
            if (llvm::isa<llvm::NoAliasScopeDeclInst>(instruction)) {
                instruction.eraseFromParent();
                continue;
            }
            instruction.setMetadata(llvm::LLVMContext::MD_noalias, nullptr);
            instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, nullptr);
        }
    }
    return {};
}

}  // namespace ingot::metal::jit

// The vector executor's own passes: -O2 that leaves one thread's code scalar, control flow in the form that
// jit/lanes expects, one thread's kernel turned into a simdgroup's, and the clean-up behind it.
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include "metal/jit/analyses.h"
#include "metal/jit/host_target.h"
#include "metal/jit/lanes/bfloat_words.h"
#include "metal/jit/lanes/vectoriser.h"
#include "metal/jit/passes/passes.h"
#include "metal/jit/passes/reuse_loads.h"

namespace ingot::metal::jit {
namespace {

// LLVM's analyses and passes for this machine.
class Optimiser {
  public:
    explicit Optimiser(llvm::PipelineTuningOptions tuning = {}) : analyses_(&host_target(), tuning) {}

    void run_default(llvm::Module& module) {
        analyses_.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
            .run(module, analyses_.modules);
    }
    void run(llvm::Function& function, llvm::FunctionPassManager& passes) {
        analyses_.functions.clear();
        passes.run(function, analyses_.functions);
    }

  private:
    Analyses analyses_;
};

// The vectoriser wants every lane's copy of a vector moved by loads and stores.
constexpr uint64_t kMaxCopyBytes = 64;

void expand_small_copies(llvm::Function& function) {
    for (llvm::BasicBlock& block : function) {
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
            auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&instruction);
            if (copy == nullptr || copy->isVolatile()) continue;
            const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
            if (length == nullptr || length->getZExtValue() > kMaxCopyBytes || length->isZero()) continue;
            const uint64_t bytes = length->getZExtValue();
            const uint64_t align = std::min<uint64_t>(
                {copy->getSourceAlign().valueOrOne().value(), copy->getDestAlign().valueOrOne().value(), 4});
            if (bytes % align != 0 || !llvm::isPowerOf2_64(bytes / align)) continue;
            llvm::IRBuilder<> b(copy);
            llvm::Type* type = b.getIntNTy(unsigned(8 * align));
            if (bytes != align) type = llvm::FixedVectorType::get(type, unsigned(bytes / align));
            llvm::Value* value = b.CreateAlignedLoad(type, copy->getRawSource(), llvm::Align(align));
            b.CreateAlignedStore(value, copy->getRawDest(), llvm::Align(align));
            copy->eraseFromParent();
        }
    }
}

// A sign extension that InstCombine has written as two shifts is one again: how an extension differs between
// lanes is known, what a shift to the right leaves isn't.
void restore_extensions(llvm::Function& function) {
    using namespace llvm::PatternMatch;
    for (llvm::BasicBlock& block : function) {
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
            llvm::Value* value = nullptr;
            llvm::ConstantInt *left = nullptr, *right = nullptr;
            if (!match(&instruction,
                       m_AShr(m_Shl(m_Value(value), m_ConstantInt(left)), m_ConstantInt(right))) ||
                left->getValue() != right->getValue()) {
                continue;
            }
            const unsigned bits = value->getType()->getIntegerBitWidth(),
                           kept = bits - unsigned(left->getZExtValue());
            if (kept != 8 && kept != 16 && kept != 32) continue;
            llvm::IRBuilder<> b(&instruction);
            llvm::Value* narrow = b.CreateTrunc(value, b.getIntNTy(kept));
            instruction.replaceAllUsesWith(b.CreateSExt(narrow, value->getType()));
            instruction.eraseFromParent();
        }
    }
}

// What no lane reaches may end as it likes, and what isn't a branch must be a return.
void end_in_return(llvm::BasicBlock& block) {
    if (!llvm::isa<llvm::UnreachableInst>(block.getTerminator())) return;
    block.getTerminator()->eraseFromParent();
    llvm::ReturnInst::Create(block.getContext(), &block);
}

}  // namespace

Result<void> optimise_scalar(llvm::Module& module, PassState&) {
    llvm::PipelineTuningOptions tuning;
    tuning.LoopVectorization = false;
    tuning.SLPVectorization = false;
    Optimiser optimiser(tuning);
    optimiser.run_default(module);
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr) return {};
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SeparateConstOffsetFromGEPPass());
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::LoadStoreVectorizerPass());
    optimiser.run(*entry, passes);
    reuse_loads(*entry);
    restore_extensions(*entry);
    expand_small_copies(*entry);
    return {};
}

Result<void> shape_control(llvm::Module& module, PassState&) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr) return {};
    for (llvm::BasicBlock& block : *entry) end_in_return(block);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::LowerSwitchPass());
    passes.addPass(llvm::FixIrreduciblePass());
    passes.addPass(llvm::UnifyFunctionExitNodesPass());
    passes.addPass(llvm::LoopSimplifyPass());
    passes.addPass(llvm::LCSSAPass());
    Optimiser().run(*entry, passes);
    return {};
}

Result<void> vectorise(llvm::Module& module, PassState& state) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr || entry->arg_size() != 0) {
        return fail(ErrorKind::kInvalidArgument, "the module has no function '{}' without arguments",
                    kEntryName);
    }
    for (const llvm::Function& function : module) {
        if (&function == entry || function.isDeclaration()) continue;
        return fail(ErrorKind::kUnsupported, "'{}', which calls itself", function.getName().str());
    }
    llvm::LLVMContext& c = module.getContext();
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), {llvm::PointerType::getUnqual(c)}, false);
    entry->setName("scalar");
    auto* target = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kEntryName, module);
    target->addFnAttr(llvm::Attribute::NoUnwind);
    target->addParamAttr(0, llvm::Attribute::NonNull);
    lanes::Vectoriser vectoriser(*entry, *target, state.options.variant);
    if (const auto done = vectoriser.run(); !done) {
        // Half-written code isn't shown to the verifier.
        target->deleteBody();
        return done;
    }
    state.meets = vectoriser.has_barriers();
    entry->eraseFromParent();
    return {};
}

Result<void> optimise_lanes(llvm::Module& module, PassState&) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr) return {};
    lanes::keep_bfloats_as_words(*entry);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    passes.addPass(llvm::GVNPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::ADCEPass());
    Optimiser().run(*entry, passes);
    return {};
}

}  // namespace ingot::metal::jit

// Lists the arithmetic instructions of each block of code, before built-in functions are replaced by what
// this machine makes of them, and marks blocks that have any: `instrument` turns the marks into counters.
// Only for code that is watched.
#include <map>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/passes/passes.h"
#include "metal/jit/passes/watcher.h"

namespace ingot::metal::jit {
namespace {

std::optional<Arithmetic> class_of_binary(const llvm::BinaryOperator& operation) {
    switch (operation.getOpcode()) {
        case llvm::Instruction::FAdd:
        case llvm::Instruction::FSub:
            return Arithmetic::kFloatAdd;
        case llvm::Instruction::FMul:
            return Arithmetic::kFloatMultiply;
        case llvm::Instruction::FDiv:
        case llvm::Instruction::FRem:
            return Arithmetic::kFloatDivide;
        case llvm::Instruction::Add:
        case llvm::Instruction::Sub:
            return Arithmetic::kIntegerAdd;
        case llvm::Instruction::Mul:
            return Arithmetic::kIntegerMultiply;
        case llvm::Instruction::UDiv:
        case llvm::Instruction::SDiv:
        case llvm::Instruction::URem:
        case llvm::Instruction::SRem:
            return Arithmetic::kIntegerDivide;
        default:
            return Arithmetic::kBitwise;
    }
}

// "air.fast_exp.f32", "llvm.fmuladd.v4f32"; what isn't arithmetic has another prefix or returns nothing.
std::optional<Arithmetic> class_of_call(const llvm::CallInst& call) {
    if (call.getCalledFunction() == nullptr || call.getType()->isVoidTy()) return std::nullopt;
    llvm::StringRef name = call.getCalledFunction()->getName();
    const bool is_air = name.consume_front("air."), is_llvm = !is_air && name.consume_front("llvm.");
    if (!is_air && !is_llvm) return std::nullopt;
    name.consume_front("fast_");
    if (name.starts_with("convert.")) return Arithmetic::kConvert;
    if (name.starts_with("fma.") || name.starts_with("fmuladd.")) return Arithmetic::kFloatFma;
    for (const char* other :
         {"simd_", "quad_", "atomic.", "simdgroup_", "ingot_", "get_", "init_", "slice_", "wg."}) {
        if (name.starts_with(other)) return std::nullopt;
    }
    const bool is_float = call.getType()->isFPOrFPVectorTy();
    if (!is_float && !call.getType()->isIntOrIntVectorTy()) return std::nullopt;
    return is_float ? Arithmetic::kFloatFunction : Arithmetic::kIntegerFunction;
}

std::optional<Arithmetic> class_of(const llvm::Instruction& instruction) {
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
        return class_of_binary(*binary);
    if (llvm::isa<llvm::UnaryOperator>(instruction)) return Arithmetic::kFloatAdd;
    if (llvm::isa<llvm::CmpInst>(instruction)) return Arithmetic::kCompare;
    if (llvm::isa<llvm::SelectInst>(instruction)) return Arithmetic::kSelect;
    if (llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst, llvm::FPToSIInst, llvm::FPToUIInst, llvm::FPExtInst,
                  llvm::FPTruncInst, llvm::SExtInst, llvm::ZExtInst, llvm::TruncInst>(instruction))
        return Arithmetic::kConvert;
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    return call != nullptr ? class_of_call(*call) : std::nullopt;
}

uint32_t elements(const llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector != nullptr ? vector->getNumElements() : 1;
}

// False if the block has none.
bool list_block(const llvm::BasicBlock& block, Instrumentation& table) {
    std::map<std::tuple<std::string, uint32_t, Arithmetic>, uint32_t> found;
    for (const llvm::Instruction& instruction : block) {
        const auto kind = class_of(instruction);
        if (!kind) continue;
        Site place;
        set_place(place, instruction.getDebugLoc());
        found[{place.file, place.line, *kind}] += elements(instruction.getType());
    }
    for (const auto& [key, count] : found) {
        const auto& [file, line, kind] = key;
        table.arithmetic.push_back(
            {.block = table.num_blocks, .kind = kind, .count = count, .line = line, .file = file});
    }
    return !found.empty();
}

}  // namespace

Result<void> count_arithmetic(llvm::Module& module, PassState& state) {
    if (!state.options.instrument) return {};
    llvm::LLVMContext& context = module.getContext();
    auto* type =
        llvm::FunctionType::get(llvm::Type::getVoidTy(context), {llvm::Type::getInt32Ty(context)}, false);
    auto* mark = llvm::cast<llvm::Function>(module.getOrInsertFunction(kBlockMark, type).getCallee());
    mark->setOnlyAccessesInaccessibleMemory();
    mark->addFnAttr(llvm::Attribute::NoUnwind);
    mark->addFnAttr(llvm::Attribute::WillReturn);
    for (llvm::Function& function : module) {
        for (llvm::BasicBlock& block : function) {
            if (!list_block(block, state.instrumentation)) continue;
            llvm::IRBuilder<> b(block.getTerminator());
            b.SetCurrentDebugLocation(function.getSubprogram() != nullptr
                                          ? block.getTerminator()->getDebugLoc()
                                          : llvm::DebugLoc());
            b.CreateCall(mark, {b.getInt32(state.instrumentation.num_blocks++)});
        }
    }
    return {};
}

}  // namespace ingot::metal::jit

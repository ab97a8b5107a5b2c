// Products of cooperative tensors become functions of values. `matmul2d` takes addresses of what a lane holds
// of its operands; where these are private variables and lie in NAX fragments (exec/lanes/fragments.h), the
// elements are handed over and given back as vectors of floats, and the variables melt into registers:
//   %after = ingot.fragments.M.N.K.TRANSPOSED(%left, %right, %before)
// with TRANSPOSED 1 for the left operand + 2 for the right one.
#include <optional>

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include "metal/exec/fibers/cooperative_layout.h"
#include "metal/exec/fibers/tensor_types.h"
#include "metal/jit/analyses.h"
#include "metal/jit/host_target.h"
#include "metal/jit/lanes/calls.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

using fibers::TensorType;

constexpr int kMostElements = 32 * 32;  // of an operand, which the runtime keeps on its stack

// Arguments of ingot_matmul2d.
enum : unsigned { kDescriptor = 2, kLeft = 3, kRight = 5, kDestination = 7, kThreads = 9, kLayout = 10 };

// The constant that a descriptor's variable is a copy of, wherever it is used.
const llvm::Constant* descriptor_constant(llvm::Value* pointer) {
    const auto as_constant = [](llvm::Value* value) -> const llvm::Constant* {
        const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(value->stripPointerCasts());
        return global != nullptr && global->isConstant() && global->hasDefinitiveInitializer()
                   ? global->getInitializer()
                   : nullptr;
    };
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(pointer);
    if (variable == nullptr) return as_constant(pointer);
    const llvm::Constant* found = nullptr;
    for (const llvm::Use& use : variable->uses()) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (user->isLifetimeStartOrEnd()) continue;
        if (auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(user);
            copy != nullptr && copy->getRawDest() == variable) {
            const llvm::Constant* from = as_constant(copy->getRawSource());
            if (from == nullptr || (found != nullptr && found != from)) return nullptr;
            found = from;
            continue;
        }
        const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
        if (call == nullptr || call->getCalledFunction() == nullptr ||
            call->getCalledFunction()->getName() != "ingot_matmul2d" || use.getOperandNo() != kDescriptor) {
            return nullptr;
        }
    }
    return found;
}

std::optional<fibers::MatmulDescriptor> read_descriptor(llvm::Value* pointer,
                                                        const llvm::DataLayout& layout) {
    const llvm::Constant* constant = descriptor_constant(pointer);
    if (constant == nullptr) return std::nullopt;
    bool all_known = true;
    const auto field = [&](size_t offset, unsigned bits) {
        const auto* value = llvm::dyn_cast_or_null<llvm::ConstantInt>(llvm::ConstantFoldLoadFromConst(
            const_cast<llvm::Constant*>(constant), llvm::Type::getIntNTy(constant->getContext(), bits),
            llvm::APInt(64, offset), layout));
        all_known &= value != nullptr;
        return value != nullptr ? int32_t(value->getSExtValue()) : 0;
    };
    using Descriptor = fibers::MatmulDescriptor;
    Descriptor d{};
    d.m = field(offsetof(Descriptor, m), 32);
    d.n = field(offsetof(Descriptor, n), 32);
    d.k = field(offsetof(Descriptor, k), 32);
    d.transpose_left = uint8_t(field(offsetof(Descriptor, transpose_left), 8));
    d.transpose_right = uint8_t(field(offsetof(Descriptor, transpose_right), 8));
    d.mode = field(offsetof(Descriptor, mode), 32);
    if (!all_known) return std::nullopt;
    return d;
}

// The type of an operand's elements, if they are floats.
llvm::Type* float_type(llvm::Value* code, llvm::LLVMContext& context) {
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(code);
    if (number == nullptr) return nullptr;
    const uint64_t value = number->getZExtValue();
    if (value == operand_code(TensorType::kF32, false)) return llvm::Type::getFloatTy(context);
    if (value == operand_code(TensorType::kF16, false)) return llvm::Type::getHalfTy(context);
    if (value == operand_code(TensorType::kBF16, false)) return llvm::Type::getBFloatTy(context);
    return nullptr;
}

struct Operand {
    llvm::AllocaInst* variable;
    llvm::FixedVectorType* type;  // of a lane's elements
};

// Operand `number` of `rows` x `columns`, if it is a variable that holds all of its elements.
std::optional<Operand> operand(llvm::CallInst& call, unsigned number, int rows, int columns) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(call.getArgOperand(number)->stripPointerCasts());
    llvm::Type* element = float_type(call.getArgOperand(number + 1), call.getContext());
    constexpr int kSide = fibers::kFragment;
    const bool fits = rows > 0 && columns > 0 && rows % kSide == 0 && columns % kSide == 0 &&
                      int64_t{rows} * columns <= kMostElements;
    if (variable == nullptr || element == nullptr || !fits) return std::nullopt;
    auto* type = llvm::FixedVectorType::get(element, unsigned(rows * columns) / kSimdWidth);
    const llvm::DataLayout& layout = call.getModule()->getDataLayout();
    const auto size = variable->getAllocationSize(layout);
    if (!size || size->getFixedValue() < layout.getTypeStoreSize(type).getFixedValue()) return std::nullopt;
    return Operand{variable, type};
}

bool is_constant(llvm::Value* value, uint64_t number) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    return constant != nullptr && constant->equalsInt(number);
}

// A variable that is made anew where it stands may as well be made at the start.
void move_to_entry(llvm::AllocaInst& variable) {
    llvm::BasicBlock& entry = variable.getFunction()->getEntryBlock();
    if (variable.getParent() != &entry) variable.moveBefore(entry, entry.getFirstInsertionPt());
}

bool rewrite(llvm::CallInst& call) {
    if (!is_constant(call.getArgOperand(kThreads), kSimdWidth) ||
        !is_constant(call.getArgOperand(kLayout), uint64_t(CooperativeLayout::kNax))) {
        return false;
    }
    const auto d = read_descriptor(call.getArgOperand(kDescriptor), call.getModule()->getDataLayout());
    if (!d) return false;
    const auto left = operand(call, kLeft, d->m, d->k), right = operand(call, kRight, d->k, d->n),
               destination = operand(call, kDestination, d->m, d->n);
    if (!left || !right || !destination || !destination->type->getElementType()->isFloatTy()) return false;
    llvm::IRBuilder<> b(&call);
    const auto value_of = [&](const Operand& o) {
        move_to_entry(*o.variable);
        llvm::Value* value = b.CreateAlignedLoad(o.type, o.variable, llvm::Align(1));
        auto* floats = llvm::FixedVectorType::get(b.getFloatTy(), o.type->getNumElements());
        return o.type == floats ? value : b.CreateFPExt(value, floats);
    };
    llvm::Value *a = value_of(*left), *c = value_of(*right);
    llvm::Value* before =
        d->mode == 1 ? value_of(*destination) : llvm::Constant::getNullValue(destination->type);
    move_to_entry(*destination->variable);
    const std::string name = fmt::format("{}{}.{}.{}.{}", lanes::kFragmentProduct.str(), d->m, d->n, d->k,
                                         (d->transpose_left ? 1 : 0) + (d->transpose_right ? 2 : 0));
    auto* type =
        llvm::FunctionType::get(destination->type, {a->getType(), c->getType(), before->getType()}, false);
    auto* product = llvm::cast<llvm::Function>(call.getModule()->getOrInsertFunction(name, type).getCallee());
    product->setDoesNotAccessMemory();
    product->setDoesNotThrow();
    product->setConvergent();
    product->addFnAttr(llvm::Attribute::WillReturn);
    b.CreateAlignedStore(b.CreateCall(product, {a, c, before}), destination->variable, llvm::Align(1));
    call.eraseFromParent();
    return true;
}

}  // namespace

Result<void> tensors_in_registers(llvm::Module& module, PassState&) {
    llvm::Function *entry = module.getFunction(kEntryName), *matmul = module.getFunction("ingot_matmul2d");
    if (entry == nullptr || matmul == nullptr) return {};
    bool changed = false;
    for (llvm::User* user : llvm::make_early_inc_range(matmul->users())) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(user);
        if (call != nullptr && call->getFunction() == entry) changed |= rewrite(*call);
    }
    if (!changed) return {};
    Analyses analyses(&host_target());
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::EarlyCSEPass());  // an operand of several products is converted once
    passes.run(*entry, analyses.functions);
    return {};
}

}  // namespace ingot::metal::jit

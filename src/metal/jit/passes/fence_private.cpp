// Private memory is fenced: shipped kernels overrun private arrays and get away with it on a GPU; here that
// would hit the fiber's stack. Every private access that isn't proved to stay inside its variable is guarded:
// a read outside gives 0, a write is dropped. Where it isn't known which variable is meant (the pointer was
// loaded from memory), an access may go to any variable whose address is known to others, or outside of all
// stacks. Comes last, when most private variables have become registers.
#include <algorithm>
#include <optional>

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/StackSafetyAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/analyses.h"
#include "metal/jit/context_builder.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

class Fence {
  public:
    explicit Fence(llvm::Module& module) : module_(module), layout_(module.getDataLayout()) {}

    void run(llvm::Function& entry);

  private:
    struct Access {
        llvm::Instruction* instruction;
        unsigned operand;     // the pointer's index
        uint64_t size_bytes;  // 0: a memory intrinsic of any length
    };

    void collect(llvm::Instruction& instruction);
    llvm::Value* inside(llvm::IRBuilder<>& b, llvm::Value* pointer, llvm::Value* size);
    llvm::Value* inside_one_of(llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::AllocaInst*> variables,
                               llvm::Value* pointer, llvm::Value* size);
    llvm::Value* outside_stacks(llvm::IRBuilder<>& b, llvm::Value* pointer);
    llvm::Value* context_value(llvm::Function& entry, const char* name);
    llvm::ArrayRef<llvm::AllocaInst*> exposed_variables(llvm::Function& entry);
    void guard(const Access& access);
    llvm::Value* spare(llvm::Function& entry);

    llvm::Module& module_;
    const llvm::DataLayout& layout_;
    Analyses analyses_;
    std::vector<Access> accesses_;
    std::optional<std::vector<llvm::AllocaInst*>> exposed_;
    llvm::GlobalVariable* zeros_ = nullptr;
    llvm::AllocaInst* sink_ = nullptr;
    llvm::Value *stacks_begin_ = nullptr, *stacks_bytes_ = nullptr;
};

llvm::SmallVector<const llvm::Value*> underlying_objects(const llvm::Value* pointer) {
    llvm::SmallVector<const llvm::Value*> objects;
    constexpr unsigned kUnlimited = 0;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, kUnlimited);
    return objects;
}

// Whether the pointer comes out of the running thread's record: the runtime's own.
bool is_of_runtime(const llvm::Value* pointer) {
    if (pointer->getType()->getPointerAddressSpace() != 0) return false;
    for (const llvm::Value* object : underlying_objects(pointer)) {
        if (llvm::isa<llvm::Argument>(object)) continue;
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(object)) {
            const llvm::Function* callee = call->getCalledFunction();
            // (What a monitor allowed lies inside.)
            if (callee != nullptr &&
                (callee->getName().starts_with("ingot.") || callee->getName().starts_with("ingot_watch_"))) {
                continue;
            }
        }
        const auto* load = llvm::dyn_cast<llvm::LoadInst>(object);
        if (load == nullptr || !is_of_runtime(load->getPointerOperand())) return false;
    }
    return true;
}

// Whether the pointer may be to a private variable that can't be told.
bool may_be_any_variable(const llvm::Value* pointer) {
    if (pointer->getType()->getPointerAddressSpace() != 0 || is_of_runtime(pointer)) return false;
    for (const llvm::Value* object : underlying_objects(pointer)) {
        if (!llvm::isa<llvm::AllocaInst, llvm::Constant, llvm::Argument>(object)) return true;
    }
    return false;
}

// Objects that `pointer` may point into; false if one of them is no private variable.
bool private_objects(llvm::Value* pointer, llvm::SmallVectorImpl<llvm::AllocaInst*>& variables) {
    for (const llvm::Value* object : underlying_objects(pointer)) {
        auto* variable = llvm::dyn_cast<llvm::AllocaInst>(const_cast<llvm::Value*>(object));
        if (variable == nullptr) return false;
        variables.push_back(variable);
    }
    return !variables.empty();
}

bool accesses_any_variable(const llvm::Instruction& instruction) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        return may_be_any_variable(load->getPointerOperand());
    }
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        return may_be_any_variable(store->getPointerOperand());
    }
    if (const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) {
        return may_be_any_variable(copy->getDest()) || may_be_any_variable(copy->getSource());
    }
    const auto* set = llvm::dyn_cast<llvm::MemSetInst>(&instruction);
    return set != nullptr && may_be_any_variable(set->getDest());
}

constexpr uint64_t kSpareBytes = 512;  // the longest vector access

void Fence::collect(llvm::Instruction& instruction) {
    const auto add = [&](unsigned operand, llvm::Type* type) {
        accesses_.push_back(
            {&instruction, operand, type ? layout_.getTypeStoreSize(type).getFixedValue() : 0});
    };
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        add(load->getPointerOperandIndex(), load->getType());
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        add(store->getPointerOperandIndex(), store->getValueOperand()->getType());
    } else if (llvm::isa<llvm::MemTransferInst>(instruction)) {
        add(0, nullptr);
        add(1, nullptr);
    } else if (llvm::isa<llvm::MemSetInst>(instruction)) {
        add(0, nullptr);
    }
}

// Whether [pointer, pointer + size) lies in one of these variables.
llvm::Value* Fence::inside_one_of(llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::AllocaInst*> variables,
                                  llvm::Value* pointer, llvm::Value* size) {
    llvm::Value* result = nullptr;
    for (llvm::AllocaInst* variable : variables) {
        const auto bytes = variable->getAllocationSize(layout_);
        if (!bytes) return b.getTrue();  // a tensor whose operations aren't lowered yet: lanes refuse those
        llvm::Value* total = b.getInt64(bytes->getFixedValue());
        llvm::Value* offset = b.CreateSub(b.CreatePtrToInt(pointer, b.getInt64Ty()),
                                          b.CreatePtrToInt(variable, b.getInt64Ty()));
        // Unsigned: a negative offset is huge.
        llvm::Value* ok =
            b.CreateAnd(b.CreateICmpULE(size, total), b.CreateICmpULE(offset, b.CreateSub(total, size)));
        result = result != nullptr ? b.CreateOr(result, ok) : ok;
    }
    return result != nullptr ? result : b.getFalse();
}

// What a function that calls itself is given may be its caller's: nobody here knows those variables.
bool guards_any_variable(const llvm::Function& function) {
    return function.getName() == kEntryName;
}

// Whether [pointer, pointer + size) is the kernel's to access; null if there is nothing to ask.
llvm::Value* Fence::inside(llvm::IRBuilder<>& b, llvm::Value* pointer, llvm::Value* size) {
    llvm::SmallVector<llvm::AllocaInst*> variables;
    if (private_objects(pointer, variables)) return inside_one_of(b, variables, pointer, size);
    if (!may_be_any_variable(pointer) || !guards_any_variable(*b.GetInsertBlock()->getParent()))
        return nullptr;
    llvm::Function& entry = *b.GetInsertBlock()->getParent();
    llvm::Value* outside = outside_stacks(b, pointer);
    return b.CreateOr(outside, inside_one_of(b, exposed_variables(entry), pointer, size));
}

// Fibers' entry has the record by now; lanes' entry calls context functions until it is vectorised.
llvm::Value* Fence::context_value(llvm::Function& entry, const char* name) {
    llvm::IRBuilder<> b(&*entry.getEntryBlock().getFirstInsertionPt());
    llvm::CallInst* call = b.CreateCall(module_.getOrInsertFunction(name, b.getInt64Ty()));
    if (entry.arg_size() == 0) {
        call->getCalledFunction()->setDoesNotAccessMemory();
        return call;
    }
    llvm::Value* value = ContextBuilder(entry, entry.getArg(0)).value(name, *call);
    llvm::Function* function = call->getCalledFunction();
    call->eraseFromParent();
    function->eraseFromParent();
    return value;
}

llvm::Value* Fence::outside_stacks(llvm::IRBuilder<>& b, llvm::Value* pointer) {
    llvm::Function& entry = *b.GetInsertBlock()->getParent();
    if (stacks_begin_ == nullptr) {
        stacks_begin_ = context_value(entry, "ingot.stacks_begin");
        stacks_bytes_ = context_value(entry, "ingot.stacks_bytes");
    }
    llvm::Value* offset = b.CreateSub(b.CreatePtrToInt(pointer, b.getInt64Ty()), stacks_begin_);
    return b.CreateICmpUGE(offset, stacks_bytes_);
}

// The variables whose address may have become known to others.
llvm::ArrayRef<llvm::AllocaInst*> Fence::exposed_variables(llvm::Function& entry) {
    if (!exposed_) {
        exposed_.emplace();
        for (llvm::Instruction& instruction : llvm::instructions(entry)) {
            auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
            if (variable == nullptr || variable == sink_) continue;
            if (llvm::PointerMayBeCaptured(variable, false, true)) exposed_->push_back(variable);
        }
    }
    return *exposed_;
}

// Where dropped writes go.
llvm::Value* Fence::spare(llvm::Function& entry) {
    if (sink_ == nullptr) {
        llvm::IRBuilder<> b(&*entry.getEntryBlock().getFirstInsertionPt());
        sink_ = b.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), kSpareBytes));
        sink_->setAlignment(llvm::Align(64));
    }
    return sink_;
}

void Fence::guard(const Access& access) {
    llvm::IRBuilder<> b(access.instruction);
    llvm::Value* pointer = access.instruction->getOperand(access.operand);
    if (auto* intrinsic = llvm::dyn_cast<llvm::MemIntrinsic>(access.instruction)) {
        llvm::Value* length = b.CreateZExt(intrinsic->getLength(), b.getInt64Ty());
        if (llvm::Value* ok = inside(b, pointer, length)) {
            llvm::Value* none = llvm::ConstantInt::get(intrinsic->getLength()->getType(), 0);
            intrinsic->setLength(b.CreateSelect(ok, intrinsic->getLength(), none));
        }
        return;
    }
    if (access.size_bytes > kSpareBytes) return;
    llvm::Value* ok = inside(b, pointer, b.getInt64(access.size_bytes));
    if (ok == nullptr) return;
    llvm::Value* otherwise = nullptr;
    if (llvm::isa<llvm::LoadInst>(access.instruction)) {
        if (zeros_ == nullptr) {
            auto* type = llvm::ArrayType::get(b.getInt8Ty(), kSpareBytes);
            zeros_ = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::InternalLinkage,
                                              llvm::Constant::getNullValue(type), "ingot.zeros");
            zeros_->setAlignment(llvm::Align(64));
        }
        otherwise = zeros_;
    } else {
        otherwise = spare(*access.instruction->getFunction());
    }
    access.instruction->setOperand(access.operand, b.CreateSelect(ok, pointer, otherwise));
}

void Fence::run(llvm::Function& entry) {
    const auto& safety = analyses_.modules.getResult<llvm::StackSafetyGlobalAnalysis>(module_);
    for (llvm::Instruction& instruction : llvm::instructions(entry)) {
        // What is known to be safe is so for pointers whose variable is known.
        if (!safety.stackAccessIsSafe(instruction) || accesses_any_variable(instruction))
            collect(instruction);
    }
    // Guards compare addresses, which exposes variables: first tell which ones the kernel exposes itself.
    const bool any = std::any_of(accesses_.begin(), accesses_.end(), [](const Access& access) {
        return may_be_any_variable(access.instruction->getOperand(access.operand));
    });
    if (any) static_cast<void>(exposed_variables(entry));
    for (const Access& access : accesses_) guard(access);
}

uint32_t private_bytes(llvm::Function& entry, const llvm::DataLayout& layout) {
    uint64_t bytes = 0;
    for (const llvm::Instruction& instruction : llvm::instructions(entry)) {
        const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (variable == nullptr) continue;
        if (const auto size = variable->getAllocationSize(layout)) bytes += size->getFixedValue() + 64;
    }
    return uint32_t(std::min<uint64_t>(bytes, UINT32_MAX));
}

Result<void> refuse_variable_sizes(const llvm::Function& function) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (variable == nullptr || variable->getAllocationSize(function.getDataLayout())) continue;
        return fail(ErrorKind::kUnsupported,
                    "a private variable of variable size, which no Metal compiler emits");
    }
    return {};
}

}  // namespace

Result<void> fence_private(llvm::Module& module, PassState& state) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr) return {};
    state.private_bytes = 0;
    for (llvm::Function& function : module) {
        if (function.isDeclaration()) continue;
        if (state.options.executor == ExecutorKind::kFibers) INGOT_TRY(refuse_variable_sizes(function));
        Fence(module).run(function);
        state.private_bytes += private_bytes(function, module.getDataLayout());
    }
    constexpr uint32_t kMaxPrivateBytes = 8 << 20;
    if (state.private_bytes > kMaxPrivateBytes) {
        return fail(ErrorKind::kLimit, "{} bytes of private variables a thread, at most {} accepted",
                    state.private_bytes, kMaxPrivateBytes);
    }
    return {};
}

}  // namespace ingot::metal::jit

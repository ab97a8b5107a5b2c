// Private memory is fenced: shipped kernels overrun private arrays and get away with it on a GPU; here that
// would hit the fiber's stack. Every private access that isn't proved to stay inside its variable is guarded:
// a read outside gives 0, a write is dropped. Comes last, when most private variables have become registers.
#include <llvm/Analysis/StackSafetyAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>

#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

class Fence {
  public:
    explicit Fence(llvm::Module& module) : module_(module), layout_(module.getDataLayout()) {
        builder_.registerModuleAnalyses(modules_);
        builder_.registerCGSCCAnalyses(sccs_);
        builder_.registerFunctionAnalyses(functions_);
        builder_.registerLoopAnalyses(loops_);
        builder_.crossRegisterProxies(loops_, functions_, sccs_, modules_);
    }

    uint32_t run(llvm::Function& entry);

  private:
    struct Access {
        llvm::Instruction* instruction;
        unsigned operand;     // the pointer's index
        uint64_t size_bytes;  // 0: a memory intrinsic of any length
    };

    void collect(llvm::Instruction& instruction);
    llvm::Value* inside(llvm::IRBuilder<>& b, llvm::Value* pointer, llvm::Value* size);
    void guard(const Access& access);
    llvm::Value* spare(llvm::Function& entry);

    llvm::Module& module_;
    const llvm::DataLayout& layout_;
    llvm::LoopAnalysisManager loops_;
    llvm::FunctionAnalysisManager functions_;
    llvm::CGSCCAnalysisManager sccs_;
    llvm::ModuleAnalysisManager modules_;
    llvm::PassBuilder builder_;
    std::vector<Access> accesses_;
    llvm::GlobalVariable* zeros_ = nullptr;
    llvm::AllocaInst* sink_ = nullptr;
};

// Objects that `pointer` may point into; false if one of them is no private variable.
bool private_objects(llvm::Value* pointer, llvm::SmallVectorImpl<llvm::AllocaInst*>& variables) {
    llvm::SmallVector<const llvm::Value*> objects;
    constexpr unsigned kUnlimited = 0;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, kUnlimited);
    for (const llvm::Value* object : objects) {
        auto* variable = llvm::dyn_cast<llvm::AllocaInst>(const_cast<llvm::Value*>(object));
        if (variable == nullptr) return false;
        variables.push_back(variable);
    }
    return !variables.empty();
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

// Whether [pointer, pointer + size) lies in one of the variables that pointer may belong to.
llvm::Value* Fence::inside(llvm::IRBuilder<>& b, llvm::Value* pointer, llvm::Value* size) {
    llvm::SmallVector<llvm::AllocaInst*> variables;
    if (!private_objects(pointer, variables)) return nullptr;
    llvm::Value* result = nullptr;
    for (llvm::AllocaInst* variable : variables) {
        const auto bytes = variable->getAllocationSize(layout_);
        if (!bytes) return nullptr;
        llvm::Value* total = b.getInt64(bytes->getFixedValue());
        llvm::Value* offset = b.CreateSub(b.CreatePtrToInt(pointer, b.getInt64Ty()),
                                          b.CreatePtrToInt(variable, b.getInt64Ty()));
        // Unsigned: a negative offset is huge.
        llvm::Value* ok =
            b.CreateAnd(b.CreateICmpULE(size, total), b.CreateICmpULE(offset, b.CreateSub(total, size)));
        result = result ? b.CreateOr(result, ok) : ok;
    }
    return result;
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

uint32_t Fence::run(llvm::Function& entry) {
    const auto& safety = modules_.getResult<llvm::StackSafetyGlobalAnalysis>(module_);
    for (llvm::Instruction& instruction : llvm::instructions(entry)) {
        if (!safety.stackAccessIsSafe(instruction)) collect(instruction);
    }
    uint32_t guarded = 0;
    for (const Access& access : accesses_) {
        llvm::SmallVector<llvm::AllocaInst*> variables;
        if (!private_objects(access.instruction->getOperand(access.operand), variables)) continue;
        guard(access);
        ++guarded;
    }
    return guarded;
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

}  // namespace

Result<void> fence_private(llvm::Module& module, PassState& state) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr) return {};
    state.private_bytes = 0;
    for (llvm::Function& function : module) {
        if (function.isDeclaration()) continue;
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

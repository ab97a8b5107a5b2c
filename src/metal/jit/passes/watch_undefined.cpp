// Variables that are used before they have a value. What a variable holds at its beginning is a mark (a
// call); for each value that marks flow into, a bit (of vectors: one an element) says at run time whether it
// is one. Where such a value decides something (a branch, an address, a store that others see), the bit leads
// to a call of the runtime. Variables that stay in memory have a shadow that holds the bits
// (undefined_memory.h).
#include <map>
#include <set>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/jit/passes/undefined_memory.h"
#include "metal/jit/passes/watcher.h"

namespace ingot::metal::jit {
namespace {

bool is_mark(const llvm::Value* value) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
    return call != nullptr && call->getCalledFunction() != nullptr &&
           call->getCalledFunction()->getName().starts_with(kUndefinedMark);
}

// Whether a result is undefined as soon as an operand is.
bool passes_on(const llvm::Instruction& instruction) {
    if (instruction.getType()->isAggregateType()) return false;
    if (llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst,
                  llvm::CmpInst, llvm::FreezeInst, llvm::ExtractElementInst, llvm::InsertElementInst,
                  llvm::ShuffleVectorInst, llvm::GetElementPtrInst>(instruction))
        return true;
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    return intrinsic != nullptr && intrinsic->doesNotAccessMemory();
}

class UndefinedWatcher {
  public:
    explicit UndefinedWatcher(Watcher& watcher)
        : watcher_(watcher), b_(watcher.b()), memory_(watcher.entry(), watcher.instructions()) {}
    void run();

  private:
    struct Use {
        llvm::Instruction* at;
        llvm::Value* bit;
        const char* what;
    };
    void follow(llvm::Instruction& mark);
    void look_at(llvm::Instruction& instruction);
    void use(llvm::Instruction& at, llvm::Value* value, const char* what);
    llvm::Type* bits_type(llvm::Type* type) const;
    llvm::Value* none(llvm::Type* type) const { return llvm::Constant::getNullValue(bits_type(type)); }
    llvm::Value* bits(llvm::Value* value);
    llvm::Value* make_bits(llvm::Instruction& instruction);
    llvm::Value* join_operands(llvm::Instruction& instruction);
    llvm::Value* logical(llvm::BinaryOperator& operation);
    llvm::Value* fit(llvm::Value* bits, llvm::Type* type);
    llvm::Value* any(llvm::Value* bits);

    Watcher& watcher_;
    llvm::IRBuilder<>& b_;
    UndefinedMemory memory_;
    std::set<llvm::Value*> followed_;  // what marks flow into
    std::map<llvm::Value*, llvm::Value*> bits_;
    std::vector<Use> uses_;
};

void UndefinedWatcher::follow(llvm::Instruction& mark) {
    std::vector<llvm::Value*> open{&mark};
    while (!open.empty()) {
        llvm::Value* value = open.back();
        open.pop_back();
        if (!followed_.insert(value).second) continue;
        for (llvm::User* user : value->users()) {
            auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
            if (instruction == nullptr) continue;
            if (passes_on(*instruction)) open.push_back(instruction);
            auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
            if (store == nullptr || store->getValueOperand() != value) continue;
            for (llvm::LoadInst* load : memory_.loads_after(*store)) open.push_back(load);
        }
    }
}

llvm::Type* UndefinedWatcher::bits_type(llvm::Type* type) const {
    llvm::Type* bit = llvm::Type::getInt1Ty(type->getContext());
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector != nullptr ? llvm::FixedVectorType::get(bit, vector->getNumElements()) : bit;
}

llvm::Value* UndefinedWatcher::any(llvm::Value* bits) {
    return bits->getType()->isVectorTy() ? b_.CreateOrReduce(bits) : bits;
}

// Bits of one shape for a value of another.
llvm::Value* UndefinedWatcher::fit(llvm::Value* bits, llvm::Type* type) {
    llvm::Type* wanted = bits_type(type);
    if (bits->getType() == wanted) return bits;
    llvm::Value* bit = any(bits);
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(wanted);
    return vector != nullptr ? b_.CreateVectorSplat(vector->getNumElements(), bit) : bit;
}

llvm::Value* UndefinedWatcher::join_operands(llvm::Instruction& instruction) {
    llvm::Value* all = none(instruction.getType());
    for (llvm::Value* operand : instruction.operands()) {
        if (followed_.contains(operand)) all = b_.CreateOr(all, fit(bits(operand), instruction.getType()));
    }
    return all;
}

// `false && undefined` is false.
llvm::Value* UndefinedWatcher::logical(llvm::BinaryOperator& operation) {
    llvm::Value *left = operation.getOperand(0), *right = operation.getOperand(1);
    llvm::Value *left_bits = bits(left), *right_bits = bits(right);
    const bool is_and = operation.getOpcode() == llvm::Instruction::And;
    // Whether the other operand leaves it open.
    const auto open = [&](llvm::Value* value) { return is_and ? value : b_.CreateNot(value); };
    return b_.CreateOr(
        b_.CreateAnd(left_bits, right_bits),
        b_.CreateOr(b_.CreateAnd(left_bits, open(right)), b_.CreateAnd(right_bits, open(left))));
}

llvm::Value* UndefinedWatcher::make_bits(llvm::Instruction& instruction) {
    if (is_mark(&instruction)) return llvm::Constant::getAllOnesValue(bits_type(instruction.getType()));
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return memory_.load_bits(b_, *load);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
        llvm::Value* chosen = b_.CreateSelect(select->getCondition(), bits(select->getTrueValue()),
                                              bits(select->getFalseValue()));
        return b_.CreateOr(chosen, fit(bits(select->getCondition()), instruction.getType()));
    }
    if (auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction))
        return b_.CreateExtractElement(bits(extract->getVectorOperand()), extract->getIndexOperand());
    if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(&instruction))
        return b_.CreateInsertElement(bits(insert->getOperand(0)), bits(insert->getOperand(1)),
                                      insert->getOperand(2));
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
        // What is taken from nowhere isn't a variable's.
        llvm::SmallVector<int> mask(shuffle->getShuffleMask());
        const int count =
            int(llvm::cast<llvm::FixedVectorType>(shuffle->getOperand(0)->getType())->getNumElements());
        llvm::Value* taken = none(instruction.getType());
        for (int i = 0; i < int(mask.size()); ++i) {
            if (mask[size_t(i)] < 0) continue;
            llvm::Value* from = bits(shuffle->getOperand(mask[size_t(i)] < count ? 0 : 1));
            taken = b_.CreateInsertElement(
                taken, b_.CreateExtractElement(from, uint64_t(mask[size_t(i)] % count)), uint64_t(i));
        }
        return taken;
    }
    auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    const bool is_logical =
        binary != nullptr && binary->getType()->isIntOrIntVectorTy(1) &&
        (binary->getOpcode() == llvm::Instruction::And || binary->getOpcode() == llvm::Instruction::Or);
    return is_logical ? logical(*binary) : join_operands(instruction);
}

llvm::Value* UndefinedWatcher::bits(llvm::Value* value) {
    if (!followed_.contains(value)) return none(value->getType());
    llvm::Value*& known = bits_[value];
    if (known != nullptr) return known;
    auto& instruction = llvm::cast<llvm::Instruction>(*value);
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    if (auto* join = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
        b_.SetInsertPoint(join);
        llvm::PHINode* made = b_.CreatePHI(bits_type(join->getType()), join->getNumIncomingValues());
        bits_[value] = made;
        for (unsigned i = 0; i < join->getNumIncomingValues(); ++i)
            made->addIncoming(bits(join->getIncomingValue(i)), join->getIncomingBlock(i));
        return made;
    }
    b_.SetInsertPoint(instruction.getNextNode());
    llvm::Value* made = make_bits(instruction);
    return bits_[value] = made;
}

void UndefinedWatcher::use(llvm::Instruction& at, llvm::Value* value, const char* what) {
    if (!followed_.contains(value)) return;
    llvm::Value* all = bits(value);
    b_.SetInsertPoint(&at);
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    llvm::Value* bit = any(all);
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(bit);
    if (constant == nullptr || !constant->isZero()) uses_.push_back({&at, bit, what});
}

void UndefinedWatcher::look_at(llvm::Instruction& instruction) {
    constexpr const char *kAddress = "to compute an address", *kBranch = "to decide which way to take";
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        use(instruction, load->getPointerOperand(), kAddress);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        use(instruction, store->getPointerOperand(), kAddress);
        if (store->getPointerAddressSpace() == kDeviceSpace ||
            store->getPointerAddressSpace() == kThreadgroupSpace)
            use(instruction, store->getValueOperand(), "as what it stores");
    } else if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction)) {
        if (branch->isConditional()) use(instruction, branch->getCondition(), kBranch);
    } else if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) {
        use(instruction, choice->getCondition(), kBranch);
    } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
        const llvm::StringRef name =
            call->getCalledFunction() != nullptr ? call->getCalledFunction()->getName() : "";
        if (!name.starts_with("air.simd_") && !name.starts_with("air.quad_") && name != "ingot.mma") return;
        for (llvm::Value* argument : call->args())
            use(instruction, argument, "as what it hands to other lanes");
    }
}

void UndefinedWatcher::run() {
    for (llvm::Instruction* instruction : watcher_.instructions()) {
        if (is_mark(instruction)) follow(*instruction);
    }
    if (followed_.empty()) return;
    for (llvm::StoreInst* store : memory_.watched_stores()) {
        llvm::Value* stored = bits(store->getValueOperand());
        b_.SetInsertPoint(store);
        b_.SetCurrentDebugLocation(llvm::DebugLoc());
        memory_.store_bits(b_, *store, stored);
    }
    for (llvm::Instruction* instruction : watcher_.instructions()) look_at(*instruction);
    for (const Use& use : uses_) {
        Site site = watcher_.new_site(*use.at, SiteKind::kUndefinedUse);
        site.function = use.what;
        watcher_.tell(*llvm::SplitBlockAndInsertIfThen(use.bit, use.at, false), std::move(site));
    }
}

}  // namespace

void watch_undefined(Watcher& watcher) {
    UndefinedWatcher(watcher).run();
}

void drop_undefined_marks(llvm::Module& module) {
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (!function.getName().starts_with(kUndefinedMark)) continue;
        for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
            auto* call = llvm::cast<llvm::CallInst>(user);
            call->replaceAllUsesWith(llvm::Constant::getNullValue(call->getType()));
            call->eraseFromParent();
        }
        function.eraseFromParent();
    }
}

}  // namespace ingot::metal::jit

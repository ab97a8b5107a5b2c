// Tells the launch's monitor (exec/monitor.h) what the kernel does: a call of the runtime before each access
// of memory that others see, each private access not proved inside, each meeting and each return. An access
// goes where the runtime says, so that one outside of its object doesn't happen. Runs where everything is
// inlined and the AIR calls that meet are still calls; sites and objects are kept in the kernel
// (exec/instrumentation.h).
#include <algorithm>
#include <optional>

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/StackSafetyAnalysis.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include "metal/jit/analyses.h"
#include "metal/jit/passes/memory_objects.h"
#include "metal/jit/passes/passes.h"
#include "metal/jit/passes/watcher.h"

namespace ingot::metal::jit {
namespace {

// "air.simd_shuffle_down.f32" -> "simd_shuffle_down"
std::string function_name(llvm::StringRef name) {
    name.consume_front("air.");
    if (name.starts_with("wg.barrier")) return "threadgroup_barrier";
    if (name.starts_with("simdgroup.barrier")) return "simdgroup_barrier";
    if (name == "ingot.mma") return "simdgroup_multiply_accumulate";
    if (name.consume_front("__tensorops_impl_")) return name.split('.').first.str();
    return name.split('.').first.str();
}

std::optional<SiteKind> call_kind(llvm::StringRef name) {
    if (name == "air.wg.barrier") return SiteKind::kBarrier;
    if (name == "air.simdgroup.barrier") return SiteKind::kSimdgroupBarrier;
    if (name.starts_with("air.simd_") || name.starts_with("air.quad_")) return SiteKind::kSimdFunction;
    if (name == "ingot.mma") return SiteKind::kMatrixProduct;
    if (!name.consume_front("__tensorops_impl_matmul2d_op_")) return std::nullopt;
    if (name.starts_with("run")) return SiteKind::kTensorOperation;
    if (name.starts_with("cooperative_tensor_load") || name.starts_with("cooperative_tensor_store"))
        return SiteKind::kTensorCopy;
    for (const char* function : {"init", "get_element_pointer", "get_coordinate"}) {
        if (name == std::string("cooperative_tensor_") + function) return SiteKind::kTensorElement;
    }
    return std::nullopt;
}

ElementKind element_kind(const llvm::Type* type) {
    const llvm::Type* scalar = type->getScalarType();
    if (scalar->isFloatTy()) return ElementKind::kFloat;
    if (scalar->isHalfTy()) return ElementKind::kHalf;
    return scalar->isBFloatTy() ? ElementKind::kBfloat : ElementKind::kOther;
}

class Instrumenter {
  public:
    Instrumenter(llvm::Function& entry, PassState& state)
        : entry_(entry),
          layout_(entry.getDataLayout()),
          state_(state),
          objects_(state, layout_),
          watcher_(entry, state),
          b_(watcher_.b()) {}

    void run();

  private:
    struct Target {
        unsigned operand;  // the pointer's index
        llvm::Type* type;  // what is accessed; null: a run of bytes
        bool reads, writes;
    };

    void visit(llvm::Instruction& instruction);
    void visit_call(llvm::CallInst& call);
    void watch_access(llvm::Instruction& instruction, const Target& target, llvm::Value* stored);
    void watch_copy(llvm::MemIntrinsic& copy, const Target& target);
    void watch_call(llvm::Instruction& before, SiteKind kind, std::string function, llvm::Value* argument);
    bool is_safe(const llvm::Instruction& instruction, const MemoryObject& object, const llvm::Value* pointer,
                 uint64_t size_bytes) const;
    uint32_t needed_alignment(llvm::Instruction& instruction, llvm::Type* type) const;
    void set_fixed_offset(Site& site, const MemoryObject& object, const llvm::Value* pointer) const;
    std::vector<llvm::BasicBlock*> number_blocks();
    llvm::Instruction* row_of_counts(llvm::Function& function, uint64_t num_blocks);
    void count_blocks();
    std::pair<llvm::Value*, llvm::Value*> halves(llvm::Value* value);
    llvm::Value* base_of(llvm::Value* object);

    llvm::Function& entry_;
    const llvm::DataLayout& layout_;
    PassState& state_;
    ObjectFinder objects_;
    Watcher watcher_;
    llvm::IRBuilder<>& b_;
    Analyses analyses_;
    const llvm::StackSafetyGlobalInfo* safety_ = nullptr;
};

// The first 16 bytes of a stored value, as two words.
std::pair<llvm::Value*, llvm::Value*> Instrumenter::halves(llvm::Value* value) {
    llvm::Type* type = value->getType();
    if (type->isPointerTy()) return {b_.CreatePtrToInt(value, b_.getInt64Ty()), b_.getInt64(0)};
    const uint64_t bits = type->getPrimitiveSizeInBits().getFixedValue();
    if (bits == 0 || bits % 8 != 0) return {b_.getInt64(0), b_.getInt64(0)};
    llvm::Value* integer = b_.CreateBitCast(value, b_.getIntNTy(unsigned(bits)));
    llvm::Value* low = b_.CreateZExtOrTrunc(integer, b_.getInt64Ty());
    if (bits <= 64) return {low, b_.getInt64(0)};
    return {low, b_.CreateZExtOrTrunc(b_.CreateLShr(integer, 64), b_.getInt64Ty())};
}

// Where an object begins that the launch doesn't know.
llvm::Value* Instrumenter::base_of(llvm::Value* object) {
    if (object == nullptr) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    return b_.CreateAddrSpaceCast(object, b_.getPtrTy());
}

// Whether nothing can be said about an access to what no other thread sees.
bool Instrumenter::is_safe(const llvm::Instruction& instruction, const MemoryObject& object,
                           const llvm::Value* pointer, uint64_t size_bytes) const {
    if (object.kind == ObjectKind::kNone) return true;
    if (object.kind == ObjectKind::kPrivateVariable) return safety_->stackAccessIsSafe(instruction);
    if (object.kind != ObjectKind::kProgramConstant || size_bytes == 0) return false;
    llvm::APInt offset(layout_.getIndexTypeSizeInBits(pointer->getType()), 0);
    const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, true);
    return llvm::isa<llvm::GlobalVariable>(base) && !offset.isNegative() &&
           offset.getZExtValue() + size_bytes <= object.size_bytes;
}

// What the element's type needs, or less where the code says so: compilers copy four halves as one number of
// eight bytes, which lies at a multiple of 2.
uint32_t Instrumenter::needed_alignment(llvm::Instruction& instruction, llvm::Type* type) const {
    llvm::Type* scalar = type->getScalarType();
    if (!scalar->isSized()) return 1;
    const llvm::Align natural = layout_.getABITypeAlign(scalar);
    const bool is_plain = llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction) && !instruction.isAtomic();
    return uint32_t(
        (is_plain ? std::min(natural, llvm::getLoadStoreAlignment(&instruction)) : natural).value());
}

// "constant uint& size", "params.count": an argument with a constant behind it.
void Instrumenter::set_fixed_offset(Site& site, const MemoryObject& object,
                                    const llvm::Value* pointer) const {
    if (object.kind != ObjectKind::kBuffer) return;
    llvm::APInt offset(layout_.getIndexTypeSizeInBits(pointer->getType()), 0);
    const llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, true);
    if (!llvm::isa<llvm::CallInst>(base) || offset.isNegative()) return;
    site.is_fixed = true;
    site.fixed_offset = offset.getZExtValue();
}

void Instrumenter::watch_access(llvm::Instruction& instruction, const Target& target, llvm::Value* stored) {
    llvm::Value* pointer = instruction.getOperand(target.operand);
    const ObjectFinder::Found found = objects_.find(pointer);
    const uint64_t size = layout_.getTypeStoreSize(target.type).getFixedValue();
    if (is_safe(instruction, found.object, pointer, size)) return;
    const bool matrix = instruction.getMetadata(kMatrixAccess) != nullptr;
    SiteKind kind = target.writes ? SiteKind::kStore : SiteKind::kLoad;
    if (matrix) kind = target.writes ? SiteKind::kMatrixStore : SiteKind::kMatrixLoad;
    if (instruction.isAtomic()) kind = SiteKind::kAtomic;
    Site site = watcher_.new_site(instruction, kind);
    site.reads = target.reads;
    site.writes = target.writes;
    site.is_atomic = instruction.isAtomic();
    site.element = element_kind(target.type);
    site.size_bytes = uint32_t(size);
    site.align_bytes = needed_alignment(instruction, target.type);
    set_fixed_offset(site, found.object, pointer);
    b_.SetInsertPoint(&instruction);
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    llvm::Value* number = b_.getInt32(watcher_.add(std::move(site), found.object));
    llvm::SmallVector<llvm::Value*> arguments{watcher_.lane(), b_.CreateAddrSpaceCast(pointer, b_.getPtrTy()),
                                              base_of(found.base), number};
    if (stored != nullptr) {
        const auto [low, high] = halves(stored);
        arguments.append({low, high});
    }
    llvm::Value* allowed =
        watcher_.call(stored != nullptr ? "ingot_watch_store" : "ingot_watch_load", b_.getPtrTy(), arguments);
    instruction.setOperand(target.operand, b_.CreateAddrSpaceCast(allowed, pointer->getType()));
}

void Instrumenter::watch_copy(llvm::MemIntrinsic& copy, const Target& target) {
    const ObjectFinder::Found found = objects_.find(copy.getOperand(target.operand));
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength());
    const uint64_t size = length != nullptr ? length->getZExtValue() : 0;
    if (is_safe(copy, found.object, copy.getOperand(target.operand), size)) return;
    Site site = watcher_.new_site(copy, SiteKind::kCopy);
    site.reads = target.reads;
    site.writes = target.writes;
    site.size_bytes = uint32_t(std::min<uint64_t>(size, UINT32_MAX));
    b_.SetInsertPoint(&copy);
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    llvm::Value* number = b_.getInt32(watcher_.add(std::move(site), found.object));
    llvm::Value* pointer = b_.CreateAddrSpaceCast(copy.getOperand(target.operand), b_.getPtrTy());
    llvm::Value* bytes = b_.CreateZExtOrTrunc(copy.getLength(), b_.getInt64Ty());
    llvm::Value* allowed = watcher_.call("ingot_watch_copy", b_.getInt64Ty(),
                                         {watcher_.lane(), pointer, base_of(found.base), number, bytes});
    copy.setLength(b_.CreateZExtOrTrunc(allowed, copy.getLength()->getType()));
}

void Instrumenter::watch_call(llvm::Instruction& before, SiteKind kind, std::string function,
                              llvm::Value* argument) {
    Site site = watcher_.new_site(before, kind);
    site.function = std::move(function);
    // Of these it matters only how often they are met.
    if (kind == SiteKind::kMatrixProduct || kind == SiteKind::kFence)
        return watcher_.note(before, std::move(site));
    watcher_.tell(before, std::move(site), argument);
}

void Instrumenter::visit_call(llvm::CallInst& call) {
    if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&call)) {
        watch_copy(*copy, {.operand = 1, .type = nullptr, .reads = true, .writes = false});
        watch_copy(*copy, {.operand = 0, .type = nullptr, .reads = false, .writes = true});
    } else if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(&call)) {
        watch_copy(*set, {.operand = 0, .type = nullptr, .reads = false, .writes = true});
    }
    const llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr || call.getMetadata(kAddedMeeting) != nullptr) return;
    const auto kind = call_kind(callee->getName());
    if (!kind) return;
    // A barrier's flags come first, a shuffle's lane second.
    const unsigned index = *kind == SiteKind::kSimdFunction ? 1 : 0;
    watch_call(call, *kind, function_name(callee->getName()),
               call.arg_size() > index ? call.getArgOperand(index) : nullptr);
}

void Instrumenter::visit(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        watch_access(*load, {load->getPointerOperandIndex(), load->getType(), true, false}, nullptr);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        llvm::Value* value = store->getValueOperand();
        watch_access(*store, {store->getPointerOperandIndex(), value->getType(), false, true}, value);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
        watch_access(*update, {update->getPointerOperandIndex(), update->getType(), true, true}, nullptr);
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
        llvm::Type* type = exchange->getNewValOperand()->getType();
        watch_access(*exchange, {exchange->getPointerOperandIndex(), type, true, true}, nullptr);
    } else if (llvm::isa<llvm::FenceInst>(instruction)) {
        watch_call(instruction, SiteKind::kFence, "atomic_thread_fence", nullptr);
    } else if (llvm::isa<llvm::ReturnInst>(instruction)) {
        watch_call(instruction, SiteKind::kEnd, "", nullptr);
    } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
        visit_call(*call);
    }
}

// What function constants switched off mustn't be told: compilers read arguments ahead of the branch that
// they belong to.
void drop_dead_code(llvm::Function& entry) {
    for (bool changed = true; changed;) {
        changed = false;
        for (llvm::BasicBlock& block : entry) changed |= llvm::ConstantFoldTerminator(&block, true);
        changed |= llvm::removeUnreachableBlocks(entry);
        for (llvm::BasicBlock& block : entry) changed |= llvm::SimplifyInstructionsInBlock(&block);
        for (llvm::BasicBlock& block : entry) changed |= llvm::DeleteDeadPHIs(&block);
    }
}

// Numbers the blocks that hold sites, or marks of arithmetic (count_arithmetic.cpp), which the list of
// arithmetic goes by from here on.
std::vector<llvm::BasicBlock*> Instrumenter::number_blocks() {
    Instrumentation& table = state_.instrumentation;
    std::vector<llvm::BasicBlock*> blocks;
    llvm::DenseMap<const llvm::BasicBlock*, uint32_t> numbers;
    const auto number_of = [&](llvm::BasicBlock* block) {
        const auto [known, is_new] = numbers.try_emplace(block, uint32_t(blocks.size()));
        if (is_new) blocks.push_back(block);
        return known->second;
    };
    for (size_t i = 0; i < table.sites.size(); ++i)
        table.sites[i].block = number_of(watcher_.place_of(uint32_t(i)).getParent());
    const std::vector<BlockArithmetic> by_mark = std::move(table.arithmetic);
    table.arithmetic.clear();
    llvm::Function* mark = entry_.getParent()->getFunction(kBlockMark);
    if (mark != nullptr) {
        for (llvm::User* user : llvm::make_early_inc_range(mark->users())) {
            auto* call = llvm::cast<llvm::CallInst>(user);
            const uint64_t marked = llvm::cast<llvm::ConstantInt>(call->getArgOperand(0))->getZExtValue();
            const auto [first, last] = std::ranges::equal_range(by_mark, marked, {}, &BlockArithmetic::block);
            for (BlockArithmetic part : std::ranges::subrange(first, last)) {
                part.block = number_of(call->getParent());
                table.arithmetic.push_back(std::move(part));
            }
            call->eraseFromParent();
        }
        mark->eraseFromParent();
    }
    table.num_blocks = uint32_t(blocks.size());
    return blocks;
}

// Where the thread counts in, at a function's beginning.
llvm::Instruction* Instrumenter::row_of_counts(llvm::Function& function, uint64_t num_blocks) {
    b_.SetInsertPoint(function.getEntryBlock().getFirstInsertionPt());
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    llvm::CallInst* counts = watcher_.call("ingot.block_counts", b_.getPtrTy(), {});
    llvm::CallInst* thread = watcher_.call("ingot.index.thread_index_in_threadgroup.0", b_.getInt32Ty(), {});
    for (const llvm::CallInst* call : {counts, thread}) call->getCalledFunction()->setDoesNotAccessMemory();
    return llvm::cast<llvm::Instruction>(
        b_.CreateGEP(b_.getInt64Ty(), counts,
                     b_.CreateMul(b_.CreateZExt(thread, b_.getInt64Ty()), b_.getInt64(num_blocks))));
}

// Each thread counts in a row of its own; also in functions that stayed because they call themselves.
void Instrumenter::count_blocks() {
    const std::vector<llvm::BasicBlock*> blocks = number_blocks();
    llvm::DenseMap<llvm::Function*, llvm::Instruction*> rows;
    for (size_t i = 0; i < blocks.size(); ++i) {
        llvm::Function& function = *blocks[i]->getParent();
        llvm::Instruction*& row = rows[&function];
        if (row == nullptr) row = row_of_counts(function, blocks.size());
        const bool is_first = blocks[i] == &function.getEntryBlock();
        b_.SetInsertPoint(is_first ? row->getNextNode() : &*blocks[i]->getFirstInsertionPt());
        b_.SetCurrentDebugLocation(llvm::DebugLoc());
        llvm::Value* count = b_.CreateConstGEP1_64(b_.getInt64Ty(), row, i);
        b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), count), b_.getInt64(1)), count);
    }
}

void Instrumenter::run() {
    // First what looks at addresses, which visit() replaces.
    watch_undefined(watcher_);
    if (state_.options.watch_overflow) watch_overflow(watcher_);
    safety_ = &analyses_.modules.getResult<llvm::StackSafetyGlobalAnalysis>(*entry_.getParent());
    for (llvm::Instruction* instruction : watcher_.instructions()) visit(*instruction);
    count_blocks();
}

}  // namespace

Result<void> instrument(llvm::Module& module, PassState& state) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (state.options.instrument && entry != nullptr) {
        drop_dead_code(*entry);
        Instrumenter(*entry, state).run();
    }
    drop_undefined_marks(module);
    return {};
}

}  // namespace ingot::metal::jit

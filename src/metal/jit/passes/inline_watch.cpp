// Takes the usual case of what `instrument` put in into the kernel's own code: an access inside of its
// object, in a range that nobody wants to hear of (Group::quiet), is a comparison; a meeting that nobody
// wants to hear of is a branch. What is left is a call as before, out of the way. Comes after all that works
// on whole blocks: a branch at each access would tear batches of matrices apart, and keep the optimiser from
// its work. The largest kernels keep their calls: code generation for thousands of branches takes seconds
// more.
#include <map>
#include <tuple>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/exec/fibers/lane.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

using fibers::Group;
using fibers::Lane;
using fibers::QuietRange;

// Watched places of a kernel that branch by themselves.
constexpr size_t kMostPlaces = 500;

class WatchInliner {
  public:
    WatchInliner(llvm::Function& entry, const Instrumentation& table);

    void run();

  private:
    // Where accesses of a size may begin.
    struct Range {
        llvm::Value* begin;
        llvm::Value* count;
    };

    void expand_access(llvm::CallInst& call, unsigned num_site);
    void expand_call(llvm::CallInst& call);
    Range range_of(const Site& site, llvm::Value* base);
    llvm::Value* field(llvm::Type* type, llvm::Value* record, uint64_t offset) {
        return start_.CreateLoad(type, start_.CreateConstInBoundsGEP1_64(start_.getInt8Ty(), record, offset));
    }

    llvm::Function& entry_;
    const Instrumentation& table_;
    llvm::IRBuilder<> start_, b_;  // where the kernel starts; at the call at hand
    llvm::Value *quiet_ = nullptr, *hears_calls_ = nullptr;
    std::map<std::tuple<uint32_t, bool, uint64_t>, Range> ranges_;  // by object, is_fixed and size
    llvm::MDNode* rarely_;
};

WatchInliner::WatchInliner(llvm::Function& entry, const Instrumentation& table)
    : entry_(entry),
      table_(table),
      start_(&*entry.getEntryBlock().getFirstInsertionPt()),
      b_(entry.getContext()),
      rarely_(llvm::MDBuilder(entry.getContext()).createBranchWeights(1, 1 << 20)) {
    llvm::Value* group = field(start_.getPtrTy(), entry.getArg(0), offsetof(Lane, group));
    quiet_ = field(start_.getPtrTy(), group, offsetof(Group, quiet));
    hears_calls_ = start_.CreateICmpNE(field(start_.getInt32Ty(), group, offsetof(Group, hears_calls)),
                                       start_.getInt32(0));
    // What comes first may be a call that moves away.
    start_.SetInsertPoint(llvm::cast<llvm::Instruction>(hears_calls_));
}

WatchInliner::Range WatchInliner::range_of(const Site& site, llvm::Value* base) {
    const MemoryObject& object = table_.objects[site.object];
    const uint64_t size_bytes = site.size_bytes;
    // Who listens never hears of private memory unless it is missed.
    if (object.space == MemorySpace::kPrivate) {
        const uint64_t count = object.size_bytes >= size_bytes ? object.size_bytes - size_bytes + 1 : 0;
        return {b_.CreatePtrToInt(base, b_.getInt64Ty()), b_.getInt64(count)};
    }
    Range& known = ranges_[{site.object, site.is_fixed, size_bytes}];
    if (known.begin == nullptr) {
        const uint64_t at = site.object * sizeof(QuietRange);
        const uint64_t bytes =
            site.is_fixed ? offsetof(QuietRange, fixed_bytes) : offsetof(QuietRange, size_bytes);
        known.begin = field(start_.getInt64Ty(), quiet_, at + offsetof(QuietRange, begin));
        known.count = start_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat,
                                                   field(start_.getInt64Ty(), quiet_, at + bytes),
                                                   start_.getInt64(size_bytes - 1));
    }
    if (object.kind != ObjectKind::kProgramConstant) return known;
    return {b_.CreatePtrToInt(base, b_.getInt64Ty()), known.count};
}

// void* told(lane, address, base, site, ...)
void WatchInliner::expand_access(llvm::CallInst& call, unsigned num_site) {
    const Site& site = table_.sites[num_site];
    const MemoryObject& object = table_.objects[site.object];
    if (object.kind == ObjectKind::kSomeBuffer || object.kind == ObjectKind::kNone) return;
    b_.SetInsertPoint(&call);
    llvm::Value* address = call.getArgOperand(1);
    llvm::Value* number = b_.CreatePtrToInt(address, b_.getInt64Ty());
    const Range range = range_of(site, call.getArgOperand(2));
    llvm::Value* told = b_.CreateICmpUGE(b_.CreateSub(number, range.begin), range.count);
    if (site.align_bytes > 1) {
        llvm::Value* rest = b_.CreateAnd(number, site.align_bytes - 1);
        told = b_.CreateOr(told, b_.CreateICmpNE(rest, b_.getInt64(0)));
    }
    llvm::BasicBlock* head = call.getParent();
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(told, &call, false, rarely_);
    llvm::BasicBlock* tail = call.getParent();
    call.moveBefore(then);
    b_.SetInsertPoint(tail, tail->begin());
    llvm::PHINode* allowed = b_.CreatePHI(call.getType(), 2);
    call.replaceAllUsesWith(allowed);
    allowed->addIncoming(address, head);
    allowed->addIncoming(&call, then->getParent());
}

void WatchInliner::expand_call(llvm::CallInst& call) {
    llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(hears_calls_, &call, false, rarely_);
    call.moveBefore(then);
}

bool is_of_tensor(SiteKind kind) {
    return kind == SiteKind::kTensorOperation || kind == SiteKind::kTensorCopy ||
           kind == SiteKind::kTensorElement;
}

void WatchInliner::run() {
    std::vector<std::pair<llvm::CallInst*, uint32_t>> accesses, calls;
    for (llvm::Instruction& instruction : llvm::instructions(entry_)) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
        if (callee == nullptr) continue;
        // Calls at two places that the optimiser made one of have no number.
        const auto number = [call](unsigned argument) {
            return llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(argument));
        };
        const llvm::StringRef name = callee->getName();
        const bool is_access = name == "ingot_watch_load" || name == "ingot_watch_store";
        if (!is_access && name != "ingot_watch_call") continue;
        const auto* site = number(is_access ? 3 : 1);
        if (site != nullptr)
            (is_access ? accesses : calls).emplace_back(call, uint32_t(site->getZExtValue()));
    }
    if (accesses.size() + calls.size() > kMostPlaces) return;
    for (const auto& [call, site] : accesses) expand_access(*call, site);
    for (const auto& [call, site] : calls) {
        if (!is_of_tensor(table_.sites[site].kind)) expand_call(*call);
    }
}

}  // namespace

Result<void> inline_watch(llvm::Module& module, PassState& state) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (!state.options.instrument || entry == nullptr || entry->arg_size() != 1) return {};
    WatchInliner(*entry, state.instrumentation).run();
    return {};
}

}  // namespace ingot::metal::jit

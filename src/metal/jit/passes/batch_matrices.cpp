// Gathers the 8x8 products of a basic block (ingot.mma, left by lower_builtins, unrolled by optimise) into
// few meetings: a batch ends before the first instruction that needs one of its results for anything but a
// further accumulation, and before any other meeting. Operands go to the simdgroup's matrix slots, the
// program (which slots to multiply) is a constant; see fibers/matrix.h. One meeting per product would cost
// six times the arithmetic. Accumulators of a loop stay in slots of their own from its start to its end
// (resident_matrices.h).
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include "metal/exec/fibers/lane.h"
#include "metal/jit/passes/passes.h"
#include "metal/jit/passes/resident_matrices.h"

namespace ingot::metal::jit {
namespace {

using fibers::Lane;
using fibers::Simdgroup;

using ResidentSlots = llvm::DenseMap<llvm::CallInst*, uint32_t>;

struct Batch {
    llvm::SmallVector<llvm::CallInst*> products;
    llvm::SmallPtrSet<llvm::Value*, 32> members;
    std::vector<uint32_t> program;                            // (a, b, c) triples
    std::vector<std::pair<llvm::Value*, uint32_t>> operands;  // what to store where
    llvm::DenseMap<llvm::Value*, uint32_t> operand_slot, result_slot;
    uint32_t num_slots = 0;
    llvm::Instruction* end = nullptr;  // where the meeting goes

    uint32_t slot_of_operand(llvm::Value* value) {
        const auto [entry, is_new] = operand_slot.try_emplace(value, num_slots);
        if (is_new) operands.emplace_back(value, num_slots++);
        return entry->second;
    }
};

bool is_product(const llvm::Instruction& instruction, const llvm::Function* mma) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    return call != nullptr && call->getCalledFunction() == mma;
}

// True if the instruction needs a member's result now. A product may accumulate onto a member.
bool depends_on(const Batch& batch, const llvm::Instruction& instruction, bool product) {
    constexpr unsigned kAccumulator = 2;
    if (llvm::isa<llvm::PHINode>(instruction)) return false;
    for (unsigned i = 0; i < instruction.getNumOperands(); ++i) {
        if (product && i == kAccumulator) continue;
        if (batch.members.contains(instruction.getOperand(i))) return true;
    }
    return false;
}

// Adds a product; false if it must start the next batch.
bool add_product(Batch& batch, llvm::CallInst& call, const ResidentSlots& resident) {
    constexpr uint32_t kSlotsPerProduct = 3;
    if (batch.num_slots + kSlotsPerProduct > fibers::kBatchSlots) return false;
    llvm::Value* accumulator = call.getArgOperand(2);
    const auto in_place = resident.find(&call);
    const auto chained = batch.result_slot.find(accumulator);
    const bool is_resident = in_place != resident.end(), is_chained = chained != batch.result_slot.end();
    if (is_chained && !is_resident && !accumulator->hasOneUse()) return false;
    const uint32_t a = batch.slot_of_operand(call.getArgOperand(0));
    const uint32_t b = batch.slot_of_operand(call.getArgOperand(1));
    uint32_t c = 0;
    if (is_resident) {
        c = in_place->second;
    } else if (is_chained) {
        c = chained->second;
    } else {
        c = batch.num_slots++;  // a slot of its own: the product overwrites it
        batch.operands.emplace_back(accumulator, c);
    }
    batch.program.insert(batch.program.end(), {a, b, c});
    batch.result_slot[&call] = c;
    batch.products.push_back(&call);
    batch.members.insert(&call);
    return true;
}

Batch collect(llvm::CallInst& first, const llvm::Function* mma, const ResidentSlots& resident, bool single) {
    Batch batch;
    for (auto it = first.getIterator();; ++it) {
        llvm::Instruction& instruction = *it;
        const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        const bool product = is_product(instruction, mma);
        const bool other_meeting = call != nullptr && !product && call->isConvergent();
        batch.end = &instruction;
        if (instruction.isTerminator() || other_meeting || depends_on(batch, instruction, product))
            return batch;
        if (!product) continue;
        if ((single && !batch.products.empty()) ||
            !add_product(batch, llvm::cast<llvm::CallInst>(instruction), resident)) {
            return batch;
        }
    }
}

// Address of this lane's first element in matrix slot 0.
llvm::Value* lane_elements(llvm::Function& entry) {
    llvm::IRBuilder<> b(&*entry.getEntryBlock().getFirstInsertionPt());
    llvm::Value* lane = entry.getArg(0);
    const auto field = [&](llvm::Type* type, llvm::Value* record, size_t offset) {
        return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record, offset));
    };
    llvm::Value* simdgroup = field(b.getPtrTy(), lane, offsetof(Lane, simdgroup));
    llvm::Value* matrices = field(b.getPtrTy(), simdgroup, offsetof(Simdgroup, matrices));
    return b.CreateGEP(b.getFloatTy(), matrices, field(b.getInt32Ty(), lane, offsetof(Lane, matrix_element)));
}

void emit_batch(Batch& batch, llvm::Module& module, llvm::Value* lane, llvm::Value* elements,
                const ResidentSlots& resident) {
    llvm::IRBuilder<> b(batch.end);
    auto* fragment = llvm::FixedVectorType::get(b.getFloatTy(), 2);
    std::vector<uint32_t> program{uint32_t(batch.products.size())};
    program.insert(program.end(), batch.program.begin(), batch.program.end());
    auto* data = llvm::ConstantDataArray::get(module.getContext(), program);
    auto* global = new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::InternalLinkage,
                                            data, "ingot.products");
    for (const auto& [value, slot] : batch.operands)
        b.CreateAlignedStore(value, matrix_slot(b, elements, slot), llvm::Align(8));
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
    auto* run =
        llvm::cast<llvm::Function>(module.getOrInsertFunction("ingot_multiply_matrices", type).getCallee());
    run->addFnAttr(llvm::Attribute::Convergent);
    run->addFnAttr(llvm::Attribute::NoUnwind);
    b.CreateCall(run, {lane, global});
    for (llvm::CallInst* product : batch.products) {
        bool continued = resident.contains(product);
        for (const llvm::User* user : product->users()) {
            continued |= batch.members.contains(const_cast<llvm::User*>(user));
        }
        // An accumulator that a later member went on with exists in its slot only.
        llvm::Value* result = llvm::PoisonValue::get(fragment);
        if (!continued) {
            llvm::Value* slot = matrix_slot(b, elements, batch.result_slot[product]);
            result = b.CreateAlignedLoad(fragment, slot, llvm::Align(8));
        }
        product->replaceAllUsesWith(result);
    }
    for (llvm::CallInst* product : batch.products) product->eraseFromParent();
}

}  // namespace

Result<void> batch_matrices(llvm::Module& module, PassState& state) {
    llvm::Function* mma = module.getFunction("ingot.mma");
    llvm::Function* entry = module.getFunction(kEntryName);
    if (mma == nullptr || entry == nullptr) return {};
    llvm::Value* lane = entry->getArg(0);
    llvm::Value* elements = lane_elements(*entry);
    ResidentSlots resident;
    if (state.options.batch_matrices) resident = keep_accumulators_in_slots(*entry, *mma, elements);
    for (llvm::BasicBlock& block : *entry) {
        for (;;) {
            llvm::CallInst* first = nullptr;
            for (llvm::Instruction& instruction : block) {
                if (!is_product(instruction, mma)) continue;
                first = llvm::cast<llvm::CallInst>(&instruction);
                break;
            }
            if (first == nullptr) break;
            Batch batch = collect(*first, mma, resident, !state.options.batch_matrices);
            state.matrix_operations += uint32_t(batch.products.size());
            state.matrix_batches++;
            emit_batch(batch, module, lane, elements, resident);
        }
    }
    mma->eraseFromParent();
    return {};
}

}  // namespace ingot::metal::jit

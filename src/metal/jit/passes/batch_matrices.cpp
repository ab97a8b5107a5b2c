// Gathers the 8x8 products of a basic block (ingot.mma, left by lower_builtins, unrolled by optimise) into
// few meetings: a batch ends before the first instruction that needs one of its results for anything but a
// further accumulation, and before any other meeting. Operands go to the simdgroup's matrix slots, the
// program (which slots to multiply) is a constant; see fibers/matrix.h. One meeting per product would cost
// six times the arithmetic.
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include "metal/exec/fibers/lane.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

using fibers::Lane;
using fibers::Simdgroup;

constexpr uint64_t kMatrixElements = 64;

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
bool add_product(Batch& batch, llvm::CallInst& call) {
    constexpr uint32_t kSlotsPerProduct = 3;
    if (batch.num_slots + kSlotsPerProduct > fibers::kMatrixSlots) return false;
    llvm::Value* accumulator = call.getArgOperand(2);
    const auto chained = batch.result_slot.find(accumulator);
    if (chained != batch.result_slot.end() && !accumulator->hasOneUse()) return false;
    const uint32_t a = batch.slot_of_operand(call.getArgOperand(0));
    const uint32_t b = batch.slot_of_operand(call.getArgOperand(1));
    uint32_t c = 0;
    if (chained != batch.result_slot.end()) {
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

Batch collect(llvm::CallInst& first, const llvm::Function* mma, bool single) {
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
            !add_product(batch, llvm::cast<llvm::CallInst>(instruction))) {
            return batch;
        }
    }
}

// Address of this lane's element in matrix slot 0 of the half that the coming meeting uses.
llvm::Value* lane_elements(llvm::IRBuilder<>& b, llvm::Value* lane) {
    const auto field = [&](llvm::Type* type, llvm::Value* record, size_t offset) {
        return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record, offset));
    };
    llvm::Value* simdgroup = field(b.getPtrTy(), lane, offsetof(Lane, simdgroup));
    llvm::Value* parity = b.CreateAnd(field(b.getInt32Ty(), simdgroup, offsetof(Simdgroup, epoch)), 1);
    llvm::Value* halves =
        b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), simdgroup, offsetof(Simdgroup, matrices));
    llvm::Value* base = b.CreateLoad(b.getPtrTy(), b.CreateGEP(b.getPtrTy(), halves, parity));
    return b.CreateGEP(b.getFloatTy(), base, field(b.getInt32Ty(), lane, offsetof(Lane, matrix_element)));
}

void emit_batch(Batch& batch, llvm::Module& module, llvm::Value* lane) {
    llvm::IRBuilder<> b(batch.end);
    auto* fragment = llvm::FixedVectorType::get(b.getFloatTy(), 2);
    std::vector<uint32_t> program{uint32_t(batch.products.size())};
    program.insert(program.end(), batch.program.begin(), batch.program.end());
    auto* data = llvm::ConstantDataArray::get(module.getContext(), program);
    auto* global = new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::InternalLinkage,
                                            data, "ingot.products");
    llvm::Value* elements = lane_elements(b, lane);
    const auto slot_address = [&](uint32_t slot) {
        return b.CreateConstInBoundsGEP1_64(b.getFloatTy(), elements, kMatrixElements * slot);
    };
    for (const auto& [value, slot] : batch.operands)
        b.CreateAlignedStore(value, slot_address(slot), llvm::Align(8));
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false);
    auto* run =
        llvm::cast<llvm::Function>(module.getOrInsertFunction("ingot_multiply_matrices", type).getCallee());
    run->addFnAttr(llvm::Attribute::Convergent);
    run->addFnAttr(llvm::Attribute::NoUnwind);
    b.CreateCall(run, {lane, global});
    for (llvm::CallInst* product : batch.products) {
        bool continued = false;
        for (const llvm::User* user : product->users()) {
            continued |= batch.members.contains(const_cast<llvm::User*>(user));
        }
        // An accumulator that a later member went on with exists in its slot only.
        llvm::Value* result = llvm::PoisonValue::get(fragment);
        if (!continued) {
            result = b.CreateAlignedLoad(fragment, slot_address(batch.result_slot[product]), llvm::Align(8));
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
    for (llvm::BasicBlock& block : *entry) {
        for (;;) {
            llvm::CallInst* first = nullptr;
            for (llvm::Instruction& instruction : block) {
                if (!is_product(instruction, mma)) continue;
                first = llvm::cast<llvm::CallInst>(&instruction);
                break;
            }
            if (first == nullptr) break;
            Batch batch = collect(*first, mma, !state.options.batch_matrices);
            state.matrix_operations += uint32_t(batch.products.size());
            state.matrix_batches++;
            emit_batch(batch, module, lane);
        }
    }
    mma->eraseFromParent();
    return {};
}

}  // namespace ingot::metal::jit

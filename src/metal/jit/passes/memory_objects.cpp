#include "metal/jit/passes/memory_objects.h"

#include <set>

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Operator.h>

namespace ingot::metal::jit {
namespace {

MemorySpace memory_space(unsigned space) {
    switch (space) {
        case kDeviceSpace:
            return MemorySpace::kDevice;
        case kConstantSpace:
            return MemorySpace::kConstant;
        case kThreadgroupSpace:
            return MemorySpace::kThreadgroup;
        default:
            return MemorySpace::kPrivate;
    }
}

// A step towards where a pointer comes from; false at its origin.
bool step_back(llvm::Value* pointer, llvm::SmallVectorImpl<llvm::Value*>& open) {
    if (auto* element = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
        open.push_back(element->getPointerOperand());
    } else if (llvm::Operator::getOpcode(pointer) == llvm::Instruction::AddrSpaceCast ||
               llvm::Operator::getOpcode(pointer) == llvm::Instruction::BitCast ||
               llvm::Operator::getOpcode(pointer) == llvm::Instruction::Freeze) {
        open.push_back(llvm::cast<llvm::Operator>(pointer)->getOperand(0));
    } else if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(pointer)) {
        open.push_back(choice->getTrueValue());
        open.push_back(choice->getFalseValue());
    } else if (auto* join = llvm::dyn_cast<llvm::PHINode>(pointer)) {
        open.append(join->op_begin(), join->op_end());
    } else {
        return false;
    }
    return true;
}

std::set<llvm::Value*> origins(llvm::Value* pointer) {
    std::set<llvm::Value*> seen{pointer}, found;
    llvm::SmallVector<llvm::Value*> open{pointer};
    while (!open.empty()) {
        llvm::Value* value = open.pop_back_val();
        llvm::SmallVector<llvm::Value*> next;
        if (!step_back(value, next)) {
            if (!llvm::isa<llvm::UndefValue>(value)) found.insert(value);
            continue;
        }
        for (llvm::Value* source : next) {
            if (seen.insert(source).second) open.push_back(source);
        }
    }
    return found;
}

MemoryObject unknown(unsigned space) {
    MemoryObject object;
    object.space = memory_space(space);
    if (space == kThreadgroupSpace) object.kind = ObjectKind::kSomeThreadgroup;
    if (space == kDeviceSpace || space == kConstantSpace) object.kind = ObjectKind::kSomeBuffer;
    return object;
}

std::string argument_name(const KernelInfo& info, bool threadgroup, uint32_t slot) {
    for (const Argument& argument : info.arguments) {
        const bool is_it = threadgroup ? argument.kind == ArgumentKind::kThreadgroup : is_buffer(argument);
        if (is_it && argument.slot == slot) return argument.name;
    }
    return {};
}

uint32_t slot_of(const llvm::CallInst& call) {
    const auto* slot = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
    return slot != nullptr ? uint32_t(slot->getZExtValue()) : 0;
}

}  // namespace

ObjectFinder::Found ObjectFinder::describe(llvm::Value* origin, unsigned space) const {
    Found found{.object = unknown(space)};
    MemoryObject& object = found.object;
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(origin)) {
        if (const llvm::MDNode* node = instruction->getMetadata(kThreadgroupVariable)) {
            const auto* index = llvm::mdconst::extract<llvm::ConstantInt>(node->getOperand(0));
            object = state_.threadgroup_variables[index->getZExtValue()];
            return found;
        }
    }
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(origin)) {
        const llvm::StringRef name =
            call->getCalledFunction() != nullptr ? call->getCalledFunction()->getName() : "";
        const bool threadgroup = name == "ingot.threadgroup";
        if (threadgroup || name == "ingot.buffer") {
            object.kind = threadgroup ? ObjectKind::kThreadgroupSlot : ObjectKind::kBuffer;
            if (object.space == MemorySpace::kPrivate) {
                object.space = threadgroup ? MemorySpace::kThreadgroup : MemorySpace::kDevice;
            }
            object.slot = slot_of(*call);
            object.name = argument_name(state_.info, threadgroup, object.slot);
        }
        return found;
    }
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(origin)) {
        const auto bytes = variable->getAllocationSize(layout_);
        if (!bytes) return {};
        object.kind = ObjectKind::kPrivateVariable;
        object.space = MemorySpace::kPrivate;
        object.size_bytes = bytes->getFixedValue();
        object.name = variable->getName().str();
        found.base = variable;
    } else if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(origin)) {
        object.kind = ObjectKind::kProgramConstant;
        object.space = MemorySpace::kConstant;
        object.size_bytes = layout_.getTypeAllocSize(global->getValueType()).getFixedValue();
        object.name = global->getName().str();
        found.base = global;
    }
    return found;
}

ObjectFinder::Found ObjectFinder::find(llvm::Value* pointer) {
    const auto [entry, is_new] = known_.try_emplace(pointer);
    if (!is_new) return entry->second;
    const unsigned space = pointer->getType()->getPointerAddressSpace();
    const std::set<llvm::Value*> from = origins(pointer);
    if (from.size() == 1) {
        entry->second = describe(*from.begin(), space);
    } else {
        entry->second.object = unknown(space);
    }
    return entry->second;
}

}  // namespace ingot::metal::jit

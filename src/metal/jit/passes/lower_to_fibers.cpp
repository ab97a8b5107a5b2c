// Chooses the fibers executor: the entry takes the running thread's record (fibers/lane.h), context calls
// become loads from it, collectives become calls of the fiber runtime. After this pass an unknown function is
// an error.
#include <map>
#include <set>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "metal/exec/fibers/lane.h"
#include "metal/jit/builtins/emitter.h"
#include "metal/jit/passes/inlining.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

using fibers::Group;
using fibers::Lane;

// Writes the loads that replace context calls, all in the entry's first block.
class ContextBuilder {
  public:
    // The place to write to mustn't be a context call, which goes away: an anchor marks it.
    ContextBuilder(llvm::Function& entry, llvm::Value* lane)
        : anchor_(new llvm::FreezeInst(lane, "", &*entry.getEntryBlock().getFirstInsertionPt())),
          b_(anchor_),
          lane_(lane) {}
    ~ContextBuilder() { anchor_->eraseFromParent(); }
    ContextBuilder(const ContextBuilder&) = delete;
    ContextBuilder& operator=(const ContextBuilder&) = delete;

    llvm::Value* lane() const { return lane_; }
    llvm::Value* lane_u32(size_t offset) { return load(b_.getInt32Ty(), lane_, offset); }
    llvm::Value* group_u32(size_t offset) { return load(b_.getInt32Ty(), group(), offset); }
    llvm::Value* group_pointer(size_t offset) { return load(b_.getPtrTy(), group(), offset); }
    llvm::Value* slot(size_t table_offset, llvm::Value* index) {
        llvm::Value* table = group_pointer(table_offset);
        return invariant(b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), table, index)));
    }
    llvm::IRBuilder<>& b() { return b_; }

  private:
    llvm::Value* group() { return load(b_.getPtrTy(), lane_, offsetof(Lane, group)); }
    llvm::Value* load(llvm::Type* type, llvm::Value* record, size_t offset) {
        return invariant(b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), record, offset)));
    }
    // Nothing that a kernel reads here changes while it runs.
    llvm::Value* invariant(llvm::LoadInst* load) {
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
        return load;
    }

    llvm::Instruction* anchor_;
    llvm::IRBuilder<> b_;
    llvm::Value* lane_;
};

llvm::Value* index_value(ContextBuilder& context, ArgumentKind kind, uint32_t component) {
    const size_t c = size_t{4} * component;
    llvm::IRBuilder<>& b = context.b();
    switch (kind) {
        case ArgumentKind::kThreadPositionInGrid:
            return context.lane_u32(offsetof(Lane, grid_position) + c);
        case ArgumentKind::kThreadPositionInThreadgroup:
            return context.lane_u32(offsetof(Lane, position) + c);
        case ArgumentKind::kThreadIndexInThreadgroup:
            return context.lane_u32(offsetof(Lane, thread));
        case ArgumentKind::kThreadIndexInSimdgroup:
            return context.lane_u32(offsetof(Lane, lane));
        case ArgumentKind::kSimdgroupIndexInThreadgroup:
            return context.lane_u32(offsetof(Lane, simdgroup_index));
        case ArgumentKind::kThreadIndexInQuadgroup:
            return b.CreateAnd(context.lane_u32(offsetof(Lane, lane)), 3);
        case ArgumentKind::kQuadgroupIndexInThreadgroup:
            return b.CreateLShr(context.lane_u32(offsetof(Lane, thread)), 2);
        case ArgumentKind::kThreadsPerGrid:
            return context.group_u32(offsetof(Group, grid_threads) + c);
        case ArgumentKind::kThreadgroupPositionInGrid:
            return context.group_u32(offsetof(Group, group_position) + c);
        case ArgumentKind::kThreadgroupsPerGrid:
            return context.group_u32(offsetof(Group, num_groups) + c);
        case ArgumentKind::kThreadsPerThreadgroup:
            return context.group_u32(offsetof(Group, group_threads) + c);
        case ArgumentKind::kDispatchThreadsPerThreadgroup:
            return context.group_u32(offsetof(Group, dispatch_group_threads) + c);
        case ArgumentKind::kSimdgroupsPerThreadgroup:
            return context.group_u32(offsetof(Group, num_simdgroups));
        case ArgumentKind::kDispatchSimdgroupsPerThreadgroup:
            return context.group_u32(offsetof(Group, dispatch_simdgroups));
        case ArgumentKind::kThreadsPerSimdgroup:
            return b.getInt32(kSimdWidth);
        case ArgumentKind::kBuffer:
        case ArgumentKind::kIndirectBuffer:
        case ArgumentKind::kThreadgroup:
            break;
    }
    return nullptr;
}

// The value of context call `name`; null if there is no such call.
llvm::Value* context_value(ContextBuilder& context, llvm::StringRef name, const llvm::CallInst& call) {
    llvm::IRBuilder<>& b = context.b();
    if (name == "ingot.lane") return context.lane();
    if (name == "ingot.matrix_element") return context.lane_u32(offsetof(Lane, matrix_element));
    if (name == "ingot.arena") {
        return b.CreateAddrSpaceCast(context.group_pointer(offsetof(Group, arena)), call.getType());
    }
    if (name == "ingot.buffer") return context.slot(offsetof(Group, buffers), call.getArgOperand(0));
    if (name == "ingot.threadgroup") {
        return b.CreateAddrSpaceCast(
            context.slot(offsetof(Group, threadgroup_buffers), call.getArgOperand(0)), call.getType());
    }
    if (!name.consume_front("ingot.index.")) return nullptr;
    const auto [kind_name, component] = name.rsplit('.');
    const auto kind = index_kind_from_name({kind_name.data(), kind_name.size()});
    uint32_t number = 0;
    if (!kind || component.getAsInteger(10, number) || number > 2) return nullptr;
    return index_value(context, *kind, number);
}

// Replaces the context calls of one function, whose first argument is the lane.
Result<void> replace_context_calls(llvm::Function& function) {
    ContextBuilder context(function, function.getArg(0));
    std::map<llvm::Function*, llvm::Value*> cached;  // calls without arguments
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
        if (callee == nullptr || !callee->getName().starts_with("ingot.") || callee->getName() == "ingot.mma")
            continue;
        llvm::Value*& known = cached[callee];
        if (known == nullptr || call->arg_size() != 0)
            known = context_value(context, callee->getName(), *call);
        if (known == nullptr) {
            return fail(ErrorKind::kUnsupported, "'{}' is unknown to the fibers executor",
                        callee->getName().str());
        }
        call->replaceAllUsesWith(known);
        call->eraseFromParent();
    }
    return {};
}

// `old` with the lane as first argument.
llvm::Function* add_lane_argument(llvm::Module& module, llvm::Function& old) {
    llvm::SmallVector<llvm::Type*> parameters = {llvm::PointerType::getUnqual(module.getContext())};
    llvm::append_range(parameters, old.getFunctionType()->params());
    auto* type = llvm::FunctionType::get(old.getReturnType(), parameters, false);
    // External: the optimiser would drop an argument that an internal function doesn't use.
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "", module);
    function->takeName(&old);
    // Attributes of parameters would move by one; nothing needs them.
    function->addFnAttrs(llvm::AttrBuilder(module.getContext(), old.getAttributes().getFnAttrs()));
    function->splice(function->begin(), &old);
    for (llvm::Argument& argument : old.args()) {
        argument.replaceAllUsesWith(function->getArg(argument.getArgNo() + 1));
    }
    function->addParamAttr(0, llvm::Attribute::NoAlias);
    function->addParamAttr(0, llvm::Attribute::NonNull);
    return function;
}

// Functions that stayed because they call themselves: each call passes its caller's lane on.
void pass_lane_on(llvm::Function& old, llvm::Function& function) {
    for (llvm::User* user : llvm::make_early_inc_range(old.users())) {
        auto* call = llvm::cast<llvm::CallInst>(user);
        llvm::SmallVector<llvm::Value*> arguments = {call->getFunction()->getArg(0)};
        llvm::append_range(arguments, call->args());
        auto* changed = llvm::CallInst::Create(&function, arguments, "", call->getIterator());
        call->replaceAllUsesWith(changed);
        call->eraseFromParent();
    }
}

Result<void> add_lane(llvm::Module& module) {
    std::vector<std::pair<llvm::Function*, llvm::Function*>> changed;
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (!function.isDeclaration()) changed.emplace_back(&function, nullptr);
    }
    for (auto& [old, function] : changed) function = add_lane_argument(module, *old);
    for (auto& [old, function] : changed) pass_lane_on(*old, *function);
    for (auto& [old, function] : changed) {
        old->eraseFromParent();
        INGOT_TRY(replace_context_calls(*function));
    }
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (function.getName().starts_with("ingot.") && function.use_empty()) function.eraseFromParent();
    }
    return {};
}

Result<void> refuse_unknown(const llvm::Module& module) {
    std::set<std::string> unknown;
    for (const llvm::Function& function : module) {
        const llvm::StringRef name = function.getName();
        if (!function.isDeclaration() || function.use_empty()) continue;
        if (name.starts_with("air.") || name.starts_with("__tensorops_impl_")) unknown.insert(name.str());
    }
    if (unknown.empty()) return {};
    return fail(ErrorKind::kUnsupported, "it calls '{}', which this device doesn't serve",
                fmt::join(unknown, "', '"));
}

}  // namespace

Result<void> lower_to_fibers(llvm::Module& module, PassState& state) {
    constexpr Family kFamilies[] = {lower_barrier, lower_simd, lower_tensor_view, lower_tensor_operation};
    define_builtins(module, state, kFamilies);
    INGOT_TRY(refuse_unknown(module));
    INGOT_TRY(inline_into_entry(module));
    return add_lane(module);
}

}  // namespace ingot::metal::jit

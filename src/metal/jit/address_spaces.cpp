#include "metal/jit/address_spaces.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/pass.h"

namespace ingot::metal::jit {
namespace {

// The space of every object that `pointer` may point into; nullopt if they differ or one is unknown.
std::optional<unsigned> space_of(llvm::Value* pointer) {
    if (const unsigned space = pointer->getType()->getPointerAddressSpace(); space != 0) return space;
    llvm::SmallVector<const llvm::Value*> objects;
    constexpr unsigned kUnlimited = 0;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, kUnlimited);
    std::optional<unsigned> space;
    for (const llvm::Value* object : objects) {
        unsigned own = object->getType()->getPointerAddressSpace();
        const bool is_known = own != 0 || llvm::isa<llvm::AllocaInst, llvm::GlobalVariable>(object);
        if (!is_known || (space && *space != own)) return std::nullopt;
        space = own;
    }
    return space;
}

// The same address as a pointer into `space`.
llvm::Value* in_space(llvm::IRBuilder<>& b, llvm::Value* pointer, unsigned space) {
    while (auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(pointer)) pointer = cast->getOperand(0);
    if (pointer->getType()->getPointerAddressSpace() == space) return pointer;
    return b.CreateAddrSpaceCast(pointer, b.getPtrTy(space));
}

// "air.atomic.flat.add.u.i32" or "air.load.v64f32.p0f32" for a pointer in `space`.
std::string spaced_name(llvm::StringRef name, unsigned space) {
    std::string result = name.str();
    if (const size_t at = result.find(".flat."); at != std::string::npos) {
        result.replace(at + 1, 4, space == kThreadgroupSpace ? "local" : "global");
    }
    for (size_t at = result.find(".p0"); at != std::string::npos; at = result.find(".p0", at + 1)) {
        result[at + 2] = char('0' + space);
    }
    return result;
}

bool is_flat(llvm::StringRef name) {
    return name.starts_with("air.") && (name.contains(".flat.") || name.contains(".p0"));
}

void rename_call(llvm::CallInst& call) {
    llvm::Function& callee = *call.getCalledFunction();
    for (unsigned i = 0; i < call.arg_size(); ++i) {
        llvm::Value* pointer = call.getArgOperand(i);
        if (!pointer->getType()->isPointerTy()) continue;
        const unsigned known = space_of(pointer).value_or(kDeviceSpace);
        const unsigned space = known == 0 ? kDeviceSpace : known;
        llvm::IRBuilder<> b(&call);
        llvm::SmallVector<llvm::Type*> types(callee.getFunctionType()->params());
        types[i] = b.getPtrTy(space);
        auto* type = llvm::FunctionType::get(callee.getReturnType(), types, false);
        llvm::Module& module = *callee.getParent();
        auto* renamed = llvm::cast<llvm::Function>(
            module.getOrInsertFunction(spaced_name(callee.getName(), space), type, callee.getAttributes())
                .getCallee());
        call.setArgOperand(i, in_space(b, pointer, space));
        call.setCalledFunction(type, renamed);
        return;
    }
}

template <typename Access>
void to_device(Access& access) {
    llvm::Value* pointer = access.getPointerOperand();
    if (pointer->getType()->getPointerAddressSpace() != 0 || space_of(pointer)) return;
    llvm::IRBuilder<> b(&access);
    access.setOperand(access.getPointerOperandIndex(), in_space(b, pointer, kDeviceSpace));
}

// A copy or fill with its pointers' spaces settled; null if there is nothing to do.
llvm::Instruction* settled_memory(llvm::MemIntrinsic& memory) {
    llvm::IRBuilder<> b(&memory);
    const auto settle = [&](llvm::Value* pointer) {
        return space_of(pointer) ? pointer : in_space(b, pointer, kDeviceSpace);
    };
    llvm::Value* to = settle(memory.getRawDest());
    if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(&memory)) {
        if (to == memory.getRawDest()) return nullptr;
        return b.CreateMemSet(to, set->getValue(), set->getLength(), set->getDestAlign());
    }
    auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&memory);
    if (transfer == nullptr) return nullptr;
    llvm::Value* from = settle(transfer->getRawSource());
    if (to == memory.getRawDest() && from == transfer->getRawSource()) return nullptr;
    if (llvm::isa<llvm::MemMoveInst>(transfer)) {
        return b.CreateMemMove(to, transfer->getDestAlign(), from, transfer->getSourceAlign(),
                               transfer->getLength());
    }
    return b.CreateMemCpy(to, transfer->getDestAlign(), from, transfer->getSourceAlign(),
                          transfer->getLength());
}

constexpr const char* kSpaceNames[] = {"thread", "device", "constant", "threadgroup"};

// As space_of, but constants of the program are in constant space.
std::optional<unsigned> declared_space_of(llvm::Value* pointer) {
    while (auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(pointer)) pointer = cast->getOperand(0);
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
    if (global != nullptr && global->getAddressSpace() == 0) return kConstantSpace;
    return space_of(pointer);
}

std::string text_of(llvm::Value* pointer) {
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(pointer->stripPointerCasts());
    const auto* data = global != nullptr && global->hasInitializer()
                           ? llvm::dyn_cast<llvm::ConstantDataSequential>(global->getInitializer())
                           : nullptr;
    return data != nullptr && data->isCString() ? data->getAsCString().str() : "";
}

Result<void> check_note(const llvm::CallInst& call) {
    const auto* expected = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(1));
    const auto actual = declared_space_of(call.getArgOperand(0));
    if (expected == nullptr || !actual || expected->getZExtValue() == *actual) return {};
    if (*actual >= std::size(kSpaceNames) || expected->getZExtValue() >= std::size(kSpaceNames)) return {};
    std::string place;
    if (const llvm::DILocation* location = call.getDebugLoc()) {
        place = fmt::format("{}:{}: ", location->getFilename().str(), location->getLine());
    }
    return fail(ErrorKind::kCorrupt, "{}error: '{}' is declared '{}', but points to {} memory", place,
                text_of(call.getArgOperand(2)), kSpaceNames[expected->getZExtValue()], kSpaceNames[*actual]);
}

}  // namespace

Result<void> check_declared_spaces(llvm::Module& module) {
    llvm::Function* note = module.getFunction("ingot.expect_space");
    if (note == nullptr) return {};
    for (llvm::User* user : llvm::make_early_inc_range(note->users())) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(user);
        if (call == nullptr || call->arg_size() != 3) continue;
        INGOT_TRY(check_note(*call));
        call->eraseFromParent();
    }
    if (note->use_empty()) note->eraseFromParent();
    return {};
}

Result<void> settle_address_spaces(llvm::Module& module) {
    for (llvm::Function& function : module) {
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
            if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
                to_device(*load);
            } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
                to_device(*store);
            } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
                if (settled_memory(*memory) != nullptr) memory->eraseFromParent();
            } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
                const llvm::Function* callee = call->getCalledFunction();
                if (callee != nullptr && is_flat(callee->getName())) rename_call(*call);
            }
        }
    }
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
    }
    return {};
}

}  // namespace ingot::metal::jit

#include "metal/jit/passes/watcher.h"

#include <algorithm>

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>

namespace ingot::metal::jit {

void set_place(Site& site, const llvm::DebugLoc& location) {
    const llvm::DILocation* place = nullptr;
    const llvm::DILocation* outermost = nullptr;
    for (const llvm::DILocation* at = location.get(); at != nullptr; at = at->getInlinedAt()) {
        const bool ours = at->getFilename().contains("ingot_msl/") ||
                          at->getScope()->getSubprogram()->getName() == "ingot_entry_function";
        const bool usable = at->getLine() != 0 && !ours;
        if (usable && place == nullptr) place = at;
        if (usable) outermost = at;
    }
    if (place == nullptr) return;
    site.file = place->getFilename().str();
    site.line = place->getLine();
    if (outermost == place) return;
    site.caller_file = outermost->getFilename().str();
    site.caller_line = outermost->getLine();
}

Watcher::Watcher(llvm::Function& entry, PassState& state)
    : entry_(entry), state_(state), b_(entry.getContext()) {
    for (llvm::Instruction& instruction : llvm::instructions(entry)) {
        instructions_.push_back(&instruction);
        numbers_[&instruction] = uint32_t(instructions_.size());
    }
}

Site Watcher::new_site(const llvm::Instruction& instruction, SiteKind kind) const {
    Site site;
    site.kind = kind;
    const auto number = numbers_.find(&instruction);
    if (number != numbers_.end()) site.instruction = number->second;
    set_place(site, instruction.getDebugLoc());
    return site;
}

uint32_t Watcher::add(Site site, const MemoryObject& object) {
    Instrumentation& table = state_.instrumentation;
    const auto known = std::ranges::find(table.objects, object);
    site.object = uint32_t(known - table.objects.begin());
    if (known == table.objects.end()) table.objects.push_back(object);
    site.space = object.space;
    table.sites.push_back(std::move(site));
    places_.push_back(&*b_.GetInsertPoint());
    return uint32_t(table.sites.size() - 1);
}

llvm::CallInst* Watcher::call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    auto* function =
        llvm::cast<llvm::Function>(entry_.getParent()->getOrInsertFunction(name, type).getCallee());
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::WillReturn);
    return b_.CreateCall(function, arguments);
}

llvm::Value* Watcher::lane() {
    llvm::CallInst* lane = call("ingot.lane", b_.getPtrTy(), {});
    lane->getCalledFunction()->setDoesNotAccessMemory();
    return lane;
}

void Watcher::note(llvm::Instruction& before, Site site) {
    b_.SetInsertPoint(&before);
    add(std::move(site));
}

void Watcher::tell(llvm::Instruction& before, Site site, llvm::Value* argument) {
    b_.SetInsertPoint(&before);
    b_.SetCurrentDebugLocation(llvm::DebugLoc());
    llvm::Value* number = b_.getInt32(add(std::move(site)));
    if (argument == nullptr || !argument->getType()->isIntegerTy()) argument = b_.getInt32(0);
    call("ingot_watch_call", b_.getVoidTy(),
         {lane(), number, b_.CreateZExtOrTrunc(argument, b_.getInt32Ty())});
}

}  // namespace ingot::metal::jit

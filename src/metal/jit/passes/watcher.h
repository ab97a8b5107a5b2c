// What the parts of instrumentation share (instrument.cpp, watch_undefined.cpp, watch_overflow.cpp): sites,
// and calls of the runtime that tell the monitor of them.
#pragma once

#include <map>

#include <llvm/IR/IRBuilder.h>

#include "metal/jit/pass.h"

namespace ingot::metal::jit {

class Watcher {
  public:
    // Numbers the entry's instructions: what is added later has no number.
    Watcher(llvm::Function& entry, PassState& state);

    llvm::Function& entry() { return entry_; }
    // All there were at the beginning, in order.
    const std::vector<llvm::Instruction*>& instructions() const { return instructions_; }
    llvm::IRBuilder<>& b() { return b_; }

    Site new_site(const llvm::Instruction& instruction, SiteKind kind) const;
    // Its index. It is told of where b() stands, before an instruction that stays.
    uint32_t add(Site site, const MemoryObject& object = {});
    // A call of the runtime where b() stands.
    llvm::CallInst* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);
    llvm::Value* lane();
    // Before which instruction a site is told of.
    llvm::Instruction& place_of(uint32_t site) { return *places_[site]; }
    // Lists a place without telling of it: how often its block runs is counted.
    void note(llvm::Instruction& before, Site site);
    // Tells, before an instruction, that the thread came there.
    void tell(llvm::Instruction& before, Site site, llvm::Value* argument = nullptr);

  private:
    llvm::Function& entry_;
    PassState& state_;
    llvm::IRBuilder<> b_;
    std::vector<llvm::Instruction*> instructions_;
    std::map<const llvm::Instruction*, uint32_t> numbers_;
    std::vector<llvm::Instruction*> places_;  // of sites
};

// Uses of variables that were never set. The front end marks what they hold (to_air.cpp, kUndefinedMark)
// where it is asked to; the marks are gone afterwards.
void watch_undefined(Watcher& watcher);
void drop_undefined_marks(llvm::Module& module);
constexpr const char* kUndefinedMark = "air.ingot_undefined.";

// 32-bit arithmetic of indices that wraps around.
void watch_overflow(Watcher& watcher);

// Where an instruction stands in the source: the innermost place outside of the library's headers, and the
// line of the kernel that led there.
void set_place(Site& site, const llvm::DebugLoc& location);

}  // namespace ingot::metal::jit

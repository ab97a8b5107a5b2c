// In which order the lanes of a simdgroup get through a function, and the calls in which they meet. A GPU
// runs a divergent branch one side after the other until the lanes come together again, and a loop until the
// last lane left it. With fibers, lanes wait wherever they have come; who goes on first is what this order
// says: blocks from the entry on, before any block that they lead to, and all of a loop before what follows
// it.
#pragma once

#include <vector>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Function.h>

namespace ingot::metal::jit {

// Marks runtime functions that lanes meet in; their second argument is the number of the call.
constexpr llvm::StringLiteral kMeetingAttribute = "ingot-meeting";

std::vector<llvm::BasicBlock*> block_order(llvm::Function& function, const llvm::LoopInfo& loops);

// Gives each call of a meeting its number, 1 for the first.
void number_meetings(llvm::Function& function);

}  // namespace ingot::metal::jit

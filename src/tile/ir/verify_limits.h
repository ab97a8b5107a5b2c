// Bounds of programs that verify() holds them to: how deep expressions are, so that whoever walks one may do
// so by recursion, and how much memory an iteration of `parallel` has for itself.
#pragma once

#include "base/result.h"
#include "tile/ir/ir.h"

namespace ingot::tile {

constexpr uint32_t kMaxHeight = 1000;      // operators of an expression one inside of another
constexpr int64_t kMaxLocalBytes = 16384;  // of one iteration: a thread holds them

// For each expression of the kernel, by its id: 0 for a leaf, one more than its highest operand for others.
std::vector<uint32_t> heights(const Kernel& k);

// The local memory of a `parallel`. Error kLimit: more than kMaxLocalBytes.
Result<void> check_local_memory(const Kernel& k, const Stmt& parallel);

}  // namespace ingot::tile

// How the calls that reach the vector executor's analysis behave across lanes: the ingot.* context functions
// (pass.h) and AIR's simdgroup and quadgroup functions, one table.
#pragma once

#include <llvm/IR/Instructions.h>

namespace ingot::metal::jit::lanes {

enum class CallEffect : uint8_t {
    kOrdinary,   // each lane its own; uniform if the arguments are
    kLane,       // the lane's index in its simdgroup
    kThread,     // in its threadgroup
    kPositionX,  // along x, in the grid or the threadgroup
    kPositionYZ,
    kMatrixElement,  // row * 8 + column of the lane's first element of an 8x8 matrix
    kContext,        // the same for all lanes
    kReduce,         // a simdgroup function that gives every lane the same
    kBroadcast,      // ... if its lane argument is uniform
    kAcrossLanes,    // looks at other lanes, gives each its own
};

// What the names of products of matrices in NAX fragments begin with.
constexpr llvm::StringLiteral kFragmentProduct = "ingot.fragments.";
// A product of matrices of which each lane holds some elements: left, right, what is added.
inline bool is_matrix_product(const llvm::Function& function) {
    return function.getName() == "ingot.mma" || function.getName().starts_with(kFragmentProduct);
}

CallEffect classify(const llvm::CallInst& call);
bool is_position_in_group(const llvm::CallInst& call);

// The fragment map of 8x8 matrices.
constexpr int64_t matrix_element(unsigned lane) {
    const unsigned quad = lane / 4;
    return int64_t(((quad & 4) + lane / 2 % 4) * 8 + (quad & 2) * 2 + lane % 2 * 2);
}

// Alignment of a lane's copy of a private variable.
inline llvm::Align private_alignment(const llvm::AllocaInst& variable) {
    return std::max(variable.getAlign(), llvm::Align(16));
}

}  // namespace ingot::metal::jit::lanes

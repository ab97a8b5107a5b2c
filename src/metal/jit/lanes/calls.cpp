#include "metal/jit/lanes/calls.h"

namespace ingot::metal::jit::lanes {
namespace {

struct Row {
    const char* name;
    CallEffect effect;
};

constexpr Row kIndexKinds[] = {
    {"thread_index_in_simdgroup", CallEffect::kLane},
    {"thread_index_in_threadgroup", CallEffect::kThread},
    {"thread_index_in_quadgroup", CallEffect::kAcrossLanes},
    {"quadgroup_index_in_threadgroup", CallEffect::kAcrossLanes},
};

// After "air.simd_".
constexpr Row kSimdgroupFunctions[] = {
    {"sum", CallEffect::kReduce},
    {"product", CallEffect::kReduce},
    {"min", CallEffect::kReduce},
    {"max", CallEffect::kReduce},
    {"and", CallEffect::kReduce},
    {"or", CallEffect::kReduce},
    {"xor", CallEffect::kReduce},
    {"all", CallEffect::kReduce},
    {"any", CallEffect::kReduce},
    {"ballot", CallEffect::kReduce},
    {"active_threads_mask", CallEffect::kReduce},
    {"broadcast_first", CallEffect::kReduce},
    {"shuffle", CallEffect::kBroadcast},
    {"broadcast", CallEffect::kBroadcast},
};

}  // namespace

CallEffect classify(const llvm::CallInst& call) {
    const llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr) return CallEffect::kAcrossLanes;
    llvm::StringRef name = callee->getName();
    if (name == "ingot.matrix_element") return CallEffect::kMatrixElement;
    if (is_matrix_product(*callee)) return CallEffect::kAcrossLanes;
    if (name.consume_front("ingot.index.")) {
        const auto [kind, component] = name.split('.');
        for (const Row& row : kIndexKinds) {
            if (kind == row.name) return row.effect;
        }
        if (kind == "thread_position_in_grid" || kind == "thread_position_in_threadgroup") {
            return component == "0" ? CallEffect::kPositionX : CallEffect::kPositionYZ;
        }
        return CallEffect::kContext;
    }
    if (name.starts_with("ingot.")) return CallEffect::kContext;
    if (name.starts_with("air.quad_")) return CallEffect::kAcrossLanes;
    if (name.consume_front("air.simd_")) {
        const llvm::StringRef stem = name.split('.').first;
        for (const Row& row : kSimdgroupFunctions) {
            if (stem == row.name) return row.effect;
        }
        return CallEffect::kAcrossLanes;
    }
    return CallEffect::kOrdinary;
}

bool is_position_in_group(const llvm::CallInst& call) {
    return call.getCalledFunction()->getName().contains("thread_position_in_threadgroup");
}

}  // namespace ingot::metal::jit::lanes

// The fibers executor's lowering of what involves other threads: barriers, simdgroup and quadgroup functions.
#include <llvm/ADT/StringSwitch.h>

#include "metal/exec/fibers/simd_functions.h"
#include "metal/jit/builtins/emitter.h"

namespace ingot::metal::jit {
namespace {

using fibers::SimdOperation;
using fibers::SimdType;

constexpr uint32_t kQuadWidth = 4;

std::optional<SimdOperation> simd_operation(llvm::StringRef name) {
#define X(enumerator, text, shape) \
    if (name == #text) return SimdOperation::enumerator;
    INGOT_SIMD_BUILTINS(X)
#undef X
    return std::nullopt;
}

// "s.v2i32", "v4f16", "u.i16" -> element type. Votes and shuffles don't care.
SimdType simd_type(llvm::StringRef suffix, llvm::Type* element) {
#define X(enumerator, text, type, accumulator) \
    if (suffix == text) return SimdType::enumerator;
    INGOT_METAL_SIMD_TYPES(X)
#undef X
    if (element->isFloatTy()) return SimdType::kF32;
    if (element->isHalfTy()) return SimdType::kF16;
    if (element->isBFloatTy()) return SimdType::kBF16;
    const bool is_signed = suffix.starts_with("s.");
    switch (element->getScalarSizeInBits()) {
        case 8:
            return is_signed ? SimdType::kI8 : SimdType::kU8;
        case 16:
            return is_signed ? SimdType::kI16 : SimdType::kU16;
        case 64:
            return is_signed ? SimdType::kI64 : SimdType::kU64;
        default:
            return is_signed ? SimdType::kI32 : SimdType::kU32;
    }
}

struct SimdCall {
    SimdOperation operation;
    SimdType type;
    uint32_t width;
    llvm::Value* fill = nullptr;
    llvm::Value* amount = nullptr;
    llvm::Value* modulo = nullptr;
};

// One meeting on a value of at most 64 bits.
llvm::Value* meet_once(Emitter& emit, const SimdCall& call, llvm::Value* value, llvm::Value* fill,
                       llvm::Type* type) {
    llvm::IRBuilder<>& b = emit.b();
    const auto u32_or = [&](llvm::Value* v, uint32_t otherwise) {
        return v ? b.CreateZExtOrTrunc(v, b.getInt32Ty()) : emit.u32(otherwise);
    };
    llvm::Value* lane = emit.call_runtime("ingot.lane", b.getPtrTy(), {}, true);
    llvm::Value* bits = emit.call_meeting(
        "ingot_simd", b.getInt64Ty(), lane,
        {emit.u32(uint32_t(call.operation)), emit.u32(uint32_t(call.type)), emit.u32(call.width),
         emit.to_bits(value), fill ? emit.to_bits(fill) : b.getInt64(0), u32_or(call.amount, 0),
         u32_or(call.modulo, kSimdWidth)});
    return emit.from_bits(bits, type);
}

// Vectors of more than 64 bits, and reductions of vectors, go element by element. (64-bit values travel as
// v2i32 and are shuffled whole.)
llvm::Value* meet_per_element(Emitter& emit, const SimdCall& call, llvm::FixedVectorType* type) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* result = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
        llvm::Value* fill = call.fill ? b.CreateExtractElement(call.fill, i) : nullptr;
        llvm::Value* element =
            meet_once(emit, call, b.CreateExtractElement(emit.arg(0), i), fill, type->getElementType());
        result = b.CreateInsertElement(result, element, i);
    }
    return result;
}

bool is_vote(SimdOperation operation) {
    return operation == SimdOperation::kAll || operation == SimdOperation::kAny ||
           operation == SimdOperation::kBallot;
}

}  // namespace

bool lower_simd(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    uint32_t width = kSimdWidth;
    if (name.consume_front("quad_")) {
        width = kQuadWidth;
    } else if (!name.consume_front("simd_")) {
        return false;
    }
    const auto [stem, suffix] = name.split('.');
    const auto operation = simd_operation(stem);
    if (!operation) return false;
    llvm::IRBuilder<>& b = emit.b();
    SimdCall call{.operation = *operation, .type = SimdType::kU64, .width = width};
    if (*operation == SimdOperation::kIsFirst || *operation == SimdOperation::kActiveMask) {
        result = b.CreateZExtOrTrunc(meet_once(emit, call, b.getInt64(0), nullptr, b.getInt64Ty()),
                                     emit.result_type());
        return emit.num_args() == 0;
    }
    if (emit.num_args() == 0) return false;
    llvm::Type* type = emit.arg(0)->getType();
    if (is_vote(*operation)) {
        if (!type->isIntegerTy()) return false;
        llvm::Value* truth = b.CreateICmpNE(emit.arg(0), llvm::ConstantInt::get(type, 0));
        result =
            b.CreateZExtOrTrunc(meet_once(emit, call, truth, nullptr, b.getInt64Ty()), emit.result_type());
        return true;
    }
    if (type != emit.result_type()) return false;
    call.type = simd_type(suffix, type->getScalarType());
    const bool fills = *operation == SimdOperation::kFillUp || *operation == SimdOperation::kFillDown;
    const bool has_amount = *operation <= SimdOperation::kBroadcast;
    if (emit.num_args() < (fills ? 4u : has_amount ? 2u : 1u)) return false;
    if (fills) {
        call.fill = emit.arg(1);
        call.amount = emit.arg(2);
        call.modulo = emit.arg(3);
    } else if (has_amount) {
        call.amount = emit.arg(1);
    }
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    const bool whole = vector == nullptr || ((has_amount || *operation == SimdOperation::kBroadcastFirst) &&
                                             type->getPrimitiveSizeInBits().getFixedValue() <= 64);
    if (!whole) {
        result = meet_per_element(emit, call, vector);
        return true;
    }
    if (type->getPrimitiveSizeInBits().getFixedValue() > 64) return false;
    result = meet_once(emit, call, emit.arg(0), call.fill, type);
    return true;
}

bool lower_barrier(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    result = nullptr;
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* lane = emit.call_runtime("ingot.lane", b.getPtrTy(), {}, true);
    if (name == "wg.barrier" || name == "ingot.barrier") {
        emit.call_collective("ingot_barrier", b.getVoidTy(), {lane});
        return true;
    }
    if (name == "ingot.hold") {
        emit.call_meeting("ingot_simdgroup_barrier", b.getVoidTy(), lane, {});
        return true;
    }
    if (name != "simdgroup.barrier") return false;
    // Flags 0 order no memory: nothing to do between fibers, and products on both sides may share a meeting.
    llvm::LLVMContext& context = emit.module().getContext();
    auto* orders = llvm::BasicBlock::Create(context, "orders", &emit.function());
    auto* done = llvm::BasicBlock::Create(context, "done", &emit.function());
    b.CreateCondBr(b.CreateICmpEQ(emit.arg(0), emit.u32(0)), done, orders);
    b.SetInsertPoint(orders);
    emit.call_meeting("ingot_simdgroup_barrier", b.getVoidTy(), lane, {});
    b.CreateBr(done);
    b.SetInsertPoint(done);
    return true;
}

}  // namespace ingot::metal::jit

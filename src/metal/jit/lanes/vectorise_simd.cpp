// Simdgroup and quadgroup functions, on the lanes that are active: reductions as trees, scans in five steps,
// shuffles as permutations. A source lane outside of the simdgroup gives the caller's own value, as on
// fibers.
#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {
namespace {

constexpr unsigned kQuad = 4;

// What leaves the other operand as it is.
llvm::Constant* identity(llvm::StringRef operation, llvm::Type* type, bool is_signed) {
    const bool minimum = operation == "min", maximum = operation == "max";
    if (type->isFloatingPointTy()) {
        if (operation.contains("product")) return llvm::ConstantFP::get(type, 1);
        if (minimum || maximum) return llvm::ConstantFP::getInfinity(type, maximum);
        return llvm::ConstantFP::getNegativeZero(type);
    }
    const unsigned bits = type->getIntegerBitWidth();
    if (operation.contains("product")) return llvm::ConstantInt::get(type, 1);
    if (operation == "and") return llvm::Constant::getAllOnesValue(type);
    if (minimum) {
        return llvm::ConstantInt::get(
            type, is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
    }
    if (maximum) {
        return llvm::ConstantInt::get(
            type, is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits));
    }
    return llvm::ConstantInt::get(type, 0);
}

llvm::Value* combine(llvm::IRBuilder<>& b, llvm::StringRef operation, bool is_signed, llvm::Value* x,
                     llvm::Value* y) {
    const bool is_float = x->getType()->isFPOrFPVectorTy();
    if (operation.contains("sum")) return is_float ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    if (operation.contains("product")) return is_float ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    if (operation == "and") return b.CreateAnd(x, y);
    if (operation == "or") return b.CreateOr(x, y);
    if (operation == "xor") return b.CreateXor(x, y);
    const bool minimum = operation == "min";
    if (is_float) {
        // A NaN loses against a number.
        llvm::Value* better = minimum ? b.CreateFCmpOLT(y, x) : b.CreateFCmpOGT(y, x);
        return b.CreateSelect(b.CreateOr(better, b.CreateFCmpUNO(x, x)), y, x);
    }
    return b.CreateBinaryIntrinsic(minimum ? (is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin)
                                           : (is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax),
                                   x, y);
}

// Four bits of a word of all lanes, those of each lane's quad.
llvm::Value* bits_of_quad(LaneBuilder& lanes, llvm::Value* word) {
    llvm::IRBuilder<>& b = lanes.b();
    llvm::Value* shift =
        lanes.lanes(b.getInt32Ty(), [](unsigned lane) { return int64_t(lane / kQuad * kQuad); });
    return b.CreateAnd(b.CreateLShr(lanes.splat(word), shift), lanes.splat_u32(15));
}

// The first active lane of each lane's quad, which has one where the lane itself is active.
llvm::Value* first_of_quad(LaneBuilder& lanes, llvm::Value* mask) {
    llvm::IRBuilder<>& b = lanes.b();
    llvm::Value* active = bits_of_quad(lanes, lanes.bits(mask));
    llvm::Value* inside =
        b.CreateIntrinsic(llvm::Intrinsic::cttz, {active->getType()}, {active, b.getFalse()});
    return b.CreateAdd(b.CreateAnd(lanes.lane_numbers(), lanes.splat_u32(~(kQuad - 1))), inside);
}

bool is_reduction(llvm::StringRef operation) {
    return operation == "sum" || operation == "product" || operation == "min" || operation == "max" ||
           operation == "and" || operation == "or" || operation == "xor";
}

}  // namespace

Parts Vectoriser::simd_vote(llvm::CallInst& call, llvm::StringRef operation, bool quad) {
    llvm::Type* type = call.getType();
    llvm::Value* yes = lanes_.all_lanes();
    if (call.arg_size() != 0) {
        yes = vector(call.getArgOperand(0));
        if (!yes->getType()->getScalarType()->isIntegerTy(1)) {
            yes = b().CreateICmpNE(yes, llvm::Constant::getNullValue(yes->getType()));
        }
    }
    llvm::Value* votes = lanes_.bits(b().CreateAnd(yes, mask_));
    if (!quad) {
        llvm::Value* active = lanes_.bits(mask_);
        llvm::Value* result = operation == "any"   ? b().CreateICmpNE(votes, b().getInt32(0))
                              : operation == "all" ? b().CreateICmpEQ(votes, active)
                                                   : votes;
        return {b().CreateZExtOrTrunc(result, type)};
    }
    llvm::Value* mine = bits_of_quad(lanes_, votes);
    llvm::Value* result = operation == "any" ? b().CreateICmpNE(mine, lanes_.splat_u32(0))
                          : operation == "all"
                              ? b().CreateICmpEQ(mine, bits_of_quad(lanes_, lanes_.bits(mask_)))
                              : mine;
    return {b().CreateZExtOrTrunc(result, lanes_.wide(type))};
}

// A reduction's scalar (a vector for quads) or a scan's vector.
llvm::Value* Vectoriser::simd_combine(llvm::Value* value, llvm::StringRef operation, bool is_signed,
                                      bool quad) {
    llvm::Type* stored = value->getType();
    const bool short_float = is_short_float(stored->getScalarType());
    if (short_float) value = b().CreateFPExt(value, lanes_.wide(b().getFloatTy()));
    llvm::Type* type = value->getType()->getScalarType();
    // Sums of nothing are 0, and 0 stays 0.
    llvm::Value* nothing = lanes_.splat(identity(operation, type, is_signed));
    if (!LaneBuilder::is_all_lanes(mask_)) value = b().CreateSelect(mask_, value, nothing);
    const auto with = [&](llvm::Value* x, llvm::Value* y) {
        return combine(b(), operation, is_signed, x, y);
    };
    if (operation.starts_with("prefix_")) {
        const unsigned width = quad ? kQuad : kLanes;
        for (unsigned step = 1; step < width; step *= 2) {
            llvm::Value* before = lanes_.shuffle(value, nothing, [&](unsigned lane) {
                return lane % width >= step ? int(lane - step) : int(kLanes);
            });
            value = with(before, value);
        }
        if (operation.contains("exclusive")) {
            value = lanes_.shuffle(value, nothing, [&](unsigned lane) {
                return lane % width != 0 ? int(lane - 1) : int(kLanes);
            });
            if (operation.contains("sum") && type->isFloatingPointTy()) {
                value = b().CreateFAdd(value, llvm::Constant::getNullValue(value->getType()));
            }
        }
        return short_float ? lanes_.truncate_float(value, stored) : value;
    }
    if (quad) {
        for (const unsigned distance : {1U, 2U}) {
            value = with(value,
                         lanes_.shuffle(value, value, [&](unsigned lane) { return int(lane ^ distance); }));
        }
        return short_float ? lanes_.truncate_float(value, stored) : value;
    }
    llvm::Value* result = lanes_.reduce(value, with);
    return short_float ? b().CreateFPTrunc(result, stored->getScalarType()) : result;
}

// For each lane the one whose value it takes.
llvm::Value* Vectoriser::shuffle_source(llvm::CallInst& call, llvm::StringRef operation, unsigned width) {
    llvm::Value* amount = b().CreateZExtOrTrunc(vector(call.getArgOperand(1)), lanes_.wide(b().getInt32Ty()));
    llvm::Value* lane = lanes_.lane_numbers();
    llvm::Value* base = b().CreateAnd(lane, lanes_.splat_u32(~(width - 1)));
    llvm::Value* inside = b().CreateAnd(lane, lanes_.splat_u32(width - 1));
    const auto wrapped = [&](llvm::Value* index) {
        return b().CreateAdd(base, b().CreateAnd(index, lanes_.splat_u32(width - 1)));
    };
    if (operation == "shuffle" || operation == "broadcast") return wrapped(amount);
    if (operation == "shuffle_xor") return wrapped(b().CreateXor(inside, amount));
    if (operation == "shuffle_rotate_down") return wrapped(b().CreateAdd(inside, amount));
    if (operation == "shuffle_rotate_up") return wrapped(b().CreateSub(inside, amount));
    if (operation == "shuffle_down") {
        llvm::Value* room = b().CreateSub(lanes_.splat_u32(width), inside);
        return b().CreateSelect(b().CreateICmpULT(amount, room), b().CreateAdd(lane, amount), lane);
    }
    if (operation == "shuffle_up") {
        return b().CreateSelect(b().CreateICmpUGE(inside, amount), b().CreateSub(lane, amount), lane);
    }
    return nullptr;
}

Parts Vectoriser::simd_shuffle(llvm::CallInst& call, llvm::StringRef operation, bool quad) {
    if (operation == "broadcast_first") {
        Parts result;
        if (quad) {
            llvm::Value* source = first_of_quad(lanes_, mask_);
            for (llvm::Value* value : vectors(call.getArgOperand(0)))
                result.push_back(lanes_.permute(value, source));
            return result;
        }
        for (llvm::Value* value : vectors(call.getArgOperand(0))) {
            result.push_back(lanes_.of_first_active(value, mask_));
        }
        return result;
    }
    llvm::Value* source = shuffle_source(call, operation, quad ? kQuad : kLanes);
    if (source == nullptr) return {};
    if (!quad && classify(call) == CallEffect::kBroadcast && shape(&call).is_uniform()) {
        llvm::Value* lane =
            b().CreateAnd(b().CreateZExtOrTrunc(scalar(call.getArgOperand(1)), b().getInt32Ty()), kLanes - 1);
        Parts result;
        for (llvm::Value* value : vectors(call.getArgOperand(0)))
            result.push_back(b().CreateExtractElement(value, lane));
        return result;
    }
    Parts result;
    for (llvm::Value* value : vectors(call.getArgOperand(0))) result.push_back(lanes_.permute(value, source));
    return result;
}

// shuffle_and_fill_{up,down}(data, fill, delta, modulo): what comes from outside the block is fill's.
Parts Vectoriser::simd_fill(llvm::CallInst& call, llvm::StringRef operation, bool quad) {
    auto* block = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(3));
    if (block == nullptr) return {};
    const unsigned width = quad ? kQuad : kLanes;
    const uint32_t modulo = block->getZExtValue() == 0 ? width : uint32_t(block->getZExtValue());
    if ((modulo & (modulo - 1)) != 0 || modulo > width) return {};
    llvm::Value* delta = b().CreateZExtOrTrunc(vector(call.getArgOperand(2)), lanes_.wide(b().getInt32Ty()));
    llvm::Value* inside = b().CreateAnd(lanes_.lane_numbers(), lanes_.splat_u32(modulo - 1));
    llvm::Value* base = b().CreateAnd(lanes_.lane_numbers(), lanes_.splat_u32(~(modulo - 1)));
    const bool up = operation.ends_with("up");
    llvm::Value* own = up ? b().CreateICmpUGE(inside, delta)
                          : b().CreateICmpULT(b().CreateAdd(inside, delta), lanes_.splat_u32(modulo));
    llvm::Value* moved = up ? b().CreateSub(inside, delta) : b().CreateAdd(inside, delta);
    llvm::Value* source = b().CreateOr(base, b().CreateAnd(moved, lanes_.splat_u32(modulo - 1)));
    const Parts values = vectors(call.getArgOperand(0)), fills = vectors(call.getArgOperand(1));
    Parts result;
    for (size_t i = 0; i < values.size(); ++i) {
        result.push_back(
            b().CreateSelect(own, lanes_.permute(values[i], source), lanes_.permute(fills[i], source)));
    }
    return result;
}

Parts Vectoriser::emit_simd(llvm::CallInst& call, llvm::StringRef name) {
    const bool quad = name.starts_with("quad_");
    const auto [operation, suffix] = name.drop_front(5).split('.');
    Parts result;
    if (operation == "all" || operation == "any" || operation == "ballot" ||
        operation == "active_threads_mask") {
        result = simd_vote(call, operation, quad);
    } else if (is_reduction(operation) || operation.starts_with("prefix_")) {
        for (llvm::Value* value : vectors(call.getArgOperand(0))) {
            result.push_back(simd_combine(value, operation, suffix.starts_with("s."), quad));
        }
    } else if (operation.starts_with("shuffle_and_fill")) {
        result = simd_fill(call, operation, quad);
    } else if (operation == "is_first") {
        llvm::Value* first = quad ? first_of_quad(lanes_, mask_) : lanes_.splat(lanes_.first_active(mask_));
        result = {b().CreateICmpEQ(lanes_.lane_numbers(), first)};
    } else if (call.arg_size() >= 1 && (call.arg_size() >= 2 || operation == "broadcast_first")) {
        result = simd_shuffle(call, operation, quad);
    }
    if (result.empty()) {
        refuse(fmt::format("the function 'air.{}'", name.str()));
        return {};
    }
    // A uniform result of a vector type is one scalar.
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(call.getType());
    if (type == nullptr || !shape(&call).is_uniform()) return result;
    llvm::Value* whole = llvm::PoisonValue::get(type);
    for (uint64_t i = 0; i < result.size(); ++i) whole = b().CreateInsertElement(whole, result[i], i);
    return {whole};
}

}  // namespace ingot::metal::jit::lanes

// Calls: context functions, LLVM's intrinsics, mathematical functions 8 lanes at a time, and whatever else
// once for each active lane.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/context_builder.h"
#include "metal/jit/lanes/vector_math.h"
#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {

// A component of the thread's position where lanes don't follow each other along x.
llvm::Value* Vectoriser::position(unsigned component, bool in_grid) {
    const auto group = [&](ArgumentKind kind, uint32_t c) { return lanes_.splat(context_->index(kind, c)); };
    llvm::Value* thread = context_->index(ArgumentKind::kThreadIndexInThreadgroup, 0);
    llvm::Value* value = b().CreateAdd(lanes_.splat(thread), lanes_.lane_numbers());
    llvm::Value* size_x = group(ArgumentKind::kThreadsPerThreadgroup, 0);
    llvm::Value* size_y = group(ArgumentKind::kThreadsPerThreadgroup, 1);
    if (component == 0) {
        value = b().CreateURem(value, size_x);
    } else {
        value = b().CreateUDiv(value, size_x);
        value = component == 1 ? b().CreateURem(value, size_y) : b().CreateUDiv(value, size_y);
    }
    if (!in_grid) return value;
    llvm::Value* first =
        b().CreateMul(context_->index(ArgumentKind::kThreadgroupPositionInGrid, component),
                      context_->index(ArgumentKind::kDispatchThreadsPerThreadgroup, component));
    return b().CreateAdd(value, lanes_.splat(first));
}

Parts Vectoriser::emit_context(llvm::CallInst& call, CallEffect effect) {
    const llvm::StringRef name = call.getCalledFunction()->getName();
    if (effect == CallEffect::kLane || effect == CallEffect::kMatrixElement) {
        return {llvm::ConstantInt::get(call.getType(), 0)};
    }
    if (name == "ingot.index.simdgroups_per_threadgroup.0") {
        // The runtime counts fibers, of which a simdgroup is one.
        llvm::Value* threads = b().getInt32(1);
        for (uint32_t c = 0; c < 3; ++c) {
            threads = b().CreateMul(threads, context_->index(ArgumentKind::kThreadsPerThreadgroup, c));
        }
        return {b().CreateUDiv(b().CreateAdd(threads, b().getInt32(kLanes - 1)), b().getInt32(kLanes))};
    }
    if (effect == CallEffect::kAcrossLanes) {
        if (name.contains("thread_index_in_quadgroup")) {
            return {b().CreateAnd(lanes_.lane_numbers(), lanes_.splat_u32(3))};
        }
        llvm::Value* thread = context_->index(ArgumentKind::kThreadIndexInThreadgroup, 0);
        llvm::Value* threads = b().CreateAdd(lanes_.splat(thread), lanes_.lane_numbers());
        return {b().CreateLShr(threads, lanes_.splat_u32(2))};
    }
    if ((effect == CallEffect::kPositionX || effect == CallEffect::kPositionYZ) && !variant_.linear) {
        unsigned component = 0;
        name.rsplit('.').second.getAsInteger(10, component);
        return {position(component, !is_position_in_group(call))};
    }
    llvm::Value* value = context_->value(name, call);
    if (value == nullptr) refuse(fmt::format("'{}'", name.str()));
    return {value};
}

Parts Vectoriser::emit_call(llvm::CallInst& call) {
    llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr) {
        refuse("a call through a pointer");
        return {};
    }
    llvm::StringRef name = callee->getName();
    if (is_matrix_product(*call.getCalledFunction())) return emit_matrix_product(call);
    if (name == "ingot_matmul2d" || name == "ingot_cooperative_reduce") return emit_tensor_collective(call);
    if (name.starts_with("ingot.")) return emit_context(call, classify(call));
    if (name == "air.wg.barrier") {
        has_barriers_ = true;
        const auto barrier =
            target_.getParent()->getOrInsertFunction("ingot_barrier", b().getVoidTy(), b().getPtrTy());
        b().CreateCall(barrier, {target_.getArg(0)});
        return {};
    }
    // Lanes are always at the same place.
    if (name == "air.simdgroup.barrier") return {};
    if (name.consume_front("air.")) {
        if (name.starts_with("simd_") || name.starts_with("quad_")) return emit_simd(call, name);
        refuse(fmt::format("the function 'air.{}'", name.str()));
        return {};
    }
    if (name.starts_with("__tensorops_impl_")) {
        refuse(fmt::format("the tensor operation '{}'", name.str()));
        return {};
    }
    if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) return emit_intrinsic(*intrinsic);
    const bool uniform = llvm::all_of(call.args(), [&](llvm::Use& a) { return shape(a).is_uniform(); });
    if (uniform && call.doesNotAccessMemory()) return {clone_scalar(call)};
    if (const char* function = vector_function(name); function != nullptr && call.getType()->isFloatTy()) {
        llvm::SmallVector<llvm::Value*, 2> arguments;
        for (llvm::Use& argument : call.args()) arguments.push_back(vector(argument));
        return emit_vector_math(function, arguments);
    }
    return call_per_lane(call);
}

Parts Vectoriser::emit_vector_math(llvm::StringRef function, llvm::ArrayRef<llvm::Value*> arguments) {
    auto* type = llvm::FixedVectorType::get(b().getFloatTy(), kMathLanes);
    const llvm::SmallVector<llvm::Type*, 2> types(arguments.size(), type);
    auto* signature = llvm::FunctionType::get(type, types, false);
    auto* callee =
        llvm::cast<llvm::Function>(target_.getParent()->getOrInsertFunction(function, signature).getCallee());
    callee->setDoesNotAccessMemory();
    callee->setDoesNotThrow();
    Parts pieces;
    for (unsigned first = 0; first < kLanes; first += kMathLanes) {
        llvm::SmallVector<int, kMathLanes> some;
        for (unsigned i = 0; i < kMathLanes; ++i) some.push_back(int(first + i));
        llvm::SmallVector<llvm::Value*, 2> part;
        for (llvm::Value* argument : arguments) part.push_back(b().CreateShuffleVector(argument, some));
        pieces.push_back(b().CreateCall(callee, part));
    }
    return {lanes_.concatenate(pieces)};
}

Parts Vectoriser::emit_intrinsic(llvm::IntrinsicInst& call) {
    const auto id = call.getIntrinsicID();
    if (call.isAssumeLikeIntrinsic() || id == llvm::Intrinsic::experimental_noalias_scope_decl) return {};
    const bool uniform = llvm::all_of(call.args(), [&](llvm::Use& a) { return shape(a).is_uniform(); });
    if (uniform) return {clone_scalar(call)};
    if (llvm::isa<llvm::MemIntrinsic>(call)) return call_per_lane(call);
    const char* function = vector_function(llvm::Intrinsic::getBaseName(id));
    const bool known = function != nullptr || llvm::isTriviallyVectorizable(id) ||
                       id == llvm::Intrinsic::ldexp || id == llvm::Intrinsic::fptosi_sat ||
                       id == llvm::Intrinsic::fptoui_sat || id == llvm::Intrinsic::is_fpclass;
    if (id == llvm::Intrinsic::frexp) return call_per_lane(call);
    if (!known) {
        refuse(fmt::format("the intrinsic '{}'", call.getCalledFunction()->getName().str()));
        return {};
    }
    llvm::SmallVector<Parts, 3> arguments;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
        const bool stays =
            llvm::isVectorIntrinsicWithScalarOpAtArg(id, i) || (id == llvm::Intrinsic::is_fpclass && i == 1);
        arguments.push_back(stays ? Parts{} : vectors(call.getArgOperand(i)));
    }
    const auto types = leaves(call.getType());
    Parts result;
    for (size_t leaf = 0; leaf < types.size(); ++leaf) {
        llvm::SmallVector<llvm::Value*, 3> operands;
        for (unsigned i = 0; i < call.arg_size(); ++i) {
            llvm::Value* operand = arguments[i].empty() ? scalar(call.getArgOperand(i))
                                                        : arguments[i][arguments[i].size() > 1 ? leaf : 0];
            const llvm::Type* element = operand->getType()->getScalarType();
            if (element->isHalfTy() || element->isBFloatTy()) {
                operand = b().CreateFPExt(operand, lanes_.wide(b().getFloatTy()));
            }
            operands.push_back(operand);
        }
        llvm::Type* type = lanes_.wide(types[leaf]);
        const bool short_float = types[leaf]->isHalfTy() || types[leaf]->isBFloatTy();
        llvm::Type* computed = short_float ? lanes_.wide(b().getFloatTy()) : type;
        llvm::Value* value = nullptr;
        if (function != nullptr && computed->getScalarType()->isFloatTy()) {
            value = emit_vector_math(function, operands)[0];
        } else if (id == llvm::Intrinsic::fptosi_sat || id == llvm::Intrinsic::fptoui_sat ||
                   id == llvm::Intrinsic::is_fpclass) {
            const auto types_of = id == llvm::Intrinsic::is_fpclass
                                      ? llvm::SmallVector<llvm::Type*, 2>{operands[0]->getType()}
                                      : llvm::SmallVector<llvm::Type*, 2>{type, operands[0]->getType()};
            value = b().CreateIntrinsic(id, types_of, operands);
        } else if (id == llvm::Intrinsic::ldexp || id == llvm::Intrinsic::powi) {
            value = b().CreateIntrinsic(id, {computed, operands[1]->getType()}, operands);
        } else {
            value = b().CreateIntrinsic(id, {computed}, operands);
        }
        if (auto* made = llvm::dyn_cast<llvm::Instruction>(value); made != nullptr &&
                                                                   llvm::isa<llvm::FPMathOperator>(made) &&
                                                                   llvm::isa<llvm::FPMathOperator>(call)) {
            made->copyFastMathFlags(&call);
        }
        result.push_back(short_float ? lanes_.truncate_float(value, type) : value);
    }
    return result;
}

Parts Vectoriser::call_per_lane(llvm::CallInst& call) {
    llvm::SmallVector<llvm::Value*, 4> operands;
    for (llvm::Use& argument : call.args()) {
        const Parts parts = vectors(argument);
        if (parts.size() != 1) {
            refuse(fmt::format("a call of '{}' with a vector", call.getCalledFunction()->getName().str()));
            return {};
        }
        operands.push_back(parts[0]);
    }
    llvm::Type* type = call.getType();
    const auto results = type->isVoidTy() ? llvm::SmallVector<llvm::Type*, 4>{} : leaves(type);
    const bool is_record = type->isStructTy() && results.size() == type->getStructNumElements();
    if (!is_record && results.size() > 1) {
        refuse(
            fmt::format("a call of '{}', which gives a vector", call.getCalledFunction()->getName().str()));
        return {};
    }
    return lanes_.for_each_lane(mask_, operands, results,
                                [&](llvm::Value*, llvm::ArrayRef<llvm::Value*> elements) {
                                    auto* clone = llvm::cast<llvm::CallInst>(call.clone());
                                    for (unsigned i = 0; i < elements.size(); ++i) {
                                        if (!llvm::isa<llvm::Constant>(call.getArgOperand(i)))
                                            clone->setArgOperand(i, elements[i]);
                                    }
                                    b().Insert(clone);
                                    if (!is_record) return results.empty() ? Parts{} : Parts{clone};
                                    Parts parts;
                                    for (unsigned i = 0; i < results.size(); ++i)
                                        parts.push_back(b().CreateExtractValue(clone, i));
                                    return parts;
                                });
}

}  // namespace ingot::metal::jit::lanes

// Math, integer and relational functions, and conversions between scalar types.
#include <llvm/IR/Intrinsics.h>

#include "metal/jit/builtins/emitter.h"
#include "metal/jit/builtins/math_table.h"

namespace ingot::metal::jit {
namespace {

using Values = llvm::ArrayRef<llvm::Value*>;

const MathBuiltin* find_math(llvm::StringRef name) {
    for (const MathBuiltin& builtin : kMathBuiltins) {
        if (name == llvm::StringRef(builtin.name.data(), builtin.name.size())) return &builtin;
    }
    return nullptr;
}

llvm::Intrinsic::ID intrinsic_id(llvm::StringRef target) {
    return llvm::Function::lookupIntrinsicID(("llvm." + target).str());
}

// sin, cos, tan of pi * x: reduced to [-1/2, 1/2] turns first, so that large arguments stay exact.
llvm::Value* trigonometric_pi(Emitter& emit, llvm::StringRef name, llvm::Value* x) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* f32 = b.getFloatTy();
    const auto constant = [&](double value) { return llvm::ConstantFP::get(f32, value); };
    // x - 2 round(x / 2) lies in [-1, 1] and is exact.
    llvm::Value* turns = b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, b.CreateFMul(x, constant(0.5)));
    llvm::Value* reduced = b.CreateFSub(x, b.CreateFMul(turns, constant(2)));
    llvm::Value* wide = b.CreateFPExt(reduced, b.getDoubleTy());
    wide = b.CreateFMul(wide, llvm::ConstantFP::get(b.getDoubleTy(), 3.14159265358979323846));
    const auto apply = [&](llvm::Intrinsic::ID id) { return b.CreateUnaryIntrinsic(id, wide); };
    llvm::Value* result = name == "sinpi" ? apply(llvm::Intrinsic::sin)
                          : name == "cospi"
                              ? apply(llvm::Intrinsic::cos)
                              : b.CreateFDiv(apply(llvm::Intrinsic::sin), apply(llvm::Intrinsic::cos));
    return b.CreateFPTrunc(result, f32);
}

llvm::Value* expression(Emitter& emit, llvm::StringRef name, llvm::Value* x) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* f32 = b.getFloatTy();
    if (name == "rsqrt") {
        return b.CreateFDiv(llvm::ConstantFP::get(f32, 1), b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
    }
    if (name == "fract") {
        // Below 1 even where x - floor(x) rounds to it, as the specification has it.
        llvm::Value* rest = b.CreateFSub(x, b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x));
        return b.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, rest,
                                       llvm::ConstantFP::get(f32, 0x1.fffffep-1));
    }
    return trigonometric_pi(emit, name, x);
}

llvm::Value* math_on_float(Emitter& emit, const MathBuiltin& builtin, Values arguments) {
    const llvm::StringRef target(builtin.target.data(), builtin.target.size());
    switch (builtin.form) {
        case MathForm::kIntrinsic:
            return emit.b().CreateIntrinsic(intrinsic_id(target), {emit.b().getFloatTy()}, arguments);
        case MathForm::kLibrary:
            return emit.call_runtime(target, emit.b().getFloatTy(), arguments, true);
        case MathForm::kExpression:
            return expression(emit, llvm::StringRef(builtin.name.data(), builtin.name.size()), arguments[0]);
    }
    return nullptr;
}

// 16-bit floats go through float and are rounded once.
llvm::Value* math_on(Emitter& emit, const MathBuiltin& builtin, Values arguments, llvm::Type* type) {
    if (type->isFloatTy()) return math_on_float(emit, builtin, arguments);
    llvm::SmallVector<llvm::Value*> wide;
    for (llvm::Value* argument : arguments) {
        wide.push_back(emit.b().CreateFPExt(argument, emit.b().getFloatTy()));
    }
    return emit.b().CreateFPTrunc(math_on_float(emit, builtin, wide), type);
}

llvm::Value* dot(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* products = b.CreateFMul(emit.arg(0), emit.arg(1));
    llvm::Value* sum = b.CreateExtractElement(products, uint64_t{0});
    const unsigned count = llvm::cast<llvm::FixedVectorType>(products->getType())->getNumElements();
    for (unsigned i = 1; i < count; ++i) sum = b.CreateFAdd(sum, b.CreateExtractElement(products, i));
    return sum;
}

// sincos(x, pointer to the cosine), ldexp, dot, any, all: signatures of their own.
bool lower_special_math(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    llvm::IRBuilder<>& b = emit.b();
    if (name == "sincos" && emit.num_args() == 2) {
        b.CreateStore(b.CreateUnaryIntrinsic(llvm::Intrinsic::cos, emit.arg(0)), emit.arg(1));
        result = b.CreateUnaryIntrinsic(llvm::Intrinsic::sin, emit.arg(0));
        return true;
    }
    if (name == "ldexp" && emit.num_args() == 2) {
        result = b.CreateIntrinsic(llvm::Intrinsic::ldexp, {emit.result_type(), emit.arg(1)->getType()},
                                   {emit.arg(0), emit.arg(1)});
        return true;
    }
    if (name == "dot" && emit.num_args() == 2 && emit.arg(0)->getType()->isVectorTy()) {
        result = dot(emit);
        return true;
    }
    if ((name == "any" || name == "all") && emit.num_args() == 1 && emit.arg(0)->getType()->isVectorTy()) {
        result = name == "any" ? b.CreateOrReduce(emit.arg(0)) : b.CreateAndReduce(emit.arg(0));
        return true;
    }
    return false;
}

bool is_float_like(llvm::Type* type) {
    llvm::Type* scalar = type->getScalarType();
    return scalar->isFloatTy() || scalar->isHalfTy() || scalar->isBFloatTy();
}

}  // namespace

bool lower_math(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    llvm::StringRef stem = name.split('.').first;
    if (!stem.consume_front("fast_")) stem.consume_front("precise_");
    if (lower_special_math(emit, stem, result)) return true;
    if (stem == "clamp" && emit.num_args() == 3 && is_float_like(emit.result_type())) {
        result = emit.elementwise([&](Values a, llvm::Type* type) {
            llvm::Value* at_least = math_on(emit, *find_math("fmax"), {a[0], a[1]}, type);
            return math_on(emit, *find_math("fmin"), {at_least, a[2]}, type);
        });
        return true;
    }
    const MathBuiltin* builtin = find_math(stem);
    if (builtin == nullptr || builtin->num_arguments != emit.num_args() ||
        !is_float_like(emit.result_type())) {
        return false;
    }
    result = emit.elementwise([&](Values a, llvm::Type* type) { return math_on(emit, *builtin, a, type); });
    return true;
}

bool lower_integer(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    llvm::Type* type = emit.result_type();
    if (!type->isIntOrIntVectorTy()) return false;
    llvm::IRBuilder<>& b = emit.b();
    const llvm::StringRef stem = name.split('.').first;
    const bool is_signed = name.contains(".s.");
    const auto min_id = is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
    const auto max_id = is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax;
    const auto unary = [&](llvm::Intrinsic::ID id) { result = b.CreateUnaryIntrinsic(id, emit.arg(0)); };
    if (stem == "min" && emit.num_args() == 2) {
        result = b.CreateBinaryIntrinsic(min_id, emit.arg(0), emit.arg(1));
    } else if (stem == "max" && emit.num_args() == 2) {
        result = b.CreateBinaryIntrinsic(max_id, emit.arg(0), emit.arg(1));
    } else if (stem == "clamp" && emit.num_args() == 3) {
        result = b.CreateBinaryIntrinsic(min_id, b.CreateBinaryIntrinsic(max_id, emit.arg(0), emit.arg(1)),
                                         emit.arg(2));
    } else if (stem == "abs" && emit.num_args() == 1) {
        result = b.CreateIntrinsic(llvm::Intrinsic::abs, {type}, {emit.arg(0), b.getFalse()});
    } else if ((stem == "clz" || stem == "ctz") && emit.num_args() >= 1) {
        const auto id = stem == "clz" ? llvm::Intrinsic::ctlz : llvm::Intrinsic::cttz;
        result = b.CreateIntrinsic(id, {type}, {emit.arg(0), b.getFalse()});
    } else if (stem == "popcount" && emit.num_args() == 1) {
        unary(llvm::Intrinsic::ctpop);
    } else if (stem == "reverse_bits" && emit.num_args() == 1) {
        unary(llvm::Intrinsic::bitreverse);
    } else if (stem == "mul_hi" && emit.num_args() == 2) {
        const unsigned bits = type->getScalarSizeInBits();
        llvm::Type* wide = type->getWithNewBitWidth(2 * bits);
        const auto extend = [&](llvm::Value* v) { return b.CreateIntCast(v, wide, is_signed); };
        llvm::Value* product = b.CreateMul(extend(emit.arg(0)), extend(emit.arg(1)));
        result = b.CreateTrunc(b.CreateLShr(product, bits), type);
    } else {
        return false;
    }
    return true;
}

namespace {

llvm::Type* float_shape(llvm::Type* shape, llvm::IRBuilder<>& b) {
    return shape->getWithNewType(b.getFloatTy());
}

llvm::Value* convert_float_to_float(llvm::IRBuilder<>& b, llvm::Value* value, llvm::Type* to) {
    llvm::Type* from = value->getType();
    if (from == to) return value;
    const unsigned from_bits = from->getScalarSizeInBits(), to_bits = to->getScalarSizeInBits();
    if (from_bits < to_bits) return b.CreateFPExt(value, to);
    if (from_bits > to_bits) return b.CreateFPTrunc(value, to);
    return b.CreateFPTrunc(b.CreateFPExt(value, float_shape(to, b)), to);  // half <-> bfloat
}

}  // namespace

// air.convert.DSTKIND.DSTTYPE.SRCKIND.SRCTYPE, kinds f, s, u. Float to integer truncates and saturates, NaN
// gives 0; anything to bool is "!= 0".
bool lower_convert(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    llvm::SmallVector<llvm::StringRef> parts;
    name.split(parts, '.');
    if (parts.size() != 5 || parts[0] != "convert" || emit.num_args() != 1) return false;
    const bool to_signed = parts[1] == "s", from_signed = parts[3] == "s";
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* value = emit.arg(0);
    llvm::Type *from = value->getType(), *to = emit.result_type();
    if (from->isFPOrFPVectorTy() && to->isFPOrFPVectorTy()) {
        result = convert_float_to_float(b, value, to);
    } else if (to->isFPOrFPVectorTy()) {
        result = from_signed && !from->isIntOrIntVectorTy(1) ? b.CreateSIToFP(value, to)
                                                             : b.CreateUIToFP(value, to);
    } else if (to->getScalarSizeInBits() == 1) {
        llvm::Constant* zero = llvm::Constant::getNullValue(from);
        result = from->isFPOrFPVectorTy() ? b.CreateFCmpUNE(value, zero) : b.CreateICmpNE(value, zero);
    } else if (from->isFPOrFPVectorTy()) {
        value = convert_float_to_float(b, value, float_shape(from, b));
        const auto id = to_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
        result = b.CreateIntrinsic(id, {to, value->getType()}, {value});
    } else {
        result = b.CreateIntCast(value, to, from_signed);
    }
    return true;
}

}  // namespace ingot::metal::jit

// Math and common functions, and conversions between scalar types.
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

// The largest number below 1 of a type.
double below_one(llvm::Type* type) {
    llvm::APFloat one(type->getFltSemantics(), 1);
    one.next(/*nextDown=*/true);
    return one.convertToDouble();
}

// Of float arguments, exactly named as in the list. The result will be rounded to `type`.
llvm::Value* expression(Emitter& emit, llvm::StringRef name, Values x, llvm::Type* type) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* f32 = b.getFloatTy();
    const auto constant = [&](double value) { return llvm::ConstantFP::get(f32, value); };
    const auto min = [&](llvm::Value* p, llvm::Value* q) { return b.CreateMinNum(p, q); };
    const auto max = [&](llvm::Value* p, llvm::Value* q) { return b.CreateMaxNum(p, q); };
    const auto saturate = [&](llvm::Value* v) { return min(max(v, constant(0)), constant(1)); };
    if (name == "rsqrt")
        return b.CreateFDiv(constant(1), b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]));
    if (name == "fract") {
        // Below 1 even where x - floor(x) rounds to it, as the specification has it for each type.
        llvm::Value* rest = b.CreateFSub(x[0], b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x[0]));
        return min(rest, constant(below_one(type)));
    }
    if (name == "divide") return b.CreateFDiv(x[0], x[1]);
    if (name == "saturate") return saturate(x[0]);
    if (name == "clamp") return min(max(x[0], x[1]), x[2]);
    if (name == "fmin3") return min(min(x[0], x[1]), x[2]);
    if (name == "fmax3") return max(max(x[0], x[1]), x[2]);
    if (name == "fmedian3") return max(min(x[0], x[1]), min(max(x[0], x[1]), x[2]));
    if (name == "mix") {
        return b.CreateIntrinsic(llvm::Intrinsic::fma, {f32}, {b.CreateFSub(x[1], x[0]), x[2], x[0]});
    }
    if (name == "step") return b.CreateSelect(b.CreateFCmpOLT(x[1], x[0]), constant(0), constant(1));
    if (name == "smoothstep") {
        llvm::Value* t = saturate(b.CreateFDiv(b.CreateFSub(x[2], x[0]), b.CreateFSub(x[1], x[0])));
        return b.CreateFMul(b.CreateFMul(t, t), b.CreateFSub(constant(3), b.CreateFMul(constant(2), t)));
    }
    if (name == "sign") {
        // Zeros keep their sign, NaN gives 0.
        llvm::Value* one = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, constant(1), x[0]);
        llvm::Value* zero = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, constant(0), x[0]);
        llvm::Value* result = b.CreateSelect(b.CreateFCmpOEQ(x[0], constant(0)), zero, one);
        return b.CreateSelect(b.CreateFCmpUNO(x[0], x[0]), constant(0), result);
    }
    return trigonometric_pi(emit, name, x[0]);
}

llvm::Value* math_on_float(Emitter& emit, const MathBuiltin& builtin, Values arguments, llvm::Type* type) {
    const llvm::StringRef target(builtin.target.data(), builtin.target.size());
    switch (builtin.form) {
        case MathForm::kIntrinsic:
            return emit.b().CreateIntrinsic(intrinsic_id(target), {emit.b().getFloatTy()}, arguments);
        case MathForm::kLibrary:
            return emit.call_runtime(target, emit.b().getFloatTy(), arguments, true);
        case MathForm::kExpression:
            return expression(emit, llvm::StringRef(builtin.name.data(), builtin.name.size()), arguments,
                              type);
    }
    return nullptr;
}

// The 16-bit float after x on the way to y: away from zero the next pattern of bits, towards it the one
// before. `wide` has both as floats.
llvm::Value* next_after(llvm::IRBuilder<>& b, Values narrow, Values wide) {
    llvm::Type *type = narrow[0]->getType(), *i16 = b.getInt16Ty();
    const auto integer = [&](uint16_t value) { return llvm::ConstantInt::get(i16, value); };
    llvm::Value *x = b.CreateBitCast(narrow[0], i16), *y = b.CreateBitCast(narrow[1], i16);
    llvm::Value* zero = llvm::ConstantFP::get(wide[0]->getType(), 0);
    llvm::Value* grows = b.CreateXor(b.CreateFCmpOLT(wide[0], wide[1]), b.CreateFCmpOLT(wide[0], zero));
    llvm::Value* next = b.CreateAdd(x, b.CreateSelect(grows, integer(1), integer(0xFFFF)));
    llvm::Value* smallest = b.CreateOr(b.CreateAnd(y, integer(0x8000)), integer(1));
    next = b.CreateSelect(b.CreateFCmpOEQ(wide[0], zero), smallest, next);
    next = b.CreateSelect(b.CreateFCmpOEQ(wide[0], wide[1]), y, next);
    return b.CreateSelect(b.CreateFCmpUNO(wide[0], wide[1]), llvm::ConstantFP::getNaN(type),
                          b.CreateBitCast(next, type));
}

// 16-bit floats go through float and are rounded once; but their neighbours aren't float's.
llvm::Value* math_on(Emitter& emit, const MathBuiltin& builtin, Values arguments, llvm::Type* type) {
    if (type->isFloatTy()) return math_on_float(emit, builtin, arguments, type);
    llvm::SmallVector<llvm::Value*> wide;
    for (llvm::Value* argument : arguments) {
        wide.push_back(emit.b().CreateFPExt(argument, emit.b().getFloatTy()));
    }
    if (builtin.name == "nextafter") return next_after(emit.b(), arguments, wide);
    return emit.b().CreateFPTrunc(math_on_float(emit, builtin, wide, type), type);
}

llvm::Value* dot(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* products = b.CreateFMul(emit.arg(0), emit.arg(1));
    llvm::Value* sum = b.CreateExtractElement(products, uint64_t{0});
    const unsigned count = llvm::cast<llvm::FixedVectorType>(products->getType())->getNumElements();
    for (unsigned i = 1; i < count; ++i) sum = b.CreateFAdd(sum, b.CreateExtractElement(products, i));
    return sum;
}

// Result in the library's float, the second one of `type` at the pointer.
llvm::Value* with_second_result(Emitter& emit, llvm::StringRef name) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* type = emit.result_type();
    llvm::Value *x = emit.arg(0), *second = emit.arg(1);
    if (!type->isFloatTy()) x = b.CreateFPExt(x, b.getFloatTy());
    const auto narrow = [&](llvm::Value* v) { return type->isFloatTy() ? v : b.CreateFPTrunc(v, type); };
    if (name == "sincos") {
        b.CreateStore(narrow(b.CreateUnaryIntrinsic(llvm::Intrinsic::cos, x)), second);
        return narrow(b.CreateUnaryIntrinsic(llvm::Intrinsic::sin, x));
    }
    if (name == "modf") {
        // The rest of an infinity is a zero; both results have the argument's sign.
        llvm::Value* whole = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
        b.CreateStore(narrow(whole), second);
        llvm::Value* infinity = llvm::ConstantFP::getInfinity(b.getFloatTy());
        llvm::Value* is_infinite =
            b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), infinity);
        llvm::Value* rest =
            b.CreateSelect(is_infinite, llvm::ConstantFP::get(b.getFloatTy(), 0), b.CreateFSub(x, whole));
        return narrow(b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, rest, x));
    }
    // What has no exponent (0, infinity, NaN) leaves one of 0.
    llvm::Value* parts = b.CreateIntrinsic(llvm::Intrinsic::frexp, {b.getFloatTy(), b.getInt32Ty()}, {x});
    llvm::Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    llvm::Value* is_ordinary = b.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(b.getFloatTy()));
    b.CreateStore(b.CreateSelect(is_ordinary, b.CreateExtractValue(parts, 1), b.getInt32(0)), second);
    return narrow(b.CreateSelect(is_ordinary, b.CreateExtractValue(parts, 0), x));
}

// The exponent. Zero and NaN give the smallest int, an infinity the largest.
llvm::Value* ilogb(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type *f32 = b.getFloatTy(), *i32 = b.getInt32Ty();
    llvm::Value* x = emit.arg(0);
    if (x->getType() != f32) x = b.CreateFPExt(x, f32);
    llvm::Value* parts = b.CreateIntrinsic(llvm::Intrinsic::frexp, {f32, i32}, {x});
    llvm::Value* exponent = b.CreateSub(b.CreateExtractValue(parts, 1), b.getInt32(1));
    llvm::Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    llvm::Value* infinity = llvm::ConstantFP::getInfinity(f32);
    llvm::Value* special = b.CreateSelect(b.CreateFCmpOEQ(magnitude, infinity), b.getInt32(INT32_MAX),
                                          b.getInt32(uint32_t(INT32_MIN)));
    llvm::Value* is_ordinary = b.CreateAnd(b.CreateFCmpONE(magnitude, llvm::ConstantFP::get(f32, 0)),
                                           b.CreateFCmpOLT(magnitude, infinity));
    return b.CreateSelect(is_ordinary, exponent, special);
}

llvm::Value* load_exponent(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* type = emit.result_type();
    llvm::Value *x = emit.arg(0), *k = emit.arg(1);
    llvm::Type* wide = type->getWithNewType(b.getFloatTy());
    if (x->getType() != wide) x = b.CreateFPExt(x, wide);
    llvm::Value* result = b.CreateIntrinsic(llvm::Intrinsic::ldexp, {wide, k->getType()}, {x, k});
    return type == wide ? result : b.CreateFPTrunc(result, type);
}

// Functions with signatures of their own.
bool lower_special_math(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    llvm::IRBuilder<>& b = emit.b();
    const unsigned arguments = emit.num_args();
    const bool is_scalar = !emit.result_type()->isVectorTy();
    if ((name == "sincos" || name == "modf" || name == "frexp") && arguments == 2 && is_scalar) {
        result = with_second_result(emit, name);
    } else if (name == "ilogb" && arguments == 1 && is_scalar) {
        result = ilogb(emit);
    } else if (name == "ldexp" && arguments == 2) {
        result = load_exponent(emit);
    } else if (name == "dot" && arguments == 2 && emit.arg(0)->getType()->isVectorTy()) {
        result = dot(emit);
    } else if ((name == "any" || name == "all") && arguments == 1 && emit.arg(0)->getType()->isVectorTy()) {
        result = name == "any" ? b.CreateOrReduce(emit.arg(0)) : b.CreateAndReduce(emit.arg(0));
    } else {
        return false;
    }
    return true;
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
    const MathBuiltin* builtin = find_math(stem);
    if (builtin == nullptr || builtin->num_arguments != emit.num_args() ||
        !is_float_like(emit.result_type())) {
        return false;
    }
    result = emit.elementwise([&](Values a, llvm::Type* type) { return math_on(emit, *builtin, a, type); });
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

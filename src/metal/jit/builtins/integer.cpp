// Integer functions: one function here for each name in the lists of msl/include/ingot_msl/builtins.h, on
// scalars and vectors of any width.
#include <llvm/IR/Intrinsics.h>

#include "metal/jit/builtins/emitter.h"
#include "metal/msl/include/ingot_msl/builtins.h"

namespace ingot::metal::jit {
namespace {

// A call of an integer function: its operands, and IR on values of the result's type.
struct Integers {
    Emitter& emit;
    bool is_signed;

    llvm::IRBuilder<>& b() const { return emit.b(); }
    llvm::Type* type() const { return emit.result_type(); }
    unsigned bits() const { return type()->getScalarSizeInBits(); }
    llvm::Value* operator[](unsigned i) const { return emit.arg(i); }
    llvm::Value* constant(uint64_t value) const { return llvm::ConstantInt::get(type(), value); }
    llvm::Value* unary(llvm::Intrinsic::ID id) const { return b().CreateUnaryIntrinsic(id, emit.arg(0)); }
    llvm::Value* pick(llvm::Intrinsic::ID if_signed, llvm::Intrinsic::ID if_not, llvm::Value* x,
                      llvm::Value* y) const {
        return b().CreateBinaryIntrinsic(is_signed ? if_signed : if_not, x, y);
    }
    llvm::Value* min(llvm::Value* x, llvm::Value* y) const {
        return pick(llvm::Intrinsic::smin, llvm::Intrinsic::umin, x, y);
    }
    llvm::Value* max(llvm::Value* x, llvm::Value* y) const {
        return pick(llvm::Intrinsic::smax, llvm::Intrinsic::umax, x, y);
    }
    llvm::Value* shift_right(llvm::Value* x, llvm::Value* n) const {
        return is_signed ? b().CreateAShr(x, n) : b().CreateLShr(x, n);
    }
    // Twice as wide: products fit, and sums of one product and one value.
    llvm::Value* widen(llvm::Value* x) const {
        return b().CreateIntCast(x, type()->getWithNewBitWidth(2 * bits()), is_signed);
    }
    llvm::Value* high_product(llvm::Value* x, llvm::Value* y) const {
        return b().CreateTrunc(b().CreateLShr(b().CreateMul(widen(x), widen(y)), bits()), type());
    }
    // The product of the low 24 bits.
    llvm::Value* product_24(llvm::Value* x, llvm::Value* y) const {
        if (bits() <= 24) return b().CreateMul(x, y);
        llvm::Value* rest = constant(bits() - 24);
        const auto low = [&](llvm::Value* v) { return shift_right(b().CreateShl(v, rest), rest); };
        return b().CreateMul(low(x), low(y));
    }
    // An i32 operand (offset, number of bits) in the result's type.
    llvm::Value* amount(unsigned i) const {
        llvm::Value* scalar = b().CreateZExtOrTrunc(emit.arg(i), type()->getScalarType());
        auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type());
        return vector ? b().CreateVectorSplat(vector->getNumElements(), scalar) : scalar;
    }
    // Shift amounts wrap: the results of a field outside the value are undefined, but nothing worse.
    llvm::Value* wrapped(llvm::Value* n) const { return b().CreateAnd(n, constant(bits() - 1)); }
};

llvm::Value* lower_abs(const Integers& v) {
    return v.is_signed ? v.b().CreateIntrinsic(llvm::Intrinsic::abs, {v.type()}, {v[0], v.b().getFalse()})
                       : v[0];
}
llvm::Value* lower_abs_diff(const Integers& v) {
    return v.b().CreateSub(v.max(v[0], v[1]), v.min(v[0], v[1]));
}
llvm::Value* lower_add_sat(const Integers& v) {
    return v.pick(llvm::Intrinsic::sadd_sat, llvm::Intrinsic::uadd_sat, v[0], v[1]);
}
llvm::Value* lower_sub_sat(const Integers& v) {
    return v.pick(llvm::Intrinsic::ssub_sat, llvm::Intrinsic::usub_sat, v[0], v[1]);
}
llvm::Value* lower_clamp(const Integers& v) {
    return v.min(v.max(v[0], v[1]), v[2]);
}
llvm::Value* lower_max(const Integers& v) {
    return v.max(v[0], v[1]);
}
llvm::Value* lower_min(const Integers& v) {
    return v.min(v[0], v[1]);
}
llvm::Value* lower_max3(const Integers& v) {
    return v.max(v.max(v[0], v[1]), v[2]);
}
llvm::Value* lower_min3(const Integers& v) {
    return v.min(v.min(v[0], v[1]), v[2]);
}
llvm::Value* lower_median3(const Integers& v) {
    return v.max(v.min(v[0], v[1]), v.min(v.max(v[0], v[1]), v[2]));
}
llvm::Value* lower_clz(const Integers& v) {
    return v.b().CreateIntrinsic(llvm::Intrinsic::ctlz, {v.type()}, {v[0], v.b().getFalse()});
}
llvm::Value* lower_ctz(const Integers& v) {
    return v.b().CreateIntrinsic(llvm::Intrinsic::cttz, {v.type()}, {v[0], v.b().getFalse()});
}
llvm::Value* lower_popcount(const Integers& v) {
    return v.unary(llvm::Intrinsic::ctpop);
}
llvm::Value* lower_reverse_bits(const Integers& v) {
    return v.unary(llvm::Intrinsic::bitreverse);
}
// (x + y) / 2 without overflow, rounded down; rhadd rounds up.
llvm::Value* lower_hadd(const Integers& v) {
    llvm::IRBuilder<>& b = v.b();
    return b.CreateAdd(b.CreateAnd(v[0], v[1]), v.shift_right(b.CreateXor(v[0], v[1]), v.constant(1)));
}
llvm::Value* lower_rhadd(const Integers& v) {
    llvm::IRBuilder<>& b = v.b();
    return b.CreateSub(b.CreateOr(v[0], v[1]), v.shift_right(b.CreateXor(v[0], v[1]), v.constant(1)));
}
llvm::Value* lower_mul24(const Integers& v) {
    return v.product_24(v[0], v[1]);
}
llvm::Value* lower_mad24(const Integers& v) {
    return v.b().CreateAdd(v.product_24(v[0], v[1]), v[2]);
}
llvm::Value* lower_mul_hi(const Integers& v) {
    return v.high_product(v[0], v[1]);
}
llvm::Value* lower_mad_hi(const Integers& v) {
    return v.b().CreateAdd(v.high_product(v[0], v[1]), v[2]);
}
llvm::Value* lower_mad_sat(const Integers& v) {
    llvm::IRBuilder<>& b = v.b();
    llvm::Value* sum = b.CreateAdd(b.CreateMul(v.widen(v[0]), v.widen(v[1])), v.widen(v[2]));
    const unsigned bits = v.bits();
    const auto limit = [&](const llvm::APInt& value) {
        return llvm::ConstantInt::get(sum->getType(),
                                      v.is_signed ? value.sext(2 * bits) : value.zext(2 * bits));
    };
    const auto max = v.is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    const auto min = v.is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits);
    return b.CreateTrunc(v.min(v.max(sum, limit(min)), limit(max)), v.type());
}
llvm::Value* lower_rotate(const Integers& v) {
    return v.b().CreateIntrinsic(llvm::Intrinsic::fshl, {v.type()}, {v[0], v[0], v[1]});
}
llvm::Value* lower_extract_bits(const Integers& v) {
    llvm::IRBuilder<>& b = v.b();
    llvm::Value *offset = v.amount(1), *count = v.amount(2);
    llvm::Value* above = v.wrapped(b.CreateSub(v.constant(v.bits()), b.CreateAdd(offset, count)));
    llvm::Value* below = v.wrapped(b.CreateSub(v.constant(v.bits()), count));
    llvm::Value* field = v.shift_right(b.CreateShl(v[0], above), below);
    return b.CreateSelect(b.CreateICmpEQ(count, v.constant(0)), v.constant(0), field);
}
llvm::Value* lower_insert_bits(const Integers& v) {
    llvm::IRBuilder<>& b = v.b();
    llvm::Value *offset = v.wrapped(v.amount(2)), *count = v.amount(3);
    llvm::Value* all = b.CreateSub(b.CreateShl(v.constant(1), v.wrapped(count)), v.constant(1));
    llvm::Value* is_whole = b.CreateICmpEQ(count, v.constant(v.bits()));
    llvm::Value* mask = b.CreateShl(b.CreateSelect(is_whole, v.constant(~uint64_t{0}), all), offset);
    return b.CreateOr(b.CreateAnd(v[0], b.CreateNot(mask)), b.CreateAnd(b.CreateShl(v[1], offset), mask));
}

enum Operands : uint8_t {
    UNARY = 1,
    PLAIN = 1,
    BINARY = 2,
    DIFFERENCE = 2,
    ROTATE = 2,
    COUNT = 2,
    TERNARY = 3,
    EXTRACT = 3,
    INSERT = 4
};

struct IntegerBuiltin {
    llvm::StringLiteral name;
    unsigned num_arguments;
    llvm::Value* (*lower)(const Integers& v);
};

constexpr IntegerBuiltin kIntegerBuiltins[] = {
#define X(name, metal_name, shape) {#name, shape, lower_##name},
    INGOT_INTEGER_BUILTINS(X) INGOT_SHARED_INTEGER_BUILTINS(X)
#undef X
};

}  // namespace

bool lower_integer(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    if (!emit.result_type()->isIntOrIntVectorTy()) return false;
    const llvm::StringRef stem = name.split('.').first;
    for (const IntegerBuiltin& builtin : kIntegerBuiltins) {
        if (stem != builtin.name) continue;
        if (emit.num_args() != builtin.num_arguments) return false;
        result = builtin.lower({emit, name.contains(".s.")});
        return true;
    }
    return false;
}

}  // namespace ingot::metal::jit

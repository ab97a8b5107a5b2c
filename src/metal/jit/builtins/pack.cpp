// Pack and unpack: fields of normalised integers in one word, from the lowest bits up, and vectors of float
// or half. Packing clamps, rounds the exact product to nearest even, and takes NaN for 0. The colours of sRGB
// formats go through its transfer function, alpha doesn't; unpacked ones are multiples of 1/4095, as Metal's
// are.
#include <llvm/IR/Intrinsics.h>

#include "metal/jit/builtins/emitter.h"
#include "metal/msl/include/ingot_msl/builtins.h"

namespace ingot::metal::jit {
namespace {

struct PackFormat {
    llvm::StringLiteral name;
    unsigned count;
    bool is_signed, is_srgb;
    uint8_t bits[4];
};

constexpr PackFormat kFormats[] = {
#define X(name, count, word, unpack, pack, is_signed, is_srgb, b0, b1, b2, b3) \
    {name, count, is_signed, is_srgb, {b0, b1, b2, b3}},
    INGOT_PACK_BUILTINS(X)
#undef X
};

llvm::Value* f64(Emitter& emit, double value) {
    return llvm::ConstantFP::get(emit.b().getDoubleTy(), value);
}

double largest(const PackFormat& format, unsigned i) {
    return double((uint64_t{1} << (format.bits[i] - (format.is_signed ? 1 : 0))) - 1);
}

llvm::Value* power(Emitter& emit, llvm::Value* x, double exponent) {
    return emit.b().CreateFPExt(
        emit.b().CreateBinaryIntrinsic(llvm::Intrinsic::pow, emit.b().CreateFPTrunc(x, emit.b().getFloatTy()),
                                       llvm::ConstantFP::get(emit.b().getFloatTy(), exponent)),
        emit.b().getDoubleTy());
}

llvm::Value* srgb_from_linear(Emitter& emit, llvm::Value* x) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* curve =
        b.CreateFSub(b.CreateFMul(power(emit, x, 1 / 2.4), f64(emit, 1.055)), f64(emit, 0.055));
    return b.CreateSelect(b.CreateFCmpOLE(x, f64(emit, 0.0031308)), b.CreateFMul(x, f64(emit, 12.92)), curve);
}

llvm::Value* linear_from_srgb(Emitter& emit, llvm::Value* x) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* curve = power(emit, b.CreateFDiv(b.CreateFAdd(x, f64(emit, 0.055)), f64(emit, 1.055)), 2.4);
    llvm::Value* linear =
        b.CreateSelect(b.CreateFCmpOLE(x, f64(emit, 0.04045)), b.CreateFDiv(x, f64(emit, 12.92)), curve);
    llvm::Value* step = b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, b.CreateFMul(linear, f64(emit, 4095)));
    return b.CreateFDiv(step, f64(emit, 4095));
}

llvm::Value* pack(Emitter& emit, const PackFormat& format) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* word = emit.result_type();
    llvm::Value* result = llvm::ConstantInt::get(word, 0);
    for (unsigned i = 0, position = 0; i < format.count; position += format.bits[i++]) {
        llvm::Value* x = b.CreateFPExt(b.CreateExtractElement(emit.arg(0), i), b.getDoubleTy());
        x = b.CreateSelect(b.CreateFCmpUNO(x, x), f64(emit, 0), x);
        x = b.CreateMinNum(b.CreateMaxNum(x, f64(emit, format.is_signed ? -1 : 0)), f64(emit, 1));
        if (format.is_srgb && i < 3) x = srgb_from_linear(emit, x);
        llvm::Value* scaled = b.CreateFMul(x, f64(emit, largest(format, i)));
        llvm::Value* field =
            b.CreateFPToSI(b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, scaled), b.getInt32Ty());
        field = b.CreateAnd(field, emit.u32(uint32_t((uint64_t{1} << format.bits[i]) - 1)));
        result = b.CreateOr(result, b.CreateShl(b.CreateZExtOrTrunc(field, word), position));
    }
    return result;
}

llvm::Value* unpack(Emitter& emit, const PackFormat& format) {
    llvm::IRBuilder<>& b = emit.b();
    auto* vector = llvm::cast<llvm::FixedVectorType>(emit.result_type());
    llvm::Value* result = llvm::PoisonValue::get(vector);
    llvm::Value* word = b.CreateZExt(emit.arg(0), b.getInt64Ty());
    for (unsigned i = 0, position = 0; i < format.count; position += format.bits[i++]) {
        llvm::Value* field = b.CreateShl(word, 64 - position - format.bits[i]);
        const uint64_t rest = 64u - format.bits[i];
        field = format.is_signed ? b.CreateAShr(field, rest) : b.CreateLShr(field, rest);
        llvm::Value* x = b.CreateFDiv(b.CreateSIToFP(field, b.getDoubleTy()), f64(emit, largest(format, i)));
        if (format.is_signed) x = b.CreateMaxNum(x, f64(emit, -1));
        if (format.is_srgb && i < 3) x = linear_from_srgb(emit, x);
        result = b.CreateInsertElement(result, b.CreateFPTrunc(x, vector->getElementType()), i);
    }
    return result;
}

bool is_format_of(const PackFormat& format, llvm::Type* vector, llvm::Type* word) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vector);
    unsigned bits = 0;
    for (const uint8_t field : format.bits) bits += field;
    return type != nullptr && type->getNumElements() == format.count && word->isIntegerTy(bits) &&
           (type->getElementType()->isFloatTy() || type->getElementType()->isHalfTy());
}

}  // namespace

bool lower_pack(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    const bool packs = name.consume_front("pack.");
    if ((!packs && !name.consume_front("unpack.")) || emit.num_args() != 1) return false;
    const llvm::StringRef format_name = name.rsplit('.').first;
    for (const PackFormat& format : kFormats) {
        if (format_name != format.name) continue;
        llvm::Type *in = emit.arg(0)->getType(), *out = emit.result_type();
        if (!is_format_of(format, packs ? in : out, packs ? out : in)) return false;
        result = packs ? pack(emit, format) : unpack(emit, format);
        return true;
    }
    return false;
}

}  // namespace ingot::metal::jit

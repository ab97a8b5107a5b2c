// Metal 4 tensors on the fibers executor: private views (air.*tensor*) and the ABI behind
// mpp::tensor_ops::matmul2d
// (__tensorops_impl_matmul2d_op_*), as compiled libraries use it. Our own view layout, our own lane map.
#include <array>

#include <llvm/ADT/StringSwitch.h>

#include "metal/exec/fibers/tensor_operations.h"
#include "metal/jit/builtins/emitter.h"

namespace ingot::metal::jit {
namespace {

using fibers::TensorType;

constexpr llvm::StringRef kMatmulPrefix = "__tensorops_impl_matmul2d_op_";
// Which operand of a product: the first argument of most functions.
constexpr uint32_t kLeft = 0, kRight = 1;

std::optional<TensorType> operand_type(llvm::StringRef name) {
    return llvm::StringSwitch<std::optional<TensorType>>(name)
        .Case("f32", TensorType::kF32)
        .Case("f16", TensorType::kF16)
        .Cases("b16", "bf16", TensorType::kBF16)
        .Default(std::nullopt);
}

uint32_t bytes_of(TensorType type) {
    return type == TensorType::kF32 ? 4 : 2;
}

// Arguments 1 to 7 of the cooperative tensor functions are the descriptor's fields as scalars.
struct Shape {
    llvm::Value *rows, *columns;
};

Shape stored_shape(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    const auto is = [&](uint32_t operand) { return b.CreateICmpEQ(emit.arg(0), emit.u32(operand)); };
    const auto flag = [&](unsigned index) {
        return b.CreateICmpNE(emit.arg(index), llvm::ConstantInt::get(emit.arg(index)->getType(), 0));
    };
    llvm::Value *m = emit.arg(1), *n = emit.arg(2), *k = emit.arg(3);
    llvm::Value *left = flag(4), *right = flag(5);
    // left is m x k (k x m transposed), right k x n (n x k), destination m x n.
    return {b.CreateSelect(is(kLeft), b.CreateSelect(left, k, m),
                           b.CreateSelect(is(kRight), b.CreateSelect(right, n, k), m)),
            b.CreateSelect(is(kLeft), b.CreateSelect(left, m, k),
                           b.CreateSelect(is(kRight), b.CreateSelect(right, k, n), n))};
}

llvm::Value* elements_per_lane(Emitter& emit) {
    const Shape shape = stored_shape(emit);
    return emit.b().CreateUDiv(emit.b().CreateMul(shape.rows, shape.columns), emit.u32(kSimdWidth));
}

// Element types are passed as codes whose low byte is the width in bits.
llvm::Value* element_bytes(Emitter& emit, unsigned first_type) {
    llvm::IRBuilder<>& b = emit.b();
    const auto is = [&](uint32_t operand) { return b.CreateICmpEQ(emit.arg(0), emit.u32(operand)); };
    llvm::Value* code =
        b.CreateSelect(is(kLeft), emit.arg(first_type),
                       b.CreateSelect(is(kRight), emit.arg(first_type + 1), emit.arg(first_type + 2)));
    return b.CreateLShr(b.CreateAnd(code, emit.u32(0xFF)), emit.u32(3));
}

llvm::Value* lane(Emitter& emit) {
    return emit.call_runtime("ingot.lane", emit.b().getPtrTy(), {}, true);
}
llvm::Value* layout(Emitter& emit) {
    return emit.u32(uint32_t(emit.state().options.layout));
}
llvm::Value* flat(Emitter& emit, llvm::Value* pointer) {
    return emit.b().CreateAddrSpaceCast(pointer, emit.b().getPtrTy());
}

// run_cooperative_LEFT_RIGHT_f32, an operand being TYPE (cooperative) or dv_TYPE / tg_TYPE (a view, and a
// constant).
bool lower_run(Emitter& emit, llvm::StringRef operands) {
    llvm::SmallVector<llvm::StringRef> parts;
    operands.split(parts, '_');
    std::array<llvm::Value*, 2> pointers{};
    std::array<uint32_t, 2> codes{};
    unsigned argument = 1;
    size_t at = 0;
    for (int i = 0; i < 2; ++i) {
        if (at >= parts.size()) return false;
        const bool is_view = parts[at] == "dv" || parts[at] == "tg";
        if (is_view) ++at;
        const auto type = at < parts.size() ? operand_type(parts[at++]) : std::nullopt;
        if (!type || argument >= emit.num_args()) return false;
        pointers[i] = emit.arg(argument);
        codes[i] = fibers::operand_code(*type, is_view);
        argument += is_view ? 2 : 1;
    }
    if (at + 1 != parts.size() || parts[at] != "f32" || argument >= emit.num_args()) return false;
    emit.call_collective("ingot_matmul2d", emit.b().getVoidTy(),
                         {lane(emit), emit.arg(0), pointers[0], emit.u32(codes[0]), pointers[1],
                          emit.u32(codes[1]), emit.arg(argument), layout(emit)});
    return true;
}

// cooperative_tensor_{load,store}_{dv,tg}_TYPE(op, D, elements, view, ...)
bool lower_copy(Emitter& emit, llvm::StringRef rest, bool is_store) {
    if (!rest.consume_front("dv_") && !rest.consume_front("tg_")) return false;
    const auto type = operand_type(rest);
    if (!type || emit.num_args() < 10) return false;
    const Shape shape = stored_shape(emit);
    emit.call_runtime("ingot_cooperative_copy", emit.b().getVoidTy(),
                      {lane(emit), emit.arg(8), emit.arg(9), shape.rows, shape.columns,
                       emit.u32(bytes_of(*type)), emit.u32(is_store), layout(emit)});
    return true;
}

}  // namespace

bool lower_tensor_operation(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    if (!name.consume_front(kMatmulPrefix)) return false;
    llvm::IRBuilder<>& b = emit.b();
    if (name.consume_front("run_cooperative_")) return lower_run(emit, name);
    if (!name.consume_front("cooperative_tensor_")) return false;
    if (name.consume_front("load_")) return lower_copy(emit, name, false);
    if (name.consume_front("store_")) return lower_copy(emit, name, true);
    if (name == "init") return true;
    if (name == "data_size" && emit.num_args() >= 11) {
        llvm::Value* bytes = b.CreateMul(elements_per_lane(emit), element_bytes(emit, 8));
        result = b.CreateZExt(bytes, emit.result_type());
        return true;
    }
    if (name == "num_elements") {
        result = b.CreateZExtOrTrunc(elements_per_lane(emit), emit.result_type());
        return true;
    }
    if (name == "get_element_pointer" && emit.num_args() >= 13) {
        llvm::Value* all = llvm::ConstantInt::getSigned(emit.arg(9)->getType(), -1);
        llvm::Value* element = b.CreateSelect(b.CreateICmpEQ(emit.arg(9), all), emit.u32(0),
                                              b.CreateZExt(emit.arg(9), b.getInt32Ty()));
        result = b.CreateGEP(b.getInt8Ty(), emit.arg(8), b.CreateMul(element, element_bytes(emit, 10)));
        return true;
    }
    if (name == "get_coordinate" && emit.num_args() >= 11) {
        const Shape shape = stored_shape(emit);
        emit.call_runtime("ingot_cooperative_coordinate", b.getVoidTy(),
                          {lane(emit), b.CreateZExt(emit.arg(9), b.getInt32Ty()), shape.rows, shape.columns,
                           emit.arg(10), layout(emit)});
        return true;
    }
    return false;
}

bool lower_tensor_view(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    llvm::IRBuilder<>& b = emit.b();
    const auto as_u32 = [&](llvm::Value* v) { return b.CreateZExtOrTrunc(v, b.getInt32Ty()); };
    if (name == "get_descriptor_size_tensor") {
        llvm::Value* bytes = b.CreateAdd(emit.u32(fibers::tensor_view_bytes(0)),
                                         b.CreateMul(as_u32(emit.arg(0)), emit.u32(8)));
        result = b.CreateZExtOrTrunc(bytes, emit.result_type());
        return true;
    }
    if (name.starts_with("init_strided_private_tensor.i32.") && emit.num_args() == 6) {
        emit.call_runtime("ingot_tensor_init", b.getVoidTy(),
                          {emit.arg(0), as_u32(emit.arg(1)), flat(emit, emit.arg(2)), emit.arg(3),
                           emit.arg(4), as_u32(emit.arg(5))});
        return true;
    }
    if (name == "slice_private_tensor_private_tensor.s.i32" && emit.num_args() == 5) {
        emit.call_runtime("ingot_tensor_slice", b.getVoidTy(),
                          {emit.arg(0), emit.arg(1), as_u32(emit.arg(2)), emit.arg(3), emit.arg(4)});
        return true;
    }
    if (name == "get_extent_private_tensor.i32") {
        llvm::Value* extents =
            b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), emit.arg(0), fibers::tensor_view_bytes(0));
        result = b.CreateLoad(b.getInt32Ty(), b.CreateGEP(b.getInt32Ty(), extents, as_u32(emit.arg(2))));
        return true;
    }
    return false;
}

}  // namespace ingot::metal::jit

// Metal 4 tensors on the fibers executor: private views (air.*tensor*) and the ABI behind
// mpp::tensor_ops::matmul2d
// (__tensorops_impl_matmul2d_op_*), as compiled libraries use it. Our own view layout, our own lane map.
#include "metal/exec/fibers/cooperative_layout.h"
#include "metal/exec/fibers/tensor_types.h"
#include "metal/jit/builtins/emitter.h"

namespace ingot::metal::jit {
namespace {

using fibers::TensorType;

constexpr llvm::StringRef kMatmulPrefix = "__tensorops_impl_matmul2d_op_";
// Which operand of a product: the first argument of most functions.
constexpr uint32_t kLeft = 0, kRight = 1;

std::optional<TensorType> operand_type(llvm::StringRef name) {
#define X(enumerator, text, code, bytes) \
    if (name == text) return TensorType::enumerator;
    INGOT_METAL_TENSOR_TYPES(X)
#undef X
    if (name == "bf16") return TensorType::kBF16;
    return std::nullopt;
}

// The runtime's type for the code that a kernel passes.
llvm::Value* type_of_code(Emitter& emit, llvm::Value* code) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* type = emit.u32(uint32_t(TensorType::kF32));
#define X(enumerator, text, value, bytes)                                                                    \
    type = b.CreateSelect(b.CreateICmpEQ(code, emit.u32(value)), emit.u32(uint32_t(TensorType::enumerator)), \
                          type);
    INGOT_METAL_TENSOR_TYPES(X)
#undef X
    return type;
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

// CooperativeShape::capacity as code: elements of a thread.
llvm::Value* capacity(Emitter& emit, llvm::Value* threads) {
    constexpr uint32_t kFragmentSize = fibers::kFragment * fibers::kFragment;
    llvm::IRBuilder<>& b = emit.b();
    const Shape shape = stored_shape(emit);
    llvm::Value* count = b.CreateMul(shape.rows, shape.columns);
    const auto round_up_division = [&](llvm::Value* x, llvm::Value* y) {
        return b.CreateUDiv(b.CreateAdd(x, b.CreateSub(y, emit.u32(1))), y);
    };
    llvm::Value* is_simdgroup = b.CreateICmpUGE(threads, emit.u32(kSimdWidth));
    llvm::Value* ragged = b.CreateAnd(b.CreateOr(shape.rows, shape.columns), emit.u32(fibers::kFragment - 1));
    llvm::Value* simdgroups =
        b.CreateSelect(is_simdgroup, b.CreateUDiv(threads, emit.u32(kSimdWidth)), emit.u32(1));
    llvm::Value* fragments =
        b.CreateMul(round_up_division(b.CreateUDiv(count, emit.u32(kFragmentSize)), simdgroups),
                    emit.u32(fibers::kFragmentElements));
    llvm::Value* needed = b.CreateSelect(b.CreateAnd(is_simdgroup, b.CreateICmpEQ(ragged, emit.u32(0))),
                                         fragments, round_up_division(count, threads));
    if (emit.state().options.layout != CooperativeLayout::kScrambled) return needed;
    return b.CreateAdd(b.CreateAdd(needed, b.CreateUDiv(needed, emit.u32(8))), emit.u32(1));
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

// The type code of the operand that argument 0 names.
llvm::Value* type_code(Emitter& emit, unsigned first_type) {
    llvm::IRBuilder<>& b = emit.b();
    const auto is = [&](uint32_t operand) { return b.CreateICmpEQ(emit.arg(0), emit.u32(operand)); };
    return b.CreateSelect(is(kLeft), emit.arg(first_type),
                          b.CreateSelect(is(kRight), emit.arg(first_type + 1), emit.arg(first_type + 2)));
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
llvm::Value* last_arg(Emitter& emit) {
    return emit.arg(emit.num_args() - 1);
}

// What a thread does with a cooperative tensor, for who watches (exec/monitor.h has the numbers).
void watch_tensor(Emitter& emit, uint32_t what, llvm::Value* element, llvm::Value* threads) {
    if (!emit.state().options.instrument) return;
    const Shape shape = stored_shape(emit);
    emit.call_runtime("ingot_watch_tensor", emit.b().getVoidTy(),
                      {lane(emit), emit.u32(what), flat(emit, emit.arg(8)),
                       emit.b().CreateZExtOrTrunc(element, emit.b().getInt32Ty()), emit.arg(0), shape.rows,
                       shape.columns, threads, layout(emit)});
}
constexpr uint32_t kBegins = 0, kElement = 1, kPlace = 2;

// run_cooperative_LEFT_RIGHT_DESTINATION or run_..., an operand being TYPE (cooperative) or dv_TYPE / tg_TYPE
// (a view, and a constant): run(descriptor, operands..., threads).
// run_any(descriptor, {operand, its code} x 3, threads) is what our own headers call: the codes are
// operand_code's.
bool lower_run(Emitter& emit, llvm::StringRef operands) {
    if (operands == "any") {
        if (emit.num_args() != 8) return false;
        emit.call_meeting(
            "ingot_matmul2d", emit.b().getVoidTy(), lane(emit),
            {flat(emit, emit.arg(0)), flat(emit, emit.arg(1)), emit.arg(2), flat(emit, emit.arg(3)),
             emit.arg(4), flat(emit, emit.arg(5)), emit.arg(6), emit.arg(7), layout(emit)});
        return true;
    }
    llvm::SmallVector<llvm::StringRef> parts;
    operands.split(parts, '_');
    llvm::SmallVector<llvm::Value*> arguments{emit.arg(0)};
    unsigned argument = 1;
    size_t at = 0;
    for (int i = 0; i < 3; ++i) {
        const bool is_view = at < parts.size() && (parts[at] == "dv" || parts[at] == "tg");
        if (is_view) ++at;
        const auto type = at < parts.size() ? operand_type(parts[at++]) : std::nullopt;
        if (!type || argument >= emit.num_args()) return false;
        arguments.push_back(flat(emit, emit.arg(argument)));
        arguments.push_back(emit.u32(fibers::operand_code(*type, is_view)));
        argument += is_view ? 2 : 1;
    }
    if (at != parts.size() || argument + 1 != emit.num_args()) return false;
    arguments.push_back(last_arg(emit));
    arguments.push_back(layout(emit));
    emit.call_meeting("ingot_matmul2d", emit.b().getVoidTy(), lane(emit), arguments);
    return true;
}

// cooperative_tensor_{load,store}_{dv,tg}_TYPE(op, D, elements, view, one or two constants, types, threads);
// our own headers call ..._any with the view's type instead of the constants.
bool lower_copy(Emitter& emit, llvm::StringRef rest, bool is_store) {
    if (emit.num_args() < 15) return false;
    llvm::Value* viewed = emit.arg(10);
    if (rest != "any") {
        if (!rest.consume_front("dv_") && !rest.consume_front("tg_")) return false;
        const auto type = operand_type(rest);
        if (!type) return false;
        viewed = emit.u32(uint32_t(*type));
    }
    if (!is_store) watch_tensor(emit, kBegins, emit.u32(0), last_arg(emit));
    const Shape shape = stored_shape(emit);
    llvm::Value* held = type_of_code(emit, type_code(emit, emit.num_args() - 4));
    emit.call_runtime(
        "ingot_cooperative_copy", emit.b().getVoidTy(),
        {emit.index("thread_index_in_threadgroup"), flat(emit, emit.arg(8)), held, flat(emit, emit.arg(9)),
         viewed, shape.rows, shape.columns, emit.u32(is_store), last_arg(emit), layout(emit)});
    return true;
}

// The column and row of element arg(9) go to `out`; the result says whether it stands for anything.
llvm::Value* coordinate(Emitter& emit, llvm::Value* out, llvm::Value* threads) {
    llvm::IRBuilder<>& b = emit.b();
    const Shape shape = stored_shape(emit);
    return emit.call_runtime(
        "ingot_cooperative_coordinate", b.getInt32Ty(),
        {emit.index("thread_index_in_threadgroup"), b.CreateZExtOrTrunc(emit.arg(9), b.getInt32Ty()),
         shape.rows, shape.columns, flat(emit, out), threads, layout(emit)});
}

// cooperative_tensor_reduce_{rows,columns}_any(op, D, from, to, type, operation, identity's bits, threads):
// what our own headers call.
bool lower_reduce(Emitter& emit, llvm::StringRef rest) {
    const bool by_columns = rest == "columns_any";
    if ((!by_columns && rest != "rows_any") || emit.num_args() != 14) return false;
    const Shape shape = stored_shape(emit);
    emit.call_meeting(
        "ingot_cooperative_reduce", emit.b().getVoidTy(), lane(emit),
        {flat(emit, emit.arg(8)), flat(emit, emit.arg(9)), emit.arg(10), shape.rows, shape.columns,
         emit.u32(by_columns), emit.arg(11), emit.arg(12), emit.arg(13), layout(emit)});
    return true;
}

}  // namespace

bool lower_tensor_operation(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    if (!name.consume_front(kMatmulPrefix)) return false;
    llvm::IRBuilder<>& b = emit.b();
    if (name.consume_front("run_")) {
        name.consume_front("cooperative_");
        return lower_run(emit, name);
    }
    if (!name.consume_front("cooperative_tensor_")) return false;
    if (name.consume_front("load_")) return lower_copy(emit, name, false);
    if (name.consume_front("store_")) return lower_copy(emit, name, true);
    if (name.consume_front("reduce_")) return lower_reduce(emit, name);
    if (name == "init" && emit.num_args() == 13) {
        watch_tensor(emit, kBegins, emit.u32(0), last_arg(emit));
        if (emit.state().options.layout != CooperativeLayout::kScrambled) return true;
        emit.call_runtime("ingot_cooperative_spoil", b.getVoidTy(),
                          {flat(emit, emit.arg(8)), capacity(emit, last_arg(emit)), element_bytes(emit, 9)});
        return true;
    }
    if (name == "data_size" && emit.num_args() == 12) {
        llvm::Value* bytes = b.CreateMul(capacity(emit, last_arg(emit)), element_bytes(emit, 8));
        result = b.CreateZExt(bytes, emit.result_type());
        return true;
    }
    if (name == "num_elements") {
        result = b.CreateZExtOrTrunc(capacity(emit, last_arg(emit)), emit.result_type());
        return true;
    }
    if (name == "get_element_pointer" && emit.num_args() >= 13) {
        llvm::Value* all = llvm::ConstantInt::getSigned(emit.arg(9)->getType(), -1);
        if (emit.num_args() > 13)
            watch_tensor(emit, kElement,
                         b.CreateSelect(b.CreateICmpEQ(emit.arg(9), all),
                                        llvm::ConstantInt::get(all->getType(), 0), emit.arg(9)),
                         emit.arg(13));
        llvm::Value* element = b.CreateSelect(b.CreateICmpEQ(emit.arg(9), all), emit.u32(0),
                                              b.CreateZExt(emit.arg(9), b.getInt32Ty()));
        result = b.CreateGEP(b.getInt8Ty(), emit.arg(8), b.CreateMul(element, element_bytes(emit, 10)));
        return true;
    }
    if (name == "get_coordinate" && emit.num_args() >= 13) {
        watch_tensor(emit, kPlace, emit.arg(9), emit.arg(12));
        coordinate(emit, emit.arg(10), emit.arg(12));
        return true;
    }
    // Compiled libraries give the types too.
    if (name == "is_valid_element" && (emit.num_args() == 11 || emit.num_args() == 14)) {
        // In the entry block: in a loop it would grow the stack.
        llvm::BasicBlock& first = b.GetInsertBlock()->getParent()->getEntryBlock();
        llvm::Value* unused =
            llvm::IRBuilder<>(&first, first.begin()).CreateAlloca(llvm::ArrayType::get(b.getInt32Ty(), 2));
        result = b.CreateTrunc(coordinate(emit, unused, last_arg(emit)), b.getInt1Ty());
        result = b.CreateZExtOrTrunc(result, emit.result_type());
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

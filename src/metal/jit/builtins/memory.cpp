// Atomics, coherent accesses, 8x8 simdgroup matrices, queries and hints.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include "metal/jit/builtins/emitter.h"
#include "metal/jit/passes/memory_objects.h"

namespace ingot::metal::jit {
namespace {

using Op = llvm::AtomicRMWInst::BinOp;

Op atomic_operation(llvm::StringRef name, bool is_float, bool is_signed) {
    return llvm::StringSwitch<Op>(name)
        .Case("add", is_float ? Op::FAdd : Op::Add)
        .Case("sub", is_float ? Op::FSub : Op::Sub)
        .Case("min", is_float    ? Op::FMin
                     : is_signed ? Op::Min
                                 : Op::UMin)
        .Case("max", is_float    ? Op::FMax
                     : is_signed ? Op::Max
                                 : Op::UMax)
        .Case("and", Op::And)
        .Case("or", Op::Or)
        .Case("xor", Op::Xor)
        .Case("xchg", Op::Xchg)
        .Default(Op::BAD_BINOP);
}

llvm::Align natural_alignment(llvm::Type* type) {
    return llvm::Align(uint64_t(type->getScalarSizeInBits()) / 8);
}

// What was there goes to the expected value's place. Apple's form also returns it (callers compare); with an
// i1 as result the function says whether it was exchanged, which is what our own library asks for.
llvm::Value* compare_exchange(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* type = emit.arg(2)->getType();
    llvm::Type* integer = b.getIntNTy(type->getScalarSizeInBits());
    llvm::Value* expected = b.CreateLoad(integer, emit.arg(1));
    llvm::Value* desired = b.CreateBitCast(emit.arg(2), integer);
    llvm::Value* pair =
        b.CreateAtomicCmpXchg(emit.arg(0), expected, desired, natural_alignment(type),
                              llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
    llvm::Value* before = b.CreateExtractValue(pair, 0);
    b.CreateStore(before, emit.arg(1));
    if (emit.result_type()->isIntegerTy(1)) return b.CreateExtractValue(pair, 1);
    return b.CreateBitCast(before, emit.result_type());
}

// This lane's row and first column of an 8x8 matrix.
std::pair<llvm::Value*, llvm::Value*> lane_place(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Value* element =
        b.CreateZExt(emit.call_runtime("ingot.matrix_element", b.getInt32Ty(), {}, true), b.getInt64Ty());
    return {b.CreateLShr(element, 3), b.CreateAnd(element, 7)};
}

// Arguments from `first` on are (elements per row, origin, transpose) in older libraries, (extents, strides,
// origin) in newer ones, origins and strides as (x, y).
llvm::Value* matrix_offset(Emitter& emit, unsigned first, unsigned column) {
    llvm::IRBuilder<>& b = emit.b();
    const auto [row, first_column] = lane_place(emit);
    const auto x_of = [&](llvm::Value* v) { return b.CreateExtractElement(v, uint64_t{0}); };
    const auto y_of = [&](llvm::Value* v) { return b.CreateExtractElement(v, uint64_t{1}); };
    llvm::Value *stride_x, *stride_y, *origin;
    if (emit.arg(first)->getType()->isIntegerTy()) {
        llvm::Value *pitch = emit.arg(first), *transpose = emit.arg(first + 2), *one = b.getInt64(1);
        stride_x = b.CreateSelect(transpose, pitch, one);
        stride_y = b.CreateSelect(transpose, one, pitch);
        origin = emit.arg(first + 1);
    } else {
        stride_x = x_of(emit.arg(first + 1));
        stride_y = y_of(emit.arg(first + 1));
        origin = emit.arg(first + 2);
    }
    llvm::Value* x = b.CreateAdd(b.CreateAdd(first_column, b.getInt64(column)), x_of(origin));
    llvm::Value* y = b.CreateAdd(row, y_of(origin));
    return b.CreateAdd(b.CreateMul(x, stride_x), b.CreateMul(y, stride_y));
}

// Both elements at once, so that neighbours in memory are loaded and converted together.
llvm::Value* to_fragment(Emitter& emit, llvm::Value* matrix) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* element = matrix->getType()->getScalarType();
    llvm::Value* fragment = llvm::PoisonValue::get(llvm::FixedVectorType::get(element, 2));
    for (uint64_t i = 0; i < 2; ++i) {
        fragment = b.CreateInsertElement(fragment, b.CreateExtractElement(matrix, i), i);
    }
    return element->isFloatTy() ? fragment
                                : b.CreateFPExt(fragment, llvm::FixedVectorType::get(b.getFloatTy(), 2));
}

llvm::Value* from_elements(Emitter& emit, llvm::Value* first, llvm::Value* second) {
    llvm::IRBuilder<>& b = emit.b();
    llvm::Type* element = emit.result_type()->getScalarType();
    llvm::Value* matrix = llvm::PoisonValue::get(emit.result_type());
    const auto as_element = [&](llvm::Value* v) {
        return v->getType() == element ? v : b.CreateFPTrunc(v, element);
    };
    matrix = b.CreateInsertElement(matrix, as_element(first), uint64_t{0});
    return b.CreateInsertElement(matrix, as_element(second), uint64_t{1});
}

llvm::Value* matrix_multiply_accumulate(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    auto* fragment = llvm::FixedVectorType::get(b.getFloatTy(), 2);
    emit.state().meets = true;
    llvm::CallInst* product = emit.call_runtime(
        "ingot.mma", fragment,
        {to_fragment(emit, emit.arg(0)), to_fragment(emit, emit.arg(1)), to_fragment(emit, emit.arg(2))},
        true);
    product->getCalledFunction()->addFnAttr(llvm::Attribute::Convergent);
    return from_elements(emit, b.CreateExtractElement(product, uint64_t{0}),
                         b.CreateExtractElement(product, uint64_t{1}));
}

llvm::Value* matrix_diagonal(Emitter& emit) {
    llvm::IRBuilder<>& b = emit.b();
    const auto [row, column] = lane_place(emit);
    llvm::Value* zero = llvm::Constant::getNullValue(emit.arg(0)->getType());
    llvm::Value* next = b.CreateAdd(column, b.getInt64(1));
    return from_elements(emit, b.CreateSelect(b.CreateICmpEQ(row, column), emit.arg(0), zero),
                         b.CreateSelect(b.CreateICmpEQ(row, next), emit.arg(0), zero));
}

}  // namespace

bool lower_atomic(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    llvm::IRBuilder<>& b = emit.b();
    if (name.starts_with("atomic.fence")) {
        b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
        return true;
    }
    if (name.starts_with("load.system_coherent")) {
        auto* load =
            b.CreateAlignedLoad(emit.result_type(), emit.arg(0), natural_alignment(emit.result_type()), true);
        load->setAtomic(llvm::AtomicOrdering::Acquire);
        result = load;
        return true;
    }
    if (name.starts_with("store.system_coherent")) {
        auto* store =
            b.CreateAlignedStore(emit.arg(0), emit.arg(1), natural_alignment(emit.arg(0)->getType()), true);
        store->setAtomic(llvm::AtomicOrdering::Release);
        return true;
    }
    // atomic.{global,local,flat}.OPERATION[.weak][.s|.u].TYPE(pointer, value..., order, scope, volatile)
    llvm::SmallVector<llvm::StringRef> parts;
    name.split(parts, '.');
    if (parts.size() < 4 || parts[0] != "atomic" ||
        (parts[1] != "global" && parts[1] != "local" && parts[1] != "flat"))
        return false;
    const llvm::StringRef operation = parts[2];
    if (operation == "load") {
        auto* load =
            b.CreateAlignedLoad(emit.result_type(), emit.arg(0), natural_alignment(emit.result_type()));
        load->setAtomic(llvm::AtomicOrdering::Monotonic);
        result = load;
        return true;
    }
    if (emit.num_args() < 2) return false;
    llvm::Type* type = emit.arg(1)->getType();
    if (operation == "store") {
        auto* store = b.CreateAlignedStore(emit.arg(1), emit.arg(0), natural_alignment(type));
        store->setAtomic(llvm::AtomicOrdering::Monotonic);
        return true;
    }
    if (operation == "cmpxchg") {
        result = compare_exchange(emit);
        return true;
    }
    const Op op = atomic_operation(operation, type->isFloatingPointTy(), name.contains(".s."));
    if (op == Op::BAD_BINOP) return false;
    llvm::Value* before = b.CreateAtomicRMW(op, emit.arg(0), emit.arg(1), natural_alignment(type),
                                            llvm::AtomicOrdering::Monotonic);
    result = emit.result_type()->isVoidTy() ? nullptr : before;
    return true;
}

bool lower_matrix(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    if (!name.consume_front("simdgroup_matrix_8x8_")) return false;
    llvm::IRBuilder<>& b = emit.b();
    if (name.starts_with("multiply_accumulate")) {
        result = matrix_multiply_accumulate(emit);
    } else if (name.starts_with("init_filled")) {
        result = from_elements(emit, emit.arg(0), emit.arg(0));
    } else if (name.starts_with("init_diag")) {
        result = matrix_diagonal(emit);
    } else if (name.starts_with("load")) {
        llvm::Type* element = emit.result_type()->getScalarType();
        llvm::Value* elements[2];
        for (unsigned i = 0; i < 2; ++i) {
            auto* load = b.CreateLoad(element, b.CreateGEP(element, emit.arg(0), matrix_offset(emit, 1, i)));
            load->setMetadata(kMatrixAccess, llvm::MDNode::get(load->getContext(), {}));
            elements[i] = load;
        }
        result = from_elements(emit, elements[0], elements[1]);
    } else if (name.starts_with("store")) {
        llvm::Type* element = emit.arg(0)->getType()->getScalarType();
        for (unsigned i = 0; i < 2; ++i) {
            auto* store = b.CreateStore(b.CreateExtractElement(emit.arg(0), uint64_t{i}),
                                        b.CreateGEP(element, emit.arg(1), matrix_offset(emit, 2, i)));
            store->setMetadata(kMatrixAccess, llvm::MDNode::get(store->getContext(), {}));
        }
    } else {
        return false;
    }
    return true;
}

bool lower_query(Emitter& emit, llvm::StringRef name, llvm::Value*& result) {
    llvm::IRBuilder<>& b = emit.b();
    if (name.starts_with("get_thread_index_in_simdgroup.")) {
        result = b.CreateZExtOrTrunc(emit.index("thread_index_in_simdgroup"), emit.result_type());
    } else if (name.starts_with("get_simdgroup_size.")) {
        result = llvm::ConstantInt::get(emit.result_type(), kSimdWidth);
    } else if (name == "os_log" && emit.num_args() == 6) {
        // Subsystem, category, type, format, arguments, their size.
        llvm::SmallVector<llvm::Value*> arguments;
        for (llvm::Argument& argument : emit.function().args()) {
            arguments.push_back(argument.getType()->isPointerTy()
                                    ? b.CreateAddrSpaceCast(&argument, b.getPtrTy())
                                    : static_cast<llvm::Value*>(&argument));
        }
        emit.call_runtime("ingot_os_log", b.getVoidTy(), arguments);
        result = nullptr;
    } else if (name.starts_with("is_uniform.")) {
        // A hint: the result goes to llvm.assume.
        result = b.getTrue();
    } else if (name.starts_with("normalize_function_constant_predicate.")) {
        llvm::Value* x = emit.arg(0);
        result = b.CreateZExt(b.CreateICmpNE(x, llvm::ConstantInt::get(x->getType(), 0)), emit.result_type());
    } else {
        return false;
    }
    return true;
}

}  // namespace ingot::metal::jit

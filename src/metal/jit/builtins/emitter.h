// Writes the bodies of AIR's external functions. A family is all functions whose names share a prefix; its
// lowering turns one declaration into a definition that is inlined wherever it is called.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "metal/jit/pass.h"

namespace ingot::metal::jit {

class Emitter {
  public:
    // Starts a body for `function`, a declaration.
    Emitter(llvm::Function& function, PassState& state);

    llvm::IRBuilder<>& b() { return b_; }
    llvm::Module& module() { return *function_.getParent(); }
    llvm::Function& function() { return function_; }
    PassState& state() { return state_; }
    llvm::Type* result_type() const { return function_.getReturnType(); }
    llvm::Value* arg(unsigned index) const { return function_.getArg(index); }
    unsigned num_args() const { return unsigned(function_.arg_size()); }

    // Ends the body; `result` is null for void.
    void finish(llvm::Value* result);
    // Makes the function a declaration again.
    void give_up() { function_.deleteBody(); }

    // A runtime function that other threads take part in.
    llvm::CallInst* call_collective(llvm::StringRef name, llvm::Type* result,
                                    llvm::ArrayRef<llvm::Value*> arguments);
    // One that lanes meet in: (lane, site, arguments...). The site is numbered later (passes/block_order.h).
    llvm::CallInst* call_meeting(llvm::StringRef name, llvm::Type* result, llvm::Value* lane,
                                 llvm::ArrayRef<llvm::Value*> arguments);
    // A runtime function of this thread alone, or one of the C library on floats (`pure`).
    llvm::CallInst* call_runtime(llvm::StringRef name, llvm::Type* result,
                                 llvm::ArrayRef<llvm::Value*> arguments, bool pure = false);
    llvm::Value* index(std::string_view kind);  // component 0 of an index argument
    llvm::Value* u32(uint32_t value) { return b_.getInt32(value); }

    // Applies `one` to each element if the result is a vector, else to the arguments themselves.
    llvm::Value* elementwise(llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>, llvm::Type*)> one);

    // A value of at most 64 bits as i64 and back.
    llvm::Value* to_bits(llvm::Value* value);
    llvm::Value* from_bits(llvm::Value* bits, llvm::Type* type);

  private:
    llvm::Function& function_;
    PassState& state_;
    llvm::IRBuilder<> b_;
};

// Lowers what it knows; false if it doesn't know this name. `name` is without "air.".
using Family = bool (*)(Emitter& emit, llvm::StringRef name, llvm::Value*& result);

// Families that don't depend on the executor.
bool lower_math(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_integer(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_pack(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_convert(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_atomic(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_matrix(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_query(Emitter& emit, llvm::StringRef name, llvm::Value*& result);

// Families of the fibers executor.
bool lower_barrier(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_simd(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_tensor_view(Emitter& emit, llvm::StringRef name, llvm::Value*& result);
bool lower_tensor_operation(Emitter& emit, llvm::StringRef name, llvm::Value*& result);

// Defines every declaration that one of `families` knows; `wanted` filters names.
void define_builtins(llvm::Module& module, PassState& state, llvm::ArrayRef<Family> families);

}  // namespace ingot::metal::jit

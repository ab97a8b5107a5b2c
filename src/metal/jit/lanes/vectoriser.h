// Turns one kernel for one thread into one for a simdgroup of 32 lanes. The source is a single function whose
// control flow and shapes are analysed (analysis.h); the target gets blocks in the same order, uniform values
// as scalars, varying ones as vectors of 32, and lane masks where lanes part. The steps are in one file each:
// vectorise_control, _values, _instruction, _memory, _simd, _matrix.
#pragma once

#include <string>

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "metal/jit/lanes/analysis.h"
#include "metal/jit/lanes/lane_builder.h"

namespace ingot::metal::jit {
class ContextBuilder;
}

namespace ingot::metal::jit::lanes {

class Vectoriser {
  public:
    // `target` is empty and takes the record of the simdgroup's first lane (exec/fibers/lane.h).
    Vectoriser(llvm::Function& source, llvm::Function& target, Variant variant);
    ~Vectoriser();

    // Error kUnsupported names what can't be done by lanes.
    Result<void> run();

    bool has_barriers() const { return has_barriers_; }

  private:
    // --- values
    Parts get(llvm::Value* value);  // a scalar, or a vector for each leaf of a varying value
    llvm::Value* scalar(llvm::Value* value) { return get(value)[0]; }
    Parts vectors(llvm::Value* value);  // always vectors
    llvm::Value* vector(llvm::Value* value) { return vectors(value)[0]; }
    Parts exact(llvm::Instruction& instruction);  // of an assumed shape, without the assumption
    llvm::Value* holds(llvm::Value* value);       // i1: what its shape assumes is true
    llvm::Value* fits(llvm::Value* narrow, const Shape& shape, bool is_signed);
    void define(llvm::Instruction& instruction, const Parts& parts);
    Parts make_slots(const llvm::Instruction& instruction);
    llvm::SmallVector<llvm::Type*, 4> leaves(llvm::Type* type) const;
    Shape shape(const llvm::Value* value) const { return analysis_.shape(value); }
    void refuse(std::string why);
    // One value for the whole simdgroup where the kernel's promise is that lanes agree.
    llvm::Value* agreed(llvm::Value* value);

    // --- control (vectorise_control.cpp)
    void create_blocks();
    bool runs_unguarded(const llvm::BasicBlock& block) const;
    void create_guards();
    void create_loop_ends();
    void emit_block(llvm::BasicBlock& block);
    void end_block(llvm::BasicBlock& block);
    struct Edge {
        llvm::BasicBlock* to;
        llvm::Value* mask;
    };
    void end_real(llvm::BasicBlock& block, llvm::ArrayRef<Edge> edges, llvm::Value* condition);
    void end_chained(llvm::BasicBlock& block, llvm::ArrayRef<Edge> edges);
    llvm::BasicBlock* real_target(llvm::BasicBlock& from, llvm::BasicBlock& to);
    void write_phis(llvm::BasicBlock& from, llvm::BasicBlock& to, llvm::Value* mask, bool blend);
    void clear_region(Level& level, Node& head);
    void clear_phis(llvm::BasicBlock& block);
    void enter_loop(llvm::Loop& loop, llvm::Value* mask);
    llvm::Loop* entered_loop(llvm::BasicBlock& from, llvm::BasicBlock& to);
    llvm::BasicBlock* single_exit(llvm::Loop* loop);
    llvm::BasicBlock* start_of(Level& level, int node);
    llvm::BasicBlock* after_node(Level& level, int node);

    // --- instructions
    Parts emit(llvm::Instruction& instruction);
    Parts emit_varying(llvm::Instruction& instruction);
    Parts emit_binary(llvm::BinaryOperator& binary, llvm::ArrayRef<Parts> operands);
    Parts emit_cast(llvm::CastInst& cast, const Parts& operand);
    Parts emit_select(llvm::SelectInst& select, llvm::ArrayRef<Parts> operands);
    Parts emit_elements(llvm::Instruction& instruction, llvm::ArrayRef<Parts> operands);
    Parts emit_call(llvm::CallInst& call);
    Parts emit_intrinsic(llvm::IntrinsicInst& call);
    Parts emit_vector_math(llvm::StringRef function, llvm::ArrayRef<llvm::Value*> arguments);
    Parts call_per_lane(llvm::CallInst& call);
    Parts atomic_per_lane(llvm::Instruction& instruction);
    llvm::Value* clone_scalar(llvm::Instruction& instruction);
    Parts emit_context(llvm::CallInst& call, CallEffect effect);
    llvm::Value* position(unsigned component, bool in_grid);

    // --- memory (vectorise_memory.cpp)
    struct Access {
        llvm::Value* pointer;
        Shape shape;
        llvm::Type* element;
        unsigned count;     // elements of a lane
        uint64_t size;      // bytes of an element
        llvm::Align align;  // of an element
    };
    Access access(llvm::Value* pointer, llvm::Type* type, llvm::Align align);
    bool is_contiguous(const Access& access) const;
    Parts emit_load(llvm::LoadInst& load);
    Parts by_activity(bool contiguous, const Access& access, llvm::function_ref<Parts()> together,
                      llvm::function_ref<Parts()> some);
    void emit_store(llvm::StoreInst& store);
    Parts load_contiguous(const Access& access);
    bool goes_by_words(const Access& access) const;
    llvm::Value* address_of(const Access& access, llvm::Value* pointers, uint64_t lane);
    bool goes_by_runtime(const Access& access) const;
    void call_runtime_memory(const Access& access, const char* operation, llvm::Value* table, unsigned count,
                             uint64_t size);
    Parts load_by_runtime(const Access& access, llvm::Type* element, unsigned count);
    void store_by_runtime(const Access& access, const Parts& values);
    Parts load_words(const Access& access, bool affine);
    void store_words(const Access& access, const Parts& values, bool affine);
    bool stay_in_registers(unsigned words) const;
    Parts load_whole(const Access& access, bool affine);
    void store_whole(const Access& access, const Parts& values, bool affine);
    Parts load_apart(const Access& access, bool affine);
    Parts load_runs(const Access& access, unsigned lanes);
    void store_runs(const Access& access, const Parts& values, unsigned lanes);
    // Lanes that lie one after the other in memory all over the simdgroup: 1, 2, 4...
    unsigned run_length(const Access& access) const;
    Parts load_in_loop(const Access& access);
    void store_contiguous(const Access& access, const Parts& values);
    void store_apart(const Access& access, const Parts& values, bool affine);
    void store_in_loop(const Access& access, const Parts& values);
    llvm::Value* unit_mask(unsigned unit, unsigned count);
    // Emits `yes` where `condition` (i1) holds and `no` elsewhere; both make `count` vectors.
    Parts either(llvm::Value* condition, llvm::function_ref<Parts()> yes, llvm::function_ref<Parts()> no);

    // --- simdgroup functions and matrices
    Parts emit_simd(llvm::CallInst& call, llvm::StringRef name);
    Parts simd_vote(llvm::CallInst& call, llvm::StringRef operation, bool quad);
    llvm::Value* simd_combine(llvm::Value* value, llvm::StringRef operation, bool is_signed, bool quad);
    llvm::Value* shuffle_source(llvm::CallInst& call, llvm::StringRef operation, unsigned width);
    Parts simd_shuffle(llvm::CallInst& call, llvm::StringRef operation, bool quad);
    Parts simd_fill(llvm::CallInst& call, llvm::StringRef operation, bool quad);
    Parts emit_matrix_product(llvm::CallInst& call);
    llvm::Value* matrix_in_memory(llvm::Value* matrix);
    llvm::AllocaInst* new_matrix(const llvm::Value& matrix);
    Parts load_matrix(const llvm::Value& matrix, llvm::Value* place);
    Parts multiply_in_memory(llvm::CallInst& call, const char* runtime, llvm::ArrayRef<uint32_t> numbers);
    void find_residents();
    Parts emit_tensor_collective(llvm::CallInst& call);
    llvm::Value* by_lane(llvm::Value* pointer);

    llvm::IRBuilder<>& b() { return lanes_.b(); }

    llvm::Function& target_;
    const llvm::DataLayout& layout_;
    Variant variant_;
    Analysis analysis_;
    Regions& regions_;
    llvm::Instruction* end_of_slots_;
    LaneBuilder lanes_;
    std::unique_ptr<ContextBuilder> context_;
    std::string refusal_;
    bool has_barriers_ = false;
    const bool is_large_;  // short code comes before fast code

    llvm::Value* base_mask_ = nullptr;                     // lanes that there are
    llvm::Value* mask_ = nullptr;                          // lanes that run the block being emitted
    llvm::BasicBlock* block_ = nullptr;                    // of the source, being emitted
    llvm::DenseMap<llvm::Value*, Parts> local_;            // values of this block
    llvm::DenseMap<llvm::Value*, llvm::Value*> matrices_;  // of this block, in memory
    llvm::DenseMap<llvm::Value*, Parts> variables_;        // private variables
    // Accumulators that stay in memory while a loop runs: the place of a phi and of each product behind it.
    llvm::DenseMap<llvm::Value*, llvm::AllocaInst*> residents_;
    llvm::DenseMap<llvm::Value*, Parts> slots_;  // values that other blocks use
    llvm::DenseMap<llvm::Value*, Parts> phi_slots_;
    llvm::DenseMap<llvm::BasicBlock*, llvm::BasicBlock*> blocks_, guards_;
    llvm::DenseMap<llvm::BasicBlock*, llvm::AllocaInst*> mask_slots_;
    llvm::DenseMap<llvm::Loop*, llvm::BasicBlock*> loop_ends_;
    llvm::DenseMap<llvm::Loop*, llvm::AllocaInst*> entry_masks_;
};

}  // namespace ingot::metal::jit::lanes

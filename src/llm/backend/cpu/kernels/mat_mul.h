// y = W x for weights prepared once: PackedMatrix holds W in the layout that the kernel of its type and
// instruction set reads, mat_mul multiplies it with a batch of token rows in a parallel region. Rows are
// handled in groups of 16. A kernel either reads GGUF rows as they are (a view of the mapped file) or a
// packed copy of the same size, group after group in strict reading order, so that a thread streams its
// share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "llm/backend/cpu/kernels/kernel_table.h"
#include "llm/backend/cpu/kernels/packed_storage.h"
#include "llm/quant/quant.h"

namespace ingot::cpu {

constexpr uint32_t kGroupRows = 16;

// A run of rows times all tokens of a batch. Rows start at a group boundary.
struct MultiplyArgs {
    const std::byte* weights;  // first group, or first GGUF row
    uint32_t num_rows;         // valid ones; the last group may be partly filled
    uint32_t cols;
    const std::byte* activations;  // as MatMulKernel::quantize wrote them, or float rows
    size_t activation_stride;      // floats from a token's row to the next, for float rows only
    uint32_t num_tokens;
    bool direct;         // the batch is one of at most max_direct_tokens
    float* y;            // first row of the run, of the first token
    size_t y_stride;     // floats from a token to the next
    std::byte* scratch;  // scratch_bytes(cols), 64-byte aligned
};

// How one weight type is multiplied on one instruction set.
struct MatMulKernel {
    QuantType type;
    const char* name;  // "avx2 q4_0"

    // Packed storage: bytes of a group of 16 rows, and how it is filled (num_rows < 16: the rest counts as
    // zero rows). Null: multiply() reads GGUF rows.
    size_t (*group_bytes)(uint32_t cols);
    void (*pack_group)(const std::byte* rows, uint32_t num_rows, uint32_t cols, std::byte* group);

    // Quantized activations: tiles of tile_tokens tokens (direct_tile_tokens in a direct batch), the last one
    // smaller, of activation_bytes(cols) bytes a token. Kernels with an equal activation_format read the
    // same. quantize() writes one tile. Null: float rows.
    uint32_t activation_format;
    size_t (*activation_bytes)(uint32_t cols);
    void (*quantize)(const float* x, size_t x_stride, uint32_t cols, uint32_t num_tokens, std::byte* tile);
    uint32_t tile_tokens, direct_tile_tokens;
    // Batches up to this size are multiplied straight from the weights.
    uint32_t max_direct_tokens;

    size_t (*scratch_bytes)(uint32_t cols);
    void (*multiply)(const MultiplyArgs& args);
};

class PackedMatrix {
  public:
    struct Packing {
        PackedStorage& storage;      // must outlive the matrix
        ThreadPool* pool = nullptr;  // packs on all its threads
        // Called with parts of the tensor that have been copied and are not read again.
        std::function<void(std::span<const std::byte>)> copied = {};
    };
    // `data`: the GGUF tensor, `rows` rows of `cols` elements; must outlive the matrix unless is_packed().
    // kUnsupported: the ISA has no kernel for the type, or cols is no multiple of its block size.
    // kInvalidArgument: data has another size.
    static Result<PackedMatrix> prepare(const KernelTable& kernels, QuantType type, uint32_t rows,
                                        uint32_t cols, std::span<const std::byte> data,
                                        const Packing& packing);

    QuantType type() const { return kernel_->type; }
    uint32_t rows() const { return rows_; }
    uint32_t cols() const { return cols_; }
    bool is_packed() const { return kernel_->pack_group != nullptr; }
    size_t storage_bytes() const;  // as multiplied, padding rows included
    const MatMulKernel& kernel() const { return *kernel_; }

    // Start and size of a group as the kernel reads it.
    const std::byte* group(uint32_t index) const { return groups_ + index * group_bytes_; }
    size_t group_bytes() const { return group_bytes_; }
    uint32_t num_groups() const { return (rows_ + kGroupRows - 1) / kGroupRows; }

  private:
    PackedMatrix() = default;
    void pack(std::span<const std::byte> data, std::byte* groups, const Packing& packing) const;

    const MatMulKernel* kernel_ = nullptr;
    uint32_t rows_ = 0, cols_ = 0;
    size_t group_bytes_ = 0;
    const std::byte* groups_ = nullptr;
};

// One product of an op whose products share their input (Q, K and V; gate and up).
struct MatMulOutput {
    const PackedMatrix* weights;
    float* y;                     // [tokens, rows]
    size_t y_stride;              // floats from a token to the next
    const float* bias = nullptr;  // [rows], added to every token
};

// Bytes of workspace that mat_mul needs, for all workers together. At most 8 outputs.
size_t mat_mul_workspace_bytes(std::span<const MatMulOutput> outputs, uint32_t num_tokens,
                               uint32_t num_threads);

// Every worker of the region calls it with the same arguments; x is [tokens, cols], x_stride floats from a
// token to the next, complete before the call; workspace is 64-byte aligned. Results are complete after the
// caller's next barrier, and the same bits for every number of threads. All weights have the same cols.
// Uses the worker's counters: between two such calls there must be a barrier.
void mat_mul(Worker& worker, std::span<const MatMulOutput> outputs, const float* x, size_t x_stride,
             uint32_t num_tokens, std::byte* workspace);

}  // namespace ingot::cpu

// The graph's ops other than mat_mul and attention, split over the workers of a region. Every worker calls
// the function with the same arguments and does its share; the result is complete after the caller's next
// barrier. Tensors are float rows; a stride counts floats from a token's row to the next. In place is allowed
// (y == x, same stride). Results are the same bits for every number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "llm/backend/cpu/kernels/kernel_table.h"
#include "llm/graph/rope.h"
#include "llm/kv/format.h"
#include "llm/quant/quant.h"

namespace ingot::cpu {

struct ConstRows {
    const float* data;
    size_t stride;
};
struct Rows {
    float* data;
    size_t stride;
    operator ConstRows() const { return {data, stride}; }
};

// Element-wise over [rows, width].
void add(const KernelTable& kernels, Worker& worker, ConstRows a, ConstRows b, Rows y, uint32_t rows,
         uint32_t width);
void mul(const KernelTable& kernels, Worker& worker, ConstRows a, ConstRows b, Rows y, uint32_t rows,
         uint32_t width);
void scale(const KernelTable& kernels, Worker& worker, ConstRows x, float factor, Rows y, uint32_t rows,
           uint32_t width);
void silu(const KernelTable& kernels, Worker& worker, ConstRows x, Rows y, uint32_t rows, uint32_t width);
void gelu(const KernelTable& kernels, Worker& worker, ConstRows x, Rows y, uint32_t rows, uint32_t width);
void swiglu(const KernelTable& kernels, Worker& worker, ConstRows gate, ConstRows up, Rows y, uint32_t rows,
            uint32_t width);
void geglu(const KernelTable& kernels, Worker& worker, ConstRows gate, ConstRows up, Rows y, uint32_t rows,
           uint32_t width);
// A stride of 0 repeats one row: add({x, n}, {bias, 0}, ...) adds a bias.

void softmax(const KernelTable& kernels, Worker& worker, ConstRows x, Rows y, uint32_t rows, uint32_t width);
void rms_norm(const KernelTable& kernels, Worker& worker, ConstRows x, const float* gain, Rows y,
              uint32_t rows, uint32_t width, float epsilon);
// Each of the `heads` heads of each row normalised by itself; gain is [head_dim].
void qk_norm(const KernelTable& kernels, Worker& worker, ConstRows x, const float* gain, Rows y,
             uint32_t rows, uint32_t heads, uint32_t head_dim, float epsilon);

// Cosines and sines for all heads and layers that share their frequencies: [tokens][cosine, sine][half], each
// multiplied by `magnitude`. frequencies: [half] radians per position (graph/rope.h makes them).
constexpr size_t rope_table_floats(uint32_t half, uint32_t num_tokens) {
    return size_t(2) * half * num_tokens;
}
void rope_table(Worker& worker, const float* frequencies, uint32_t half, float magnitude,
                const int32_t* positions, uint32_t num_tokens, float* table);

// Rotates the first 2 * half elements of each head; the rest is copied.
void rope(const KernelTable& kernels, Worker& worker, graph::RopeStyle style, ConstRows x, const float* table,
          Rows y, uint32_t num_tokens, uint32_t heads, uint32_t head_dim, uint32_t half);

// Rows `ids` of a GGUF tensor with `cols` columns, dequantized; the ids are within the tensor.
void get_rows(Worker& worker, QuantType type, const std::byte* data, uint32_t cols, const int32_t* ids,
              uint32_t num_ids, Rows y);

// Row t of x [tokens, width] becomes cell cells[t] of the dense region [.., width].
void kv_store(const KernelTable& kernels, Worker& worker, ConstRows x, uint32_t num_tokens, uint32_t width,
              const int32_t* cells, kv::Format format, void* region);

}  // namespace ingot::cpu

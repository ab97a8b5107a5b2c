#include "llm/backend/cpu/kernels/ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ingot::cpu {
namespace {

// A worker's smallest share of an element-wise op: whole cache lines, and worth waking for.
constexpr size_t kMinShare = 256;

// Calls f(row, first, count) for the worker's share of [rows, width]: runs of columns within a row.
template <typename F>
void for_each_run(Worker& worker, uint32_t rows, uint32_t width, F&& f) {
    const size_t pieces_per_row = (width + kMinShare - 1) / kMinShare;
    const Range range = split_evenly(size_t(rows) * pieces_per_row, worker);
    for (size_t piece = range.begin; piece < range.end;) {
        const size_t row = piece / pieces_per_row;
        const size_t last = std::min(range.end, (row + 1) * pieces_per_row);
        const size_t begin = (piece - row * pieces_per_row) * kMinShare;
        const size_t end = std::min<size_t>(width, (last - row * pieces_per_row) * kMinShare);
        f(row, begin, end - begin);
        piece = last;
    }
}

void unary(void (*kernel)(const float*, float*, size_t), Worker& worker, ConstRows x, Rows y, uint32_t rows,
           uint32_t width) {
    for_each_run(worker, rows, width, [&](size_t row, size_t first, size_t count) {
        kernel(x.data + row * x.stride + first, y.data + row * y.stride + first, count);
    });
}

void binary(void (*kernel)(const float*, const float*, float*, size_t), Worker& worker, ConstRows a,
            ConstRows b, Rows y, uint32_t rows, uint32_t width) {
    for_each_run(worker, rows, width, [&](size_t row, size_t first, size_t count) {
        kernel(a.data + row * a.stride + first, b.data + row * b.stride + first,
               y.data + row * y.stride + first, count);
    });
}

}  // namespace

void add(const KernelTable& kernels, Worker& worker, ConstRows a, ConstRows b, Rows y, uint32_t rows,
         uint32_t width) {
    binary(kernels.add, worker, a, b, y, rows, width);
}

void mul(const KernelTable& kernels, Worker& worker, ConstRows a, ConstRows b, Rows y, uint32_t rows,
         uint32_t width) {
    binary(kernels.mul, worker, a, b, y, rows, width);
}

void scale(const KernelTable& kernels, Worker& worker, ConstRows x, float factor, Rows y, uint32_t rows,
           uint32_t width) {
    for_each_run(worker, rows, width, [&](size_t row, size_t first, size_t count) {
        kernels.scale(x.data + row * x.stride + first, factor, y.data + row * y.stride + first, count);
    });
}

void silu(const KernelTable& kernels, Worker& worker, ConstRows x, Rows y, uint32_t rows, uint32_t width) {
    unary(kernels.silu, worker, x, y, rows, width);
}

void gelu(const KernelTable& kernels, Worker& worker, ConstRows x, Rows y, uint32_t rows, uint32_t width) {
    unary(kernels.gelu, worker, x, y, rows, width);
}

void swiglu(const KernelTable& kernels, Worker& worker, ConstRows gate, ConstRows up, Rows y, uint32_t rows,
            uint32_t width) {
    binary(kernels.swiglu, worker, gate, up, y, rows, width);
}

void geglu(const KernelTable& kernels, Worker& worker, ConstRows gate, ConstRows up, Rows y, uint32_t rows,
           uint32_t width) {
    binary(kernels.geglu, worker, gate, up, y, rows, width);
}

void softmax(const KernelTable& kernels, Worker& worker, ConstRows x, Rows y, uint32_t rows, uint32_t width) {
    const Range range = split_evenly(rows, worker);
    for (size_t row = range.begin; row < range.end; ++row) {
        kernels.softmax(x.data + row * x.stride, y.data + row * y.stride, width);
    }
}

void rms_norm(const KernelTable& kernels, Worker& worker, ConstRows x, const float* gain, Rows y,
              uint32_t rows, uint32_t width, float epsilon) {
    const Range range = split_evenly(rows, worker);
    for (size_t row = range.begin; row < range.end; ++row) {
        kernels.rms_norm(x.data + row * x.stride, gain, y.data + row * y.stride, width, epsilon);
    }
}

void qk_norm(const KernelTable& kernels, Worker& worker, ConstRows x, const float* gain, Rows y,
             uint32_t rows, uint32_t heads, uint32_t head_dim, float epsilon) {
    const Range range = split_evenly(size_t(rows) * heads, worker);
    for (size_t i = range.begin; i < range.end; ++i) {
        const size_t row = i / heads, offset = i % heads * head_dim;
        kernels.rms_norm(x.data + row * x.stride + offset, gain, y.data + row * y.stride + offset, head_dim,
                         epsilon);
    }
}

void rope_table(Worker& worker, const float* frequencies, uint32_t half, float magnitude,
                const int32_t* positions, uint32_t num_tokens, float* table) {
    const Range range = split_evenly(size_t(num_tokens) * half, worker, 16);
    for (size_t n = range.begin; n < range.end; ++n) {
        const size_t t = n / half, i = n % half;
        // In double: at position 100,000 a float angle is wrong in its third decimal.
        const double angle = double(positions[t]) * frequencies[i];
        float* row = table + t * 2 * half;
        row[i] = float(std::cos(angle)) * magnitude;
        row[half + i] = float(std::sin(angle)) * magnitude;
    }
}

void rope(const KernelTable& kernels, Worker& worker, graph::RopeStyle style, ConstRows x, const float* table,
          Rows y, uint32_t num_tokens, uint32_t heads, uint32_t head_dim, uint32_t half) {
    const auto kernel = style == graph::RopeStyle::kNeox ? kernels.rope_neox : kernels.rope_interleaved;
    const Range range = split_evenly(size_t(num_tokens) * heads, worker);
    for (size_t i = range.begin; i < range.end; ++i) {
        const size_t t = i / heads, offset = i % heads * head_dim;
        const float* from = x.data + t * x.stride + offset;
        float* to = y.data + t * y.stride + offset;
        const float* cosine = table + t * 2 * half;
        kernel(from, cosine, cosine + half, to, half);
        if (from != to) std::copy(from + 2 * half, from + head_dim, to + 2 * half);
    }
}

void get_rows(Worker& worker, QuantType type, const std::byte* data, uint32_t cols, const int32_t* ids,
              uint32_t num_ids, Rows y) {
    const QuantTraits& quant = traits(type);
    const size_t row_bytes = size_t(cols) / quant.block_size * quant.block_size_bytes;
    const Range range = split_evenly(num_ids, worker);
    for (size_t i = range.begin; i < range.end; ++i) {
        quant.dequantize(data + size_t(ids[i]) * row_bytes, y.data + i * y.stride, cols);
    }
}

void kv_store(const KernelTable& kernels, Worker& worker, ConstRows x, uint32_t num_tokens, uint32_t width,
              const int32_t* cells, kv::Format format, void* region) {
    const Range range = split_evenly(num_tokens, worker);
    const size_t cell_bytes = kv::row_bytes(format, width);
    for (size_t t = range.begin; t < range.end; ++t) {
        const float* row = x.data + t * x.stride;
        std::byte* cell = static_cast<std::byte*>(region) + size_t(cells[t]) * cell_bytes;
        switch (format) {
            case kv::Format::kF32:
                std::memcpy(cell, row, cell_bytes);
                break;
            case kv::Format::kF16:
                kernels.float_to_half(row, reinterpret_cast<uint16_t*>(cell), width);
                break;
            case kv::Format::kQ8_0:
                traits(QuantType::kQ8_0).quantize(row, cell, width);
                break;
        }
    }
}

}  // namespace ingot::cpu

// ggml's kernels as functions of their operands: its cases (ggml_*.cpp) compare them with references, and the
// engine's kernels run beside them (beside_ggml.cpp).
#pragma once

#include <string>
#include <vector>

#include "metal_conformance/ggml_support.h"

namespace ingot::metal::conformance {

// y[n][m] = x[n][k] * w[m][k].
struct ProductSize {
    int m, n, k;
};
std::vector<double> product_reference(const QuantRows& w, const Array& x, const ProductSize& size);
// y of the kernel for few rows of x, and of the one on 8x8 matrices, which multiplies halves.
Array run_vector_product(Session& session, QuantRows& w, Array& x, const ProductSize& size);
Array run_matrix_product(Session& session, QuantRows& w, Array& x, const ProductSize& size);
std::string vector_product_kernel(const std::string& type);
std::string matrix_product_kernel(const std::string& type);

struct AttentionShape {
    static constexpr int kHeads = 4, kKeyHeads = 2;
    std::string type;  // of keys and values
    int head_size, rows, cells;
    // Each row sees the cells up to its own, the last row all; otherwise any, hidden stretches among them,
    // and each head a sink.
    bool causal = false;
};

// q is [heads][rows][head_size], k and v [key heads][cells][head_size], out [rows][heads][head_size].
struct AttentionData {
    Array q, mask, sinks, pad, blocks, out;
    QuantRows k, v;

    explicit AttentionData(const AttentionShape& shape);
};
std::vector<double> attention_reference(const AttentionShape& shape, const AttentionData& data);
// Writes data.out: the form on 8x8 matrices for many rows, the vector form for few, whose cells several
// workgroups (1 or kWorkgroups, as ggml's host has it) may share.
constexpr int kWorkgroups = 32;
void run_matrix_attention(Session& session, const AttentionShape& shape, AttentionData& data);
void run_vector_attention(Session& session, const AttentionShape& shape, AttentionData& data, int workgroups);

}  // namespace ingot::metal::conformance

// Where peer_programs.cpp finds the programs it lists, and the loops that say what they compute.
#pragma once

#include <algorithm>
#include <cmath>

#include "tile/peer_programs.h"

namespace ingot::tile::testing::peer {

using Numbers = std::vector<double>;
using Element = std::function<double(size_t row, size_t column)>;

inline Numbers table(size_t rows, size_t columns, const Element& element) {
    Numbers out;
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) out.push_back(element(i, j));
    return out;
}

inline Numbers matrix_product(size_t m, size_t n, size_t k, const Element& a, const Element& b) {
    return table(m, n, [&](size_t i, size_t j) {
        double sum = 0;
        for (size_t l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
        return sum;
    });
}

inline Element rows_of(const Numbers& x, size_t columns, size_t from = 0) {
    return [&x, columns, from](size_t i, size_t j) { return x[from + i * columns + j]; };
}

inline double softmax_at(const Element& row, size_t i, size_t j, size_t n) {
    double high = row(i, 0), sum = 0;
    for (size_t l = 1; l < n; ++l) high = std::max(high, row(i, l));
    for (size_t l = 0; l < n; ++l) sum += std::exp(row(i, l) - high);
    return std::exp(row(i, j) - high) / sum;
}

// Of the peer's set (peer_programs_plain.cpp).
PeerProgram sum_of_two();
PeerProgram root_mean_square();
PeerProgram softmax_by_loops();
PeerProgram product_by_elements();
PeerProgram counts_in_bins();
PeerProgram transposed();
// Packed and small numbers (peer_programs_packed.cpp).
PeerProgram packed_int4(std::string name);
PeerProgram eight_bit_floats();
// peer_programs_attention.cpp
PeerProgram flash_attention();
PeerProgram attention_in_shared_memory(std::string name, int threads, bool metal4);
// What the peer lowers wrongly or not at all, beyond its set (peer_programs_more.cpp).
PeerProgram float_atomics();
PeerProgram reductions();
PeerProgram preloaded_accumulator();
PeerProgram batched_outputs();
PeerProgram part_of_a_simdgroup();
PeerProgram tiles_that_take_turns();
PeerProgram simdgroup_shuffles();

}  // namespace ingot::tile::testing::peer

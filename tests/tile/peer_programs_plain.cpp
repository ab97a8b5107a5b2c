// Programs of the peer's set without packed numbers and without attention.
#include "tile/peer_makers.h"

namespace ingot::tile::testing::peer {

PeerProgram sum_of_two() {
    PeerProgram p{.name = "add_100x72", .text = R"(kernel add {
  in A: f32[100, 72]
  in B: f32[100, 72]
  out C: f32[100, 72]
  grid bx < ceildiv(72, 32), by < ceildiv(100, 32)
  parallel i < 32, j < 32 {
    C[by * 32 + i, bx * 32 + j] = A[by * 32 + i, bx * 32 + j] + B[by * 32 + i, bx * 32 + j]
  }
}
)"};
    const Numbers a = numbers(7200, DType::kF32, 1), b = numbers(7200, DType::kF32, 2);
    p.arguments.tensors = {{"A", a}, {"B", b}};
    p.expected["C"] = table(100, 72, [&](size_t i, size_t j) { return a[i * 72 + j] + b[i * 72 + j]; });
    p.tolerance = 1e-6;
    return p;
}

PeerProgram root_mean_square() {
    PeerProgram p{.name = "rms_norm", .text = R"(kernel rms_norm {
  in A: f32[64, 256]
  out Y: f32[64, 256]
  grid bx < 16
  fragment x: f32[4, 256]
  fragment squares: f32[4, 256]
  fragment s: f32[4]
  copy x = A[bx * 4 : 4, :]
  parallel i < 4, j < 256 {
    squares[i, j] = x[i, j] * x[i, j]
  }
  reduce s = sum(squares, 1)
  parallel i < 4, j < 256 {
    x[i, j] = x[i, j] * rsqrt(s[i] / 256.0 + 1e-5)
  }
  copy Y[bx * 4 : 4, :] = x
}
)"};
    const Numbers a = numbers(64 * 256, DType::kF32, 1);
    p.arguments.tensors = {{"A", a}};
    p.expected["Y"] = table(64, 256, [&](size_t i, size_t j) {
        double sum = 0;
        for (size_t l = 0; l < 256; ++l) sum += a[i * 256 + l] * a[i * 256 + l];
        return a[i * 256 + j] / std::sqrt(sum / 256 + 1e-5);
    });
    p.tolerance = 1e-4;
    return p;
}

PeerProgram softmax_by_loops() {
    PeerProgram p{.name = "softmax_serial", .text = R"(kernel softmax {
  in A: f32[128, 72]
  out Y: f32[128, 72]
  grid bx < 4
  threads 32
  parallel i < 32 {
    let row = bx * 32 + i
    for j < 72 carry m: f32 = -inf -> high {
      yield max(m, A[row, j])
    }
    for j < 72 carry s: f32 = 0.0 -> total {
      yield s + exp(A[row, j] - high)
    }
    for j < 72 {
      Y[row, j] = exp(A[row, j] - high) / total
    }
  }
}
)"};
    const Numbers a = numbers(128 * 72, DType::kF32, 1);
    p.arguments.tensors = {{"A", a}};
    p.expected["Y"] =
        table(128, 72, [&](size_t i, size_t j) { return softmax_at(rows_of(a, 72), i, j, 72); });
    p.tolerance = 1e-5;
    return p;
}

PeerProgram product_by_elements() {
    PeerProgram p{.name = "gemm_scalar_f32", .text = R"(kernel gemm_scalar {
  in A: f32[64, 64]
  in B: f32[64, 64]
  out C: f32[64, 64]
  grid bx < 4, by < 4
  threads 256
  fragment sums: f32[16, 16]
  fill sums = 0.0
  for k < 64 {
    parallel i < 16, j < 16 {
      sums[i, j] = sums[i, j] + A[by * 16 + i, k] * B[k, bx * 16 + j]
    }
  }
  copy C[by * 16 : 16, bx * 16 : 16] = sums
}
)"};
    const Numbers a = numbers(4096, DType::kF32, 1), b = numbers(4096, DType::kF32, 2);
    p.arguments.tensors = {{"A", a}, {"B", b}};
    p.expected["C"] = matrix_product(64, 64, 64, rows_of(a, 64), rows_of(b, 64));
    p.tolerance = 1e-4;
    return p;
}

PeerProgram counts_in_bins() {
    PeerProgram p{.name = "histogram_int32", .text = R"(kernel histogram {
  in A: i32[1024]
  inout H: i32[32]
  grid bx < 8
  parallel i < 128 {
    atomic_add H[A[bx * 128 + i]] += 1
  }
}
)"};
    Numbers a = numbers(1024, DType::kI32, 1), h(32);
    for (double& v : a) v = double(int(v) % 32);
    p.arguments.tensors = {{"A", a}, {"H", h}};
    for (const double v : a) h[size_t(v)] += 1;
    p.expected["H"] = h;
    return p;
}

PeerProgram transposed() {
    PeerProgram p{.name = "transpose_f16", .text = R"(kernel transpose {
  in A: f16[96, 64]
  out Y: f16[64, 96]
  grid bx < 2, by < 3
  shared x: f16[32, 32]
  shared y: f16[32, 32]
  copy x = A[by * 32 : 32, bx * 32 : 32]
  parallel i < 32, j < 32 {
    y[j, i] = x[i, j]
  }
  copy Y[bx * 32 : 32, by * 32 : 32] = y
}
)"};
    const Numbers a = numbers(96 * 64, DType::kF16, 1);
    p.arguments.tensors = {{"A", a}};
    p.expected["Y"] = table(64, 96, [&](size_t i, size_t j) { return a[j * 64 + i]; });
    return p;
}

}  // namespace ingot::tile::testing::peer

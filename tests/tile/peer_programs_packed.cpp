// Weights of 4 bits, floats of 8.
#include "tile/peer_makers.h"

namespace ingot::tile::testing::peer {

PeerProgram packed_int4(std::string name) {
    PeerProgram p{.name = std::move(name), .text = R"(kernel gemm_int4 {
  in A: f16[64, 128]
  in Q: u8[64, 64]
  out C: f32[64, 64]
  grid bx < 2, by < 2
  threads 64
  shared As: f16[32, 32]
  shared Qs: u8[32, 16]
  shared Bs: f16[32, 32]
  fragment acc: f32[32, 32]
  fill acc = 0.0
  for step < 4 {
    copy As = A[by * 32 : 32, step * 32 : 32]
    copy Qs = Q[bx * 32 : 32, step * 16 : 16]
    parallel i < 32, j < 32 {
      let q = i32(Qs[i, j / 2] >> u8(j % 2 * 4) & 15)
      Bs[i, j] = f16(q - 8) * f16(0.125)
    }
    gemm acc += As @ Bs^T
  }
  copy C[by * 32 : 32, bx * 32 : 32] = acc
}
)"};
    const Numbers a = numbers(64 * 128, DType::kF16, 1);
    Numbers q = numbers(64 * 64, DType::kU8, 2);
    for (size_t i = 0; i < q.size(); ++i) q[i] = double((size_t(q[i]) * 37 + i) % 256);
    p.arguments.tensors = {{"A", a}, {"Q", q}};
    p.expected["C"] = matrix_product(64, 64, 128, rows_of(a, 128), [&](size_t l, size_t j) {
        const int byte = int(q[j * 64 + l / 2]);
        return ((l % 2 == 0 ? byte & 15 : byte >> 4) - 8) * 0.125;
    });
    p.tolerance = 1e-4;
    return p;
}

// 8-bit floats (4 bits of exponent, 3 of fraction) have no type: their bits become a half's, whose exponent
// is biased by 8 more.
PeerProgram eight_bit_floats() {
    PeerProgram p{.name = "gemm_fp8_64x64x32_t128", .text = R"(kernel gemm_fp8 {
  in A: u8[128, 128]
  in B: u8[128, 128]
  out C: f32[128, 128]
  grid bx < 2, by < 2
  shared As: f16[64, 32]
  shared Bs: f16[32, 64]
  fragment acc: f32[64, 64]
  fill acc = 0.0
  for step < 4 {
    parallel i < 64, j < 32 {
      let bits = u16(A[by * 64 + i, step * 32 + j])
      As[i, j] = as_f16((bits & 128) << 8 | (bits & 127) << 7) * f16(256.0)
    }
    parallel i < 32, j < 64 {
      let bits = u16(B[step * 32 + i, bx * 64 + j])
      Bs[i, j] = as_f16((bits & 128) << 8 | (bits & 127) << 7) * f16(256.0)
    }
    gemm acc += As @ Bs
  }
  copy C[by * 64 : 64, bx * 64 : 64] = acc
}
)"};
    const auto value = [](double byte) {
        const int bits = int(byte), exponent = bits >> 3 & 15, fraction = bits & 7;
        const double size =
            exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
        return bits & 128 ? -size : size;
    };
    Numbers a, b;  // up to 1.875, subnormal ones too; 15 in the exponent would be near the largest
    for (size_t i = 0; i < 128 * 128; ++i) {
        a.push_back(double((i * 29 + i / 128) % 64 + i % 2 * 128));
        b.push_back(double((i * 43 + i / 128) % 64 + i % 3 / 2 * 128));
    }
    p.arguments.tensors = {{"A", a}, {"B", b}};
    p.expected["C"] = matrix_product(
        128, 128, 128, [&](size_t i, size_t l) { return value(a[i * 128 + l]); },
        [&](size_t l, size_t j) { return value(b[l * 128 + j]); });
    p.tolerance = 1e-3;
    return p;
}

}  // namespace ingot::tile::testing::peer

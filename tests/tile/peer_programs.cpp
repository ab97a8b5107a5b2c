#include "tile/peer_programs.h"

#include <algorithm>
#include <cmath>

namespace ingot::tile::testing {
namespace {

using Numbers = std::vector<double>;
using Element = std::function<double(size_t row, size_t column)>;

Numbers table(size_t rows, size_t columns, const Element& element) {
    Numbers out;
    for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) out.push_back(element(i, j));
    return out;
}

Numbers matrix_product(size_t m, size_t n, size_t k, const Element& a, const Element& b) {
    return table(m, n, [&](size_t i, size_t j) {
        double sum = 0;
        for (size_t l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
        return sum;
    });
}

Element rows_of(const Numbers& x, size_t columns, size_t from = 0) {
    return [&x, columns, from](size_t i, size_t j) { return x[from + i * columns + j]; };
}

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

double softmax_at(const Element& row, size_t i, size_t j, size_t n) {
    double high = row(i, 0), sum = 0;
    for (size_t l = 1; l < n; ++l) high = std::max(high, row(i, l));
    for (size_t l = 0; l < n; ++l) sum += std::exp(row(i, l) - high);
    return std::exp(row(i, j) - high) / sum;
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

void attend(PeerProgram& p) {
    constexpr size_t kLength = 64, kDim = 32;
    const Numbers q = numbers(2 * kLength * kDim, DType::kF16, 1), k = numbers(q.size(), DType::kF16, 2),
                  v = numbers(q.size(), DType::kF16, 3);
    p.arguments.tensors = {{"Q", q}, {"K", k}, {"V", v}};
    for (size_t head = 0; head < 2; ++head) {
        const size_t from = head * kLength * kDim;
        const Numbers scores = matrix_product(
            kLength, kLength, kDim, rows_of(q, kDim, from),
            [&](size_t l, size_t j) { return k[from + j * kDim + l] / std::sqrt(double(kDim)); });
        const Numbers o = matrix_product(
            kLength, kDim, kLength,
            [&](size_t i, size_t l) { return softmax_at(rows_of(scores, kLength), i, l, kLength); },
            rows_of(v, kDim, from));
        p.expected["O"].insert(p.expected["O"].end(), o.begin(), o.end());
    }
    p.tolerance = 2e-3;
}

// Two products, reductions over fragments.
PeerProgram flash_attention() {
    PeerProgram p{.name = "flash_attention", .text = R"(kernel flash_attention {
  in Q: f16[2, 64, 32]
  in K: f16[2, 64, 32]
  in V: f16[2, 64, 32]
  out O: f32[2, 64, 32]
  grid bx < 2, by < 2
  shared q: f16[32, 32]
  shared kt: f16[32, 32]
  shared vt: f16[32, 32]
  shared p: f16[32, 32]
  fragment s: f32[32, 32]
  fragment o: f32[32, 32]
  fragment m: f32[32]
  fragment old: f32[32]
  fragment total: f32[32]
  fragment part: f32[32]
  copy q = Q[by, bx * 32 : 32, :]
  fill o = 0.0
  fill total = 0.0
  fill m = -inf
  for step < 2 {
    copy kt = K[by, step * 32 : 32, :]
    fill s = 0.0
    gemm s += q @ kt^T
    copy old = m
    reduce m with max(s, 1)
    parallel i < 32, j < 32 {
      s[i, j] = exp2((s[i, j] - m[i]) * 0.25503487)
    }
    reduce part = sum(s, 1)
    parallel i < 32 {
      total[i] = total[i] * exp2((old[i] - m[i]) * 0.25503487) + part[i]
    }
    parallel i < 32, j < 32 {
      o[i, j] = o[i, j] * exp2((old[i] - m[i]) * 0.25503487)
    }
    copy p = s
    copy vt = V[by, step * 32 : 32, :]
    gemm o += p @ vt
  }
  parallel i < 32, j < 32 {
    o[i, j] = o[i, j] / total[i]
  }
  copy O[by, bx * 32 : 32, :] = o
}
)"};
    attend(p);
    return p;
}

// Scores and output in shared memory, one thread a row for the softmax: fewer threads than the group works
// with.
PeerProgram attention_in_shared_memory(std::string name, int threads, bool metal4) {
    PeerProgram p{.name = std::move(name),
                  .text = fmt::format(R"(kernel attention_shared {{
  in Q: f16[2, 64, 32]
  in K: f16[2, 64, 32]
  in V: f16[2, 64, 32]
  out O: f32[2, 64, 32]
  grid bx < 2, by < 2
  threads {}
  shared q: f16[32, 32]
  shared kt: f16[32, 32]
  shared vt: f16[32, 32]
  shared p: f16[32, 32]
  shared s: f32[32, 32]
  shared o: f32[32, 32]
  shared m: f32[32]
  shared total: f32[32]
  shared rescale: f32[32]
  copy q = Q[by, bx * 32 : 32, :]
  fill o = 0.0
  fill total = 0.0
  fill m = -1e30
  for step < 2 {{
    copy kt = K[by, step * 32 : 32, :]
    copy vt = V[by, step * 32 : 32, :]
    gemm s = q @ kt^T
    parallel i < 32 {{
      for j < 32 carry high: f32 = m[i] -> now {{
        yield max(high, s[i, j])
      }}
      rescale[i] = exp2((m[i] - now) * 0.25503487)
      m[i] = now
      for j < 32 carry sum: f32 = total[i] * rescale[i] -> all {{
        s[i, j] = exp2((s[i, j] - now) * 0.25503487)
        yield sum + s[i, j]
      }}
      total[i] = all
    }}
    copy p = s
    parallel i < 32, j < 32 {{
      o[i, j] = o[i, j] * rescale[i]
    }}
    gemm o += p @ vt
  }}
  parallel i < 32, j < 32 {{
    o[i, j] = o[i, j] / total[i]
  }}
  copy O[by, bx * 32 : 32, :] = o
}}
)",
                                      threads),
                  .metal4 = metal4};
    attend(p);
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

// --- what the peer lowers wrongly or not at all, beyond its set

PeerProgram float_atomics() {
    PeerProgram p{.name = "float_atomics", .text = R"(kernel column_sums {
  in A: f32[128, 40]
  inout S: f32[40]
  grid bx < 4
  parallel i < 32, j < 40 {
    atomic_add S[j] += A[bx * 32 + i, j]
  }
}
)"};
    const Numbers a = numbers(128 * 40, DType::kF32, 1);
    p.arguments.tensors = {{"A", a}, {"S", Numbers(40, 0.5)}};
    Numbers sums(40, 0.5);
    for (size_t i = 0; i < a.size(); ++i) sums[i % 40] += a[i];
    p.expected["S"] = sums;
    p.tolerance = 1e-4;
    return p;
}

// Each kind of reduction along either axis, from shared memory and from a product's accumulator.
PeerProgram reductions() {
    PeerProgram p{.name = "reductions", .text = R"(kernel reductions {
  in A: f32[32, 64]
  in B: f32[64, 64]
  out R: f32[6, 64]
  shared a: f32[32, 64]
  shared b: f32[64, 64]
  fragment c: f32[32, 64]
  shared rows: f32[32]
  shared columns: f32[64]
  copy a = A
  copy b = B
  gemm c = a @ b
  reduce rows = max(c, 1)
  copy R[0, 0 : 32] = rows
  reduce rows = absmax(c, 1)
  copy R[0, 32 : 32] = rows
  reduce rows = sum(c, 1)
  copy R[1, 0 : 32] = rows
  reduce rows = min(c, 1)
  copy R[1, 32 : 32] = rows
  reduce columns = sum(a, 0)
  copy R[2, :] = columns
  reduce columns = max(a, 0)
  copy R[3, :] = columns
  reduce columns = min(b, 0)
  copy R[4, :] = columns
  fill columns = 0.25
  reduce columns with sum(b, 1)
  copy R[5, :] = columns
}
)"};
    const Numbers a = numbers(32 * 64, DType::kF32, 1), b = numbers(64 * 64, DType::kF32, 2);
    p.arguments.tensors = {{"A", a}, {"B", b}};
    const Numbers c = matrix_product(32, 64, 64, rows_of(a, 64), rows_of(b, 64));
    using Combine = double (*)(double, double);
    const Combine sum = [](double x, double y) { return x + y; },
                  high = [](double x, double y) { return std::max(x, y); },
                  low = [](double x, double y) { return std::min(x, y); },
                  size = [](double x, double y) { return std::max(std::abs(x), std::abs(y)); };
    const auto along = [](const Numbers& x, size_t rows, size_t columns, bool axis0, Combine f) {
        Numbers out;
        for (size_t i = 0; i < (axis0 ? columns : rows); ++i) {
            double total = axis0 ? x[i] : x[i * columns];
            for (size_t l = 1; l < (axis0 ? rows : columns); ++l)
                total = f(total, axis0 ? x[l * columns + i] : x[i * columns + l]);
            out.push_back(total);
        }
        return out;
    };
    Numbers& r = p.expected["R"];
    const auto append = [&](const Numbers& x) { r.insert(r.end(), x.begin(), x.end()); };
    append(along(c, 32, 64, false, high));
    append(along(c, 32, 64, false, size));
    append(along(c, 32, 64, false, sum));
    append(along(c, 32, 64, false, low));
    append(along(a, 32, 64, true, sum));
    append(along(a, 32, 64, true, high));
    append(along(b, 64, 64, true, low));
    for (const double v : along(b, 64, 64, false, sum)) r.push_back(v + 0.25);
    p.tolerance = 1e-4;
    return p;
}

PeerProgram preloaded_accumulator() {
    PeerProgram p{.name = "preloaded_accumulator", .text = R"(kernel add_product {
  in A: f16[40, 24]
  in B: f16[24, 56]
  inout C: f32[40, 56]
  grid bx < 2, by < 2
  shared As: f16[32, 24]
  shared Bs: f16[24, 32]
  fragment acc: f32[32, 32]
  copy acc = C[by * 32 : 32, bx * 32 : 32]
  copy As = A[by * 32 : 32, :]
  copy Bs = B[:, bx * 32 : 32]
  gemm acc += As @ Bs
  copy C[by * 32 : 32, bx * 32 : 32] = acc
}
)"};
    const Numbers a = numbers(40 * 24, DType::kF16, 1), b = numbers(24 * 56, DType::kF16, 2),
                  c = numbers(40 * 56, DType::kF32, 3);
    p.arguments.tensors = {{"A", a}, {"B", b}, {"C", c}};
    Numbers& out = p.expected["C"] = matrix_product(40, 56, 24, rows_of(a, 24), rows_of(b, 56));
    for (size_t i = 0; i < out.size(); ++i) out[i] += c[i];
    p.tolerance = 1e-4;
    return p;
}

// A product per matrix of a batch, into a tensor of three dimensions, direct and with edges.
PeerProgram batched_outputs() {
    PeerProgram p{.name = "batched_outputs",
                  .text = R"(kernel batched {
  in A: f32[3, 40, 20]
  in B: f32[3, 20, 48]
  out C: f32[3, 40, 48]
  grid bx < 2, by < 2, bz < 3
  gemm C[bz, by * 32 : 32, bx * 32 : 32] = A[bz, by * 32 : 32, :] @ B[bz, :, bx * 32 : 32]
}
)",
                  .metal4 = true};
    const Numbers a = numbers(3 * 40 * 20, DType::kF32, 1), b = numbers(3 * 20 * 48, DType::kF32, 2);
    p.arguments.tensors = {{"A", a}, {"B", b}};
    for (size_t z = 0; z < 3; ++z) {
        const Numbers c = matrix_product(40, 48, 20, rows_of(a, 20, z * 800), rows_of(b, 48, z * 960));
        p.expected["C"].insert(p.expected["C"].end(), c.begin(), c.end());
    }
    p.tolerance = 1e-4;
    return p;
}

// 48 threads are one simdgroup and a half: no matrix instruction, no lost column.
PeerProgram part_of_a_simdgroup() {
    PeerProgram p{.name = "threads_that_are_no_multiple_of_32", .text = R"(kernel part {
  in A: f16[40, 12]
  in B: f16[12, 40]
  out C: f32[40, 40]
  threads 48
  shared As: f16[40, 12]
  shared Bs: f16[12, 40]
  fragment acc: f32[40, 40]
  copy As = A
  copy Bs = B
  gemm acc = As @ Bs
  copy C = acc
}
)"};
    const Numbers a = numbers(480, DType::kF16, 1), b = numbers(480, DType::kF16, 2);
    p.arguments.tensors = {{"A", a}, {"B", b}};
    p.expected["C"] = matrix_product(40, 40, 12, rows_of(a, 12), rows_of(b, 40));
    p.tolerance = 1e-4;
    return p;
}

// 20 KB of operands, then 24 KB of the result: more than a group has, but not at the same time.
PeerProgram tiles_that_take_turns() {
    PeerProgram p{.name = "tiles_that_take_turns", .text = R"(kernel turns {
  in A: f32[96, 32]
  in B: f32[32, 64]
  out C: f32[96, 64]
  out S: f32[96]
  shared As: f32[96, 32]
  shared Bs: f32[32, 64]
  fragment acc: f32[96, 64]
  copy As = A
  copy Bs = B
  gemm acc = As @ Bs
  shared Cs: f32[96, 64]
  shared sums: f32[96]
  copy Cs = acc
  reduce sums = sum(Cs, 1)
  parallel i < 96, j < 64 {
    Cs[i, j] = Cs[i, j] - sums[i]
  }
  copy C = Cs
  copy S = sums
}
)"};
    const Numbers a = numbers(96 * 32, DType::kF32, 1), b = numbers(32 * 64, DType::kF32, 2);
    p.arguments.tensors = {{"A", a}, {"B", b}};
    Numbers& c = p.expected["C"] = matrix_product(96, 64, 32, rows_of(a, 32), rows_of(b, 64));
    for (size_t i = 0; i < 96; ++i) {
        double sum = 0;
        for (size_t j = 0; j < 64; ++j) sum += c[i * 64 + j];
        for (size_t j = 0; j < 64; ++j) c[i * 64 + j] -= sum;
        p.expected["S"].push_back(sum);
    }
    p.tolerance = 1e-3;
    return p;
}

constexpr std::string_view kPeerNames[] = {"gemm_f16_64x64x32_t128",
                                           "gemm_f16_128x64x32_t128",
                                           "gemm_f16_32x32x32_t64",
                                           "gemm_f16_64x128x64_t256",
                                           "gemm_bf16_64x64x32_t128",
                                           "gemm_f32_64x64x32_t128",
                                           "gemm_f16_outf16_64x64x32_t128",
                                           "gemm_f16_accf16_64x64x32_t128",
                                           "gemm_f16_nt_64x64x32_t128",
                                           "gemm_f16_tn_64x64x32_t128",
                                           "gemm_f16_stages2_64x64x32_t128",
                                           "gemm_f16_stages3_64x64x32_t128",
                                           "gemm_f16_relu_64x64x32_t128",
                                           "gemm_f16_biasrelu_64x64x32_t128",
                                           "gemm_f16_cshared_biasrelu_64x64x32_t128",
                                           "gemm_f16_cshared_64x64x32_t128",
                                           "gemm_f16_cshared_outf16_64x64x32_t128",
                                           "gemm_f16_fullrow_64x64x32_t128",
                                           "gemm_f16_fullcol_64x64x32_t128",
                                           "gemm_f16_edge_100x72x40",
                                           "gemm_f16_edge_cshared_100x72x40",
                                           "gemm_f16_edge_k_128x128x40",
                                           "gemm_f16_viashared_64x64x32_t128",
                                           "gemm_f16_viashared_biasrelu_64x64x32_t128",
                                           "gemm_f16_edge_viashared_100x72x40",
                                           "gemm_f16_viashared_sync_biasrelu_64x64x32_t128",
                                           "gemm_f16_edge_viashared_sync_100x72x40",
                                           "gemm_f16_edge_odd_sync_33x35x37",
                                           "gemm_f16_kstep12_64x64x48",
                                           "gemm_f16_swizzled_a_64x64x32_t128",
                                           "gemm_f16_edge_odd_33x35x37",
                                           "gemm_f16_t64_of_16x16x16",
                                           "gemm_f16_40x40x24_t128",
                                           "gemm_i8_64x64x32_novector",
                                           "gemm_i8_64x64x32_t128",
                                           "gemm_fp8_64x64x32_t128",
                                           "mpp_direct_f16_64x128_t128",
                                           "mpp_direct_f16_outf16_64x128_t128",
                                           "mpp_direct_bf16_64x128_t128",
                                           "mpp_direct_f32_64x128_t128",
                                           "mpp_direct_f16_64x128_t256",
                                           "mpp_direct_f16_nt_64x128_t128",
                                           "mpp_direct_f16_nt_square_64x64_t128",
                                           "mpp_direct_f16_mlx_64x128_t128",
                                           "mpp_direct_f16_row_64x128_t128",
                                           "mpp_direct_f16_edge_100x72x48",
                                           "mpp_direct_f16_edge_k_128x128x40",
                                           "mpp_cshared_f16_64x64x32_t128",
                                           "mpp_cshared_f16_nt_64x64x32_t128",
                                           "mpp_cshared_bf16_64x64x32_t128",
                                           "mpp_cshared_f16_edge_100x72x40",
                                           "mpp_cshared_static_f16_64x64x32_t128",
                                           "mpp_cshared_static_f16_64x64x64_t128",
                                           "mpp_cshared_static_f16_nt_64x64x32_t128",
                                           "mpp_cshared_static_bf16_64x64x32_t128",
                                           "mpp_cshared_static_biasrelu_64x64x32_t128",
                                           "mpp_cshared_static_edge_100x72x40",
                                           "mpp_direct_f16_32x32_t32",
                                           "mpp_direct_f16_128x128_t128",
                                           "metal4_cfragment_f16_64x64x32_t128",
                                           "direct_f16_64x128_t128_without_metal4",
                                           "add_100x72",
                                           "rms_norm",
                                           "softmax_serial",
                                           "gemm_int4",
                                           "gemm_int4_novector",
                                           "gemm_scalar_f32",
                                           "gemm_dynamic_m",
                                           "flash_attention",
                                           "attention_shared",
                                           "attention_shared_t32",
                                           "attention_shared_metal4",
                                           "histogram_int32",
                                           "transpose_f16"};

}  // namespace

std::vector<PeerCase> peer_cases() {
    return {{"add_100x72", sum_of_two},
            {"rms_norm", root_mean_square},
            {"softmax_serial", softmax_by_loops},
            {"gemm_int4", [] { return packed_int4("gemm_int4"); }},
            {"gemm_int4_novector", [] { return packed_int4("gemm_int4_novector"); }},
            {"gemm_fp8_64x64x32_t128", eight_bit_floats},
            {"gemm_scalar_f32", product_by_elements},
            {"flash_attention", flash_attention},
            {"attention_shared", [] { return attention_in_shared_memory("attention_shared", 128, false); }},
            {"attention_shared_t32",
             [] { return attention_in_shared_memory("attention_shared_t32", 32, false); }},
            {"attention_shared_metal4",
             [] { return attention_in_shared_memory("attention_shared_metal4", 128, true); }},
            {"histogram_int32", counts_in_bins},
            {"transpose_f16", transposed},
            {"float_atomics", float_atomics},
            {"reductions", reductions},
            {"preloaded_accumulator", preloaded_accumulator},
            {"batched_outputs", batched_outputs},
            {"threads_that_are_no_multiple_of_32", part_of_a_simdgroup},
            {"tiles_that_take_turns", tiles_that_take_turns}};
}

PeerProgram peer_program(std::string_view name) {
    const std::vector<PeerCase> cases = peer_cases();
    const auto found = std::ranges::find(cases, name, &PeerCase::name);
    EXPECT_NE(found, cases.end()) << name;
    return found->make();
}

std::span<const std::string_view> peer_names() {
    return kPeerNames;
}

}  // namespace ingot::tile::testing

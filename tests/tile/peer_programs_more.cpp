// What the peer lowers wrongly or not at all, beyond its set.
#include "tile/peer_makers.h"

namespace ingot::tile::testing::peer {

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

// Lanes hand values over: sums of 32 by halves, each row turned by its own number, and a value for all.
PeerProgram simdgroup_shuffles() {
    PeerProgram p{.name = "simdgroup_shuffles", .text = R"(kernel shuffles {
  in A: f32[6, 64]
  in H: f16[6, 64]
  in N: i16[6, 64]
  out S: f32[6, 64]
  out T: f16[6, 64]
  out B: i16[6, 64]
  grid bx < 3
  threads 96
  parallel r < 2, i < 64 {
    let row = bx * 2 + r
    let a = A[row, i] * 2.0
    let b = a + shuffle(a, i % 32 ^ 16)
    let c = b + shuffle(b, i % 32 ^ 8)
    let d = c + shuffle(c, i % 32 ^ 4)
    let e = d + shuffle(d, i % 32 ^ 2)
    let f = e + shuffle(e, i % 32 ^ 1)
    S[row, i] = f
    let turned = shuffle(H[row, i], (i + row) % 32)
    T[row, i] = turned
    let first = shuffle(N[row, i] * i16(3), 0)
    B[row, i] = first
  }
}
)"};
    const Numbers a = numbers(6 * 64, DType::kF32, 1), h = numbers(6 * 64, DType::kF16, 2),
                  n = numbers(6 * 64, DType::kI16, 3);
    p.arguments.tensors = {{"A", a}, {"H", h}, {"N", n}};
    const auto block = [](size_t i, size_t j) { return i * 64 + j / 32 * 32; };
    p.expected["S"] = table(6, 64, [&](size_t i, size_t j) {
        double sum = 0;
        for (size_t l = 0; l < 32; ++l) sum += 2 * a[block(i, j) + l];
        return sum;
    });
    p.expected["T"] = table(6, 64, [&](size_t i, size_t j) { return h[block(i, j) + (j + i) % 32]; });
    p.expected["B"] = table(6, 64, [&](size_t i, size_t j) { return 3 * n[block(i, j)]; });
    p.tolerance = 1e-4;
    return p;
}

}  // namespace ingot::tile::testing::peer

// Attention, with fragments and in shared memory alone.
#include "tile/peer_makers.h"

namespace ingot::tile::testing::peer {

namespace {

void attend_to(PeerProgram& p) {
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

}  // namespace

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
    attend_to(p);
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
    attend_to(p);
    return p;
}

}  // namespace ingot::tile::testing::peer

// The programs behind the figures of the planner's models.
#pragma once

namespace ingot::tile::testing {

// 32 x 64 of 32 steps of 32, carried through a second tile.
inline constexpr const char* kFigureProgram = R"(kernel figure {
  in A: f32[32, 1024]
  in B: f32[1024, 64]
  out C: f32[32, 64]
  threads 128
  shared As: f32[32, 32]
  shared Bs: f32[32, 64]
  shared Cs: f32[32, 64]
  shared Ds: f32[32, 64]
  fill Cs = 0.0
  for step < 32 {
    copy As = A[:, step * 32 : 32]
    copy Bs = B[step * 32 : 32, :]
    copy Ds = Cs
    gemm Ds += As @ Bs policy(full_col)
    copy Cs = Ds
  }
  copy C = Cs
}
)";

// BM = 128, BN = 32, BK = 1024: two steps, the second one short.
inline constexpr const char* kStaged640KiB = R"(kernel staged {
  in A: f32[128, 1500]
  in B: f32[1500, 32]
  inout C: f32[128, 32]
  threads 128
  shared As: f32[128, 1024]
  shared Bs: f32[1024, 32]
  fill C = 0.0
  for step < 2 {
    copy As = A[:, step * 1024 : 1024]
    copy Bs = B[step * 1024 : 1024, :]
    gemm C += As @ Bs
  }
}
)";

// 32 x 64 of three steps of 16 over a K of 45; one simdgroup reads each operand once.
inline constexpr const char* kPhysical45 = R"(kernel physical {
  in A: f32[32, 45]
  in B: f32[45, 64]
  inout C: f32[32, 64]
  threads 32
  shared As: f32[32, 16]
  shared Bs: f32[16, 64]
  fill C = 0.0
  for step < 3 {
    copy As = A[:, step * 16 : 16]
    copy Bs = B[step * 16 : 16, :]
    gemm C += As @ Bs
  }
}
)";

// The same, each step's sum handed on to the tile that is stored.
inline constexpr const char* kPublished45 = R"(kernel published {
  in A: f32[32, 45]
  in B: f32[45, 64]
  out C: f32[32, 64]
  threads 128
  shared As: f32[32, 16]
  shared Bs: f32[16, 64]
  shared Cs: f32[32, 64]
  shared Ds: f32[32, 64]
  fill Ds = 0.0
  for step < 3 {
    copy As = A[:, step * 16 : 16]
    copy Bs = B[step * 16 : 16, :]
    gemm Ds += As @ Bs
    copy Cs = Ds
  }
  copy C = Cs
}
)";

}  // namespace ingot::tile::testing

// The program behind the figures of the planner's models: 32 x 64 of 32 steps of 32, carried through a second
// tile.
#pragma once

namespace ingot::tile::testing {

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

}  // namespace ingot::tile::testing

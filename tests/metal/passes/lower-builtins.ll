; Functions that mean the same on every executor get bodies; barriers and simdgroup functions stay calls.
; PASS: lower-builtins

; CHECK-LABEL: define void @k
; CHECK: call i32 @air.convert.s.i32.f.f32
; CHECK: call float @air.simd_sum.f32
; CHECK: call void @air.wg.barrier
; CHECK: define internal {{.*}}i32 @air.convert.s.i32.f.f32(float
; CHECK: @llvm.fptosi.sat.i32.f32
; CHECK: declare float @air.simd_sum.f32(float)
; CHECK: declare void @air.wg.barrier(i32, i32)

define void @k(ptr addrspace(1) %b, float %x) {
  %i = call i32 @air.convert.s.i32.f.f32(float %x)
  store i32 %i, ptr addrspace(1) %b
  %s = call float @air.simd_sum.f32(float %x)
  store float %s, ptr addrspace(1) %b
  call void @air.wg.barrier(i32 2, i32 1)
  ret void
}

declare i32 @air.convert.s.i32.f.f32(float)
declare float @air.simd_sum.f32(float) convergent
declare void @air.wg.barrier(i32, i32) convergent

; The entry takes the running thread's record: context calls become loads that never change, collectives calls of the
; fiber runtime.
; PASS: lower-to-fibers

; CHECK-LABEL: define void @ingot_entry(ptr noalias nonnull %0)
; CHECK-NOT: call {{.*}} @ingot.
; CHECK-DAG: load i32, ptr {{%.*}}, align 4, !invariant.load
; CHECK-DAG: load ptr, ptr {{%.*}}, align 8, !invariant.load
; CHECK: call void @ingot_barrier(ptr %0)
; CHECK: call i64 @ingot_simd(ptr %0, i32 1, i32 {{[0-9]+}}, i32 {{[0-9]+}}, i32 32,
; CHECK: ret void

define void @ingot_entry() {
  %b = call ptr @ingot.buffer(i32 3)
  %i = call i32 @ingot.index.thread_position_in_grid.0()
  call void @air.wg.barrier(i32 2, i32 1)
  %x = sitofp i32 %i to float
  %s = call float @air.simd_sum.f32(float %x)
  store float %s, ptr %b
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_position_in_grid.0() memory(none)
declare void @air.wg.barrier(i32, i32) convergent
declare float @air.simd_sum.f32(float) convergent

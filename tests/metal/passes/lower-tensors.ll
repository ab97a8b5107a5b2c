; The size of a cooperative tensor is known, a product is one call with the lane's operands and the codes of their types.
; PASS: lower-tensors

; CHECK-LABEL: define void @ingot_entry()
; CHECK: call ptr @ingot.lane()
; CHECK: call void @ingot_matmul2d(ptr {{%.*}}, ptr %descriptor, ptr %left, i32 1, ptr %right, i32 1, ptr %sums, i32 0, i32 32, i32 0)
; CHECK: call void @air.wg.barrier

define void @ingot_entry() {
  %descriptor = alloca [20 x i8]
  %left = alloca [8 x half]
  %right = alloca [16 x half]
  %sums = alloca [16 x float]
  call void @__tensorops_impl_matmul2d_op_run_cooperative_f16_f16_f32(ptr %descriptor, ptr %left, ptr %right, ptr %sums, i32 32)
  call void @air.wg.barrier(i32 2, i32 1)
  ret void
}

declare void @__tensorops_impl_matmul2d_op_run_cooperative_f16_f16_f32(ptr, ptr, ptr, ptr, i32) convergent
declare void @air.wg.barrier(i32, i32) convergent

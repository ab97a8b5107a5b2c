; PASS: tensors-in-registers
; A product whose operands lie in private variables, in NAX fragments, is a function of values: halves become
; floats, the variables and the descriptor's copy vanish. A transposed operand is told by the last number.
; One that isn't in fragments (rowmajor) stays a call with addresses.
%descriptor = type { i32, i32, i32, i8, i8, i8, i32 }
@adds = internal constant %descriptor { i32 16, i32 32, i32 16, i8 0, i8 1, i8 0, i32 1 }

define void @ingot_entry() {
  %in = call ptr @ingot.buffer(i32 0)
  %d = alloca %descriptor
  %left = alloca [16 x i8]
  %right = alloca [32 x i8]
  %sum = alloca [64 x i8]
  call void @llvm.memcpy.p0.p0.i64(ptr %d, ptr @adds, i64 20, i1 false)
  %l = load <8 x half>, ptr %in
  store <8 x half> %l, ptr %left
  %p = getelementptr i8, ptr %in, i64 16
  %r = load <16 x half>, ptr %p
  store <16 x half> %r, ptr %right
  store <16 x float> zeroinitializer, ptr %sum
; CHECK-LABEL: define void @ingot_entry
; CHECK-NOT: alloca
; CHECK: %[[L:.+]] = fpext <8 x half> %{{.+}} to <8 x float>
; CHECK: %[[R:.+]] = fpext <16 x half> %{{.+}} to <16 x float>
; CHECK: %[[ONE:.+]] = call <16 x float> @ingot.fragments.16.32.16.2(<8 x float> %[[L]], <16 x float> %[[R]], <16 x float> zeroinitializer)
  call void @ingot_matmul2d(ptr null, i32 0, ptr %d, ptr %left, i32 1, ptr %right, i32 1, ptr %sum, i32 0, i32 32, i32 0)
; CHECK: %[[TWO:.+]] = call <16 x float> @ingot.fragments.16.32.16.2(<8 x float> %[[L]], <16 x float> %[[R]], <16 x float> %[[ONE]])
  call void @ingot_matmul2d(ptr null, i32 0, ptr %d, ptr %left, i32 1, ptr %right, i32 1, ptr %sum, i32 0, i32 32, i32 0)
  %s = load <16 x float>, ptr %sum
; CHECK: store <16 x float> %[[TWO]], ptr %in
  store <16 x float> %s, ptr %in
  ret void
}

; Extents whose product doesn't fit 32 bits aren't those of a variable that holds nothing.
@huge = internal constant %descriptor { i32 65536, i32 65536, i32 65536, i8 0, i8 0, i8 0, i32 1 }
define void @overflows() {
  %left = alloca [64 x i8]
  %right = alloca [64 x i8]
  %sum = alloca [64 x i8]
; CHECK-LABEL: define void @overflows
; CHECK: call void @ingot_matmul2d(
  call void @ingot_matmul2d(ptr null, i32 0, ptr @huge, ptr %left, i32 1, ptr %right, i32 1, ptr %sum, i32 0, i32 32, i32 0)
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare void @ingot_matmul2d(ptr, i32, ptr, ptr, i32, ptr, i32, ptr, i32, i32, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

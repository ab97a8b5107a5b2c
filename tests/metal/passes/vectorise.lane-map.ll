; Which element of an 8x8 matrix a lane holds is a constant of the lane: rows 0 to 3 of columns 0 to 3, then of columns 4
; to 7, then the four rows below.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: <32 x i64> <i64 0, i64 8, i64 32, i64 40, i64 64, i64 72, i64 96, i64 104, i64 16, i64 24, i64 48, i64 56, i64 80, i64 88, i64 112, i64 120, i64 128, i64 136,

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %element = call i32 @ingot.matrix_element()
  %i = zext i32 %element to i64
  %p = getelementptr float, ptr %buffer, i64 %i
  %x = load float, ptr %p, align 4
  store float %x, ptr %p, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.matrix_element() memory(none)

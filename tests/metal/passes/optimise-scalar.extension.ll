; A sign extension that the optimiser writes as two shifts is an extension again.
; PASS: optimise-scalar

; CHECK-LABEL: define void @ingot_entry
; CHECK-NOT: ashr
; CHECK: [[NARROW:%.*]] = trunc {{.*}} to i16
; CHECK: sext i16 [[NARROW]] to i64
; CHECK-NOT: ashr
; CHECK: ret void

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %wide = zext i32 %lane to i64
  %up = shl i64 %wide, 48
  %index = ashr exact i64 %up, 48
  %p = getelementptr [24 x i8], ptr %buffer, i64 %index
  store half 1.0, ptr %p, align 2
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

; Each lane has a private variable of its own: 32 of them in one piece of stack, aligned to 16 bytes each.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: [[OWN:%.*]] = alloca [1024 x i8], align 64
; CHECK: getelementptr i8, ptr [[OWN]], <32 x i64> <i64 0, i64 32, i64 64, i64 96,
; CHECK: br i1
; CHECK-COUNT-32: store i32 7, ptr
; CHECK: [[THIRD:%.*]] = getelementptr i32, ptr [[OWN]], i64 2

define void @ingot_entry() {
  %own = alloca [5 x i32], align 4
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr i32, ptr %buffer, i64 %i
  %x = load i32, ptr %p, align 4
  %j = zext i32 %x to i64
  %q = getelementptr i32, ptr %own, i64 %j
  store i32 7, ptr %q, align 4
  %r = getelementptr i32, ptr %own, i64 2
  %y = load i32, ptr %r, align 4
  store i32 %y, ptr %p, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

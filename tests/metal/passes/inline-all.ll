; Every helper ends up in the entry, and is gone.
; PASS: inline-all

; CHECK-LABEL: define void @ingot_entry()
; CHECK-NOT: call i32 @outer
; CHECK: call i32 @ingot.index.thread_position_in_grid.0()
; CHECK-COUNT-2: mul i32 {{.*}}, 3
; CHECK: ret void
; CHECK-NOT: define internal

define internal i32 @inner(i32 %x) {
  %y = mul i32 %x, 3
  ret i32 %y
}

define internal i32 @outer(i32 %x) {
  %y = call i32 @inner(i32 %x)
  %z = call i32 @inner(i32 %y)
  ret i32 %z
}

define void @ingot_entry() {
  %b = call ptr @ingot.buffer(i32 0)
  %i = call i32 @ingot.index.thread_position_in_grid.0()
  %v = call i32 @outer(i32 %i)
  store i32 %v, ptr %b
  ret void
}

declare ptr @ingot.buffer(i32)
declare i32 @ingot.index.thread_position_in_grid.0()

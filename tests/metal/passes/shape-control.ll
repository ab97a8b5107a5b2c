; Control flow in the form that vectorising takes: a switch becomes branches, two returns become one,
; and so does an end that nobody reaches.
; PASS: shape-control

; CHECK-LABEL: define void @ingot_entry
; CHECK-NOT: switch
; CHECK-NOT: unreachable
; CHECK: UnifiedReturnBlock:
; CHECK-NEXT: ret void
; CHECK-NOT: ret void

define void @ingot_entry() {
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %p = call ptr @ingot.buffer(i32 0)
  switch i32 %lane, label %other [
    i32 1, label %one
    i32 5, label %five
    i32 7, label %never
  ]

one:
  store i32 1, ptr %p
  ret void

five:
  store i32 5, ptr %p
  ret void

never:
  store i32 7, ptr %p
  unreachable

other:
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

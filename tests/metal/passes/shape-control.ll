; Control flow in the form that vectorising takes: a switch becomes branches, two returns become one.
; PASS: shape-control

; CHECK-LABEL: define void @ingot_entry
; CHECK-NOT: switch
; CHECK: UnifiedReturnBlock:
; CHECK-NEXT: ret void
; CHECK-NOT: ret void

define void @ingot_entry() {
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %p = call ptr @ingot.buffer(i32 0)
  switch i32 %lane, label %other [
    i32 1, label %one
    i32 5, label %five
  ]

one:
  store i32 1, ptr %p
  ret void

five:
  store i32 5, ptr %p
  ret void

other:
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

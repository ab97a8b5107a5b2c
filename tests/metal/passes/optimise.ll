; Private variables become registers, constant loops unroll.
; PASS: optimise

; CHECK-LABEL: define void @ingot_entry
; CHECK-NOT: alloca
; CHECK-NOT: br
; CHECK: store i32 45, ptr %0
; CHECK: ret void

define void @ingot_entry(ptr %0) {
entry:
  %sum = alloca i32
  store i32 0, ptr %sum
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %old = load i32, ptr %sum
  %new = add i32 %old, %i
  store i32 %new, ptr %sum
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, 10
  br i1 %again, label %loop, label %done

done:
  %v = load i32, ptr %sum
  store i32 %v, ptr %0
  ret void
}

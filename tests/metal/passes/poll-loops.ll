; A loop that may run for long looks at the stop flag each round; one of a few constant rounds doesn't.
; PASS: poll-loops

; CHECK-LABEL: define void @ingot_entry
; CHECK: %go = icmp ne i32 %v, 0
; CHECK-NEXT: [[FLAG:%.*]] = load volatile i32, ptr
; CHECK-NEXT: [[RAISED:%.*]] = icmp ne i32 [[FLAG]], 0
; CHECK-NEXT: br i1 [[RAISED]]
; CHECK: call void @ingot_stop(ptr %0)
; CHECK: short:
; CHECK-NOT: call void @ingot_stop
; CHECK: ret void

define void @ingot_entry(ptr %0) {
entry:
  br label %endless

endless:
  %v = load volatile i32, ptr null
  %go = icmp ne i32 %v, 0
  br i1 %go, label %short, label %endless

short:
  %i = phi i32 [ 0, %endless ], [ %next, %short ]
  %next = add i32 %i, 1
  store volatile i32 %i, ptr null
  %again = icmp ult i32 %next, 100
  br i1 %again, label %short, label %done

done:
  ret void
}

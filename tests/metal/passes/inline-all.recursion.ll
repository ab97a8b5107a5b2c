; Functions that call themselves, even through another function, stay functions, with what they call.
; PASS: inline-all

; CHECK: define internal void @even(i32 %n)
; CHECK: call void @odd(i32 %n)
; CHECK: define internal void @odd(i32 %n)
; CHECK: call void @helper()
; CHECK: call void @even(i32 %n)
; CHECK: define internal void @helper()
; CHECK-LABEL: define void @ingot_entry()
; CHECK: call void @even(i32 4)

define internal void @even(i32 %n) {
  call void @odd(i32 %n)
  ret void
}

define internal void @odd(i32 %n) {
  call void @helper()
  call void @even(i32 %n)
  ret void
}

define internal void @helper() {
  ret void
}

define void @ingot_entry() {
  call void @even(i32 4)
  ret void
}

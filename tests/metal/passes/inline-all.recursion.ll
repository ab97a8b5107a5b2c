; Metal has no recursion, not even through another function.
; PASS: inline-all
; CHECK: error: '{{even|odd}}' calls itself; Metal has no recursion

define internal void @even(i32 %n) {
  call void @odd(i32 %n)
  ret void
}

define internal void @odd(i32 %n) {
  call void @even(i32 %n)
  ret void
}

define void @ingot_entry() {
  call void @even(i32 4)
  ret void
}

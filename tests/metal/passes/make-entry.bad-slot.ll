; A slot beyond the last is refused by the argument's name.
; PASS: make-entry
; CHECK: error: argument 'a' is in slot 31, the last is 30

define void @k(ptr addrspace(1) %a) {
  ret void
}

!air.kernel = !{!0}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 31, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_name", !"a"}

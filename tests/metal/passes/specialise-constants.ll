; A function constant as Apple's compiler leaves it: an externally initialised global, and a static initialiser that
; copies it to the variable that the kernel reads. Given a value, both fold away; one without a value is 0.
; PASS: specialise-constants
; CONSTANT: 3=7

; CHECK-NOT: llvm.global_ctors
; CHECK-NOT: air.fc_initializer
; CHECK-LABEL: define void @k
; CHECK: store volatile i32 7, ptr addrspace(1) %b
; CHECK: store volatile i32 0, ptr addrspace(1) %b
; CHECK-NOT: define {{.*}} @init

@size.MTL_FC_INIT_3_i = external addrspace(2) externally_initialized constant i32, section "air.fc_initializer"
@other.MTL_FC_INIT_4_i = external addrspace(2) externally_initialized constant i32, section "air.fc_initializer"
@size = internal addrspace(2) global i32 undef
@other = internal addrspace(2) global i32 undef
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @init, ptr null }]

define internal void @init() section "air.static_init" {
  %a = load i32, ptr addrspace(2) @size.MTL_FC_INIT_3_i
  store i32 %a, ptr addrspace(2) @size
  %b = load i32, ptr addrspace(2) @other.MTL_FC_INIT_4_i
  store i32 %b, ptr addrspace(2) @other
  ret void
}

define void @k(ptr addrspace(1) %b) {
  %v = load i32, ptr addrspace(2) @size
  store volatile i32 %v, ptr addrspace(1) %b
  %w = load i32, ptr addrspace(2) @other
  store volatile i32 %w, ptr addrspace(1) %b
  ret void
}

!air.function_constants = !{!0, !1}
!0 = !{ptr addrspace(2) @size.MTL_FC_INIT_3_i, !"int", !"size", i32 3, i1 true}
!1 = !{ptr addrspace(2) @other.MTL_FC_INIT_4_i, !"int", !"other", i32 4, i1 true}

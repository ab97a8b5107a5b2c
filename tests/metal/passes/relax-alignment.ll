; A vector access needs its element's alignment only; private memory keeps what the compiler gave it.
; PASS: relax-alignment

; CHECK: load <4 x float>, ptr addrspace(1) %a, align 4
; CHECK: store <8 x half> {{.*}}, ptr addrspace(3) %t, align 2
; CHECK: load <4 x float>, ptr %private, align 16
; CHECK: store i8 {{.*}}, align 1
; CHECK: call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) align 1 %a, ptr align 16 %private, i64 64, i1 false)

define void @k(ptr addrspace(1) %a, ptr addrspace(3) %t) {
  %private = alloca [4 x <4 x float>], align 16
  %v = load <4 x float>, ptr addrspace(1) %a, align 16
  store <8 x half> zeroinitializer, ptr addrspace(3) %t, align 16
  %w = load <4 x float>, ptr %private, align 16
  store i8 1, ptr addrspace(1) %a, align 1
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) align 16 %a, ptr align 16 %private, i64 64, i1 false)
  ret void
}

declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)

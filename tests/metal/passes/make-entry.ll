; The entry asks for each argument of the kernel as its metadata says: memory by slot, indices by component and width.
; PASS: make-entry

; CHECK-LABEL: define internal void @k(
; CHECK-LABEL: define void @ingot_entry()
; CHECK: [[BUFFER:%.*]] = call ptr @ingot.buffer(i32 5)
; CHECK: [[DEVICE:%.*]] = addrspacecast ptr [[BUFFER]] to ptr addrspace(1)
; CHECK: [[SHARED:%.*]] = call ptr addrspace(3) @ingot.threadgroup(i32 2)
; CHECK: call i32 @ingot.index.thread_position_in_grid.0()
; CHECK: call i32 @ingot.index.thread_position_in_grid.1()
; CHECK: [[WIDE:%.*]] = call i32 @ingot.index.thread_index_in_simdgroup.0()
; CHECK: [[NARROW:%.*]] = trunc i32 [[WIDE]] to i16
; CHECK: call void @k(ptr addrspace(1) [[DEVICE]], ptr addrspace(3) [[SHARED]], <2 x i32> {{%.*}}, i16 [[NARROW]])
; CHECK-NEXT: ret void
; CHECK-NOT: !air.kernel

define void @k(ptr addrspace(1) %a, ptr addrspace(3) %t, <2 x i32> %position, i16 %lane) {
  ret void
}

!air.kernel = !{!0}
!0 = !{ptr @k, !1, !2}
!1 = !{}
!2 = !{!3, !4, !5, !6}
!3 = !{i32 0, !"air.buffer", !"air.location_index", i32 5, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_name", !"a"}
!4 = !{i32 1, !"air.buffer", !"air.location_index", i32 2, i32 1, !"air.read_write", !"air.address_space", i32 3, !"air.arg_name", !"t"}
!5 = !{i32 2, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint2", !"air.arg_name", !"p"}
!6 = !{i32 3, !"air.thread_index_in_simdgroup", !"air.arg_type_name", !"ushort", !"air.arg_name", !"l"}

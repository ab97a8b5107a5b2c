; Each access of memory that others see is told, and goes where the runtime says; so are meetings and the thread's end.
; Private accesses that stay inside, and meetings that the kernel didn't ask for, aren't.
; PASS: instrument

; CHECK-LABEL: define void @ingot_entry()
; CHECK: [[LANE:%.*]] = call ptr @ingot.lane()
; CHECK: [[ALLOWED:%.*]] = call ptr @ingot_watch_load(ptr [[LANE]], ptr {{%.*}}, ptr null, i32 0)
; CHECK: [[PLACE:%.*]] = addrspacecast ptr [[ALLOWED]] to ptr addrspace(1)
; CHECK: %v = load <4 x float>, ptr addrspace(1) [[PLACE]]
; CHECK: call void @ingot_watch_call(ptr {{%.*}}, i32 1, i32 2)
; CHECK-NEXT: call void @air.wg.barrier(i32 2, i32 1)
; CHECK-NOT: ingot_watch
; CHECK: call void @air.simdgroup.barrier(i32 3, i32 4), !ingot.added
; CHECK-NOT: ingot_watch
; CHECK: store float 1.000000e+00, ptr %private
; CHECK: call ptr @ingot_watch_store(ptr {{%.*}}, ptr {{%.*}}, ptr null, i32 2, i64 {{%.*}}, i64 {{%.*}})
; CHECK: store <4 x float> %v
; CHECK: call void @ingot_watch_call(ptr {{%.*}}, i32 3, i32 0)
; CHECK-NEXT: ret void

define void @ingot_entry() {
  %b = call ptr @ingot.buffer(i32 0)
  %in = addrspacecast ptr %b to ptr addrspace(1)
  %shared = call ptr addrspace(3) @ingot.threadgroup(i32 0)
  %private = alloca float
  %v = load <4 x float>, ptr addrspace(1) %in
  call void @air.wg.barrier(i32 2, i32 1)
  call void @air.simdgroup.barrier(i32 3, i32 4), !ingot.added !0
  store float 1.0, ptr %private
  store <4 x float> %v, ptr addrspace(3) %shared
  ret void
}

declare ptr @ingot.buffer(i32)
declare ptr addrspace(3) @ingot.threadgroup(i32)
declare void @air.wg.barrier(i32, i32)
declare void @air.simdgroup.barrier(i32, i32)

!0 = !{}

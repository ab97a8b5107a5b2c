; Threadgroup variables become offsets into the group's arena, each at its own alignment; constant expressions of them
; too. It is the call that keeps them from looking unchanged across a barrier.
; PASS: move-threadgroup-globals

; CHECK-NOT: @first
; CHECK-NOT: @second
; CHECK-LABEL: define void @k
; CHECK-DAG: [[ARENA:%.*]] = call ptr addrspace(3) @ingot.arena()
; CHECK-DAG: getelementptr inbounds i8, ptr addrspace(3) {{%.*}}, i64 16
; CHECK-DAG: store i8 1, ptr addrspace(3)
; CHECK: call void @air.wg.barrier
; CHECK: load float, ptr addrspace(3)
; CHECK: declare ptr addrspace(3) @ingot.arena() #[[ATTRIBUTES:[0-9]+]]
; CHECK: attributes #[[ATTRIBUTES]] = { {{.*}}memory(none)

@first = internal addrspace(3) global [5 x i8] undef, align 1
@second = internal addrspace(3) global [4 x float] undef, align 16

define void @k(ptr addrspace(1) %b) {
  store i8 1, ptr addrspace(3) @first
  call void @air.wg.barrier(i32 2, i32 1)
  %v = load float, ptr addrspace(3) getelementptr ([4 x float], ptr addrspace(3) @second, i64 0, i64 2)
  store float %v, ptr addrspace(1) %b
  ret void
}

declare void @air.wg.barrier(i32, i32) convergent

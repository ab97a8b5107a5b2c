; Lane 0 writes what the others read after the branch: lanes meet before the branch and where its paths join.
; PASS: reconverge

; CHECK-LABEL: define void @ingot_entry()
; CHECK: %first = icmp eq i32 %lane, 0
; CHECK-NEXT: call void @air.simdgroup.barrier(i32 3, i32 4)
; CHECK-NEXT: br i1 %first, label %write, label %join
; CHECK: write:
; CHECK-NOT: air.simdgroup.barrier
; CHECK: join:
; CHECK-NEXT: call void @air.simdgroup.barrier(i32 3, i32 4)
; CHECK-NEXT: load i32

define void @ingot_entry() {
  %shared = call ptr addrspace(3) @ingot.threadgroup(i32 0)
  %b = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %write, label %join

write:
  store i32 1, ptr addrspace(3) %shared
  br label %join

join:
  %v = load i32, ptr addrspace(3) %shared
  store i32 %v, ptr %b
  ret void
}

declare ptr addrspace(3) @ingot.threadgroup(i32) memory(none)
declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

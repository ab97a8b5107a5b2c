; Nothing is inserted for a branch that all lanes take alike, for a write that nobody reads after it, and for a region
; that meets by itself.
; PASS: reconverge

; CHECK-LABEL: define void @ingot_entry()
; CHECK-NOT: air.simdgroup.barrier

define void @ingot_entry() {
  %shared = call ptr addrspace(3) @ingot.threadgroup(i32 0)
  %group = call i32 @ingot.index.threadgroup_position_in_grid.0()
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %uniform = icmp eq i32 %group, 0
  br i1 %uniform, label %write, label %join

write:
  store i32 1, ptr addrspace(3) %shared
  br label %join

join:
  %v = load i32, ptr addrspace(3) %shared
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %meeting, label %next

meeting:
  store i32 %v, ptr addrspace(3) %shared
  call void @air.wg.barrier(i32 2, i32 1)
  br label %next

next:
  %w = load i32, ptr addrspace(3) %shared
  %second = icmp eq i32 %lane, 1
  br i1 %second, label %last, label %done

last:
  store i32 %w, ptr addrspace(3) %shared
  br label %done

done:
  ret void
}

declare ptr addrspace(3) @ingot.threadgroup(i32) memory(none)
declare i32 @ingot.index.threadgroup_position_in_grid.0() memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)
declare void @air.wg.barrier(i32, i32) convergent

; Where lanes may skip a simdgroup function, they meet at the end of each round; where all come to one, they needn't.
; PASS: hold-loops

; CHECK-LABEL: define void @ingot_entry()
; CHECK: skip:
; CHECK: call void @air.ingot.hold()
; CHECK-NEXT: br i1 %more
; CHECK: all:
; CHECK-NOT: air.ingot.hold
; CHECK: ret void

define void @ingot_entry() {
entry:
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  br label %head

head:
  %j = phi i32 [ 0, %entry ], [ %next, %skip ]
  %bits = lshr i32 %lane, %j
  %odd = trunc i32 %bits to i1
  br i1 %odd, label %some, label %skip

some:
  %sum = call i32 @air.simd_sum.u.i32(i32 %j)
  br label %skip

skip:
  %next = add i32 %j, 1
  %more = icmp ult i32 %next, 5
  br i1 %more, label %head, label %all

all:
  %k = phi i32 [ 0, %skip ], [ %k1, %all ]
  %most = call i32 @air.simd_max.u.i32(i32 %k)
  %k1 = add i32 %k, 1
  %again = icmp ult i32 %k1, %lane
  br i1 %again, label %all, label %done

done:
  ret void
}

declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)
declare i32 @air.simd_sum.u.i32(i32) convergent
declare i32 @air.simd_max.u.i32(i32) convergent

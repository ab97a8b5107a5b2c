; An accumulator that a loop carries lies in one place: stored ahead of the loop, added to in place, loaded where the loop
; is left. No product of the chain becomes a vector.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: [[PLACE:%.*]] = alloca [2 x <32 x float>], align 128
; CHECK: call void @ingot_lanes_multiply(ptr [[PLACE]], ptr [[A:%.*]], ptr [[A]], ptr [[PLACE]])
; CHECK-NEXT: call void @ingot_lanes_multiply(ptr [[PLACE]], ptr [[A]], ptr [[A]], ptr [[PLACE]])
; CHECK: {{^}}edge:
; CHECK: store <32 x float>
; CHECK: {{^}}edge3:
; CHECK-NOT: [[PLACE]]
; CHECK: {{^}}edge4:
; CHECK-NEXT: [[FIRST:%.*]] = getelementptr <32 x float>, ptr [[PLACE]], i64 0
; CHECK-NEXT: load <32 x float>, ptr [[FIRST]], align 128

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr <2 x float>, ptr %buffer, i64 %i
  %a = load <2 x float>, ptr %p, align 8
  br label %loop

loop:
  %n = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi <2 x float> [ %a, %0 ], [ %second, %loop ]
  %first = call <2 x float> @ingot.mma(<2 x float> %a, <2 x float> %a, <2 x float> %sum)
  %second = call <2 x float> @ingot.mma(<2 x float> %a, <2 x float> %a, <2 x float> %first)
  %next = add i32 %n, 1
  %stays = icmp ult i32 %next, 9
  br i1 %stays, label %loop, label %done

done:
  %result = phi <2 x float> [ %second, %loop ]
  store <2 x float> %result, ptr %p, align 8
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)
declare <2 x float> @ingot.mma(<2 x float>, <2 x float>, <2 x float>) convergent memory(none)

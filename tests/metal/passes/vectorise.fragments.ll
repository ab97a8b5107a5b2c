; A product of matrices in NAX fragments is a call on operands in memory, 32 lanes of each element after the other; sizes
; count fragments. What a loop carries is added to in place.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: [[SUM:%.*]] = alloca [8 x <32 x float>], align 128
; CHECK: [[FIRST:%.*]] = getelementptr <32 x float>, ptr [[X:%.*]], i64 0
; CHECK-NEXT: store <32 x float> {{%.*}}, ptr [[FIRST]]
; CHECK: [[LAST:%.*]] = getelementptr <32 x float>, ptr [[X]], i64 7
; CHECK-NEXT: store <32 x float> {{%.*}}, ptr [[LAST]]
; CHECK: call void @ingot_lanes_multiply_fragments(ptr [[SUM]], ptr [[X]], ptr [[X]], ptr [[SUM]], i32 1, i32 1, i32 1, i32 2)

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr <8 x float>, ptr %buffer, i64 %i
  %x = load <8 x float>, ptr %p, align 4
  br label %loop

loop:
  %round = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi <8 x float> [ zeroinitializer, %0 ], [ %more, %loop ]
  %more = call <8 x float> @ingot.fragments.16.16.16.2(<8 x float> %x, <8 x float> %x, <8 x float> %sum)
  %next = add i32 %round, 1
  %stays = icmp ult i32 %next, 9
  br i1 %stays, label %loop, label %done

done:
  %all = phi <8 x float> [ %more, %loop ]
  store <8 x float> %all, ptr %p, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)
declare <8 x float> @ingot.fragments.16.16.16.2(<8 x float>, <8 x float>, <8 x float>) convergent memory(none)

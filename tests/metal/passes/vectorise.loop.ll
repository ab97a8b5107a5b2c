; A loop that lanes leave in different rounds: a round's mask is what stays, and the lanes that leave keep the value they
; left with.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: [[STAYS:%.*]] = icmp ult <32 x i32>
; CHECK: [[BACK:%.*]] = and <32 x i1> [[MASK:%.*]], [[STAYS]]
; CHECK: [[NOT:%.*]] = xor <32 x i1> [[STAYS]], <i1 true, {{.*}}>
; CHECK: [[OUT:%.*]] = and <32 x i1> [[MASK]], [[NOT]]
; CHECK: select <32 x i1> [[OUT]], <32 x i32>
; CHECK: store <32 x i1> [[BACK]], ptr
; CHECK: [[BITS:%.*]] = bitcast <32 x i1> [[BACK]] to i32
; CHECK-NEXT: [[ANY:%.*]] = icmp ne i32 [[BITS]], 0
; CHECK-NEXT: br i1 [[ANY]], label %{{.*}}, label %loop_end

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr i32, ptr %buffer, i64 %i
  %x = load i32, ptr %p, align 4
  br label %loop

loop:
  %n = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %more, %loop ]
  %more = add i32 %sum, %x
  %next = add i32 %n, 1
  %stays = icmp ult i32 %next, %x
  br i1 %stays, label %loop, label %done

done:
  %result = phi i32 [ %more, %loop ]
  store i32 %result, ptr %p, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

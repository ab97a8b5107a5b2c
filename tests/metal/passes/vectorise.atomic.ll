; An atomic operation is done by one lane after the other, by those in the mask alone. The memory that lanes take their
; operands from is free for others afterwards.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: [[MASK:%.*]] = bitcast i32 {{%.*}} to <32 x i1>
; CHECK: call void @llvm.lifetime.start.p0(i64 -1, ptr [[TABLE:%.*]])
; CHECK-NEXT: store <32 x ptr> {{%.*}}, ptr [[TABLE]]
; CHECK: [[BITS:%.*]] = bitcast <32 x i1> [[MASK]] to i32
; CHECK: {{^}}lane:
; CHECK-NEXT: [[LEFT:%.*]] = phi i32 [ [[BITS]], %{{.*}} ], [ [[REST:%.*]], %lane ]
; CHECK-NEXT: call i32 @llvm.cttz.i32(i32 [[LEFT]], i1 true)
; CHECK: atomicrmw add ptr {{%.*}}, i32 {{%.*}} monotonic, align 4
; CHECK: [[LESS:%.*]] = sub i32 [[LEFT]], 1
; CHECK-NEXT: [[REST]] = and i32 [[LEFT]], [[LESS]]
; CHECK: {{^}}lanes:
; CHECK: call void @llvm.lifetime.end.p0(i64 -1, ptr [[TABLE]])

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr i32, ptr %buffer, i64 %i
  %x = load i32, ptr %p, align 4
  %old = atomicrmw add ptr %buffer, i32 %x monotonic, align 4
  store i32 %old, ptr %p, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

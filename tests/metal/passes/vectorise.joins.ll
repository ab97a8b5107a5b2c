; A value of which lanes bring different ones varies, though each of them is the same for all lanes: where a branch that
; lanes take apart joins, and where a loop is left in different rounds. Behind a branch that all take alike it stays a
; scalar.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: {{^}}b2:
; CHECK-NEXT: [[SAME:%.*]] = load i32, ptr [[SLOT:%.*]], align 4
; CHECK: store i32 [[SAME]], ptr
; CHECK: select <32 x i1> {{%.*}}, <32 x i32> {{%.*}}, <32 x i32>
; CHECK: select <32 x i1> {{%.*}}, <32 x i32> {{%.*}}, <32 x i32>
; CHECK: [[JOINED:%.*]] = load <32 x i32>, ptr
; CHECK: call void @llvm.masked.store.v32i32.p0(<32 x i32> [[JOINED]], ptr
; CHECK: [[OUT:%.*]] = and <32 x i1>
; CHECK: select <32 x i1> {{%.*}}, <32 x i32> {{%.*}}, <32 x i32>
; CHECK: [[LEFT:%.*]] = load <32 x i32>, ptr
; CHECK: call void @llvm.masked.store.v32i32.p0(<32 x i32> [[LEFT]], ptr
; CHECK: store i32 3, ptr [[SLOT]]
; CHECK: store i32 4, ptr [[SLOT]]

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %n = call i32 @ingot.index.threadgroup_position_in_grid.0()
  %i = zext i32 %lane to i64
  %p = getelementptr i32, ptr %buffer, i64 %i
  %x = load i32, ptr %p, align 4
  %alike = icmp ugt i32 %n, 7
  br i1 %alike, label %high, label %low

high:
  br label %low

low:
  %same = phi i32 [ 3, %0 ], [ 4, %high ]
  store i32 %same, ptr %buffer, align 4
  %apart = icmp ugt i32 %x, 7
  br i1 %apart, label %large, label %joined

large:
  br label %joined

joined:
  %differs = phi i32 [ %n, %low ], [ %same, %large ]
  store i32 %differs, ptr %p, align 4
  br label %loop

loop:
  %round = phi i32 [ 0, %joined ], [ %next, %loop ]
  %next = add i32 %round, 1
  %stays = icmp ult i32 %next, %x
  br i1 %stays, label %loop, label %done

done:
  %rounds = phi i32 [ %next, %loop ]
  store i32 %rounds, ptr %p, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)
declare i32 @ingot.index.threadgroup_position_in_grid.0() memory(none)

; Where lanes arrive from different blocks, each edge's value replaces what the slot holds in the lanes of the edge and no
; others; constants that differ make a value that varies.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: fcmp ogt <32 x float>
; CHECK: [[YES:%.*]] = and <32 x i1> [[ALL:%.*]], [[CONDITION:%.*]]
; CHECK: [[NOT:%.*]] = xor <32 x i1> [[CONDITION]], <i1 true, {{.*}}>
; CHECK: [[NO:%.*]] = and <32 x i1> [[ALL]], [[NOT]]
; CHECK: [[OLD:%.*]] = load <32 x float>, ptr [[SLOT:%.*]], align 128
; CHECK-NEXT: [[NEW:%.*]] = select <32 x i1> [[NO]], <32 x float> <float 2.000000e+00, {{.*}}>, <32 x float> [[OLD]]
; CHECK-NEXT: store <32 x float> [[NEW]], ptr [[SLOT]], align 128
; CHECK: [[HERE:%.*]] = load <32 x i1>, ptr
; CHECK: [[BEFORE:%.*]] = load <32 x float>, ptr [[SLOT]], align 128
; CHECK-NEXT: select <32 x i1> [[HERE]], <32 x float> <float 1.000000e+00, {{.*}}>, <32 x float> [[BEFORE]]

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr float, ptr %buffer, i64 %i
  %x = load float, ptr %p, align 4
  %positive = fcmp ogt float %x, 0.0
  br i1 %positive, label %then, label %done

then:
  call void @air.wg.barrier(i32 2, i32 1)
  br label %done

done:
  %y = phi float [ 1.0, %then ], [ 2.0, %0 ]
  store float %y, ptr %p, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)
declare void @air.wg.barrier(i32, i32) convergent

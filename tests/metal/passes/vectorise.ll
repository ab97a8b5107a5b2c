; One thread's code becomes a simdgroup's: lanes that follow each other in memory share a load, a uniform value stays a
; scalar, a branch that lanes take apart becomes a mask. What stores by a scalar runs only if a lane is in the mask.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: bitcast i32 {{%.*}} to <32 x i1>
; CHECK: call <32 x float> @llvm.masked.load.v32f32.p0(ptr {{%.*}}, i32 4, <32 x i1> {{%.*}}, <32 x float> poison)
; CHECK: fcmp ogt <32 x float>
; CHECK: [[BEFORE:%.*]] = load <32 x i1>, ptr [[MASKS:%.*]], align 4
; CHECK-NEXT: [[BOTH:%.*]] = or <32 x i1> [[BEFORE]], {{%.*}}
; CHECK-NEXT: store <32 x i1> [[BOTH]], ptr [[MASKS]], align 4
; CHECK: fmul <32 x float>
; CHECK: call void @llvm.masked.store.v32f32.p0(<32 x float> {{%.*}}, ptr {{%.*}}, i32 4, <32 x i1> {{%.*}})
; CHECK: guard:
; CHECK: icmp ne i32 {{%.*}}, 0
; CHECK-NOT: @scalar

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr float, ptr %buffer, i64 %i
  %x = load float, ptr %p, align 4
  %positive = fcmp ogt float %x, 0.0
  br i1 %positive, label %then, label %done

then:
  %y = fmul float %x, 2.0
  store float %y, ptr %p, align 4
  store float 1.0, ptr %buffer, align 4
  br label %done

done:
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

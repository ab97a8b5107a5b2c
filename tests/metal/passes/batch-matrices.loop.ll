; An accumulator that a loop carries lives in a slot of its own: stored ahead of the loop, loaded where the loop is left.
; In the loop its lane stores operands only.
; PASS: batch-matrices

; CHECK-DAG: @ingot.products = internal constant [7 x i32] [i32 2, i32 0, i32 1, i32 160, i32 1, i32 0, i32 160]
; CHECK-LABEL: define void @ingot_entry
; CHECK: [[SLOT:%.*]] = getelementptr inbounds float, ptr {{.*}}, i64 10240
; CHECK-NEXT: store <2 x float> %c, ptr [[SLOT]], align 8
; CHECK-LABEL: loop:
; CHECK-COUNT-2: store <2 x float>
; CHECK-NOT: store <2 x float>
; CHECK: call void @ingot_multiply_matrices(ptr %0, ptr @ingot.products)
; CHECK-NOT: load <2 x float>
; CHECK: br i1
; CHECK: [[AGAIN:%.*]] = getelementptr inbounds float, ptr {{.*}}, i64 10240
; CHECK-NEXT: load <2 x float>, ptr [[AGAIN]], align 8
; CHECK: ret void

define void @ingot_entry(ptr %0) {
  %a = load volatile <2 x float>, ptr null
  %b = load volatile <2 x float>, ptr null
  %c = load volatile <2 x float>, ptr null
  br label %loop

loop:
  %sum = phi <2 x float> [ %c, %1 ], [ %q, %loop ]
  %p = call <2 x float> @ingot.mma(<2 x float> %a, <2 x float> %b, <2 x float> %sum)
  %q = call <2 x float> @ingot.mma(<2 x float> %b, <2 x float> %a, <2 x float> %p)
  %again = load volatile i1, ptr null
  br i1 %again, label %loop, label %done

done:
  store volatile <2 x float> %q, ptr null
  ret void
}

declare <2 x float> @ingot.mma(<2 x float>, <2 x float>, <2 x float>) convergent memory(none)

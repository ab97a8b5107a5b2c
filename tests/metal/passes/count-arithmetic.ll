; Blocks with arithmetic are marked, so that their runs can be counted; others aren't.
; PASS: count-arithmetic

; CHECK-LABEL: define void @ingot_entry(
; CHECK: fmul float
; CHECK: call void @ingot.block(i32 0)
; CHECK-NEXT: br i1
; CHECK-LABEL: empty:
; CHECK-NEXT: ret void
; CHECK-LABEL: more:
; CHECK: call float @air.fast_exp.f32
; CHECK-NEXT: call void @ingot.block(i32 1)
; CHECK-NEXT: ret void

define void @ingot_entry(float %x, ptr %out) {
  %y = fmul float %x, 2.0
  %c = fcmp ogt float %y, 1.0
  br i1 %c, label %empty, label %more
empty:
  ret void
more:
  %z = call float @air.fast_exp.f32(float %y)
  ret void
}

declare float @air.fast_exp.f32(float)

; Vectors of bfloat are moved as vectors of 16-bit integers; what computes takes them as floats.
; PASS: optimise-lanes

; CHECK-LABEL: define void @ingot_entry
; CHECK-NOT: <4 x bfloat>
; CHECK: phi <4 x i16>
; CHECK-NOT: <4 x bfloat>
; CHECK: select <4 x i1> %mask, <4 x i16>
; CHECK-NOT: <4 x bfloat>
; CHECK: shl nuw <4 x i32> {{.*}} 16
; CHECK-NOT: <4 x bfloat>
; CHECK: ret void

define void @ingot_entry(ptr %p, ptr %q, <4 x i1> %mask, i1 %again, bfloat %x) {
  %a = load <4 x bfloat>, ptr %p, align 2
  br i1 %again, label %then, label %done

then:
  %b = load <4 x bfloat>, ptr %q, align 2
  %c = insertelement <4 x bfloat> %b, bfloat %x, i32 1
  br label %done

done:
  %d = phi <4 x bfloat> [ %a, %0 ], [ %c, %then ]
  %e = shufflevector <4 x bfloat> %d, <4 x bfloat> %a, <4 x i32> <i32 0, i32 5, i32 2, i32 7>
  %f = select <4 x i1> %mask, <4 x bfloat> %e, <4 x bfloat> <bfloat 1.0, bfloat 2.0, bfloat 3.0, bfloat 4.0>
  store <4 x bfloat> %f, ptr %p, align 2
  %g = fpext <4 x bfloat> %f to <4 x float>
  %h = fadd <4 x float> %g, %g
  store <4 x float> %h, ptr %q, align 4
  ret void
}

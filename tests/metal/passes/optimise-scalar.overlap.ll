; What a wider load has just read isn't loaded again, in a vector of another length either; a store in between may have
; changed it.
; PASS: optimise-scalar

; CHECK-LABEL: define void @ingot_entry
; CHECK: load <8 x float>
; CHECK-NOT: load <7 x float>
; CHECK: fadd <7 x float>
; CHECK: store
; CHECK: load <7 x float>
; CHECK: ret void

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %q = getelementptr float, ptr %buffer, i64 1
  %all = load <8 x float>, ptr %buffer, align 4
  %most = load <7 x float>, ptr %q, align 4
  %first = extractelement <8 x float> %all, i32 0
  %sum = fadd <7 x float> %most, %most
  %out = call ptr @ingot.buffer(i32 1)
  store <7 x float> %sum, ptr %out, align 4
  %again = load <7 x float>, ptr %q, align 4
  %third = getelementptr float, ptr %out, i64 32
  store float %first, ptr %third, align 4
  %fourth = getelementptr float, ptr %out, i64 64
  store <7 x float> %again, ptr %fourth, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)

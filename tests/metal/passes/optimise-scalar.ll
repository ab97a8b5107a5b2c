; -O2 for one thread: helpers of the entry fold, neighbouring elements are loaded together, nothing is vectorised over
; loops (lanes do that later).
; PASS: optimise-scalar

; CHECK-LABEL: define void @ingot_entry
; CHECK: load <2 x float>
; CHECK-NOT: load <4 x float>
; CHECK: ret void

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %q = getelementptr float, ptr %buffer, i64 1
  %a = load float, ptr %buffer, align 8
  %b = load float, ptr %q, align 4
  %unused = fadd float %a, 1.0
  %sum = fadd float %a, %b
  %out = call ptr @ingot.buffer(i32 1)
  store float %sum, ptr %out, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)

; What vectorising leaves behind is tidied: values that crossed blocks through the stack become registers again.
; PASS: optimise-lanes

; CHECK-LABEL: define void @ingot_entry
; CHECK-NOT: alloca
; CHECK: load <32 x float>
; CHECK-NEXT: fadd <32 x float>
; CHECK: ret void

define void @ingot_entry(ptr %0) {
  %slot = alloca <32 x float>
  %x = load <32 x float>, ptr %0, align 4
  store <32 x float> %x, ptr %slot
  br label %next

next:
  %y = load <32 x float>, ptr %slot
  %z = fadd <32 x float> %y, %y
  store <32 x float> %z, ptr %0, align 4
  ret void
}

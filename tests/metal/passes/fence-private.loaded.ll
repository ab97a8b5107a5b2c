; A private pointer that was loaded from memory: the access may go outside of all stacks or into a variable whose
; address is known to others; elsewhere it reads 0. What comes out of the running thread's record is the runtime's own.
; PASS: fence-private

; CHECK-LABEL: define void @ingot_entry
; CHECK: %runtime = load ptr, ptr %0
; CHECK-NEXT: %own = load i32, ptr %runtime
; CHECK: %base = load volatile ptr, ptr %slot
; CHECK: [[OUTSIDE:%.*]] = icmp uge i64
; CHECK-COUNT-1: ptrtoint ptr %array to i64
; CHECK-NOT: ptrtoint ptr %hidden
; CHECK: [[OK:%.*]] = or i1 [[OUTSIDE]], {{%.*}}
; CHECK: [[FROM:%.*]] = select i1 [[OK]], ptr %base, ptr @ingot.zeros
; CHECK: load i32, ptr [[FROM]]

define void @ingot_entry(ptr %0, ptr addrspace(1) %b) {
  %array = alloca [8 x i32]
  %hidden = alloca i32
  %slot = alloca ptr
  %runtime = load ptr, ptr %0
  %own = load i32, ptr %runtime
  store i32 %own, ptr %hidden
  store volatile ptr %array, ptr %slot
  %base = load volatile ptr, ptr %slot
  %v = load i32, ptr %base
  store i32 %v, ptr addrspace(1) %b
  ret void
}

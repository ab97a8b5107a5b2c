; PASS: fence-private
; CHECK: error: a private variable of variable size, which no Metal compiler emits

define void @ingot_entry(ptr %0, i64 %n) {
  %array = alloca i8, i64 %n
  store volatile i8 1, ptr %array
  ret void
}

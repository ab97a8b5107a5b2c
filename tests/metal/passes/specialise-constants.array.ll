; A function constant that is no number can't be given a value.
; PASS: specialise-constants
; CHECK: error: function constant 'table' is neither a number nor a bool

@table = external addrspace(2) externally_initialized constant [4 x i32], section "air.fc_initializer"

define void @k(ptr addrspace(1) %b) {
  %v = load i32, ptr addrspace(2) @table
  store i32 %v, ptr addrspace(1) %b
  ret void
}

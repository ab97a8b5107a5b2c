; A function constant that holds other than numbers can't be given a value.
; PASS: specialise-constants
; CHECK: error: function constant 'table' is no number, bool, or vector of them

@table = external addrspace(2) externally_initialized constant { i32, ptr }, section "air.fc_initializer"

define void @k(ptr addrspace(1) %b) {
  %v = load i32, ptr addrspace(2) @table
  store i32 %v, ptr addrspace(1) %b
  ret void
}

; Two chains of products in one block share a meeting; the product that needs another one's result as an operand starts
; the next. The program is a count and (a, b, c) slots; a chained product names its predecessor's slot.
; PASS: batch-matrices

; CHECK-DAG: @ingot.products = internal constant [10 x i32] [i32 3, i32 0, i32 1, i32 2, i32 0, i32 1, i32 2, i32 1, i32 0, i32 3]
; CHECK-DAG: @ingot.products.1 = internal constant [4 x i32] [i32 1, i32 0, i32 1, i32 2]
; CHECK-LABEL: define void @ingot_entry
; CHECK-NOT: @ingot.mma
; CHECK: call void @ingot_multiply_matrices(ptr %0, ptr @ingot.products)
; CHECK: load <2 x float>
; CHECK: call void @ingot_multiply_matrices(ptr %0, ptr @ingot.products.1)
; CHECK: ret void

define void @ingot_entry(ptr %0) {
  %a = load volatile <2 x float>, ptr null
  %b = load volatile <2 x float>, ptr null
  %c = load volatile <2 x float>, ptr null
  %p = call <2 x float> @ingot.mma(<2 x float> %a, <2 x float> %b, <2 x float> %c)
  %q = call <2 x float> @ingot.mma(<2 x float> %a, <2 x float> %b, <2 x float> %p)
  %r = call <2 x float> @ingot.mma(<2 x float> %b, <2 x float> %a, <2 x float> %c)
  %s = call <2 x float> @ingot.mma(<2 x float> %q, <2 x float> %r, <2 x float> %c)
  store volatile <2 x float> %s, ptr null
  ret void
}

declare <2 x float> @ingot.mma(<2 x float>, <2 x float>, <2 x float>) convergent memory(none)

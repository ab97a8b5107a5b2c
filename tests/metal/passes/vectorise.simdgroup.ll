; A sum is a tree over vectors in which idle lanes count as zeros, and gives a scalar; a scan takes five steps, each from
; lanes that lie further behind; a shuffle whose lanes are known is one permutation.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: [[X:%.*]] = call <32 x i32> @llvm.masked.load.v32i32.p0(ptr {{%.*}}, i32 4, <32 x i1> [[MASK:%.*]], <32 x i32> poison)
; CHECK: [[ACTIVE:%.*]] = select <32 x i1> [[MASK]], <32 x i32> [[X]], <32 x i32> zeroinitializer
; CHECK: shufflevector <32 x i32> [[ACTIVE]], <32 x i32> poison, <16 x i32> <i32 16,
; CHECK: add <16 x i32>
; CHECK: add <8 x i32>
; CHECK: add <4 x i32>
; CHECK: add <2 x i32>
; CHECK: [[SUM:%.*]] = extractelement <1 x i32> {{%.*}}, i64 0
; CHECK: insertelement <32 x i32> poison, i32 [[SUM]], i64 0
; CHECK: select <32 x i1> [[MASK]], <32 x i32> {{%.*}}, <32 x i32> zeroinitializer
; CHECK: shufflevector <32 x i32> {{%.*}}, <32 x i32> zeroinitializer, <32 x i32> <i32 32, i32 0, i32 1, i32 2,
; CHECK: shufflevector <32 x i32> {{%.*}}, <32 x i32> zeroinitializer, <32 x i32> <i32 32, i32 32, i32 0, i32 1,
; CHECK: shufflevector <32 x i32> {{%.*}}, <32 x i32> zeroinitializer, <32 x i32> <i32 32, i32 32, i32 32, i32 32, i32 0,
; CHECK: shufflevector <32 x i32> {{%.*}}, <32 x i32> zeroinitializer, <32 x i32> <{{(i32 32, ){8}i32 }}0, i32 1,
; CHECK: shufflevector <32 x i32> {{%.*}}, <32 x i32> zeroinitializer, <32 x i32> <{{(i32 32, ){16}i32 }}0, i32 1,
; CHECK: shufflevector <32 x i32> [[X]], <32 x i32> [[X]], <32 x i32> <i32 1, i32 0, i32 3, i32 2,

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr i32, ptr %buffer, i64 %i
  %x = load i32, ptr %p, align 4
  %sum = call i32 @air.simd_sum.u.i32(i32 %x)
  %before = call i32 @air.simd_prefix_inclusive_sum.u.i32(i32 %sum)
  %neighbour = call i32 @air.simd_shuffle_xor.u.i32(i32 %x, i16 1)
  %some = add i32 %before, %neighbour
  store i32 %some, ptr %p, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)
declare i32 @air.simd_sum.u.i32(i32) convergent memory(none)
declare i32 @air.simd_prefix_inclusive_sum.u.i32(i32) convergent memory(none)
declare i32 @air.simd_shuffle_xor.u.i32(i32, i16) convergent memory(none)

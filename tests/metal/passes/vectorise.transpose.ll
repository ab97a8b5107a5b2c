; Four neighbours a lane are loaded whole and sorted by shuffles: 32 lanes' first elements make one vector. Stored they go
; back the same way. Lanes whose elements follow each other share wide accesses.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK: {{^}}then:
; CHECK-COUNT-4: load <32 x float>, ptr
; CHECK: [[EVEN:%.*]] = shufflevector <32 x float> {{%.*}}, <32 x float> {{%.*}}, <32 x i32> <i32 0, i32 2, i32 4,
; CHECK: [[MORE:%.*]] = shufflevector <32 x float> {{%.*}}, <32 x float> {{%.*}}, <32 x i32> <i32 0, i32 2, i32 4,
; CHECK: shufflevector <32 x float> [[EVEN]], <32 x float> [[MORE]], <32 x i32> <i32 0, i32 2, i32 4,
; CHECK: {{^}}else:
; CHECK: shufflevector <32 x i1> [[MASK:%.*]], <32 x i1> [[MASK]], <32 x i32> <i32 0, i32 0, i32 0, i32 0, i32 1,
; CHECK: call <32 x float> @llvm.masked.load
; CHECK: {{^}}then{{[0-9]+}}:
; CHECK: shufflevector <32 x float> {{%.*}}, <32 x float> {{%.*}}, <32 x i32> <i32 0, i32 32, i32 1, i32 33,
; CHECK-COUNT-32: store <4 x float> {{%.*}}, ptr {{%.*}}, align 4

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %i = zext i32 %lane to i64
  %p = getelementptr <4 x float>, ptr %buffer, i64 %i
  %x = load <4 x float>, ptr %p, align 4
  %first = extractelement <4 x float> %x, i64 0
  %far = mul i64 %i, 100
  %q = getelementptr i8, ptr %buffer, i64 %far
  %y = insertelement <4 x float> %x, float 1.0, i64 0
  store <4 x float> %y, ptr %q, align 4
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)

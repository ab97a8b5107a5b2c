; An access to a private array that isn't proved to stay inside goes to a spare place instead: reads give 0, writes are
; dropped. Constant indices, and memory of others, are left alone.
; PASS: fence-private

; CHECK: @ingot.zeros = internal constant [512 x i8] zeroinitializer
; CHECK-LABEL: define void @ingot_entry
; CHECK: store i32 1, ptr %inside
; CHECK: [[OFFSET:%.*]] = sub i64 {{%.*}}, {{%.*}}
; CHECK: [[OK:%.*]] = icmp ule i64 [[OFFSET]]
; CHECK: [[BOTH:%.*]] = and i1 {{.*}}, [[OK]]
; CHECK: [[TO:%.*]] = select i1 [[BOTH]], ptr %anywhere, ptr {{%.*}}
; CHECK: store i32 2, ptr [[TO]]
; CHECK: [[FROM:%.*]] = select i1 {{%.*}}, ptr %anywhere, ptr @ingot.zeros
; CHECK: load i32, ptr [[FROM]]
; CHECK: store i32 {{%.*}}, ptr addrspace(1) %device
; CHECK: call void @llvm.memset.p0.i64(ptr %array, i8 0, i64 {{%.*}}, i1 false)

define void @ingot_entry(ptr %0, i64 %i, ptr addrspace(1) %b) {
  %array = alloca [8 x i32]
  %inside = getelementptr [8 x i32], ptr %array, i64 0, i64 7
  store i32 1, ptr %inside
  %anywhere = getelementptr [8 x i32], ptr %array, i64 0, i64 %i
  store i32 2, ptr %anywhere
  %v = load i32, ptr %anywhere
  %device = getelementptr i32, ptr addrspace(1) %b, i64 %i
  store i32 %v, ptr addrspace(1) %device
  call void @llvm.memset.p0.i64(ptr %array, i8 0, i64 %i, i1 false)
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; An access inside of a range that nobody wants to hear of is a comparison, an end that nobody wants to hear of a branch.
; PASS: instrument,lower-to-fibers,inline-watch

; CHECK-LABEL: define void @ingot_entry(ptr
; CHECK: [[BEGIN:%.*]] = load i64
; CHECK: [[SIZE:%.*]] = load i64
; CHECK: [[COUNT:%.*]] = call i64 @llvm.usub.sat.i64(i64 [[SIZE]], i64 15)
; CHECK: [[OFFSET:%.*]] = sub i64 {{%.*}}, [[BEGIN]]
; CHECK: [[OUTSIDE:%.*]] = icmp uge i64 [[OFFSET]], [[COUNT]]
; CHECK: [[ODD:%.*]] = icmp ne i64 {{%.*}}, 0
; CHECK: [[TOLD:%.*]] = or i1 [[OUTSIDE]], [[ODD]]
; CHECK: br i1 [[TOLD]], label %[[TELL:[0-9]+]], label %[[GO_ON:[0-9]+]]
; CHECK: [[TELL]]:
; CHECK: [[WHERE:%.*]] = call ptr @ingot_watch_load(
; CHECK: br label %[[GO_ON]]
; CHECK: [[GO_ON]]:
; CHECK: phi ptr [ {{%.*}}, {{%.*}} ], [ [[WHERE]], %[[TELL]] ]
; CHECK: load <4 x float>
; CHECK: call ptr @ingot_watch_store(
; CHECK: store <4 x float>
; CHECK: br i1 {{%.*}}, label %[[END:[0-9]+]], label %{{[0-9]+}}
; CHECK: [[END]]:
; CHECK: call void @ingot_watch_call(
; CHECK: ret void

define void @ingot_entry() {
  %b = call ptr @ingot.buffer(i32 0)
  %in = addrspacecast ptr %b to ptr addrspace(1)
  %v = load <4 x float>, ptr addrspace(1) %in
  %out = call ptr addrspace(3) @ingot.threadgroup(i32 0)
  store <4 x float> %v, ptr addrspace(3) %out
  ret void
}

declare ptr @ingot.buffer(i32)
declare ptr addrspace(3) @ingot.threadgroup(i32)

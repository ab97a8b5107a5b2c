; A short piece of code under a mask that goes by lanes alone runs without a look at the mask: no lane in it, no effect.
; A piece whose test of an assumed shape would branch on a scalar isn't one, nor is one that loads by a scalar.
; PASS: vectorise

; CHECK-LABEL: define void @ingot_entry(ptr nonnull %0)
; CHECK-NOT: br i1
; CHECK: fmul <32 x float>
; CHECK: call void @llvm.masked.store.v32f32.p0(<32 x float>
; CHECK-COUNT-2: {{^}}guard{{[0-9]*}}:
; CHECK-NOT: {{^}}guard{{[0-9]*}}:

define void @ingot_entry() {
  %buffer = call ptr @ingot.buffer(i32 0)
  %lane = call i32 @ingot.index.thread_index_in_simdgroup.0()
  %n = call i32 @ingot.index.threadgroup_position_in_grid.0()
  %i = zext i32 %lane to i64
  %p = getelementptr float, ptr %buffer, i64 %i
  %x = load float, ptr %p, align 4
  %positive = fcmp ogt float %x, 0.0
  br i1 %positive, label %then, label %next

then:
  %y = fmul float %x, 2.0
  store float %y, ptr %p, align 4
  br label %next

next:
  %small = fcmp olt float %x, -1.0
  br i1 %small, label %assumed, label %last

assumed:
  %k = add i32 %lane, %n
  %j = zext i32 %k to i64
  %q = getelementptr float, ptr %buffer, i64 %j
  store float 1.0, ptr %q, align 4
  br label %last

last:
  %large = fcmp ogt float %x, 9.0
  br i1 %large, label %by_scalar, label %done

by_scalar:
  %z = load float, ptr %buffer, align 4
  store float %z, ptr %p, align 4
  br label %done

done:
  ret void
}

declare ptr @ingot.buffer(i32) memory(none)
declare i32 @ingot.index.thread_index_in_simdgroup.0() memory(none)
declare i32 @ingot.index.threadgroup_position_in_grid.0() memory(none)

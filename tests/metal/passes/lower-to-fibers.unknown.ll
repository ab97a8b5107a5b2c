; What no lowering knew is an error that names all of it.
; PASS: lower-to-fibers
; CHECK: error: it calls 'air.sample_texture_2d.v4f32', 'air.unheard_of', which this device doesn't serve

define void @ingot_entry() {
  call void @air.unheard_of()
  %v = call <4 x float> @air.sample_texture_2d.v4f32(ptr null)
  ret void
}

declare void @air.unheard_of()
declare <4 x float> @air.sample_texture_2d.v4f32(ptr)

; Hosts bind one buffer twice: what says that arguments don't overlap goes, but for a word of it
; that checkers read. So do flags of Apple's targets.
; PASS: strip-promises

; CHECK-LABEL: define void @k(ptr addrspace(1) "ingot-restrict" %a, ptr addrspace(1) %b)
; CHECK-NOT: experimental.noalias.scope.decl
; CHECK: %v = load i32, ptr addrspace(1) %a, align 4{{$}}
; CHECK-NEXT: store i32 %v, ptr addrspace(1) %b, align 4{{$}}
; CHECK-NEXT: ret void
; CHECK-NOT: "min-legal-vector-width"
; CHECK-NOT: optsize
; CHECK-NOT: llvm.module.flags

define void @k(ptr addrspace(1) noalias %a, ptr addrspace(1) %b) #0 {
  call void @llvm.experimental.noalias.scope.decl(metadata !2)
  %v = load i32, ptr addrspace(1) %a, align 4, !alias.scope !2
  store i32 %v, ptr addrspace(1) %b, align 4, !noalias !2
  ret void
}

declare void @llvm.experimental.noalias.scope.decl(metadata)

attributes #0 = { optsize "min-legal-vector-width"="0" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"wchar_size", i32 4}
!1 = distinct !{!1, !"domain"}
!2 = !{!3}
!3 = distinct !{!3, !1, !"scope"}

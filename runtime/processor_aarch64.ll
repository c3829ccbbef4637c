; AArch64: the FPCR register and the spin hint.

declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
declare void @llvm.aarch64.hint(i32)

define internal i64 @get_float_mode() {
  %mode = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %mode
}

define internal void @set_float_mode(i64 %mode) {
  call void @llvm.aarch64.set.fpcr(i64 %mode)
  ret void
}

define internal void @pause() {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}

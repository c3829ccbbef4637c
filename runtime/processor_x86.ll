; x86-64: the MXCSR register and the spin hint.

declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse2.pause()

define internal i64 @get_float_mode() {
  %word = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %mode = load i32, ptr %word
  %wide = zext i32 %mode to i64
  ret i64 %wide
}

define internal void @set_float_mode(i64 %mode) {
  %word = alloca i32, align 4
  %narrow = trunc i64 %mode to i32
  store i32 %narrow, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret void
}

define internal void @pause() {
  call void @llvm.x86.sse2.pause()
  ret void
}

; Waiting, waking, time and thread creation on Linux. {futex} is the number of the futex system call.

declare i64 @syscall(i64, ...)
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

; Monotonic time in nanoseconds.
define internal i64 @now() {
  %time = alloca [2 x i64], align 8
  %result = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; Sleeps while the word holds the value, at most %timeout nanoseconds (below one second); -1: without limit. 128: FUTEX_WAIT_PRIVATE.
define internal void @wait_word(ptr %word, i32 %value, i64 %timeout) {
  %limit = alloca [2 x i64], align 8
  store i64 0, ptr %limit
  %rest.at = getelementptr i64, ptr %limit, i64 1
  store i64 %timeout, ptr %rest.at
  %unlimited = icmp slt i64 %timeout, 0
  %given = select i1 %unlimited, ptr null, ptr %limit
  %result = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i64 128, i32 %value, ptr %given, ptr null, i64 0)
  ret void
}

; 129: FUTEX_WAKE_PRIVATE.
define internal void @wake_word(ptr %word, i32 %count) {
  %result = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i64 129, i32 %count, ptr null, ptr null, i64 0)
  ret void
}

; Starts workers until there are %threads - 1. They take no signals (2: SIG_SETMASK), those are the interpreter's. When the system gives no
; more threads the call goes on with those there are.
define internal void @hire(i32 %threads) {
entry:
  %mask = alloca [128 x i8], align 8
  %before = alloca [128 x i8], align 8
  %handle = alloca i64, align 8
  %wanted = sub i32 %threads, 1
  %have = load i32, ptr @workers
  %enough = icmp sge i32 %have, %wanted
  br i1 %enough, label %return, label %block
block:
  %filled = call i32 @sigfillset(ptr %mask)
  %blocked = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr %before)
  br label %head
head:
  %count = phi i32 [ %have, %block ], [ %next, %started ]
  %more = icmp slt i32 %count, %wanted
  br i1 %more, label %start, label %restore
start:
  %next = add i32 %count, 1
  %index = zext i32 %next to i64
  %argument = inttoptr i64 %index to ptr
  %error = call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr %argument)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %restore, label %started
started:
  store i32 %next, ptr @workers
  %id = load i64, ptr %handle
  %detached = call i32 @pthread_detach(i64 %id)
  br label %head
restore:
  %restored = call i32 @pthread_sigmask(i32 2, ptr %before, ptr null)
  br label %return
return:
  ret void
}

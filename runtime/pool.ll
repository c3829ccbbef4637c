; The thread pool and the run of one call, as LLVM IR so that no system compiler is needed. Compiled once, kept in the object cache.
;
; Rules
;   * One ticket hands out the chunks of the running phase: generation << 40 | participants << 32 | chunks left. A claim is one
;     compare-and-swap that takes chunks off it; only what is read after a successful claim belongs to the claimed job, and the
;     job cannot end before the claimed chunks are counted in @done. So a worker that wakes up late finds nothing, or a valid claim.
;   * The caller claims like a worker and only waits for chunks that a worker has started.
;   * One call at a time owns the workers (@pool_owner); a second caller runs its chunks alone, in order.
;   * Chunk bounds come from the phase, so results do not depend on who runs what.
;   * Claim words (@pool_owner, @arena_owner, Call.busy) hold the process's epoch while taken. The epoch changes in a forked
;     child, where the owner does not exist any more, so all words are free there.

; Call: 0 slots, 1 workspace, 2 scratch, 3 scratch bytes per thread, 4 phases, 5 number of phases, 6 threads, 7 mode,
;       8 stop word in use, 9 own stop word, 10 busy, 11 time of the next check for signals, 12 thread state, 13 main thread?,
;       14 error raised?, 15 hook SIGINT?, 16 participants, 17 workspace bytes, 18 nanoseconds taken, 19 most threads (0: any)
%Call = type { ptr, ptr, ptr, i64, ptr, i64, i32, i32, ptr, i32, i32, i64, ptr, i32, i32, i32, i32, i64, i64, i32 }
; Phase: function, items, grain, chunks
%Phase = type { ptr, i64, i64, i64 }

@ticket = internal global i64 0, align 128
@done = internal global i32 0, align 128
@caller_waits = internal global i32 0
@wake = internal global i32 0, align 128
@sleeping = internal global i32 0
@pool_owner = internal global i32 0, align 128
@workers = internal global i32 0
@generation = internal global i64 0
@job_call = internal global ptr null
@job_phase = internal global ptr null
@job_float_mode = internal global i64 0
@epoch = internal global i32 1
@main_thread = internal global i64 0
@main_stop = internal global i32 0
@previous_handler = internal global ptr null
@hooked = internal global i32 0
@arena_owner = global i32 0
@arena_data = global ptr null
@arena_bytes = global i64 0
; Objects of the interpreter: 0 True, 1 False, 2 NotImplemented, 3 KeyboardInterrupt, 4 plan(), 5 "requires_grad", 6 "is_neg",
; 7 torch's DLPack export function, 8 torch's increment_version, 9 int, 10 float, 11 str
@objects = global [16 x ptr] zeroinitializer

declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_SetNone(ptr)
declare i64 @PyThread_get_thread_ident()
declare ptr @PyOS_setsig(i32, ptr)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)

; ---- claim words

define i32 @claim(ptr %word) {
  %epoch = load atomic i32, ptr @epoch monotonic, align 4
  %old = load atomic i32, ptr %word monotonic, align 4
  %taken = icmp eq i32 %old, %epoch
  br i1 %taken, label %no, label %try
try:
  %pair = cmpxchg ptr %word, i32 %old, i32 %epoch acquire monotonic, align 4
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %yes, label %no
yes:
  ret i32 1
no:
  ret i32 0
}

define void @release(ptr %word) {
  store atomic i32 0, ptr %word release, align 4
  ret void
}

; Called at start-up and in a forked child: no workers, nothing taken, and the calling thread's process has a new epoch.
define void @reset(i64 %main) {
  store i64 %main, ptr @main_thread
  store i32 0, ptr @workers
  store i32 0, ptr @sleeping
  store i32 0, ptr @hooked
  store i64 0, ptr @ticket
  %old = load i32, ptr @epoch
  %new = add i32 %old, 1
  store i32 %new, ptr @epoch
  ret void
}

; ---- signals

; Installed for SIGINT while the main thread runs a call under Python's default handler: does what was there, then stops the call. In this
; order, since another thread may take the signal: a call that is stopped must find it noted by Python, or would raise it a second time.
define internal void @on_interrupt(i32 %signal) {
  %previous = load ptr, ptr @previous_handler
  call void %previous(i32 %signal)
  store atomic i32 1, ptr @main_stop seq_cst, align 4
  ret void
}

; Between chunks of the calling thread, at most every 50 ms: let Python handle signals, so that handlers of the user's own run too.
define internal void @poll(ptr %call) {
  %main.at = getelementptr %Call, ptr %call, i64 0, i32 13
  %main = load i32, ptr %main.at
  %other = icmp eq i32 %main, 0
  br i1 %other, label %return, label %time
time:
  %now = call i64 @now()
  %deadline.at = getelementptr %Call, ptr %call, i64 0, i32 11
  %deadline = load i64, ptr %deadline.at
  %early = icmp slt i64 %now, %deadline
  br i1 %early, label %return, label %check
check:
  %next = add i64 %now, 50000000
  store i64 %next, ptr %deadline.at
  %state.at = getelementptr %Call, ptr %call, i64 0, i32 12
  %state = load ptr, ptr %state.at
  call void @PyEval_RestoreThread(ptr %state)
  %raised = call i32 @PyErr_CheckSignals()
  %again = call ptr @PyEval_SaveThread()
  %fine = icmp eq i32 %raised, 0
  br i1 %fine, label %return, label %stop
stop:
  %failed.at = getelementptr %Call, ptr %call, i64 0, i32 14
  store i32 1, ptr %failed.at
  %stop.pointer = getelementptr %Call, ptr %call, i64 0, i32 8
  %stop.at = load ptr, ptr %stop.pointer
  store atomic i32 1, ptr %stop.at seq_cst, align 4
  ; the caller sees no second signal before it has returned
  store i32 0, ptr %main.at
  br label %return
return:
  ret void
}

; ---- chunks

; Runs chunks first .. last - 1 of a phase in order, until the stop word is set.
define internal void @run_chunks(ptr %call, ptr %phase, i64 %thread, i64 %first, i64 %last) {
entry:
  %slots = load ptr, ptr %call
  %workspace.at = getelementptr %Call, ptr %call, i64 0, i32 1
  %workspace = load ptr, ptr %workspace.at
  %scratch.at = getelementptr %Call, ptr %call, i64 0, i32 2
  %scratch.base = load ptr, ptr %scratch.at
  %stride.at = getelementptr %Call, ptr %call, i64 0, i32 3
  %stride = load i64, ptr %stride.at
  %scratch.offset = mul i64 %stride, %thread
  %scratch = getelementptr i8, ptr %scratch.base, i64 %scratch.offset
  %stop.pointer = getelementptr %Call, ptr %call, i64 0, i32 8
  %stop.at = load ptr, ptr %stop.pointer
  %function = load ptr, ptr %phase
  %items.at = getelementptr %Phase, ptr %phase, i64 0, i32 1
  %items = load i64, ptr %items.at
  %grain.at = getelementptr %Phase, ptr %phase, i64 0, i32 2
  %grain = load i64, ptr %grain.at
  %caller = icmp eq i64 %thread, 0
  br label %head
head:
  %chunk = phi i64 [ %first, %entry ], [ %next, %tail ]
  %more = icmp ult i64 %chunk, %last
  br i1 %more, label %look, label %return
look:
  %stop = load atomic i32, ptr %stop.at monotonic, align 4
  %go = icmp eq i32 %stop, 0
  br i1 %go, label %run, label %return
run:
  %begin = mul i64 %chunk, %grain
  %full = add i64 %begin, %grain
  %end = call i64 @llvm.umin.i64(i64 %full, i64 %items)
  call void %function(ptr %slots, ptr %workspace, ptr %scratch, ptr %stop.at, i64 %begin, i64 %end)
  br i1 %caller, label %signals, label %tail
signals:
  call void @poll(ptr %call)
  br label %tail
tail:
  %next = add i64 %chunk, 1
  br label %head
return:
  ret void
}

; Claims and runs chunks of whatever job is open until none is left. Thread 0 is the caller.
define internal void @work(i64 %thread) {
entry:
  %caller = icmp eq i64 %thread, 0
  br label %look
look:
  %ticket = load atomic i64, ptr @ticket acquire, align 8
  %left = and i64 %ticket, 4294967295
  %none = icmp eq i64 %left, 0
  br i1 %none, label %return, label %allowed
allowed:
  %high = lshr i64 %ticket, 32
  %participants = and i64 %high, 255
  %may = icmp ult i64 %thread, %participants
  br i1 %may, label %claim, label %return
claim:
  ; many tiny chunks are claimed several at a time, fewer as the end comes near
  %parts = shl i64 %participants, 4
  %share = udiv i64 %left, %parts
  %batch = call i64 @llvm.umax.i64(i64 %share, i64 1)
  %rest = sub i64 %ticket, %batch
  %pair = cmpxchg ptr @ticket, i64 %ticket, i64 %rest acq_rel acquire, align 8
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %run, label %look
run:
  %call = load ptr, ptr @job_call
  %phase = load ptr, ptr @job_phase
  %chunks.at = getelementptr %Phase, ptr %phase, i64 0, i32 3
  %chunks = load i64, ptr %chunks.at
  %first = sub i64 %chunks, %left
  %last = add i64 %first, %batch
  br i1 %caller, label %chunks.run, label %inherit
inherit:
  %mode = load i64, ptr @job_float_mode
  call void @set_float_mode(i64 %mode)
  br label %chunks.run
chunks.run:
  call void @run_chunks(ptr %call, ptr %phase, i64 %thread, i64 %first, i64 %last)
  %batch.word = trunc i64 %batch to i32
  %before = atomicrmw add ptr @done, i32 %batch.word seq_cst, align 4
  ; the job may be over from here on: only static words are touched
  %after = add i32 %before, %batch.word
  %all = trunc i64 %chunks to i32
  %complete = icmp eq i32 %after, %all
  br i1 %complete, label %finished, label %look
finished:
  %waits = load atomic i32, ptr @caller_waits seq_cst, align 4
  %asleep = icmp ne i32 %waits, 0
  br i1 %asleep, label %notify, label %return
notify:
  call void @wake_word(ptr @done, i32 1)
  br label %return
return:
  ret void
}

; ---- workers

define internal ptr @worker(ptr %argument) {
entry:
  %thread = ptrtoint ptr %argument to i64
  br label %turn
turn:
  %seen = load atomic i32, ptr @wake seq_cst, align 4
  call void @work(i64 %thread)
  br label %spin
spin:
  %count = phi i32 [ 0, %turn ], [ %count.next, %idle ]
  %now = load atomic i32, ptr @wake seq_cst, align 4
  %called = icmp ne i32 %now, %seen
  br i1 %called, label %turn, label %patience
patience:
  %tired = icmp uge i32 %count, 1500
  br i1 %tired, label %sleep, label %idle
idle:
  call void @pause()
  %count.next = add i32 %count, 1
  br label %spin
sleep:
  %more = atomicrmw add ptr @sleeping, i32 1 seq_cst, align 4
  call void @wait_word(ptr @wake, i32 %seen, i64 -1)
  %fewer = atomicrmw sub ptr @sleeping, i32 1 seq_cst, align 4
  br label %turn
}

; ---- the caller's side of a phase

define internal void @await(ptr %call, i64 %chunks) {
entry:
  %all = trunc i64 %chunks to i32
  br label %look
look:
  %count = phi i32 [ 0, %entry ], [ %count.next, %spin ], [ %count, %nap.end ]
  %done = load atomic i32, ptr @done seq_cst, align 4
  %complete = icmp eq i32 %done, %all
  br i1 %complete, label %return, label %patience
patience:
  %tired = icmp uge i32 %count, 3000
  br i1 %tired, label %nap, label %spin
spin:
  call void @pause()
  %count.next = add i32 %count, 1
  br label %look
nap:
  store atomic i32 1, ptr @caller_waits seq_cst, align 4
  %still = load atomic i32, ptr @done seq_cst, align 4
  %over = icmp eq i32 %still, %all
  br i1 %over, label %nap.end, label %sleep
sleep:
  call void @wait_word(ptr @done, i32 %still, i64 50000000)
  call void @poll(ptr %call)
  br label %nap.end
nap.end:
  store atomic i32 0, ptr @caller_waits seq_cst, align 4
  br label %look
return:
  ret void
}

define internal void @run_parallel(ptr %call, ptr %phase, i64 %participants) {
  store ptr %call, ptr @job_call
  store ptr %phase, ptr @job_phase
  %mode = call i64 @get_float_mode()
  store i64 %mode, ptr @job_float_mode
  store atomic i32 0, ptr @done monotonic, align 4
  %generation.old = load i64, ptr @generation
  %generation.new = add i64 %generation.old, 1
  store i64 %generation.new, ptr @generation
  %chunks.at = getelementptr %Phase, ptr %phase, i64 0, i32 3
  %chunks = load i64, ptr %chunks.at
  %high = shl i64 %generation.new, 40
  %middle = shl i64 %participants, 32
  %upper = or i64 %high, %middle
  %ticket = or i64 %upper, %chunks
  store atomic i64 %ticket, ptr @ticket seq_cst, align 8
  %old = atomicrmw add ptr @wake, i32 1 seq_cst, align 4
  %asleep = load atomic i32, ptr @sleeping seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  br i1 %any, label %wake.all, label %start
wake.all:
  call void @wake_word(ptr @wake, i32 2147483647)
  br label %start
start:
  call void @work(i64 0)
  call void @await(ptr %call, i64 %chunks)
  ret void
}

; Runs all phases; returns how many threads took part at most.
define internal void @run_phases(ptr %call) {
entry:
  %threads.at = getelementptr %Call, ptr %call, i64 0, i32 6
  %threads.given = load i32, ptr %threads.at
  %most.at = getelementptr %Call, ptr %call, i64 0, i32 19
  %most = load i32, ptr %most.at
  %limited = icmp ult i32 %most, %threads.given
  %limits = icmp ne i32 %most, 0
  %fewer = and i1 %limited, %limits
  %threads = select i1 %fewer, i32 %most, i32 %threads.given
  %participants.at = getelementptr %Call, ptr %call, i64 0, i32 16
  %phases.at = getelementptr %Call, ptr %call, i64 0, i32 4
  %phases = load ptr, ptr %phases.at
  %count.at = getelementptr %Call, ptr %call, i64 0, i32 5
  %count = load i64, ptr %count.at
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %own, label %serial
own:
  %owned = call i32 @claim(ptr @pool_owner)
  %is.owner = icmp ne i32 %owned, 0
  br i1 %is.owner, label %hire, label %serial
hire:
  call void @hire(i32 %threads)
  br label %serial
serial:
  %team = phi i32 [ 1, %entry ], [ 1, %own ], [ %threads, %hire ]
  store i32 %team, ptr %participants.at
  %participants = zext i32 %team to i64
  br label %head
head:
  %index = phi i64 [ 0, %serial ], [ %index.next, %tail ]
  %more = icmp ult i64 %index, %count
  br i1 %more, label %choose, label %end
choose:
  %phase = getelementptr %Phase, ptr %phases, i64 %index
  %chunks.at = getelementptr %Phase, ptr %phase, i64 0, i32 3
  %chunks = load i64, ptr %chunks.at
  %alone = icmp eq i32 %team, 1
  %single = icmp ult i64 %chunks, 2
  %by.caller = or i1 %alone, %single
  br i1 %by.caller, label %here, label %together
here:
  call void @run_chunks(ptr %call, ptr %phase, i64 0, i64 0, i64 %chunks)
  br label %tail
together:
  call void @run_parallel(ptr %call, ptr %phase, i64 %participants)
  br label %tail
tail:
  %index.next = add i64 %index, 1
  br label %head
end:
  %had.pool = icmp ne i32 %team, 1
  br i1 %had.pool, label %give, label %return
give:
  call void @release(ptr @pool_owner)
  br label %return
return:
  ret void
}

; ---- one call

; Runs a call with the interpreter's lock held on entry and on return; 0, or -1 with a Python error set.
; Mode 0: the lock is kept, one thread. Mode 1 (time not known yet) and 2: the lock is released, Ctrl-C is honoured, and the time
; decides the mode of the next call. Mode 3: as 2, for good.
define i32 @run(ptr %call) {
  %mode.at = getelementptr %Call, ptr %call, i64 0, i32 7
  %mode = load i32, ptr %mode.at
  %own.at = getelementptr %Call, ptr %call, i64 0, i32 9
  store atomic i32 0, ptr %own.at monotonic, align 4
  %stop.at = getelementptr %Call, ptr %call, i64 0, i32 8
  store ptr %own.at, ptr %stop.at
  %main.at = getelementptr %Call, ptr %call, i64 0, i32 13
  store i32 0, ptr %main.at
  %short = icmp eq i32 %mode, 0
  br i1 %short, label %small, label %large
small:
  %threads.at = getelementptr %Call, ptr %call, i64 0, i32 6
  store i32 1, ptr %threads.at
  call void @run_phases(ptr %call)
  ret i32 0
large:
  %result = call i32 @run_released(ptr %call)
  ret i32 %result
}

define internal i32 @run_released(ptr %call) {
  %start = call i64 @now()
  %deadline = add i64 %start, 50000000
  %deadline.at = getelementptr %Call, ptr %call, i64 0, i32 11
  store i64 %deadline, ptr %deadline.at
  %failed.at = getelementptr %Call, ptr %call, i64 0, i32 14
  store i32 0, ptr %failed.at
  %thread = call i64 @PyThread_get_thread_ident()
  %main.thread = load i64, ptr @main_thread
  %is.main = icmp eq i64 %thread, %main.thread
  %main = zext i1 %is.main to i32
  %main.at = getelementptr %Call, ptr %call, i64 0, i32 13
  store i32 %main, ptr %main.at
  %hook = call i1 @hook(ptr %call, i1 %is.main)
  %state = call ptr @PyEval_SaveThread()
  %state.at = getelementptr %Call, ptr %call, i64 0, i32 12
  store ptr %state, ptr %state.at
  call void @run_phases(ptr %call)
  br i1 %hook, label %remove, label %back
remove:
  call void @unhook()
  br label %back
back:
  call void @PyEval_RestoreThread(ptr %state)
  %end = call i64 @now()
  %time = sub i64 %end, %start
  %failed = load i32, ptr %failed.at
  %raised = icmp ne i32 %failed, 0
  br i1 %raised, label %error, label %stopped
stopped:
  %stop.pointer = getelementptr %Call, ptr %call, i64 0, i32 8
  %stop.at = load ptr, ptr %stop.pointer
  %stop = load atomic i32, ptr %stop.at seq_cst, align 4
  %whole = icmp eq i32 %stop, 0
  br i1 %whole, label %fine, label %interrupted
interrupted:
  %handled = call i32 @PyErr_CheckSignals()
  %set = icmp ne i32 %handled, 0
  br i1 %set, label %error, label %raise
raise:
  ; the signal was consumed elsewhere, but the outputs are not complete
  %interrupt.at = getelementptr ptr, ptr @objects, i64 3
  %interrupt = load ptr, ptr %interrupt.at
  call void @PyErr_SetNone(ptr %interrupt)
  br label %error
fine:
  call void @decide(ptr %call, i64 %time)
  ret i32 0
error:
  ret i32 -1
}

; Under Python's default handler the main thread's call is stopped by the signal itself, even inside one long chunk. The three system
; calls are spared when the last call took less than 20 ms.
define internal i1 @hook(ptr %call, i1 %is.main) {
  %hook.at = getelementptr %Call, ptr %call, i64 0, i32 15
  %wanted = load i32, ptr %hook.at
  %wants = icmp ne i32 %wanted, 0
  %hooked = load i32, ptr @hooked
  %free = icmp eq i32 %hooked, 0
  %may = and i1 %wants, %free
  %can = and i1 %may, %is.main
  %time.at = getelementptr %Call, ptr %call, i64 0, i32 18
  %time = load i64, ptr %time.at
  %before = sub i64 %time, 1
  ; 0 (not known) wraps round to the largest number
  %long = icmp uge i64 %before, 20000000
  %does = and i1 %can, %long
  br i1 %does, label %install, label %no
install:
  store i32 1, ptr @hooked
  store atomic i32 0, ptr @main_stop seq_cst, align 4
  %stop.pointer = getelementptr %Call, ptr %call, i64 0, i32 8
  store ptr @main_stop, ptr %stop.pointer
  %present = call ptr @PyOS_getsig(i32 2)
  ; in a child forked while its parent's main thread ran a call, ours is still installed and the one before it still known
  %ours = icmp eq ptr %present, @on_interrupt
  br i1 %ours, label %yes, label %other
other:
  %number = ptrtoint ptr %present to i64
  %callable = icmp ugt i64 %number, 1
  br i1 %callable, label %swap, label %leave
swap:
  store ptr %present, ptr @previous_handler
  %old = call ptr @PyOS_setsig(i32 2, ptr @on_interrupt)
  br label %yes
yes:
  ret i1 true
leave:
  store i32 0, ptr @hooked
  br label %no
no:
  ret i1 false
}
declare ptr @PyOS_getsig(i32)

define internal void @unhook() {
  %previous = load ptr, ptr @previous_handler
  %found = call ptr @PyOS_setsig(i32 2, ptr %previous)
  %ours = icmp eq ptr %found, @on_interrupt
  br i1 %ours, label %return, label %undo
undo:
  ; a Python handler changed it while the call ran: that change stands
  %back = call ptr @PyOS_setsig(i32 2, ptr %found)
  br label %return
return:
  store i32 0, ptr @hooked
  ret void
}

; Calls that take less than 16 us of all participants keep the lock and stay on one thread.
define internal void @decide(ptr %call, i64 %time) {
  %time.at = getelementptr %Call, ptr %call, i64 0, i32 18
  store i64 %time, ptr %time.at
  %participants.at = getelementptr %Call, ptr %call, i64 0, i32 16
  %participants = load i32, ptr %participants.at
  %wide = zext i32 %participants to i64
  %spent = mul i64 %time, %wide
  %mode.at = getelementptr %Call, ptr %call, i64 0, i32 7
  %mode = load i32, ptr %mode.at
  %pinned = icmp eq i32 %mode, 3
  br i1 %pinned, label %return, label %choose
choose:
  %short = icmp ult i64 %spent, 16000
  %next = select i1 %short, i32 0, i32 2
  store i32 %next, ptr %mode.at
  br label %return
return:
  ret void
}

; ---- looked at by tests

define i64 @get_float_mode_now() {
  %mode = call i64 @get_float_mode()
  ret i64 %mode
}

define i32 @worker_count() {
  %count = load i32, ptr @workers
  ret i32 %count
}

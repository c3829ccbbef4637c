; The fast path of a launch: a METH_FASTCALL function that compares every argument with what a specialisation was made for and runs
; it. It returns True, or NotImplemented when anything differs (the general path in Python then decides), or NULL with an error set.
; Offsets into NumPy's array object are used only after launcher.py has checked them in the running process.

; Launch: 0 call, 1 number of arguments, 2 arguments, 3 number of pairs, 4 pairs
%Launch = type { ptr, i64, ptr, i64, ptr }
; Argument: 0 kind, 1 rank, 2 type, 3 dtype (object or DLPack code), 4 flags that must be set, 5 written?, 6 pairs of shape and stride,
;           7 slot, 8 lowest offset, 9 offset behind the highest, 10 start, 11 end, 12 scalar format, 13 check the negative bit?
%Argument = type { i32, i32, ptr, ptr, i32, i32, ptr, ptr, i64, i64, ptr, ptr, i32, i32 }
; Pair of arguments of which one is written: 0 first, 1 second, 2 may start at the same address?
%Pair = type { i32, i32, i32, i32 }

declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare void @PyErr_Clear()
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyTuple_Pack(i64, ...)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare double @llvm.fabs.f64(double)

define internal ptr @object(i64 %index) {
  %at = getelementptr ptr, ptr @objects, i64 %index
  %value = load ptr, ptr %at
  ret ptr %value
}

; Are all extents the expected ones, and the strides of axes with more than one element?
define internal i1 @same_layout(ptr %pairs, i32 %rank, ptr %shape, ptr %strides) {
entry:
  %count = zext i32 %rank to i64
  br label %head
head:
  %axis = phi i64 [ 0, %entry ], [ %axis.next, %tail ]
  %more = icmp ult i64 %axis, %count
  br i1 %more, label %extent.check, label %yes
extent.check:
  %place = shl i64 %axis, 1
  %extent.at = getelementptr i64, ptr %pairs, i64 %place
  %extent = load i64, ptr %extent.at
  %given.at = getelementptr i64, ptr %shape, i64 %axis
  %given = load i64, ptr %given.at
  %same = icmp eq i64 %extent, %given
  br i1 %same, label %stride.check, label %no
stride.check:
  %stride.at = getelementptr i64, ptr %extent.at, i64 1
  %stride = load i64, ptr %stride.at
  %found.at = getelementptr i64, ptr %strides, i64 %axis
  %found = load i64, ptr %found.at
  %equal = icmp eq i64 %stride, %found
  %any = icmp eq i64 %stride, -9223372036854775808
  %good = or i1 %equal, %any
  br i1 %good, label %tail, label %no
tail:
  %axis.next = add i64 %axis, 1
  br label %head
yes:
  ret i1 true
no:
  ret i1 false
}

; Writes the address into the slot and the bytes touched into start and end.
define internal void @accept(ptr %argument, ptr %data) {
  %slot.at = getelementptr %Argument, ptr %argument, i64 0, i32 7
  %slot = load ptr, ptr %slot.at
  store ptr %data, ptr %slot
  %low.at = getelementptr %Argument, ptr %argument, i64 0, i32 8
  %low = load i64, ptr %low.at
  %start = getelementptr i8, ptr %data, i64 %low
  %start.at = getelementptr %Argument, ptr %argument, i64 0, i32 10
  store ptr %start, ptr %start.at
  %high.at = getelementptr %Argument, ptr %argument, i64 0, i32 9
  %high = load i64, ptr %high.at
  %end = getelementptr i8, ptr %data, i64 %high
  %end.at = getelementptr %Argument, ptr %argument, i64 0, i32 11
  store ptr %end, ptr %end.at
  ret void
}

; PyArrayObject: 16 data, 24 rank, 32 shape, 40 strides in bytes, 56 dtype, 64 flags
define internal i1 @check_numpy(ptr %argument, ptr %value) {
  %rank.at = getelementptr %Argument, ptr %argument, i64 0, i32 1
  %rank = load i32, ptr %rank.at
  %given.rank.at = getelementptr i8, ptr %value, i64 24
  %given.rank = load i32, ptr %given.rank.at
  %same.rank = icmp eq i32 %rank, %given.rank
  %dtype.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %dtype = load ptr, ptr %dtype.at
  %given.dtype.at = getelementptr i8, ptr %value, i64 56
  %given.dtype = load ptr, ptr %given.dtype.at
  %same.dtype = icmp eq ptr %dtype, %given.dtype
  %flags.at = getelementptr %Argument, ptr %argument, i64 0, i32 4
  %flags = load i32, ptr %flags.at
  %given.flags.at = getelementptr i8, ptr %value, i64 64
  %given.flags = load i32, ptr %given.flags.at
  %common = and i32 %flags, %given.flags
  %flagged = icmp eq i32 %common, %flags
  %one = and i1 %same.rank, %same.dtype
  %both = and i1 %one, %flagged
  br i1 %both, label %layout, label %no
layout:
  %pairs.at = getelementptr %Argument, ptr %argument, i64 0, i32 6
  %pairs = load ptr, ptr %pairs.at
  %shape.at = getelementptr i8, ptr %value, i64 32
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %value, i64 40
  %strides = load ptr, ptr %strides.at
  %same = call i1 @same_layout(ptr %pairs, i32 %rank, ptr %shape, ptr %strides)
  br i1 %same, label %yes, label %no
yes:
  %data.at = getelementptr i8, ptr %value, i64 16
  %data = load ptr, ptr %data.at
  call void @accept(ptr %argument, ptr %data)
  ret i1 true
no:
  ret i1 false
}

; DLTensor: 0 data, 8 device type, 16 rank, 20 dtype, 24 shape, 32 strides in elements, 40 byte offset
define internal i1 @check_torch(ptr %argument, ptr %value) {
  %tensor = alloca [48 x i8], align 8
  %export = call ptr @object(i64 7)
  %error = call i32 %export(ptr %value, ptr %tensor)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %clear, label %kind
clear:
  call void @PyErr_Clear()
  ret i1 false
kind:
  %device.at = getelementptr i8, ptr %tensor, i64 8
  %device = load i32, ptr %device.at
  %on.cpu = icmp eq i32 %device, 1
  %rank.at = getelementptr %Argument, ptr %argument, i64 0, i32 1
  %rank = load i32, ptr %rank.at
  %given.rank.at = getelementptr i8, ptr %tensor, i64 16
  %given.rank = load i32, ptr %given.rank.at
  %same.rank = icmp eq i32 %rank, %given.rank
  %dtype.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %dtype.wide = load i64, ptr %dtype.at
  %dtype = trunc i64 %dtype.wide to i32
  %given.dtype.at = getelementptr i8, ptr %tensor, i64 20
  %given.dtype = load i32, ptr %given.dtype.at
  %same.dtype = icmp eq i32 %dtype, %given.dtype
  %one = and i1 %on.cpu, %same.rank
  %both = and i1 %one, %same.dtype
  br i1 %both, label %layout, label %no
layout:
  %pairs.at = getelementptr %Argument, ptr %argument, i64 0, i32 6
  %pairs = load ptr, ptr %pairs.at
  %shape.at = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %tensor, i64 32
  %strides = load ptr, ptr %strides.at
  %contiguous = icmp eq ptr %strides, null
  br i1 %contiguous, label %scalar, label %compare
scalar:
  %flat = icmp eq i32 %rank, 0
  br i1 %flat, label %compare, label %no
compare:
  %same = call i1 @same_layout(ptr %pairs, i32 %rank, ptr %shape, ptr %strides)
  br i1 %same, label %negative, label %no
negative:
  %negative.at = getelementptr %Argument, ptr %argument, i64 0, i32 13
  %negative.flag = load i32, ptr %negative.at
  %suspect = icmp ne i32 %negative.flag, 0
  br i1 %suspect, label %ask.negative, label %gradient
ask.negative:
  %receiver = alloca ptr, align 8
  store ptr %value, ptr %receiver
  %method = call ptr @object(i64 6)
  %negated = call ptr @PyObject_VectorcallMethod(ptr %method, ptr %receiver, i64 1, ptr null)
  %plain = call i1 @is_false(ptr %negated)
  br i1 %plain, label %gradient, label %no
gradient:
  %written.at = getelementptr %Argument, ptr %argument, i64 0, i32 5
  %written = load i32, ptr %written.at
  %output = icmp ne i32 %written, 0
  br i1 %output, label %ask.gradient, label %yes
ask.gradient:
  %attribute = call ptr @object(i64 5)
  %requires = call ptr @PyObject_GetAttr(ptr %value, ptr %attribute)
  %free = call i1 @is_false(ptr %requires)
  br i1 %free, label %yes, label %no
yes:
  %base = load ptr, ptr %tensor
  %offset.at = getelementptr i8, ptr %tensor, i64 40
  %offset = load i64, ptr %offset.at
  %data = getelementptr i8, ptr %base, i64 %offset
  call void @accept(ptr %argument, ptr %data)
  ret i1 true
no:
  ret i1 false
}

; Is an owned result False? Gives the reference back; NULL (an error) is cleared and counts as not False.
define internal i1 @is_false(ptr %result) {
  %missing = icmp eq ptr %result, null
  br i1 %missing, label %error, label %compare
error:
  call void @PyErr_Clear()
  ret i1 false
compare:
  %false = call ptr @object(i64 1)
  %same = icmp eq ptr %result, %false
  call void @Py_DecRef(ptr %result)
  ret i1 %same
}

; Formats: 0 f32, 1 f64, from an exact float
define internal i1 @read_float(ptr %argument, ptr %value) {
  %slot.at = getelementptr %Argument, ptr %argument, i64 0, i32 7
  %slot = load ptr, ptr %slot.at
  %number = call double @PyFloat_AsDouble(ptr %value)
  %format.at = getelementptr %Argument, ptr %argument, i64 0, i32 12
  %format = load i32, ptr %format.at
  %single = icmp eq i32 %format, 0
  br i1 %single, label %narrow, label %wide
wide:
  store double %number, ptr %slot
  ret i1 true
narrow:
  %rounded = fptrunc double %number to float
  store float %rounded, ptr %slot
  %back = fpext float %rounded to double
  %size = call double @llvm.fabs.f64(double %back)
  %infinite = fcmp oeq double %size, 0x7FF0000000000000
  %before = call double @llvm.fabs.f64(double %number)
  %finite = fcmp one double %before, 0x7FF0000000000000
  %overflow = and i1 %infinite, %finite
  %good = xor i1 %overflow, true
  ret i1 %good
}

; Format 2: i64, from an exact int
define internal i1 @read_int(ptr %argument, ptr %value) {
  %overflow = alloca i32, align 4
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %value, ptr %overflow)
  %slot.at = getelementptr %Argument, ptr %argument, i64 0, i32 7
  %slot = load ptr, ptr %slot.at
  store i64 %number, ptr %slot
  %flag = load i32, ptr %overflow
  %good = icmp eq i32 %flag, 0
  ret i1 %good
}

; A constant of the signature: the same object, or an equal int or str.
define internal i1 @same_constant(ptr %argument, ptr %value) {
  %expected.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %expected = load ptr, ptr %expected.at
  %same = icmp eq ptr %expected, %value
  br i1 %same, label %yes, label %type
type:
  %type.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %wanted = load ptr, ptr %type.at
  %given.at = getelementptr i8, ptr %value, i64 8
  %given = load ptr, ptr %given.at
  %same.type = icmp eq ptr %wanted, %given
  %int = call ptr @object(i64 9)
  %is.int = icmp eq ptr %given, %int
  %str = call ptr @object(i64 11)
  %is.str = icmp eq ptr %given, %str
  %exact = or i1 %is.int, %is.str
  %comparable = and i1 %exact, %same.type
  br i1 %comparable, label %compare, label %no
compare:
  ; 2: Py_EQ
  %answer = call i32 @PyObject_RichCompareBool(ptr %value, ptr %expected, i32 2)
  %equal = icmp eq i32 %answer, 1
  ret i1 %equal
yes:
  ret i1 true
no:
  ret i1 false
}

; Kinds: 0 NumPy array, 1 torch tensor, 2 float, 3 int, 4 bool, 5 constant
define internal i1 @check(ptr %argument, ptr %value) {
  %kind = load i32, ptr %argument
  %constant = icmp eq i32 %kind, 5
  br i1 %constant, label %identity, label %type
identity:
  %same = call i1 @same_constant(ptr %argument, ptr %value)
  ret i1 %same
type:
  %type.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %wanted = load ptr, ptr %type.at
  %given.at = getelementptr i8, ptr %value, i64 8
  %given = load ptr, ptr %given.at
  %same.type = icmp eq ptr %wanted, %given
  br i1 %same.type, label %choose, label %no
choose:
  switch i32 %kind, label %no [ i32 0, label %numpy
                                i32 1, label %torch
                                i32 2, label %float
                                i32 3, label %int
                                i32 4, label %bool ]
numpy:
  %numpy.good = call i1 @check_numpy(ptr %argument, ptr %value)
  ret i1 %numpy.good
torch:
  %torch.good = call i1 @check_torch(ptr %argument, ptr %value)
  ret i1 %torch.good
float:
  %float.good = call i1 @read_float(ptr %argument, ptr %value)
  ret i1 %float.good
int:
  %int.good = call i1 @read_int(ptr %argument, ptr %value)
  ret i1 %int.good
bool:
  %slot.at = getelementptr %Argument, ptr %argument, i64 0, i32 7
  %slot = load ptr, ptr %slot.at
  %true = call ptr @object(i64 0)
  %is.true = icmp eq ptr %value, %true
  %byte = zext i1 %is.true to i8
  store i8 %byte, ptr %slot
  ret i1 true
no:
  ret i1 false
}

define internal i1 @check_all(ptr %launch, ptr %values, i64 %given) {
entry:
  %count.at = getelementptr %Launch, ptr %launch, i64 0, i32 1
  %count = load i64, ptr %count.at
  %arguments.at = getelementptr %Launch, ptr %launch, i64 0, i32 2
  %arguments = load ptr, ptr %arguments.at
  %complete = icmp eq i64 %count, %given
  br i1 %complete, label %head, label %no
head:
  %index = phi i64 [ 0, %entry ], [ %next, %tail ]
  %more = icmp ult i64 %index, %count
  br i1 %more, label %one, label %overlaps
one:
  %argument = getelementptr %Argument, ptr %arguments, i64 %index
  %value.at = getelementptr ptr, ptr %values, i64 %index
  %value = load ptr, ptr %value.at
  %good = call i1 @check(ptr %argument, ptr %value)
  br i1 %good, label %tail, label %no
tail:
  %next = add i64 %index, 1
  br label %head
overlaps:
  %apart = call i1 @check_pairs(ptr %launch)
  ret i1 %apart
no:
  ret i1 false
}

; Do no two arguments of a pair touch the same range of bytes, except where they may be the same?
define internal i1 @check_pairs(ptr %launch) {
entry:
  %count.at = getelementptr %Launch, ptr %launch, i64 0, i32 3
  %count = load i64, ptr %count.at
  %pairs.at = getelementptr %Launch, ptr %launch, i64 0, i32 4
  %pairs = load ptr, ptr %pairs.at
  %arguments.at = getelementptr %Launch, ptr %launch, i64 0, i32 2
  %arguments = load ptr, ptr %arguments.at
  br label %head
head:
  %index = phi i64 [ 0, %entry ], [ %next, %tail ]
  %more = icmp ult i64 %index, %count
  br i1 %more, label %one, label %yes
one:
  %pair = getelementptr %Pair, ptr %pairs, i64 %index
  %first.number = load i32, ptr %pair
  %first = getelementptr %Argument, ptr %arguments, i32 %first.number
  %second.at = getelementptr %Pair, ptr %pair, i64 0, i32 1
  %second.number = load i32, ptr %second.at
  %second = getelementptr %Argument, ptr %arguments, i32 %second.number
  %start.1.at = getelementptr %Argument, ptr %first, i64 0, i32 10
  %start.1 = load ptr, ptr %start.1.at
  %end.1.at = getelementptr %Argument, ptr %first, i64 0, i32 11
  %end.1 = load ptr, ptr %end.1.at
  %start.2.at = getelementptr %Argument, ptr %second, i64 0, i32 10
  %start.2 = load ptr, ptr %start.2.at
  %end.2.at = getelementptr %Argument, ptr %second, i64 0, i32 11
  %end.2 = load ptr, ptr %end.2.at
  %before = icmp ult ptr %start.1, %end.2
  %after = icmp ult ptr %start.2, %end.1
  %touch = and i1 %before, %after
  br i1 %touch, label %allowed, label %tail
allowed:
  %may.at = getelementptr %Pair, ptr %pair, i64 0, i32 2
  %may = load i32, ptr %may.at
  %may.share = icmp ne i32 %may, 0
  %same = icmp eq ptr %start.1, %start.2
  %good = and i1 %may.share, %same
  br i1 %good, label %tail, label %no
tail:
  %next = add i64 %index, 1
  br label %head
yes:
  ret i1 true
no:
  ret i1 false
}

; Threads and hook of a call that may be long, from the Python function plan(): threads | hook << 8. False: a Python error is set.
define internal i1 @make_plan(ptr %call) {
  %function = call ptr @object(i64 4)
  %overflow = alloca i32, align 4
  %answer = call ptr @PyObject_CallNoArgs(ptr %function)
  %missing = icmp eq ptr %answer, null
  br i1 %missing, label %no, label %read
read:
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %answer, ptr %overflow)
  call void @Py_DecRef(ptr %answer)
  %threads.wide = and i64 %number, 255
  %threads = trunc i64 %threads.wide to i32
  %threads.at = getelementptr %Call, ptr %call, i64 0, i32 6
  %mode.at = getelementptr %Call, ptr %call, i64 0, i32 7
  %mode = load i32, ptr %mode.at
  ; mode 1: the time is not known yet, no helpers
  %unknown = icmp eq i32 %mode, 1
  %used = select i1 %unknown, i32 1, i32 %threads
  store i32 %used, ptr %threads.at
  %hook.wide = lshr i64 %number, 8
  %hook = trunc i64 %hook.wide to i32
  %hook.at = getelementptr %Call, ptr %call, i64 0, i32 15
  store i32 %hook, ptr %hook.at
  ret i1 true
no:
  ret i1 false
}

; Takes the shared working memory for this call. Returns 0: not available, 1: none needed, 2: taken.
define internal i32 @take_arena(ptr %call) {
  %mode.at = getelementptr %Call, ptr %call, i64 0, i32 7
  %mode = load i32, ptr %mode.at
  %short = icmp eq i32 %mode, 0
  %threads.at = getelementptr %Call, ptr %call, i64 0, i32 6
  %threads.given = load i32, ptr %threads.at
  %threads.word = select i1 %short, i32 1, i32 %threads.given
  %threads = zext i32 %threads.word to i64
  %workspace.at = getelementptr %Call, ptr %call, i64 0, i32 17
  %workspace = load i64, ptr %workspace.at
  %stride.at = getelementptr %Call, ptr %call, i64 0, i32 3
  %stride = load i64, ptr %stride.at
  %scratch = mul i64 %stride, %threads
  %need = add i64 %workspace, %scratch
  %nothing = icmp eq i64 %need, 0
  br i1 %nothing, label %free, label %size
free:
  ret i32 1
size:
  %bytes = load i64, ptr @arena_bytes
  %fits = icmp ule i64 %need, %bytes
  br i1 %fits, label %own, label %no
own:
  %owned = call i32 @claim(ptr @arena_owner)
  %is.owner = icmp ne i32 %owned, 0
  br i1 %is.owner, label %yes, label %no
yes:
  %data = load ptr, ptr @arena_data
  %data.at = getelementptr %Call, ptr %call, i64 0, i32 1
  store ptr %data, ptr %data.at
  %scratch.start = getelementptr i8, ptr %data, i64 %workspace
  %scratch.at = getelementptr %Call, ptr %call, i64 0, i32 2
  store ptr %scratch.start, ptr %scratch.at
  ret i32 2
no:
  ret i32 0
}

; Tells torch that its outputs changed.
define internal i32 @mark_written(ptr %launch, ptr %values) {
entry:
  %count.at = getelementptr %Launch, ptr %launch, i64 0, i32 1
  %count = load i64, ptr %count.at
  %arguments.at = getelementptr %Launch, ptr %launch, i64 0, i32 2
  %arguments = load ptr, ptr %arguments.at
  br label %head
head:
  %index = phi i64 [ 0, %entry ], [ %next, %tail ]
  %more = icmp ult i64 %index, %count
  br i1 %more, label %one, label %done
one:
  %argument = getelementptr %Argument, ptr %arguments, i64 %index
  %kind = load i32, ptr %argument
  %torch = icmp eq i32 %kind, 1
  %written.at = getelementptr %Argument, ptr %argument, i64 0, i32 5
  %written = load i32, ptr %written.at
  %output = icmp ne i32 %written, 0
  %mark = and i1 %torch, %output
  br i1 %mark, label %bump, label %tail
bump:
  %value.at = getelementptr ptr, ptr %values, i64 %index
  %value = load ptr, ptr %value.at
  %function = call ptr @object(i64 8)
  %tuple = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %value)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %error, label %call
call:
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %function, ptr %tuple, ptr null)
  call void @Py_DecRef(ptr %tuple)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %inference, label %drop
inference:
  ; tensors made in inference mode keep no version
  call void @PyErr_Clear()
  br label %tail
drop:
  call void @Py_DecRef(ptr %result)
  br label %tail
tail:
  %next = add i64 %index, 1
  br label %head
done:
  ret i32 0
error:
  ret i32 -1
}

define ptr @fast(ptr %self, ptr %values, i64 %count) {
  %launch = call ptr @PyCapsule_GetPointer(ptr %self, ptr null)
  %call = load ptr, ptr %launch
  %busy.at = getelementptr %Call, ptr %call, i64 0, i32 10
  %mine = call i32 @claim(ptr %busy.at)
  %is.mine = icmp ne i32 %mine, 0
  br i1 %is.mine, label %check.all, label %other
check.all:
  %good = call i1 @check_all(ptr %launch, ptr %values, i64 %count)
  br i1 %good, label %length, label %give.up
length:
  %mode.at = getelementptr %Call, ptr %call, i64 0, i32 7
  %mode = load i32, ptr %mode.at
  %short = icmp eq i32 %mode, 0
  br i1 %short, label %memory, label %plan
plan:
  %planned = call i1 @make_plan(ptr %call)
  br i1 %planned, label %memory, label %error
memory:
  %arena = call i32 @take_arena(ptr %call)
  %got = icmp ne i32 %arena, 0
  br i1 %got, label %go, label %give.up
go:
  %status = call i32 @run(ptr %call)
  %taken = icmp eq i32 %arena, 2
  br i1 %taken, label %return.arena, label %ran
return.arena:
  call void @release(ptr @arena_owner)
  br label %ran
ran:
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %mark, label %error
mark:
  %marked = call i32 @mark_written(ptr %launch, ptr %values)
  %all.marked = icmp eq i32 %marked, 0
  br i1 %all.marked, label %success, label %error
success:
  call void @release(ptr %busy.at)
  %true = call ptr @object(i64 0)
  call void @Py_IncRef(ptr %true)
  ret ptr %true
error:
  call void @release(ptr %busy.at)
  ret ptr null
give.up:
  call void @release(ptr %busy.at)
  br label %other
other:
  %sentinel = call ptr @object(i64 2)
  call void @Py_IncRef(ptr %sentinel)
  ret ptr %sentinel
}

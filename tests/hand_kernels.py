"""Kernels written by hand in LLVM IR, as the emitter would hand them to the runtime."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto.codegen.llvm.code import CpuCode, Phase, Slot, SlotKind
from pypto.ir.dtypes import BOOL, F32, F64, I64, DType
from pypto.runtime import arguments
from pypto.runtime.launcher import Launcher, Mode
from pypto.runtime.toolchain import compile_code, host_machine

HEAD = "(ptr %slots, ptr %workspace, ptr %scratch, ptr %stop, i64 %first, i64 %last)"


def slot(number: int, name: str) -> str:
    return f"  %{name}.at = getelementptr ptr, ptr %slots, i64 {number}\n  %{name} = load ptr, ptr %{name}.at\n"


def add_code(rows: int, columns: int, grain: int = 8, dtype: DType = F32, name: str = "add") -> CpuCode:
    """out = x + y, row by row; `dtype` f32 or f64."""
    element = {"f32": "float", "f64": "double"}[dtype.name]
    text = f"""
define void @{name}{HEAD} {{
entry:
{slot(0, "x")}{slot(1, "y")}{slot(2, "out")}
  %begin = mul i64 %first, {columns}
  %end = mul i64 %last, {columns}
  %some = icmp ult i64 %begin, %end
  br i1 %some, label %loop, label %done
loop:
  %j = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %x.j = getelementptr {element}, ptr %x, i64 %j
  %y.j = getelementptr {element}, ptr %y, i64 %j
  %out.j = getelementptr {element}, ptr %out, i64 %j
  %a = load {element}, ptr %x.j
  %b = load {element}, ptr %y.j
  %c = fadd {element} %a, %b
  store {element} %c, ptr %out.j
  %next = add i64 %j, 1
  %more = icmp ult i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
    slots = tuple(Slot(item, SlotKind.ARRAY, dtype) for item in ("x", "y", "out"))
    return CpuCode(text, slots, (Phase(name, rows, grain),), 0, 0)


def two_phase_code(rows: int, columns: int, grain: int = 1) -> CpuCode:
    """out[r] = 2 * x[r + 1] + factor * sum(x[r + 1]), rows counted round: scratch, workspace and an intermediate carry values.

    Phase two needs what phase one did in other chunks, so a missing barrier, or memory shared by mistake, shows.
    """
    text = f"""
define void @collect{HEAD} {{
entry:
{slot(0, "x")}{slot(3, "double")}
  br label %row.head
row.head:
  %r = phi i64 [ %first, %entry ], [ %r.next, %row.tail ]
  %row.more = icmp ult i64 %r, %last
  br i1 %row.more, label %copy, label %done
copy:
  %base = mul i64 %r, {columns}
  br label %copy.loop
copy.loop:
  %j = phi i64 [ 0, %copy ], [ %j.next, %copy.loop ]
  %k = add i64 %base, %j
  %x.k = getelementptr float, ptr %x, i64 %k
  %v = load float, ptr %x.k
  %s.j = getelementptr float, ptr %scratch, i64 %j
  store float %v, ptr %s.j
  %twice = fadd float %v, %v
  %d.k = getelementptr float, ptr %double, i64 %k
  store float %twice, ptr %d.k
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, {columns}
  br i1 %j.more, label %copy.loop, label %sum.loop
sum.loop:
  %i = phi i64 [ 0, %copy.loop ], [ %i.next, %sum.loop ]
  %total = phi float [ 0.0, %copy.loop ], [ %total.next, %sum.loop ]
  %s.i = getelementptr float, ptr %scratch, i64 %i
  %w = load float, ptr %s.i
  %total.next = fadd float %total, %w
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, {columns}
  br i1 %i.more, label %sum.loop, label %row.tail
row.tail:
  %sum.at = getelementptr float, ptr %workspace, i64 %r
  store float %total.next, ptr %sum.at
  %r.next = add i64 %r, 1
  br label %row.head
done:
  ret void
}}
define void @combine{HEAD} {{
entry:
  %factor.at = getelementptr ptr, ptr %slots, i64 1
  %factor = load float, ptr %factor.at
{slot(2, "out")}{slot(3, "double")}
  br label %row.head
row.head:
  %r = phi i64 [ %first, %entry ], [ %r.next, %loop ]
  %row.more = icmp ult i64 %r, %last
  br i1 %row.more, label %row, label %done
row:
  %r.next = add i64 %r, 1
  %other = urem i64 %r.next, {rows}
  %sum.at = getelementptr float, ptr %workspace, i64 %other
  %sum = load float, ptr %sum.at
  %scaled = fmul float %sum, %factor
  %base = mul i64 %r, {columns}
  %other.base = mul i64 %other, {columns}
  br label %loop
loop:
  %j = phi i64 [ 0, %row ], [ %j.next, %again ]
  %k = add i64 %base, %j
  %m = add i64 %other.base, %j
  %d.m = getelementptr float, ptr %double, i64 %m
  %d = load float, ptr %d.m
  %v = fadd float %d, %scaled
  %out.k = getelementptr float, ptr %out, i64 %k
  store float %v, ptr %out.k
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, {columns}
  br i1 %j.more, label %again, label %row.head
again:
  br label %loop
done:
  ret void
}}
"""
    slots = (
        Slot("x", SlotKind.ARRAY, F32),
        Slot("factor", SlotKind.SCALAR, F32),
        Slot("out", SlotKind.ARRAY, F32),
        Slot("double", SlotKind.INTERMEDIATE, F32, rows * columns * 4),
    )
    phases = (Phase("collect", rows, grain), Phase("combine", rows, grain))
    return CpuCode(text, slots, phases, rows * 4, columns * 4)


def two_phase_expected(x: np.ndarray[Any, Any], factor: float) -> np.ndarray[Any, Any]:
    """The same with the sums in index order, so that bits agree."""
    sums = np.zeros(len(x), np.float32)
    for column in x.T:
        sums = sums + column
    following = np.roll(np.arange(len(x)), -1)
    return 2 * x[following] + (sums[following] * np.float32(factor))[:, None]


def burn_code(items: int, turns: int, grain: int = 1, polls: bool = True) -> CpuCode:
    """Each item spins `turns` times, looking at the stop word each time, then writes the turns to out[item]."""
    exit_test = "%halt = icmp ne i32 %word, 0" if polls else "%halt = icmp eq i32 %word, 123456"
    text = f"""
define void @burn{HEAD} {{
entry:
{slot(0, "out")}
  br label %item.head
item.head:
  %i = phi i64 [ %first, %entry ], [ %i.next, %item.tail ]
  %item.more = icmp ult i64 %i, %last
  br i1 %item.more, label %loop, label %done
loop:
  %t = phi i64 [ 0, %item.head ], [ %t.next, %loop.tail ]
  %word = load atomic i32, ptr %stop monotonic, align 4
  {exit_test}
  br i1 %halt, label %done, label %loop.tail
loop.tail:
  %t.next = add i64 %t, 1
  %more = icmp ult i64 %t.next, {turns}
  br i1 %more, label %loop, label %item.tail
item.tail:
  %out.i = getelementptr i64, ptr %out, i64 %i
  store i64 %t.next, ptr %out.i
  %i.next = add i64 %i, 1
  br label %item.head
done:
  ret void
}}
"""
    return CpuCode(text, (Slot("out", SlotKind.ARRAY, I64),), (Phase("burn", items, grain),), 0, 0)


def scalars_code() -> CpuCode:
    """out[0] = single + double + integer + flag, as f64."""
    text = f"""
define void @scalars{HEAD} {{
  %single = load float, ptr %slots
  %double.at = getelementptr ptr, ptr %slots, i64 1
  %double = load double, ptr %double.at
  %integer.at = getelementptr ptr, ptr %slots, i64 2
  %integer = load i64, ptr %integer.at
  %flag.at = getelementptr ptr, ptr %slots, i64 3
  %flag = load i8, ptr %flag.at
{slot(4, "out")}
  %a = fpext float %single to double
  %b = fadd double %a, %double
  %c = sitofp i64 %integer to double
  %d = uitofp i8 %flag to double
  %e = fadd double %b, %c
  %f = fadd double %e, %d
  store double %f, ptr %out
  ret void
}}
"""
    names = {"single": F32, "double": F64, "integer": I64, "flag": BOOL}
    slots = (*(Slot(name, SlotKind.SCALAR, dtype) for name, dtype in names.items()), Slot("out", SlotKind.ARRAY, F64))
    return CpuCode(text, slots, (Phase("scalars", 1, 1),), 0, 0)


def launcher(code: CpuCode, written: tuple[str, ...] = ("out",), **options: Any) -> Launcher:
    return Launcher(code, compile_code(code, host_machine()), written, **options)


def read_all(**values: object) -> list[arguments.Argument]:
    return [arguments.read(name, value) for name, value in values.items()]


LONG = Mode.ALWAYS_LONG

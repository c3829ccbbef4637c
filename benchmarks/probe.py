"""Measures what the CPU cost model needs to know of a processor, and prints it as the `.toml` of a target.

    python benchmarks/probe.py > codegen/targets/cpu.toml

Each figure is the best of several rounds on one thread, so that other work on the machine does not count. Cycles are
those of a chain of dependent additions, one of which takes one cycle on every processor in question.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np

from pypto.runtime.toolchain import compile_text, host_machine

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
MACHINE = host_machine()
LANES = MACHINE.vector_bits // 32
VECTOR = f"<{LANES} x float>"
CHAINS = 12
PREAMBLE = (
    f"declare {VECTOR} @llvm.fma.v{LANES}f32({VECTOR}, {VECTOR}, {VECTOR})\n"
    f"declare {VECTOR} @llvm.masked.gather.v{LANES}f32.v{LANES}p0(<{LANES} x ptr>, i32, <{LANES} x i1>, {VECTOR})\n"
)


def compiled(body: list[str], state: list[tuple[str, str, str]], step: int) -> Callable[..., int]:
    """Return ``f(source, target, count)`` that runs `body` for i = 0, step, ... below count.

    `state` has type, start and next value of each carried register %s0, %s1, ...; all of them make the result, so that
    nothing is left out.
    """
    phis = [
        f"  %s{n} = phi {kind} [ {start}, %entry ], [ {after}, %loop ]" for n, (kind, start, after) in enumerate(state)
    ]
    end, total = [], "0"
    for n, (kind, _, after) in enumerate(state):
        if kind == VECTOR:
            end += [f"%e{n} = extractelement {VECTOR} {after}, i32 0", f"%b{n} = bitcast float %e{n} to i32"]
            end += [f"%w{n} = zext i32 %b{n} to i64"]
        else:
            end += [f"%w{n} = add i64 {after}, 0"]
        end += [f"%t{n} = xor i64 {total}, %w{n}"]
        total = f"%t{n}"
    text = [
        PREAMBLE, "define i64 @probe(ptr %source, ptr %target, i64 %count) {", "entry:", "  br label %loop", "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %after, %loop ]", *phis, *(f"  {line}" for line in body),
        f"  %after = add i64 %i, {step}", "  %going = icmp slt i64 %after, %count",
        "  br i1 %going, label %loop, label %end", "end:", *(f"  {line}" for line in end), f"  ret i64 {total}", "}",
        "!0 = !{i32 1}",
    ]  # fmt: skip
    library = compile_text("\n".join(text), MACHINE, ("probe",), {})
    function = FUNCTION(library.address("probe"))
    function.library = library  # type: ignore[attr-defined]  # stays loaded
    return function


def seconds(function: Callable[..., int], source: int, target: int, count: int, rounds: int = 9) -> float:
    """Return the best time of one call."""
    repeats, best = 1, float("inf")
    while True:
        start = time.perf_counter()
        for _ in range(repeats):
            function(source, target, count)
        taken = time.perf_counter() - start
        if taken > 0.004:
            break
        repeats *= 2
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            function(source, target, count)
        best = min(best, (time.perf_counter() - start) / repeats)
    return best


def cycle() -> float:
    """Return seconds of one cycle: half of ``x ^ (x >> 1)``, two dependent instructions of one cycle each."""
    body, last = [], "%s0"
    for n in range(8):
        body += [f"%y{n} = lshr i64 {last}, 1", f"%x{n} = xor i64 {last}, %y{n}"]
        last = f"%x{n}"
    return seconds(compiled(body, [("i64", "123456789", last)], 1), 0, 0, 100_000) / 1_600_000


def chained(instruction: Callable[[str], str], chains: int) -> float:
    """Return seconds of one instruction in `chains` independent chains of it."""
    body = [f"%r{n} = {instruction(f'%s{n}')}" for n in range(chains)]
    state = [(VECTOR, "zeroinitializer", f"%r{n}") for n in range(chains)]
    return seconds(compiled(body, state, 1), 0, 0, 20_000) / (20_000 * chains)


ROW = 64
"""Vectors of a row: 4 KiB of 512-bit registers."""


def rows(write: str, source: int, target: int, size: int) -> float:
    """Return seconds per byte of reading rows (write: "") of `size` bytes in all, or of reading and writing one row
    after the other, into the caches ("in") or past them ("past").
    """
    body: list[str] = []
    total = [f"%s{n}" for n in range(4)]
    for n in range(ROW):
        body += [f"%a{n} = getelementptr i8, ptr %source, i64 {n * LANES * 4}"]
        body += [f"%p{n} = getelementptr i8, ptr %a{n}, i64 %i", f"%v{n} = load {VECTOR}, ptr %p{n}, align 64"]
        body += [f"%r{n} = fadd {VECTOR} {total[n % 4]}, %v{n}"]
        total[n % 4] = f"%r{n}"
    for n in range(ROW if write else 0):
        body += [f"%d{n} = getelementptr i8, ptr %target, i64 {n * LANES * 4}"]
        body += [f"%q{n} = getelementptr i8, ptr %d{n}, i64 %i"]
        hint = ", !nontemporal !0" if write == "past" else ""
        body += [f"store {VECTOR} {total[n % 4]}, ptr %q{n}, align 64{hint}"]
    state = [(VECTOR, "zeroinitializer", name) for name in total]
    return seconds(compiled(body, state, ROW * LANES * 4), source, target, size, 7) / size


def gathered(source: int) -> float:
    """Return seconds of gathering one vector of elements that lie 256 bytes apart in the first cache."""
    steps = ", ".join(f"i64 {n * 64}" for n in range(LANES))
    ones = ", ".join("i1 true" for _ in range(LANES))
    name = f"@llvm.masked.gather.v{LANES}f32.v{LANES}p0"
    places = f"<{LANES} x ptr> %p, i32 4, <{LANES} x i1> <{ones}>, {VECTOR} zeroinitializer"
    body = [
        "%k = and i64 %i, 15",
        "%o = getelementptr float, ptr %source, i64 %k",
        f"%p = getelementptr float, ptr %o, <{LANES} x i64> <{steps}>",
        f"%v = call {VECTOR} {name}({places})",
        f"%r0 = fadd {VECTOR} %s0, %v",
    ]
    return seconds(compiled(body, [(VECTOR, "zeroinitializer", "%r0")], 1), source, 0, 20_000) / 20_000


def main() -> None:
    memory = np.zeros((1 << 28) // 4, np.float32)
    memory += 1  # touch every page
    source = -(-memory.ctypes.data // 4096) * 4096
    tick = cycle()
    found: dict[str, tuple[float, str]] = {"clock": (1e-9 / tick, "GHz")}
    one = f"<{', '.join(['float 1.0'] * LANES)}>"
    kinds = {
        "add": lambda x: f"fadd {VECTOR} {x}, {one}",
        "fma": lambda x: f"call {VECTOR} @llvm.fma.v{LANES}f32({VECTOR} {x}, {VECTOR} {one}, {VECTOR} {one})",
        "div": lambda x: f"fdiv {VECTOR} {one}, {x}",
    }
    for name, instruction in kinds.items():
        found[f"{name}_latency"] = (chained(instruction, 1) / tick, "cycles")
        found[f"{name}_every"] = (chained(instruction, CHAINS) / tick, "cycles")
    found["gather"] = (gathered(source) / tick, "cycles/vector")
    for level, size in (("l2", 3 << 17), ("l3", 3 << 21), ("dram", 3 << 25)):
        costs = {write: rows(write, source, source + size, size) / tick for write in ("", "in", "past")}
        found[f"{level}_read"] = (1 / costs[""], "B/cycle")
        found[f"{level}_write"] = (1 / (costs["in"] - costs[""]), "B/cycle")
        found[f"{level}_write_past"] = (1 / (costs["past"] - costs[""]), "B/cycle")
    source_text = f"benchmarks/probe.py on {MACHINE.cpu}, {MACHINE.vector_bits} bits"
    print(f'name = "cpu"\narchitecture = "{MACHINE.cpu}"\n\n[probe]')
    for name, (value, unit) in found.items():
        print(f'{name} = {{ value = {value:.4g}, unit = "{unit}", source = "{source_text}" }}')


if __name__ == "__main__":
    main()

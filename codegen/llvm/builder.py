"""A thin text builder for LLVM IR with explicit vectors.

llvmlite's own IR builder is several times slower than text and lacks the flags needed here; compile time is a goal
of this target, so functions are built as lines of text. A `Register` knows its type; nothing else is tracked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

from pypto.codegen.llvm.code import Machine


@dataclass(frozen=True, slots=True)
class Register:
    """An LLVM value: its text, its element type in LLVM's spelling (``float``, ``i32``, ``ptr``) and its lanes."""

    text: str
    element: str
    lanes: int = 1

    @property
    def type(self) -> str:
        return vector_type(self.element, self.lanes)

    @property
    def typed(self) -> str:
        return f"{self.type} {self.text}"


def vector_type(element: str, lanes: int) -> str:
    return element if lanes == 1 else f"<{lanes} x {element}>"


FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


def number(value: float | int | bool, element: str) -> str:
    """Return a scalar constant in LLVM's spelling; floats are rounded to `element` and written in hexadecimal."""
    if element == "i1":
        return "true" if value else "false"
    if element not in FLOAT_BITS:
        return str(int(value))
    if element == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if element == "float":
        value = _round_to_float(float(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _round_to_float(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def constant(value: float | int | bool, element: str, lanes: int = 1) -> Register:
    """Return a constant, in every lane."""
    text = number(value, element)
    return Register(text if lanes == 1 else f"splat ({element} {text})", element, lanes)


@dataclass(slots=True)
class FunctionBuilder:
    """Collects the lines of one function and the declarations it needs.

    The flags say what the machine's instructions can do (`for_machine` sets them): fused multiply-add; conversion
    between f16 and f32; AVX-512's scaling by a power of two. Without them the rules use others, right on every machine.
    """

    lines: list[str] = field(default_factory=list)
    declarations: set[str] = field(default_factory=set)
    counter: int = 0
    block: str = "entry"
    has_fma: bool = True
    has_half: bool = False
    has_scalef: bool = False

    @staticmethod
    def for_machine(machine: Machine) -> FunctionBuilder:
        """Return an empty builder with the flags of `machine`, read from its triple and its list of features."""
        features = set(machine.features.split(","))
        arm = machine.triple.startswith(("aarch64", "arm64"))
        return FunctionBuilder(
            has_fma=arm or bool(features & {"+fma", "+avx512f"}),
            has_half=arm or bool(features & {"+f16c", "+avx512f"}),
            has_scalef={"+avx512f", "+avx512vl"} <= features,
        )

    # -- names and lines

    def fresh(self, stem: str = "t") -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def emit(self, text: str, element: str, lanes: int = 1) -> Register:
        """Append an instruction and return its result."""
        register = Register(f"%{self.fresh()}", element, lanes)
        self.line(f"{register.text} = {text}")
        return register

    # -- arithmetic

    def binary(self, operator: str, left: Register, right: Register, flags: str = "") -> Register:
        """`operator` is LLVM's (``fadd``, ``mul`` ...); `flags` are fast-math or wrap flags of this instruction."""
        spelled = f"{operator} {flags} " if flags else f"{operator} "
        return self.emit(f"{spelled}{left.typed}, {right.text}", left.element, left.lanes)

    def compare(self, predicate: str, left: Register, right: Register) -> Register:
        """``predicate`` with its opcode: ``fcmp olt``, ``icmp slt`` ..."""
        return self.emit(f"{predicate} {left.typed}, {right.text}", "i1", left.lanes)

    def select(self, condition: Register, left: Register, right: Register) -> Register:
        return self.emit(f"select {condition.typed}, {left.typed}, {right.typed}", left.element, left.lanes)

    def convert(self, operator: str, value: Register, element: str) -> Register:
        """A conversion with the same number of lanes (``fpext``, ``sitofp``, ``zext``, ``bitcast`` ...)."""
        target = vector_type(element, value.lanes)
        return self.emit(f"{operator} {value.typed} to {target}", element, value.lanes)

    def intrinsic(
        self, name: str, operands: Iterable[Register], element: str, lanes: int = 1, flags: str = ""
    ) -> Register:
        """Call ``@llvm.<name>.<suffix>``, suffix from the result type, declaring it once."""
        values = tuple(operands)
        suffix = _suffix(element, lanes)
        return self.call(f"llvm.{name}.{suffix}", values, element, lanes, flags)

    def call(
        self, symbol: str, operands: Iterable[Register], element: str, lanes: int = 1, flags: str = ""
    ) -> Register:
        values = tuple(operands)
        result = vector_type(element, lanes)
        self.declarations.add(f"declare {result} @{symbol}({', '.join(value.type for value in values)})")
        spelled = f"call {flags} " if flags else "call "
        return self.emit(f"{spelled}{result} @{symbol}({', '.join(value.typed for value in values)})", element, lanes)

    def splat(self, value: Register, lanes: int) -> Register:
        """Return a scalar in every lane of a vector."""
        if lanes == 1 or value.lanes == lanes:
            return value
        zero = self.emit(
            f"insertelement <{lanes} x {value.element}> poison, {value.typed}, i64 0", value.element, lanes
        )
        mask = f"<{lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {zero.typed}, {zero.type} poison, {mask}", value.element, lanes)

    def opaque(self, value: Register) -> Register:
        """Return a scalar integer whose value LLVM may not fold; it costs no instruction.

        LLVM 22 on x86 turns a masked store of narrowed integers into one scalar store when it can see that a single
        lane is set, and then writes the wide integer over the neighbours (`tests/codegen/llvm/test_tails.py`).
        """
        return self.emit(f'call {value.type} asm "", "=r,0"({value.typed})', value.element)

    # -- memory

    def offset(self, base: Register, index: Register, element: str) -> Register:
        """Return the address of element `index` (i64) of an array of `element` at `base`."""
        return self.emit(f"getelementptr {element}, ptr {base.text}, i64 {index.text}", "ptr")

    def load(self, address: Register, element: str, lanes: int = 1, align: int = 1) -> Register:
        return self.emit(f"load {vector_type(element, lanes)}, ptr {address.text}, align {align}", element, lanes)

    def store(self, value: Register, address: Register, align: int = 1, suffix: str = "") -> None:
        self.line(f"store {value.typed}, ptr {address.text}, align {align}{suffix}")

    # -- control

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def jump(self, target: str) -> None:
        self.line(f"br label %{target}")

    def branch(self, condition: Register, then: str, otherwise: str) -> None:
        self.line(f"br i1 {condition.text}, label %{then}, label %{otherwise}")


def _suffix(element: str, lanes: int) -> str:
    name = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}.get(element, element)
    return name if lanes == 1 else f"v{lanes}{name}"


def element_suffix(element: str) -> str:
    """Return how an intrinsic's name spells a scalar type."""
    return _suffix(element, 1)

"""The innermost loop of a contraction, as a function of its own: one tile of accumulators over a run of depth."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.codegen.llvm.builder import FLOAT_BITS, FunctionBuilder, Register, constant
from pypto.codegen.llvm.code import Machine
from pypto.codegen.llvm.contraction_shape import Tile


@dataclass(frozen=True, slots=True)
class MicroKernel:
    """``void f(ptr a, ptr b, ptr c, i64 depth, i64 pitch, i1 add)``: c = (add ? c : 0) + a b for one tile.

    Element (r, k) of a is `row_step` r + `depth_step` k further, row k of b `right_step` k, row r of c `pitch` r, all
    in elements. The products of a run add up from 0 in the order of k; what c holds comes last. With `pairs` a and b
    are i16, c is i32 and `depth` counts pairs of neighbours in depth, whose two products an instruction adds exactly.
    """

    tile: Tile
    element: str
    align: int
    row_step: int
    depth_step: int
    right_step: int
    pairs: bool = False

    @property
    def operand(self) -> str:
        """The element type of a and b."""
        return "i16" if self.pairs else self.element

    def emit(self, symbol: str, builder: FunctionBuilder, attributes: str) -> str:
        """Return the function's text; `builder` is empty and collects declarations."""
        places = [(row, vector) for row in range(self.tile.rows) for vector in range(self.tile.vectors)]
        totals = self._loop(builder, places)
        stored, added = builder.fresh("store"), builder.fresh("add")
        builder.branch(Register("%add", "i1"), added, stored)
        addresses = self._addresses(builder, places)
        for label, adds in ((added, True), (stored, False)):
            builder.label(label)
            for total, address in zip(totals, addresses, strict=True):
                self._finish(builder, total, address, adds)
            builder.line("ret void")
        parameters = "ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %depth, i64 %pitch, i1 %add"
        head = f"define internal void @{symbol}({parameters}) {attributes} {{"
        return "\n".join([head, "entry:", *builder.lines, "}"])

    def _loop(self, builder: FunctionBuilder, places: list[tuple[int, int]]) -> list[Register]:
        builder.jump("loop")
        builder.label("loop")
        totals = [Register(f"%{builder.fresh('c')}", self.element, self.tile.lanes) for _ in places]
        start = len(builder.lines)
        left, right = Register("%left", "ptr"), Register("%right", "ptr")
        after = self._step(builder, left, right, totals)
        turn = 2 if self.pairs else 1
        following = [("left", "%a", turn * self.depth_step), ("right", "%b", turn * self.right_step)]
        for name, _, step in following:
            builder.line(f"%next.{name} = getelementptr {self.operand}, ptr %{name}, i64 {step}")
        builder.line("%next.k = add i64 %k, 1")
        builder.line("%going = icmp slt i64 %next.k, %depth")
        builder.line("br i1 %going, label %loop, label %done")
        phis = [f"  %{name} = phi ptr [ {first}, %entry ], [ %next.{name}, %loop ]" for name, first, _ in following]
        phis.append("  %k = phi i64 [ 0, %entry ], [ %next.k, %loop ]")
        for total, new in zip(totals, after, strict=True):
            phis.append(f"  {total.text} = phi {total.type} [ zeroinitializer, %entry ], [ {new.text}, %loop ]")
        if self.tile.lanes == 1:
            zero = constant(0, self.element).text
            phis = [line.replace("zeroinitializer", zero) for line in phis]
        builder.lines[start:start] = phis
        builder.label("done")
        return after

    def _step(
        self, builder: FunctionBuilder, left: Register, right: Register, totals: list[Register]
    ) -> list[Register]:
        """Add the products of one position of depth, or of two."""
        lanes, result = self.tile.lanes, list(totals)
        vectors = [self._vector(builder, right, number * lanes) for number in range(self.tile.vectors)]
        for row in range(self.tile.rows):
            address = builder.offset(left, constant(row * self.row_step, "i64"), self.operand)
            value = builder.splat(builder.load(address, self.element, 1, 2 if self.pairs else self.align), lanes)
            if self.pairs:
                value = builder.emit(f"bitcast {value.typed} to <{2 * lanes} x i16>", "i16", 2 * lanes)
            for number, vector in enumerate(vectors):
                place = row * self.tile.vectors + number
                if self.pairs:
                    result[place] = builder.binary("add", result[place], add_pairs(builder, value, vector))
                else:
                    result[place] = multiply_add(builder, value, vector, result[place])
        return result

    def _vector(self, builder: FunctionBuilder, right: Register, place: int) -> Register:
        """Load one row of the right operand, or interleave two."""
        lanes = self.tile.lanes
        if not self.pairs:
            return builder.load(
                builder.offset(right, constant(place, "i64"), self.element), self.element, lanes, self.align
            )
        rows = [
            builder.load(builder.offset(right, constant(place + step, "i64"), "i16"), "i16", lanes, 2)
            for step in (0, self.right_step)
        ]
        places = ", ".join(f"i32 {lane // 2 + lane % 2 * lanes}" for lane in range(2 * lanes))
        text = f"shufflevector {rows[0].typed}, {rows[1].typed}, <{2 * lanes} x i32> <{places}>"
        return builder.emit(text, "i16", 2 * lanes)

    def _addresses(self, builder: FunctionBuilder, places: list[tuple[int, int]]) -> list[Register]:
        # The branch that ends the block before must stay last, so addresses go in front of it.
        branch = builder.lines.pop()
        rows = []
        for row in range(self.tile.rows):
            index = builder.binary("mul", Register("%pitch", "i64"), constant(row, "i64"))
            rows.append(builder.offset(Register("%c", "ptr"), index, self.element))
        found = [
            builder.offset(rows[row], constant(vector * self.tile.lanes, "i64"), self.element) for row, vector in places
        ]
        builder.lines.append(branch)
        return found

    def _finish(self, builder: FunctionBuilder, total: Register, address: Register, adds: bool) -> None:
        if adds:
            before = builder.load(address, self.element, self.tile.lanes, self.align)
            total = builder.binary("fadd" if self.element in FLOAT_BITS else "add", before, total)
        builder.store(total, address, self.align)


def multiply_add(builder: FunctionBuilder, left: Register, right: Register, total: Register) -> Register:
    """Return ``total + left * right``: fused where the processor has an instruction for it."""
    if left.element not in FLOAT_BITS:
        return builder.binary("add", total, builder.binary("mul", left, right))
    if builder.has_fma:
        return builder.intrinsic("fma", (left, right, total), left.element, left.lanes)
    return builder.binary("fadd", total, builder.binary("fmul", left, right))


PAIRWISE = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}
"""Instructions that multiply i16 and add neighbours in i32, by the lanes of the result."""
_NEEDED = {4: "+sse2", 8: "+avx2", 16: "+avx512bw"}


def adds_pairs(machine: Machine, lanes: int) -> bool:
    """True when the processor has such an instruction."""
    return machine.triple.startswith("x86_64") and lanes in PAIRWISE and _NEEDED[lanes] in machine.features.split(",")


def add_pairs(builder: FunctionBuilder, left: Register, right: Register) -> Register:
    """Return the sums of the products of neighbours: i16 in, half as many i32 out."""
    lanes = left.lanes // 2
    return builder.call(PAIRWISE[lanes], (left, right), "i32", lanes)

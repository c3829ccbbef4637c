"""Indices that come from tiles: the check that they are elements of their axis, and accesses through them.

An access calls such an index by a symbol. Before it is emitted the symbol is bound to the register that the check
gave: one number, or one in each lane. A wrong index is reported through the status words (`code.py`) and replaced by
0, so that no access leaves its array; the launch then fails, whatever was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.codegen.llvm import affine, control
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.codegen.llvm.memory import Lanes
from pypto.codegen.llvm.program import Access, Node
from pypto.ir.index import Symbol

if TYPE_CHECKING:
    from pypto.codegen.llvm.nest_emitter import NestEmitter, Shifts

REPORT = """define internal void @pypto_report(ptr %status, i64 %site, i64 %position, i64 %value) nounwind {
  br label %acquire
acquire:
  %seen = cmpxchg ptr %status, i64 0, i64 1 acquire monotonic, align 8
  %taken = extractvalue { i64, i1 } %seen, 1
  br i1 %taken, label %held, label %acquire
held:
  %sites = getelementptr i64, ptr %status, i64 1
  %positions = getelementptr i64, ptr %status, i64 2
  %values = getelementptr i64, ptr %status, i64 3
  %before = load i64, ptr %sites, align 8
  %place = load i64, ptr %positions, align 8
  %none = icmp eq i64 %before, 0
  %earlier = icmp ult i64 %site, %before
  %same = icmp eq i64 %site, %before
  %ahead = icmp ult i64 %position, %place
  %sooner = and i1 %same, %ahead
  %first = or i1 %none, %earlier
  %wins = or i1 %first, %sooner
  br i1 %wins, label %write, label %leave
write:
  store i64 %site, ptr %sites, align 8
  store i64 %position, ptr %positions, align 8
  store i64 %value, ptr %values, align 8
  br label %leave
leave:
  store atomic i64 0, ptr %status release, align 8
  ret void
}"""


def number(nest: NestEmitter, node: Node, lanes: Lanes | None, shifts: Shifts) -> Register:
    """Return the value of an index expression, in the node's dtype."""
    assert isinstance(node.value, Affine)
    form = _settled(nest, _shifted(nest, node.value, shifts), lanes, shifts)
    wide = _value(nest, form, lanes)
    return wide if node.dtype.bits == 64 else nest.builder.convert("trunc", wide, f"i{node.dtype.bits}")


def _value(nest: NestEmitter, form: Affine, lanes: Lanes | None) -> Register:
    if lanes is None or not nest.indices.varies(form, lanes.symbol):
        return nest.indices.scalar(form)
    return nest.indices.vector(form, lanes.symbol, nest.memory.position(lanes), lanes.count)


def _shifted(nest: NestEmitter, form: Affine, shifts: Shifts) -> Affine:
    from pypto.codegen.llvm.loop_plan import shifted

    return shifted(form, shifts, nest.ranges)


def settled(nest: NestEmitter, access: Access, lanes: Lanes | None, shifts: Shifts) -> Access:
    """Return `access` with the symbols of checked indices bound to their registers."""
    if not nest.checks:
        return access
    index = tuple(_settled(nest, item, lanes, shifts) for item in access.index)
    return Access(access.array, index, access.guarded, access.fill)


def _settled(nest: NestEmitter, form: Affine, lanes: Lanes | None, shifts: Shifts) -> Affine:
    """A symbol of its own for each register: frames remember what they computed by symbols."""
    found = [symbol for symbol in affine.symbols(form) if symbol in nest.checks]
    if not found:
        return form
    values: dict[Symbol, Affine] = {}
    for symbol in sorted(found, key=lambda item: item.name):
        register = nest.value(nest.checks[symbol], lanes, shifts)
        bound = Symbol(f"{symbol.name}{register.text}")
        nest.indices.ranges.setdefault(bound, nest.ranges[symbol])  # type: ignore[attr-defined]  # a dict
        if register.lanes > 1:
            nest.indices.vectors[bound] = register
        else:
            nest.indices.bind(bound, register)
        values[symbol] = affine.symbol(bound)
    return affine.substitute(form, values, nest.ranges)


def checked(nest: NestEmitter, node: Node, lanes: Lanes | None, shifts: Shifts) -> Register:
    """Return an index as an element of its axis, after reporting it when it is none."""
    builder, settings = nest.builder, dict(node.attributes)
    given = nest.operand(node.operands[0], lanes, shifts)
    if given.element != "i64":
        given = builder.convert("sext", given, "i64")
    extent = settings["extent"]
    assert isinstance(extent, int)
    index = _wrapped(builder, given, extent) if settings["wrap"] else given
    wrong = builder.compare("icmp uge", index, constant(extent, "i64", index.lanes))
    counted = wrong if lanes is None or lanes.mask is None else builder.binary("and", wrong, lanes.mask)

    def report() -> None:
        with nest.frames.inner():
            _report(nest, node, given, counted, lanes, shifts)

    control.branch(builder, _any(builder, counted), report)
    return builder.select(wrong, constant(0, "i64", index.lanes), index)


def _wrapped(builder: FunctionBuilder, index: Register, extent: int) -> Register:
    """Count numbers below 0 from the end."""
    negative = builder.compare("icmp slt", index, constant(0, "i64", index.lanes))
    return builder.select(negative, builder.binary("add", index, constant(extent, "i64", index.lanes)), index)


def _any(builder: FunctionBuilder, mask: Register) -> Register:
    if mask.lanes == 1:
        return mask
    builder.declarations.add(f"declare i1 @llvm.vector.reduce.or.v{mask.lanes}i1(<{mask.lanes} x i1>)")
    return builder.emit(f"call i1 @llvm.vector.reduce.or.v{mask.lanes}i1({mask.typed})", "i1")


def _report(
    nest: NestEmitter, node: Node, given: Register, wrong: Register, lanes: Lanes | None, shifts: Shifts
) -> None:
    """Report the first lane that is wrong."""
    builder, status = nest.builder, nest.memory.status
    assert status is not None and isinstance(node.value, Affine)
    place = _value(nest, _settled(nest, _shifted(nest, node.value, shifts), lanes, shifts), lanes)
    if wrong.lanes > 1:
        lane = _first_lane(builder, wrong)
        given = builder.emit(f"extractelement {given.typed}, i64 {lane.text}", "i64")
        if place.lanes > 1:
            place = builder.emit(f"extractelement {place.typed}, i64 {lane.text}", "i64")
    builder.declarations.add(REPORT)
    site = dict(node.attributes)["site"]
    builder.line(f"call void @pypto_report({status.typed}, i64 {site}, {place.typed}, {given.typed})")


def _first_lane(builder: FunctionBuilder, mask: Register) -> Register:
    bits = builder.emit(f"bitcast {mask.typed} to i{mask.lanes}", f"i{mask.lanes}")
    if mask.lanes < 64:
        bits = builder.convert("zext", bits, "i64")
    builder.declarations.add("declare i64 @llvm.cttz.i64(i64, i1 immarg)")
    return builder.emit(f"call i64 @llvm.cttz.i64({bits.typed}, i1 true)", "i64")

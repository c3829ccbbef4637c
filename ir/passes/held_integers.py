"""64-bit integers on a core that has none: an i64 tile is held as i32 where the interval of its values fits.

Positions, numbers along an axis and what is computed from them within 32 bits are held so, and widened when they are
stored. What may be larger is an error. Loaded i64 tiles serve as indices only: the cast to i32 saturates, so that an
index too large for i32 stays one that no axis has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import BOOL, I8, I16, I32, I64, U8, DType
from pypto.ir.nodes import Kernel, Load, Operation, Statement, Value, operands, walk
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes import decompose_integers

if TYPE_CHECKING:
    from pypto.ir.passes.decompose import Decomposer

Interval = tuple[int, int]

ALL_I32: Interval = (-(2**31), 2**31 - 1)
INTERVALS: dict[DType, Interval] = {
    BOOL: (0, 1), U8: (0, 255), I8: (-128, 127), I16: (-(2**15), 2**15 - 1), I32: ALL_I32,
}  # fmt: skip
COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def fits(interval: Interval) -> bool:
    return ALL_I32[0] <= interval[0] and interval[1] <= ALL_I32[1]


def indices_only(kernel: Kernel) -> frozenset[str]:
    """Return the names of the values of `kernel` that 32 bits do for, however large they are: saturated ones are no
    element of any axis either, and compare with a number inside of the range of i32 in the same way."""
    inside = _numbers_inside(kernel)
    uses: dict[str, list[tuple[Statement, int]]] = {}
    for statement in walk(kernel.body):
        for position, value in enumerate(operands(statement)):
            uses.setdefault(value.name, []).append((statement, position))
    found: set[str] = set()
    for name in reversed(list(uses)):
        if all(_as_index(statement, position, found, inside) for statement, position in uses[name]):
            found.add(name)
    return frozenset(found)


def _numbers_inside(kernel: Kernel) -> frozenset[str]:
    """Return the names of the integer constants between the ends of i32."""
    constants = (item for item in walk(kernel.body) if isinstance(item, Operation) and item.name == "constant")
    numbers = ((item.results[0].name, item.attribute("value")) for item in constants)
    return frozenset(name for name, number in numbers if isinstance(number, int) and abs(number) < ALL_I32[1])


def _as_index(statement: Statement, position: int, found: set[str], inside: frozenset[str]) -> bool:
    if not isinstance(statement, Operation):
        return False
    category = TABLE[statement.name].category
    if category is Category.INDEXING:
        return position == 1
    if statement.name in COMPARISONS:
        return statement.operands[1 - position].name in inside
    if statement.name == "where":
        return position > 0 and statement.results[0].name in found
    return category in (Category.VIEW, Category.ASSEMBLY) and statement.results[0].name in found


def held(rewriter: Decomposer, value: Value) -> Value | None:
    """Return the i32 tile or number that stands for an i64 `value`, or None when 32 bits may not hold it."""
    if value.name in rewriter.intervals or value.dtype == I32:
        return value
    found = rewriter.constant_of(value)
    if found is None or not fits((int(found), int(found))):
        return None
    made = decompose_integers.number(rewriter, I32, int(found))
    rewriter.intervals[made.name] = (int(found), int(found))
    return made


def all_held(rewriter: Decomposer, values: tuple[Value, ...], name: str) -> tuple[Value, ...]:
    """Return `values` with i32 for i64 ones; raises UserError ``npu-dtype`` when 32 bits may not hold one."""
    found = [held(rewriter, value) if value.dtype == I64 else value for value in values]
    return tuple(value if value is not None else refuse(rewriter, name) for value in found)


def refuse(rewriter: Decomposer, name: str) -> Value:
    raise UserError("npu-dtype", rewriter.location, name=name, dtype="int64", wanted="int32")


def note(rewriter: Decomposer, value: Value, interval: Interval) -> Value:
    """Note that the i32 `value` stands for an i64 one within `interval`."""
    rewriter.intervals[value.name] = interval
    return value


def interval_of(rewriter: Decomposer, value: Value) -> Interval:
    return rewriter.intervals.get(value.name, ALL_I32)


def union(rewriter: Decomposer, values: tuple[Value, ...]) -> Interval:
    lows, highs = zip(*(interval_of(rewriter, value) for value in values), strict=True)
    return min(lows), max(highs)


def elementwise(rewriter: Decomposer, operation: Operation, values: tuple[Value, ...]) -> Value:
    """An operation on i64 of which a tile is held: in i32 when its result fits, too."""
    values = all_held(rewriter, values, operation.name)
    numbers = values[1:] if operation.name == "where" else values
    rule = decompose_integers.INTEGER_RULES.get(operation.name)
    if operation.name in COMPARISONS:
        return rule(rewriter, *values) if rule else rewriter.call(operation.name, *values)
    interval = _interval(operation.name, [interval_of(rewriter, value) for value in numbers])
    if interval is None or not fits(interval):
        return refuse(rewriter, operation.name)
    made = rule(rewriter, *values) if rule else rewriter.call(operation.name, *values)
    return note(rewriter, made, interval)


def _interval(name: str, given: list[Interval]) -> Interval | None:
    """Return the interval of an operation's results, or None for operations that none is known of."""
    rule = _RULES.get(name)
    return rule(*given) if rule else None


def _ends(function: Callable[[int, int], int], x: Interval, y: Interval) -> Interval:
    values = [function(left, right) for left in x for right in y]
    return min(values), max(values)


def _floor_divide(x: Interval, y: Interval) -> Interval | None:
    return _ends(lambda left, right: left // right, x, y) if y[0] > 0 else None


def _remainder(x: Interval, y: Interval) -> Interval | None:
    return (0, y[1] - 1) if y[0] > 0 else None


_RULES: dict[str, Callable[..., Interval | None]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "sub": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "mul": lambda x, y: _ends(lambda left, right: left * right, x, y),
    "neg": lambda x: (-x[1], -x[0]),
    "abs": lambda x: (0, max(abs(x[0]), abs(x[1]))),
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "where": lambda x, y: (min(x[0], y[0]), max(x[1], y[1])),
    "floor_div": _floor_divide,
    "remainder": _remainder,
}


def reduction(rewriter: Decomposer, operation: Operation, value: Value) -> Value:
    """Largest, smallest or sum of a held tile."""
    value = all_held(rewriter, (value,), operation.name)[0]
    axes = operation.attribute("axes")
    assert isinstance(axes, tuple)
    low, high = interval_of(rewriter, value)
    if operation.name == "sum":
        extents = [value.shape[axis] for axis in axes if isinstance(axis, int)]
        count = math.prod(extent if isinstance(extent, int) else 2**31 for extent in extents)
        low, high = low * count, high * count
    elif operation.name not in ("max", "min"):
        return refuse(rewriter, operation.name)
    if not fits((low, high)):
        return refuse(rewriter, operation.name)
    return note(rewriter, rewriter.reduce_axes(operation.name, value, axes), (low, high))


def load(rewriter: Decomposer, statement: Load) -> Value:
    """Append the load of i64 indices and return them as i32."""
    rewriter.builder.append(statement)
    made = rewriter.call("cast", statement.result, dtype=I32)
    return note(rewriter, made, ALL_I32)

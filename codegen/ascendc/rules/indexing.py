"""Elements chosen by the numbers in a tile, one by one through the scalar unit.

Nobody on the device reports an index that is no element of its axis: a gather reads element 0 there, a scatter leaves
out the update, so that no access leaves its tile.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto.codegen.ascendc.emission import Emission, only_result
from pypto.ir.index import Extent, Index, Symbol
from pypto.ir.nodes import Operation, Value
from pypto.ir.operations.rules import broadcast_extent
from pypto.ir.passes.forms import attribute_axis

Positions = tuple[Index, ...]


def _within(value: Value, positions: Positions) -> Positions:
    """Return where in `value`, which broadcasts, the element at `positions` is."""
    return tuple(0 if extent == 1 else place for place, extent in zip(positions, value.shape, strict=False))


def _chosen(emission: Emission, operation: Operation, positions: Positions) -> Symbol:
    """Write the element of the axis that the index at `positions` chooses, -1 for none, and return its variable."""
    x, indices = operation.operands[:2]
    axis = attribute_axis(operation)
    symbol = Symbol(f"chosen{next(emission.counter)}")
    emission.symbols[symbol] = symbol.name
    place = emission.index(emission.offset(indices, _within(indices, positions)))
    index = f"{emission.tensor(indices)}.GetValue({place})"
    wraps = "true" if operation.attribute("wrap") else "false"
    emission.helpers.add("ElementOf")
    extent = emission.index(x.shape[axis])
    emission.line(f"const int64_t {symbol.name} = ElementOf({index}, {extent}, {wraps});")
    return symbol


def _value(emission: Emission, value: Value, positions: Positions) -> str:
    return f"{emission.tensor(value)}.GetValue({emission.index(emission.offset(value, _within(value, positions)))})"


def gather(emission: Emission, operation: Operation) -> None:
    result, (x, _), axis = only_result(operation), operation.operands, attribute_axis(operation)
    with emission.loops(result.shape) as positions:
        chosen = _chosen(emission, operation, positions)
        source = list(_within(x, positions))
        source[axis] = chosen
        offset = emission.index(emission.offset(x, tuple(source)))
        target = emission.index(emission.offset(result, positions))
        first = emission.index(emission.offset(x, (*source[:axis], 0, *source[axis + 1 :])))
        found = f"{chosen.name} < 0 ? {first} : {offset}"
        emission.line(f"{emission.tensor(result)}.SetValue({target}, {emission.tensor(x)}.GetValue({found}));")


def scatter(step: str, *helpers: str) -> Callable[[Emission, Operation], None]:
    """In place: the result is the base's memory. Updates along the axis go in the order of the indices."""

    def rule(emission: Emission, operation: Operation) -> None:
        result, (_, indices, updates), axis = only_result(operation), operation.operands, attribute_axis(operation)
        emission.helpers.update(helpers)
        count = broadcast_extent(indices.shape[axis], updates.shape[axis])
        assert count is not None
        steps: tuple[Extent, ...] = (*result.shape[:axis], count, *result.shape[axis + 1 :])
        with emission.loops(steps) as positions:
            chosen = _chosen(emission, operation, positions)
            target = emission.index(emission.offset(result, (*positions[:axis], chosen, *positions[axis + 1 :])))
            tile, update = emission.tensor(result), _value(emission, updates, positions)
            with emission.block(f"if ({chosen.name} >= 0)"):
                value = step.format(old=f"{tile}.GetValue({target})", update=update)
                emission.line(f"{tile}.SetValue({target}, {value});")

    return rule


RULES: dict[str, Callable[[Emission, Operation], None]] = {
    "gather": gather,
    "scatter": scatter("{update}"),
    "scatter_add": scatter("Plus({old}, {update})", "Plus"),
}

"""Operands that an operation cannot take (raised by the type rules of the operation table)."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "condition-dtype": Entry(
        "the condition of where has dtype {dtype}, not bool",
        "write a comparison, for example `pypto.where(x != 0, a, b)`",
    ),
    "dtype-mismatch": Entry(
        "operands have different dtypes: {dtypes}", "convert one of them with `pypto.cast(x, dtype)`"
    ),
    "empty-reduction": Entry(
        "max or min over axis {axis} of a tile of shape {shape}: the axis is empty and there is no largest of nothing",
        "reduce an axis with at least one element, or use `pypto.sum`, whose value for nothing is 0",
    ),
    "reshape-size": Entry(
        "cannot reshape {before} to {after}: the numbers of elements differ",
        "give a shape with the same number of elements",
    ),
    "shape-mismatch": Entry(
        "shapes {shapes} do not broadcast: two axes differ and neither is 1",
        "slice, reshape or add an axis (`x[:, None]`) so that each pair of axes is equal or one of them is 1",
    ),
    "transpose-axes": Entry(
        "transpose axes {axes} are not a permutation of the {rank} axes", "name each axis from 0 to {rank} - 1 once"
    ),
    "unsupported-dtype": Entry("{operation} does not take dtype {dtype}", "cast first; {operation} takes: {allowed}"),
}

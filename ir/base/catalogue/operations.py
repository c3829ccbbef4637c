"""Operands that an operation cannot take (raised by the type rules of the operation table)."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "attention-mask": Entry(
        "the attention mask has shape {mask}, which does not broadcast to the scores' shape {scores}",
        "give a mask of the last two axes (queries, keys), with leading axes equal or 1",
    ),
    "attention-shapes": Entry(
        "attention of query {query}, key {key} and value {value}: the last axes of query and key differ, or the numbers"
        " of keys and values",
        "shapes are (.., queries, e), (.., keys, e) and (.., keys, v)",
    ),
    "condition-dtype": Entry(
        "the condition of where has dtype {dtype}, not bool",
        "write a comparison, for example `pypto.where(x != 0, a, b)`",
    ),
    "convolution-extents": Entry(
        "a convolution needs numbers as extents, not {extent} and {size}",
        "compile with `shapes=` or call the kernel with arguments first",
    ),
    "convolution-shapes": Entry(
        "convolution of an image {image} with kernels {kernel}: the numbers of channels differ, or axes are missing",
        "shapes are (.., channels, height, width) and (.., outputs, channels, height, width)",
    ),
    "convolution-window": Entry(
        "the kernel reaches over {reach} elements of an axis of {extent}",
        "pad the image, or use a smaller kernel or dilation",
    ),
    "dtype-mismatch": Entry(
        "operands have different dtypes: {dtypes}", "convert one of them with `pypto.cast(x, dtype)`"
    ),
    "empty-reduction": Entry(
        "max or min over axis {axis} of a tile of shape {shape}: the axis is empty and there is no largest of nothing",
        "reduce an axis with at least one element, or use `pypto.sum`, whose value for nothing is 0",
    ),
    "matmul-shapes": Entry(
        "cannot multiply matrices of shapes {left} and {right}: the last axis of the first is not the last but one of "
        "the second",
        "transpose one of them (`x.T`, `pypto.transpose(x, axes)`), or reshape",
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

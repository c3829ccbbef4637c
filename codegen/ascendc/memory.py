"""Loads and stores: whole blocks by DataCopy, rows with ragged ends by DataCopyPad, scattered elements one by one."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.codegen.ascendc.emission import Emission
from pypto.codegen.ascendc.expressions import CPP_TYPES
from pypto.ir.index import Extent, Index, add, ceil_divide, multiply, product, subtract
from pypto.ir.nodes import Load, Pipe, Region, Store, Value
from pypto.ir.passes.layout import stored_rank

BLOCK = 32
MOST_BLOCKS = 4095
"""Most rows of one DataCopyPad."""

LARGEST_GAP = 2**32 - 1
"""Largest gap between rows in global memory, in bytes."""


@dataclass(frozen=True, slots=True)
class Rows:
    """One copy of `count` rows of `columns` elements: gaps between rows in the array (elements) and tile (blocks)."""

    count: Extent
    columns: Extent
    array_gap: Index
    tile_gap: Index


def load(emission: Emission, statement: Load) -> None:
    value = statement.result
    if value.buffer is None:
        scalar = emission.names[statement.source]
        emission.names[value.name] = scalar
        return
    if emission.pipes.pipe(statement) is Pipe.S:
        _load_elements(emission, statement)
        return
    for_each_copy(emission, statement.source, statement.region, value, to_array=False)


def store(emission: Emission, statement: Store) -> None:
    for_each_copy(emission, statement.target, statement.region, statement.value, to_array=True)


def array_strides(emission: Emission, array: str) -> tuple[int, ...]:
    """Return the distance in elements between neighbours of an array, which is dense and row-major."""
    shape = emission.kernel.parameter(array).type.shape
    found = [product(shape[axis + 1 :]) for axis in range(len(shape))]
    return tuple(stride if isinstance(stride, int) else 0 for stride in found)


def array_offset(emission: Emission, array: str, region: Region, positions: tuple[Index, ...]) -> Index:
    """Return the element number in the array of the element of `region` at `positions` (leading axes)."""
    total: Index = 0
    for axis, stride in enumerate(array_strides(emission, array)):
        moved = multiply(positions[axis], region[axis].step) if axis < len(positions) else 0
        total = add(total, multiply(add(region[axis].offset, moved), stride))
    return total


def for_each_copy(emission: Emission, array: str, region: Region, value: Value, to_array: bool) -> None:
    """Write the copies between a region of an array and a tile: loops over all but the last two stored axes."""
    rank = stored_rank(value.shape)
    rows = rows_of(emission, array, region, value)
    looped = max(0, rank - 2) if rows is not None else max(0, rank - 1)
    with emission.loops(value.shape[:looped]) as positions:
        _copy(emission, array, region, value, positions, rows or _one_row(value), to_array)


def _one_row(value: Value) -> Rows:
    rank = stored_rank(value.shape)
    return Rows(1, value.shape[rank - 1] if rank else 1, 0, 0)


def rows_of(emission: Emission, array: str, region: Region, value: Value) -> Rows | None:
    """Return the copy of a plane of rows, or None when rows must be copied one by one."""
    rank = stored_rank(value.shape)
    if rank < 2:
        return None
    columns = value.shape[rank - 1]
    pitch = array_strides(emission, array)[rank - 2] * region[rank - 2].step
    gap = subtract(pitch, columns)
    bytes_ = value.dtype.bytes
    storage = emission.storage(value)
    most = pitch * bytes_
    if pitch <= 0 or (isinstance(gap, int) and gap < 0) or most > LARGEST_GAP or storage[rank - 2] > MOST_BLOCKS:
        return None
    blocks = ceil_divide(multiply(columns, bytes_), BLOCK)
    tile_gap = subtract(storage[rank - 1] * bytes_ // BLOCK, blocks)
    return Rows(value.shape[rank - 2], columns, gap, tile_gap)


def _copy(
    emission: Emission,
    array: str,
    region: Region,
    value: Value,
    positions: tuple[Index, ...],
    rows: Rows,
    to_array: bool,
) -> None:
    tile = emission.tensor(value, emission.offset(value, positions))
    memory = f"{emission.names[array]}_gm[{emission.index(array_offset(emission, array, region, positions))}]"
    target, source = (memory, tile) if to_array else (tile, memory)
    row_bytes = multiply(rows.columns, value.dtype.bytes)
    dense = rows.count == 1 or (rows.array_gap == 0 and rows.tile_gap == 0)
    if dense and isinstance(row_bytes, int) and row_bytes % BLOCK == 0:
        count = f"static_cast<uint32_t>({emission.index(multiply(rows.count, rows.columns))})"
        emission.call("DataCopy", target, source, count)
        return
    gap = multiply(rows.array_gap, value.dtype.bytes)
    gaps = (rows.tile_gap, gap) if to_array else (gap, rows.tile_gap)
    parameters = copy_parameters(emission, rows.count, row_bytes, *gaps)
    padding = () if to_array else (f"AscendC::DataCopyPadExtParams<{CPP_TYPES[value.dtype]}>{{false, 0, 0, 0}}",)
    emission.call("DataCopyPad", target, source, parameters, *padding)


def copy_parameters(emission: Emission, count: Index, length: Index, source_gap: Index, target_gap: Index) -> str:
    """Return DataCopyExtParams: rows, bytes of a row, gaps (bytes in global memory, 32-byte blocks on chip)."""
    types = ("uint16_t", "uint32_t", "uint32_t", "uint32_t")
    values = (count, length, source_gap, target_gap)
    fields = [
        str(value) if isinstance(value, int) else f"static_cast<{type_}>({emission.index(value)})"
        for type_, value in zip(types, values, strict=True)
    ]
    return f"AscendC::DataCopyExtParams{{{', '.join(fields)}, 0}}"


def _load_elements(emission: Emission, statement: Load) -> None:
    """Neighbours that are apart in global memory, through the scalar unit: slow, for any step."""
    value = statement.result
    with emission.loops(value.shape[: stored_rank(value.shape)]) as positions:
        offset = emission.index(array_offset(emission, statement.source, statement.region, positions))
        element = f"{emission.names[statement.source]}_gm.GetValue({offset})"
        target = emission.index(emission.offset(value, positions))
        emission.line(f"{emission.tensor(value)}.SetValue({target}, {element});")

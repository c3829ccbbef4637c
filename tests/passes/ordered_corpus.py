"""Kernels of positions, products, scans, sorting, indexing and 64-bit positions for the corpus."""

from __future__ import annotations

from collections.abc import Callable

from passes.kernels import KernelBuilder
from pypto.ir.dtypes import BF16, BOOL, F16, F32, I8, I16, I32, I64, U8, DType
from pypto.ir.nodes import Module, Value


def spiced(k: KernelBuilder, x: Value) -> Value:
    """Return `x` with ties, infinities and NaN where it is large."""
    tied = k.op("round", k.op("mul", x, k.number(2.0)))
    infinite = k.op("where", k.op("gt", x, k.number(1.4)), k.number(float("inf")), tied)
    return k.op("where", k.op("gt", x, k.number(1.9)), k.number(float("nan")), infinite)


def positions(shape: tuple[int, ...], axis: int, dtype: DType = F32) -> Module:
    k = KernelBuilder("positions")
    x = k.input("x", shape, dtype)
    x = spiced(k, x) if dtype == F32 else x
    k.output("first", k.op("argmax", x, axis=axis))
    k.output("last", k.op("cast", k.op("argmin", x, axis=axis), dtype=I32))
    return k.module()


def products(shape: tuple[int, ...], axes: tuple[int, ...], dtype: DType = F32) -> Module:
    k = KernelBuilder("products")
    k.output("out", k.op("prod", k.input("x", shape, dtype), axes=axes))
    return k.module()


def of_nothing() -> Module:
    k = KernelBuilder("of_nothing")
    k.output("product", k.op("prod", k.input("x", (4, 0)), axes=(1,)))
    k.output("all", k.op("all", k.input("m", (0, 3), BOOL), axes=(0,)))
    return k.module()


def scans(shape: tuple[int, ...], axis: int, dtype: DType = F32) -> Module:
    k = KernelBuilder("scans")
    x = k.input("x", shape, dtype)
    k.output("sums", k.op("cumsum", x, axis=axis))
    k.output("products", k.op("cumprod", x, axis=axis))
    return k.module()


def special_sums() -> Module:
    k = KernelBuilder("special_sums")
    x = spiced(k, k.input("x", (31, 40)))
    k.output("along", k.op("cumsum", x, axis=1))
    k.output("across", k.op("cumsum", x, axis=0))
    return k.module()


def orders(shape: tuple[int, ...], axis: int, count: int, dtype: DType = F32) -> Module:
    k = KernelBuilder("orders")
    x = k.input("x", shape, dtype)
    x = spiced(k, x) if dtype == F32 else x
    up = k.op("argsort", x, axis=axis, count=shape[axis], descending=False)
    down = k.op("argsort", x, axis=axis, count=count, descending=True)
    k.output("up", up)
    k.output("down", k.op("cast", down, dtype=I32))
    k.output("sorted", k.op("gather", x, up, axis=axis, wrap=False))
    k.output("largest", k.op("gather", x, down, axis=axis, wrap=False))
    return k.module()


def indices(k: KernelBuilder, shape: tuple[int, ...], extent: int, dtype: DType = I64, name: str = "indices") -> Value:
    """Return numbers from 0 to `extent` - 1 made of small integers."""
    x = k.input(name, shape, I32)
    numbers = k.op("remainder", x, k.number(extent, I32))
    return numbers if dtype == I32 else k.op("cast", numbers, dtype=dtype)


def gathers(shape: tuple[int, int], dtype: DType = F32) -> Module:
    k = KernelBuilder("gathers")
    rows, columns = shape
    x = k.input("x", shape, dtype)
    chosen = indices(k, (13, 1), rows)
    backwards = k.op("sub", indices(k, (13, 1), rows, I32, "backwards"), k.number(rows, I32))
    k.output("rows", k.op("gather", x, chosen, axis=0, wrap=False))
    k.output("ends", k.op("gather", x, backwards, axis=0, wrap=True))
    within = k.op("remainder", k.input("within", (rows, 9), I32), k.number(columns, I32))
    k.output("within_rows", k.op("gather", x, within, axis=1, wrap=False))
    return k.module()


def loaded_indices(dtype: DType) -> Module:
    """Indices from memory: u8 extents make every number that arguments have one of the axis."""
    k = KernelBuilder("loaded_indices")
    x = k.input("x", (130, 20))
    numbers = k.input("numbers", (17,), dtype)
    column = k.op("reshape", numbers, shape=(17, 1))
    k.output("out", k.op("gather", x, column, axis=0, wrap=True))
    return k.module()


def targets() -> Module:
    """What a loss with an ignored class is made of: loaded i64 numbers compared, replaced and used as indices."""
    k = KernelBuilder("targets")
    x, classes = k.input("x", (30, 61)), k.input("classes", (30, 1), I64)
    ignored = k.op("lt", classes, k.number(0, I64))
    safe = k.op("where", ignored, k.number(0, I64), classes)
    chosen = k.op("gather", x, safe, axis=1, wrap=False)
    k.output("out", k.op("where", ignored, k.number(0.0), chosen))
    return k.module()


def scatters(shape: tuple[int, int], axis: int, dtype: DType = F32) -> Module:
    k = KernelBuilder("scatters")
    x = k.input("x", shape, dtype)
    steps = (12, shape[1]) if axis == 0 else (shape[0], 12)
    updates = k.input("updates", steps, dtype)
    chosen = indices(k, (12, 1) if axis == 0 else steps, shape[axis])
    k.output("replaced", k.op("scatter", x, chosen, updates, axis=axis, wrap=False))
    if dtype != BOOL:
        k.output("added", k.op("scatter_add", x, chosen, updates, axis=axis, wrap=True))
    return k.module()


def numbers(shape: tuple[int, int], dtype: DType) -> Module:
    k = KernelBuilder("numbers")
    for axis in (0, 1):
        k.output(f"along{axis}", k.op("iota", axis=axis, dtype=dtype, shape=shape))
    return k.module()


def triangle(shape: tuple[int, int]) -> Module:
    """What tril and one_hot are made of: comparisons of i64 numbers along axes, and sums of them."""
    k = KernelBuilder("triangle")
    x = k.input("x", shape)
    rows, columns = (k.op("iota", axis=axis, dtype=I64, shape=shape) for axis in (0, 1))
    below = k.op("le", columns, k.op("add", rows, k.number(1, I64)))
    k.output("lower", k.op("where", below, x, k.number(0.0)))
    best = k.op("argmax", x, axis=1)
    k.output("hot", k.op("cast", k.op("eq", best, columns), dtype=F32))
    k.output("flat", k.op("add", k.op("mul", rows, k.number(shape[1], I64)), columns))
    k.output("most", k.op("max", best, axes=(0,)))
    return k.module()


def pairs(dtype: DType) -> Module:
    k = KernelBuilder("pairs")
    x, y = k.input("x", (9, 21), dtype), k.input("y", (9, 21), dtype)
    for name in ("gcd", "shift_left", "shift_right", "pow"):
        k.output(f"out_{name}", k.op(name, x, y))
    return k.module()


def long_argmax(extent: int) -> Module:
    """A row too long for a core at once, in pieces."""
    k = KernelBuilder("long_argmax")
    k.output("out", k.op("argmax", k.input("x", (2, extent)), axis=1))
    return k.module()


ORDERED: dict[str, Callable[[], Module]] = {
    "positions": lambda: positions((50, 33), 1),
    "positions_across": lambda: positions((50, 33), 0),
    "positions_middle": lambda: positions((4, 9, 10), 1),
    "positions_vector": lambda: positions((1001,), 0),
    "positions_of_one": lambda: positions((7, 1), 1),
    "positions_i32": lambda: positions((9, 33), 1, I32),
    "positions_i8": lambda: positions((9, 33), 0, I8),
    "positions_bool": lambda: positions((20, 11), 1, BOOL),
    "positions_long": lambda: long_argmax(70001),
    "product_rows": lambda: products((20, 17), (1,)),
    "product_columns": lambda: products((9, 65), (0,)),
    "product_all": lambda: products((3, 4, 2), (0, 1, 2)),
    "product_i32": lambda: products((9, 33), (1,), I32),
    "product_i8": lambda: products((9, 33), (0, 1), I8),
    "product_of_nothing": of_nothing,
    "scans": lambda: scans((60, 33), 1),
    "scans_across": lambda: scans((33, 70), 0),
    "scans_middle": lambda: scans((5, 6, 7), 1),
    "scans_column": lambda: scans((50, 1), 0),
    "scans_i32": lambda: scans((9, 33), 1, I32),
    "scans_u8": lambda: scans((9, 33), 0, U8),
    "special_sums": special_sums,
    "orders": lambda: orders((6, 33), 1, 5),
    "orders_across": lambda: orders((40, 9), 0, 40),
    "orders_of_one": lambda: orders((3, 1), 1, 1),
    "orders_i16": lambda: orders((7, 20), 1, 3, I16),
    "orders_bool": lambda: orders((3, 20), 1, 3, BOOL),
    "gathers": lambda: gathers((21, 35)),
    "gathers_i8": lambda: gathers((21, 35), I8),
    "gathers_f16": lambda: gathers((21, 35), F16),
    "gathers_bf16": lambda: gathers((21, 35), BF16),
    "gathers_bool": lambda: gathers((21, 35), BOOL),
    "loaded_indices_i64": lambda: loaded_indices(I64),
    "loaded_indices_i32": lambda: loaded_indices(I32),
    "targets": targets,
    "scatters": lambda: scatters((15, 33), 0),
    "scatters_along": lambda: scatters((15, 33), 1),
    "scatters_u8": lambda: scatters((15, 33), 1, U8),
    "scatters_bool": lambda: scatters((15, 33), 0, BOOL),
    "numbers_i64": lambda: numbers((19, 37), I64),
    "numbers_i8": lambda: numbers((300, 3), I8),
    "triangle": lambda: triangle((40, 37)),
    "pairs_i32": lambda: pairs(I32),
    "pairs_u8": lambda: pairs(U8),
}

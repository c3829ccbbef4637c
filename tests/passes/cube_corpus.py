"""Kernels with matrix products: all element types, layouts, epilogues and prologues, and loops of 1, 2, 3, many turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from passes.kernels import Arrays, KernelBuilder, Shape, arguments, region
from pypto.ir.dtypes import BF16, F16, F32, I8, I32, DType
from pypto.ir.index import Symbol, multiply
from pypto.ir.nodes import GridAxis, Module, Role, Value

ONE_CORE = {"aicore_num": 1}
SMALL = {"aicore_num": 1, "tile_shape": (32, 32), "tile_k": 16}
"""Many small blocks on one core: every loop turns."""

WIDE = {"aicore_num": 2, "tile_shape": (64, 64), "tile_k": 64}
"""Blocks of 16 fractals, whose products need no barrier."""


def asked(module: Module, schedule: dict[str, object]) -> Module:
    attributes = tuple(sorted(schedule.items()))
    return replace(module, kernels=tuple(replace(item, attributes=attributes) for item in module.kernels))


def wide(k: KernelBuilder, value: Value) -> Value:
    """Return `value` as it is inside a kernel: f16 and bf16 as f32."""
    return k.op("cast", value, dtype=F32) if value.dtype in (F16, BF16) else value


def transposed(k: KernelBuilder, value: Value) -> Value:
    rank = value.type.rank
    return k.op("transpose", value, permutation=(*range(rank - 2), rank - 1, rank - 2))


def product(
    left: Shape, right: Shape, dtype: DType = F16, out: DType = F32, turned: tuple[bool, bool] = (False, False)
) -> Module:
    """x times y, each transposed first if `turned` says so, as `out`."""
    k = KernelBuilder("product")
    x, y = (wide(k, k.input(name, shape, dtype)) for name, shape in (("x", left), ("y", right)))
    x, y = (transposed(k, item) if turn else item for item, turn in zip((x, y), turned, strict=True))
    z = k.op("matmul", x, y)
    k.output("out", z if z.dtype == out else k.op("cast", z, dtype=out))
    return k.module()


def layer(m: int, n: int, dtype: DType = F16, bias: DType = F32, out: DType = F16, relu: bool = True) -> Module:
    """max(x y + bias, 0)."""
    k = KernelBuilder("layer")
    x, y = wide(k, k.input("x", (m, 96), dtype)), wide(k, k.input("y", (96, n), dtype))
    row = wide(k, k.input("bias", (n,), bias))
    z = k.op("add", k.op("matmul", x, y), row)
    if relu:
        zero = k.number(0.0 if z.dtype == F32 else 0, z.dtype)
        z = k.op("maximum", z, zero)
    k.output("out", z if z.dtype == out else k.op("cast", z, dtype=out))
    return k.module()


def epilogue(m: int, n: int) -> Module:
    """exp(0.125 x y) + z, which takes the vector cores."""
    k = KernelBuilder("epilogue")
    x, y = wide(k, k.input("x", (m, 64), F16)), wide(k, k.input("y", (64, n), F16))
    z = k.input("z", (m, n))
    scaled = k.op("mul", k.op("matmul", x, y), k.number(0.125))
    k.output("out", k.op("add", k.op("exp", scaled), z))
    return k.module()


def prologue(m: int, n: int) -> Module:
    """(|x| rounded to f16) times y: the vector cores prepare an operand."""
    k = KernelBuilder("prologue")
    x, y = wide(k, k.input("x", (m, 48), F16)), wide(k, k.input("y", (48, n), F16))
    rounded = k.op("cast", k.op("abs", x), dtype=F16)
    k.output("out", k.op("matmul", wide(k, rounded), y))
    return k.module()


def softmax(k: KernelBuilder, scores: Value) -> Value:
    last = scores.type.rank - 1
    shifted = k.op("sub", scores, k.op("max", scores, axes=(last,)))
    raised = k.op("exp", shifted)
    return k.op("div", raised, k.op("sum", raised, axes=(last,)))


def attention(queries: Shape, keys: Shape, dtype: DType = F16) -> Module:
    """softmax(q k^T / 8) v; the weights are rounded to `dtype`."""
    k = KernelBuilder("attention")
    q, key, value = (wide(k, k.input(name, shape, dtype)) for name, shape in (("q", queries), ("k", keys), ("v", keys)))
    scores = k.op("mul", k.op("matmul", q, transposed(k, key)), k.number(0.125))
    weights = softmax(k, scores)
    if dtype != F32:
        weights = wide(k, k.op("cast", weights, dtype=dtype))
    out = k.op("matmul", weights, value)
    k.output("out", k.op("cast", out, dtype=dtype) if dtype != F32 else out)
    return k.module()


def exact_attention(m: int, n: int) -> Module:
    """As `attention`, but the weights stay f32: v is widened on the vector cores."""
    k = KernelBuilder("exact_attention")
    q, key, value = (wide(k, k.input(name, (size, 32), F16)) for name, size in (("q", m), ("k", n), ("v", n)))
    k.output("out", k.op("matmul", softmax(k, k.op("matmul", q, transposed(k, key))), value))
    return k.module()


def attention_operation(queries: Shape, keys: Shape, mask: Shape, causal: bool = False) -> Module:
    """The operation of that name, with a mask that leaves a row no key if it has several."""
    k = KernelBuilder("attention_operation")
    q, key, value = (wide(k, k.input(name, shape, F16)) for name, shape in (("q", queries), ("k", keys), ("v", keys)))
    added = k.op("mul", k.input("mask", mask), k.number(0.5))
    rows = k.op("iota", axis=0, dtype=I32, shape=(mask[0], 1))
    added = k.op("where", k.op("eq", rows, k.number(3, I32)), k.number(-np.inf), added)
    k.output("out", k.op("attention", q, key, value, added, causal=causal, scale=0.25))
    return k.module()


def loop_over_k(m: int, k_extent: int, step: int, turned: bool = False, start: float = 0.0) -> Module:
    """for i: total += x[:, i] y[i, :], in parts of `step`, with y transposed in memory if `turned`."""
    k = KernelBuilder("loop_over_k")
    x = k.array("x", (m, k_extent), F16)
    y = k.array("y", (m, k_extent) if turned else (k_extent, m), F16)

    def body(index: Symbol, total: Value) -> tuple[Value, ...]:
        along = (multiply(index, step), step)
        left = wide(k, k.load(x, region((0, m), along)))
        right = wide(k, k.load(y, region((0, m), along) if turned else region(along, (0, m))))
        return (k.op("add", total, k.op("matmul", left, transposed(k, right) if turned else right)),)

    initial = k.op("constant", dtype=F32, value=start, shape=(m, m))
    k.output("out", k.loop("i", 0, k_extent // step, (initial,), 1, body)[0])
    return k.module()


def gram(m: int, n: int) -> Module:
    """x x^T: both operands lie in one array."""
    k = KernelBuilder("gram")
    x = wide(k, k.input("x", (m, n), F16))
    k.output("out", k.op("matmul", x, transposed(k, x)))
    return k.module()


def two_products(m: int) -> Module:
    """x y and x z, added: one phase of two products."""
    k = KernelBuilder("two_products")
    x, y, z = (wide(k, k.input(name, (m, m), F16)) for name in "xyz")
    k.output("out", k.op("add", k.op("matmul", x, y), k.op("matmul", x, z)))
    return k.module()


def chain_of_products(m: int) -> Module:
    """(x y rounded to f16) z: the second product reads what the first wrote."""
    k = KernelBuilder("chain_of_products")
    x, y, z = (wide(k, k.input(name, (m, m), F16)) for name in "xyz")
    first = k.op("cast", k.op("matmul", x, y), dtype=F16)
    k.output("out", k.op("matmul", wide(k, first), z))
    return k.module()


def vectors(n: int) -> Module:
    """A matrix times a vector, and a vector times it, as the front end writes them."""
    k = KernelBuilder("vectors")
    row, matrix = wide(k, k.input("row", (n,), F16)), wide(k, k.input("matrix", (n, n), F16))
    first = k.op("matmul", k.op("reshape", row, shape=(1, n)), matrix)
    second = k.op("matmul", matrix, k.op("reshape", row, shape=(n, 1)))
    k.output("left", k.op("reshape", first, shape=(n,)))
    k.output("right", k.op("reshape", second, shape=(n,)))
    return k.module()


def in_place(m: int) -> Module:
    """total += x y."""
    k = KernelBuilder("in_place")
    total = k.array("total", (m, m), role=Role.INOUT)
    before = k.load(total)
    x, y = wide(k, k.input("x", (m, m), F16)), wide(k, k.input("y", (m, m), F16))
    k.store(total, k.op("add", before, k.op("matmul", x, y)))
    return k.module()


def filled(m: int) -> Module:
    """An operand that reads ones beyond its array: the vector cores prepare it."""
    k = KernelBuilder("filled")
    x = k.array("x", (m, 40), F16)
    ones = wide(k, k.load(x, region((-1, m + 2), (0, 40)), fill=1.0))
    k.output("out", k.op("matmul", ones, wide(k, k.input("y", (40, m), F16))))
    return k.module()


def of_blocks(blocks: int, m: int) -> Module:
    """Each block multiplies its own matrices, and the vector cores go on."""
    k = KernelBuilder("of_blocks")
    block = Symbol("block")
    k.grid = (GridAxis(block, blocks),)
    x, y = k.array("x", (blocks * m, 32), F16), k.array("y", (32, m), F16)
    out = k.array("out", (blocks * m, m), role=Role.OUT)
    rows = (multiply(block, m), m)
    z = k.op("matmul", wide(k, k.load(x, region(rows, (0, 32)))), wide(k, k.load(y)))
    k.store(out, k.op("exp", z), region(rows, (0, m)))
    return k.module()


def whole_numbers(module: Module, seed: int = 0) -> tuple[Arrays, dict[str, float]]:
    """Return made-up arguments with small whole numbers, whose products and sums are exact."""
    arrays, scalars = arguments(module, seed)
    random = np.random.default_rng(seed)
    for item in module.parameters:
        if not item.scalar and item.type.dtype.is_float and item.role is not Role.OUT:
            arrays[item.name] = random.integers(-3, 4, item.type.shape).astype(item.type.dtype.numpy)
    return arrays, scalars


N, T = False, True

CUBE_CORPUS: dict[str, Callable[[], Module]] = {
    "product": lambda: product((100, 300), (300, 70)),
    "product_bf16": lambda: product((40, 70), (70, 50), BF16, BF16),
    "product_f32": lambda: product((40, 70), (70, 50), F32),
    "product_i8": lambda: product((40, 70), (70, 50), I8, I32),
    "product_i8_wraps": lambda: product((40, 70), (70, 50), I8, I8),
    "product_f16": lambda: product((33, 64), (64, 65), F16, F16),
    "one_element": lambda: product((1, 1), (1, 1)),
    "tails": lambda: asked(product((67, 45), (45, 71)), SMALL),
    "tails_i8": lambda: asked(
        product((67, 45), (45, 71), I8, I32), {"aicore_num": 1, "tile_shape": (32, 32), "tile_k": 32}
    ),
    "k_none": lambda: product((20, 0), (0, 30)),
    "k_one": lambda: asked(product((64, 16), (16, 64)), SMALL),
    "k_two": lambda: asked(product((64, 32), (32, 64)), SMALL),
    "k_three": lambda: asked(product((64, 48), (48, 64)), SMALL),
    "k_many": lambda: asked(product((64, 700), (700, 64)), SMALL),
    "k_single": lambda: asked(product((64, 700), (700, 64)), SMALL | {"buffer_depth": 1}),
    "k_triple": lambda: asked(product((64, 700), (700, 64)), SMALL | {"buffer_depth": 3}),
    "in_order": lambda: asked(product((128, 600), (600, 192)), WIDE),
    "in_order_single": lambda: asked(product((128, 600), (600, 192)), WIDE | {"buffer_depth": 1}),
    "in_order_triple": lambda: asked(product((128, 600), (600, 192)), WIDE | {"buffer_depth": 3}),
    "transposed_right": lambda: asked(product((70, 100), (90, 100), turned=(N, T)), SMALL),
    "transposed_left": lambda: asked(product((100, 70), (100, 90), turned=(T, N)), SMALL),
    "transposed_both": lambda: asked(product((100, 70), (90, 100), turned=(T, T)), WIDE),
    "transposed_f32": lambda: product((50, 40), (60, 50), F32, turned=(T, T)),
    "transposed_i8": lambda: product((50, 40), (60, 50), I8, I32, turned=(T, T)),
    "batch": lambda: asked(product((3, 40, 50), (3, 50, 60)), SMALL),
    "batch_shared_right": lambda: product((5, 40, 50), (50, 60)),
    "batch_shared_left": lambda: product((40, 50), (5, 50, 60)),
    "batch_broadcast": lambda: product((2, 1, 20, 30), (3, 30, 20)),
    "batch_transposed": lambda: product((4, 20, 30), (4, 50, 30), turned=(N, T)),
    "row_times_matrix": lambda: product((1, 300), (300, 100)),
    "matrix_times_column": lambda: product((300, 100), (100, 1)),
    "outer": lambda: product((50, 1), (1, 60)),
    "vectors": lambda: vectors(50),
    "layer": lambda: layer(100, 200),
    "layer_blocks": lambda: asked(layer(100, 200), SMALL),
    "layer_half_bias": lambda: layer(64, 100, bias=F16, out=F32),
    "layer_bfloat_bias": lambda: layer(30, 40, BF16, BF16, BF16),
    "layer_f32": lambda: layer(30, 40, F32, F32, F32),
    "layer_i8": lambda: layer(30, 40, I8, I32, I32),
    "layer_no_relu": lambda: layer(30, 40, relu=False),
    "epilogue": lambda: epilogue(100, 120),
    "epilogue_many_rows": lambda: asked(epilogue(400, 64), ONE_CORE),
    "prologue": lambda: prologue(60, 70),
    "attention": lambda: attention((96, 64), (128, 64)),
    "attention_batch": lambda: attention((3, 40, 32), (3, 70, 32)),
    "attention_f32": lambda: attention((40, 32), (50, 32), F32),
    "attention_few_queries": lambda: attention((3, 32), (40, 32)),
    "attention_many_rows": lambda: asked(attention((300, 32), (96, 32)), {"aicore_num": 2}),
    "exact_attention": lambda: exact_attention(50, 40),
    "attention_operation": lambda: attention_operation((20, 32), (30, 32), (1, 30)),
    "attention_operation_causal": lambda: attention_operation((2, 20, 32), (2, 20, 32), (20, 20), True),
    "attention_operation_masked": lambda: attention_operation((20, 32), (30, 32), (20, 1)),
    "loop_over_k": lambda: loop_over_k(40, 128, 32),
    "loop_over_k_transposed": lambda: loop_over_k(20, 96, 16, True),
    "loop_over_k_from_one": lambda: loop_over_k(20, 48, 16, start=1.0),
    "gram": lambda: gram(70, 50),
    "two_products": lambda: two_products(48),
    "chain_of_products": lambda: chain_of_products(48),
    "in_place": lambda: in_place(40),
    "filled": lambda: filled(30),
    "of_blocks": lambda: of_blocks(3, 20),
    "of_many_blocks": lambda: of_blocks(49, 8),
}

WITH_FUNCTIONS = ("attention", "attention_batch", "attention_f32", "attention_few_queries", "attention_many_rows")
WITH_FUNCTIONS += ("attention_operation", "attention_operation_causal", "attention_operation_masked")
WITH_FUNCTIONS += ("exact_attention", "epilogue", "epilogue_many_rows", "of_blocks", "of_many_blocks")
"""Kernels with exp and divisions, which the vector cores compute otherwise than the reference."""

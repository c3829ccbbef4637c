"""The kernels that every pass must keep the meaning of and the emitter must write right source for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from passes.kernels import KernelBuilder, region
from passes.ordered_corpus import ORDERED
from pypto.ir.dtypes import BF16, BOOL, F16, F32, I8, I16, I32, I64, U8, DType
from pypto.ir.index import Symbol, add, make, multiply
from pypto.ir.nodes import Attribute, GridAxis, Module, Role, Value


def chain(shape: tuple[int, ...]) -> Module:
    k = KernelBuilder("chain")
    x, y = k.input("x", shape), k.input("y", shape)
    t = k.op("add", k.op("mul", x, k.number(2.0)), y)
    k.output("out", k.op("exp", k.op("sub", k.number(1.0), t)))
    return k.module()


def softmax(shape: tuple[int, ...]) -> Module:
    k = KernelBuilder("softmax")
    x, last = k.input("x", shape), len(shape) - 1
    shifted = k.op("exp", k.op("sub", x, k.op("max", x, axes=(last,))))
    k.output("out", k.op("div", shifted, k.op("sum", shifted, axes=(last,))))
    return k.module()


def layer_norm(shape: tuple[int, int]) -> Module:
    k = KernelBuilder("layer_norm")
    x, gamma, beta = k.input("x", shape), k.input("gamma", shape[1:]), k.input("beta", shape[1:])
    centred = k.op("sub", x, k.op("mean", x, axes=(1,)))
    variance = k.op("mean", k.op("mul", centred, centred), axes=(1,))
    scale = k.op("rsqrt", k.op("add", variance, k.number(1e-5)))
    normal = k.op("mul", centred, scale)
    k.output("out", k.op("add", k.op("mul", normal, gamma), beta))
    return k.module()


def reduction(name: str, shape: tuple[int, ...], axes: tuple[int, ...], dtype: DType = F32) -> Module:
    k = KernelBuilder(f"{name}_reduction")
    k.output("out", k.op(name, k.input("x", shape, dtype), axes=axes))
    return k.module()


def half(shape: tuple[int, ...], dtype: DType) -> Module:
    k = KernelBuilder("half")
    x = k.op("cast", k.input("x", shape, dtype), dtype=F32)
    y = k.op("cast", k.input("y", shape, dtype), dtype=F32)
    t = k.op("tanh", k.op("mul", x, y))
    k.output("out", k.op("cast", t, dtype=dtype))
    return k.module()


def powers(shape: tuple[int, int]) -> Module:
    """Powers of one tile by another, by a number, and of a number."""
    k = KernelBuilder("powers")
    x, y = k.input("x", shape), k.input("y", (1, shape[1]))
    k.output("out", k.op("pow", x, y))
    k.output("fraction", k.op("pow", k.op("abs", x), k.number(2.5)))
    k.output("growth", k.op("pow", k.number(1.5), x))
    return k.module()


def functions(shape: tuple[int, ...]) -> Module:
    k = KernelBuilder("functions")
    x = k.input("x", shape)
    a = k.op("abs", x)
    for name in ("erf", "sigmoid", "tanh", "neg"):
        k.output(f"out_{name}", k.op(name, x))
    for name in ("log", "sqrt", "rsqrt", "reciprocal"):
        k.output(f"out_{name}", k.op(name, a))
    k.output("out_cube", k.op("pow", x, k.number(3.0)))
    k.output("out_quotient", k.op("floor_div", x, k.number(0.5)))
    k.output("out_rest", k.op("remainder", x, k.number(0.5)))
    for name in ("floor", "ceil", "round", "trunc"):
        k.output(f"out_{name}", k.op(name, k.op("mul", x, k.number(4.0))))
    return k.module()


def mathematics(shape: tuple[int, ...], *names: str) -> Module:
    k = KernelBuilder("mathematics")
    x = k.input("x", shape)
    y = k.input("y", shape)
    for name in names:
        operands = (x, y) if name in ("atan2", "hypot", "fmod") else (x,)
        k.output(f"out_{name}", k.op(name, *operands))
    return k.module()


def choices(shape: tuple[int, ...]) -> Module:
    k = KernelBuilder("choices")
    x, y = k.input("x", shape), k.input("y", shape)
    both = k.op("and", k.op("lt", x, y), k.op("not", k.op("ge", k.number(-1.0), x)))
    t = k.op("where", both, x, k.op("where", k.op("eq", x, y), k.number(3.0), y))
    k.output("out", k.op("maximum", k.op("minimum", t, k.number(1.0)), k.number(-1.0)))
    k.output("flags", k.op("or", both, k.op("ne", x, x)))
    return k.module()


def masks(shape: tuple[int, int]) -> Module:
    k = KernelBuilder("masks")
    m, x = k.input("m", shape, BOOL), k.input("x", shape)
    row = k.op("max", m, axes=(1,))
    k.output("any", row)
    k.output("all", k.op("all", m, axes=(0, 1)))
    kept = k.op("where", k.op("xor", m, row), x, k.number(0.0))
    k.output("out", k.op("add", kept, k.op("cast", m, dtype=F32)))
    k.output("same", k.op("where", m, k.op("eq", m, row), k.number(True, BOOL)))
    return k.module()


def integers(shape: tuple[int, ...], dtype: DType) -> Module:
    k = KernelBuilder("integers")
    x, y = k.input("x", shape, dtype), k.input("y", shape, dtype)
    t = k.op("mul", k.op("add", x, y), k.op("sub", x, k.number(3, dtype)))
    k.output("out", k.op("maximum", t, k.op("neg", y)))
    k.output("bits", k.op("xor", k.op("not", x), k.op("abs", y)))
    k.output("shifted", k.op("floor_div", x, k.number(8, dtype)))
    k.output("rest", k.op("remainder", x, k.number(8, dtype)))
    k.output("raised", k.op("shift_left", x, k.number(3, dtype)))
    k.output("lowered", k.op("shift_right", x, k.number(2, dtype)))
    k.output("order", k.op("and", k.op("lt", x, y), k.op("ne", x, k.number(5, dtype))))
    k.output("chosen", k.op("where", k.op("gt", x, y), x, k.number(9, dtype)))
    return k.module()


def division(shape: tuple[int, ...], dtype: DType) -> Module:
    k = KernelBuilder("division")
    x, y = k.input("x", shape, dtype), k.input("y", shape, dtype)
    k.output("quotient", k.op("floor_div", x, y))
    k.output("rest", k.op("remainder", x, y))
    k.output("seventh", k.op("floor_div", x, k.number(-7 if dtype.kind == "signed" else 7, dtype)))
    k.output("zero", k.op("remainder", x, k.number(0, dtype)))
    return k.module()


def casts(shape: tuple[int, ...]) -> Module:
    k = KernelBuilder("casts")
    x = k.op("mul", k.input("x", shape), k.number(200.0))
    for dtype in (I32, I16, I8, U8, BOOL):
        t = k.op("cast", x, dtype=dtype)
        k.output(f"out_{dtype}", t)
        k.output(f"back_{dtype}", k.op("cast", t, dtype=F32))
    narrow = k.op("cast", k.op("cast", x, dtype=I32), dtype=I8)
    k.output("narrow", narrow)
    k.output("half", k.op("cast", x, dtype=F16))
    return k.module()


def batched(shape: tuple[int, int, int]) -> Module:
    k = KernelBuilder("batched")
    x, scale = k.input("x", shape), k.input("scale", (shape[0], 1, shape[2]))
    t = k.op("mul", x, scale)
    k.output("out", k.op("sub", t, k.op("mean", t, axes=(1, 2))))
    return k.module()


def scalars(shape: tuple[int, ...]) -> Module:
    k = KernelBuilder("scalars")
    x, alpha, count = k.input("x", shape), k.scalar("alpha"), k.scalar("count", I64)
    t = k.op("div", k.op("sub", alpha, x), k.op("cast", count, dtype=F32))
    k.output("out", k.op("add", t, k.op("exp", alpha)))
    return k.module()


def accumulate(shape: tuple[int, int], turns: int, step: int = 1) -> Module:
    """Rows of an input in a loop that carries a sum and swaps two tiles."""
    k = KernelBuilder("accumulate")
    x = k.array("x", shape)
    row = ((0, 1), (0, shape[1]))
    first = k.load(x, region(*row))

    def body(i: Symbol, total: Value, left: Value, right: Value) -> tuple[Value, ...]:
        t = k.load(x, region((make("%", i, shape[0]), 1), (0, shape[1])))
        position = k.op("cast", k.op("index", dtype=I64, value=multiply(i, 2)), dtype=F32)
        return k.op("add", total, k.op("mul", t, position)), right, k.op("add", left, k.number(1.0))

    results = k.loop("i", 0, turns, (first, first, k.op("exp", first)), step, body)
    k.output("total", results[0])
    k.output("left", results[1])
    k.output("right", results[2])
    return k.module()


def copies_rows(shape: tuple[int, int]) -> Module:
    """A loop that loads, computes and stores rows: hazards in both directions across turns."""
    k = KernelBuilder("copies_rows")
    x, out = k.array("x", shape), k.array("out", shape, role=Role.OUT)

    def body(i: Symbol) -> tuple[Value, ...]:
        row = region((i, 1), (0, shape[1]))
        t = k.load(x, row)
        k.store(out, k.op("exp", t), row)
        return ()

    k.loop("i", 0, shape[0], (), 1, body)
    return k.module()


def nested(shape: tuple[int, int], outer: int, inner: int) -> Module:
    """A loop in a loop, each with loads, stores and carried tiles of its own."""
    k = KernelBuilder("nested")
    x, out = k.array("x", shape), k.array("out", shape, role=Role.OUT)
    first = k.load(x, region((0, 1), (0, shape[1])))

    def turn(i: Symbol, total: Value) -> tuple[Value, ...]:
        row = region((make("%", i, shape[0]), 1), (0, shape[1]))
        start = k.load(x, row)

        def step(j: Symbol, product: Value, partial: Value) -> tuple[Value, ...]:
            t = k.load(x, region((make("%", j, shape[0]), 1), (0, shape[1])))
            return k.op("mul", product, t), k.op("add", t, partial)

        left, right = k.loop("j", 0, inner, (start, total), 1, step)
        k.store(out, k.op("add", left, right), row)
        return (k.op("add", total, k.op("sum", left, axes=(1,))),)

    (total,) = k.loop("i", 0, outer, (first,), 1, turn)
    k.output("total", total)
    return k.module()


def nested_loads(shape: tuple[int, int]) -> Module:
    """An inner loop that only adds: the outer one has nothing of its own to order."""
    k = KernelBuilder("nested_loads")
    x = k.array("x", shape)
    first = k.load(x, region((0, 1), (0, shape[1])))

    def turn(i: Symbol, total: Value) -> tuple[Value, ...]:
        def step(j: Symbol, total: Value) -> tuple[Value, ...]:
            return (k.op("add", total, k.load(x, region((i, 1), (0, shape[1])))),)

        return k.loop("j", 0, 2, (total,), 1, step)

    k.output("out", k.loop("i", 0, shape[0], (first,), 1, turn)[0])
    return k.module()


def spmd(blocks: int, rows: int, columns: int) -> Module:
    k = KernelBuilder("spmd")
    block = Symbol("block")
    k.grid = (GridAxis(block, blocks),)
    x, out = k.array("x", (blocks * rows, columns)), k.array("out", (blocks * rows, columns), role=Role.OUT)
    part = region((multiply(block, rows), rows), (0, columns))
    t = k.load(x, part)
    index = k.op("cast", k.op("index", dtype=I64, value=add(block, 1)), dtype=F32)
    k.store(out, k.op("mul", t, index), part)
    return k.module(tile_num=blocks)


def clipped(size: int, columns: int) -> Module:
    """Blocks of 48 rows over `size` rows: the last one leaves the array."""
    k = KernelBuilder("clipped")
    block = Symbol("block")
    k.grid = (GridAxis(block, -(-size // 48)),)
    x, out = k.array("x", (size, columns)), k.array("out", (size, columns), role=Role.OUT)
    part = region((multiply(block, 48), 48), (0, columns + 5))
    t = k.load(x, part, fill=-1.0)
    k.store(out, k.op("add", t, k.op("sum", t, axes=(0,))), part, clip=True)
    return k.module()


def views(rows: int, columns: int) -> Module:
    k = KernelBuilder("views")
    x = k.input("x", (rows, columns))
    k.output("transposed", k.op("transpose", x, permutation=(1, 0)))
    k.output("flat", k.op("reshape", x, shape=(rows * columns,)))
    k.output("part", k.op("slice", x, ranges=((1, rows - 1, 1), (0, columns, 1))))
    k.output("every", k.op("slice", x, ranges=((0, (rows + 1) // 2, 2), (columns - 1, columns, -1))))
    k.output("padded", k.op("pad", x, low=(1, 2), high=(0, 3), value=0.5))
    k.output("joined", k.op("concat", x, k.op("exp", x), axis=1))
    k.output("stacked", k.op("concat", x, x, axis=0))
    return k.module()


def inserts(rows: int, columns: int) -> Module:
    k = KernelBuilder("inserts")
    x = k.input("x", (rows, columns))
    piece = k.op("slice", x, ranges=((0, 1, 1), (0, columns - 1, 1)))
    t = k.op("insert", x, k.op("exp", piece), ranges=((rows - 1, 1, 1), (1, columns - 1, 1)))
    k.output("out", k.op("add", t, x))
    return k.module()


def columns_apart(rows: int, columns: int) -> Module:
    """Loads whose neighbours are apart in memory."""
    k = KernelBuilder("columns_apart")
    x = k.array("x", (rows, columns))
    first = k.load(x, region((0, rows), (1, 1)))
    odd = k.load(x, region((rows - 1, rows, -1), (1, columns // 2, 2)))
    k.output("out", k.op("add", odd, first))
    return k.module()


def stores_apart(rows: int, columns: int) -> Module:
    """Stores whose neighbours are apart in memory, around elements that must stay."""
    k = KernelBuilder("stores_apart")
    x = k.input("x", (rows, columns))
    out = k.array("out", (rows, 2 * columns + 1), role=Role.INOUT)
    k.store(out, x, region((0, rows), (2 * columns - 1, columns, -2)))
    k.store(out, k.op("sum", x, axes=(1,)), region((0, rows), (2 * columns, 1)))
    vector = k.array("vector", (3 * rows,), role=Role.OUT)
    k.store(vector, k.op("reshape", k.op("max", x, axes=(1,)), shape=(rows,)), region((1, rows, 3)))
    return k.module()


def in_place(shape: tuple[int, int]) -> Module:
    """Changes an array in place, twice, and reads it again."""
    k = KernelBuilder("in_place")
    x = k.array("x", shape, role=Role.INOUT)
    k.store(x, k.op("exp", k.load(x)))
    k.store(x, k.op("mul", k.load(x), k.number(0.5)))
    return k.module()


def window(shape: tuple[int, int, int]) -> Module:
    """The article's convolution stage: a tile and its padded self, too large for a core at once."""
    k = KernelBuilder("window")
    x = k.input("x", shape)
    padded = k.op("pad", x, low=(0, 2, 2), high=(0, 2, 2), value=0.0)
    moved = k.op("slice", padded, ranges=((0, shape[0], 1), (0, shape[1], 1), (1, shape[2], 1)))
    whole = k.op("mul", x, k.number(1.0))
    k.output("out", k.op("add", whole, k.op("mul", moved, k.number(0.1))))
    return k.module()


def with_attributes(module: Module, **attributes: Attribute) -> Module:
    """Return `module` with attributes of the schedule for its kernels."""
    made = tuple(sorted(attributes.items()))
    return replace(module, kernels=tuple(replace(item, attributes=made) for item in module.kernels))


def nothing_to_reduce() -> Module:
    k = KernelBuilder("nothing_to_reduce")
    x = k.input("x", (4, 0))
    k.output("total", k.op("sum", x, axes=(1,)))
    k.output("mean", k.op("mean", x, axes=(1,)))
    k.output("empty", k.op("exp", x))
    return k.module()


def many_inputs(count: int, shape: tuple[int, int]) -> Module:
    """More loads in flight than there are flag ids, and as many stores."""
    k = KernelBuilder("many_inputs")
    loaded = [k.input(f"x{number}", shape) for number in range(count)]
    total = loaded[-1]
    for number, value in enumerate(loaded):
        total = k.op("add", total, value)
        k.output(f"out{number}", k.op("exp", value))
    k.output("total", total)
    return k.module()


CORPUS: dict[str, Callable[[], Module]] = {
    **ORDERED,
    "chain": lambda: chain((1000, 300)),
    "chain_1": lambda: chain((1,)),
    "chain_1x1": lambda: chain((1, 1)),
    "chain_7": lambda: chain((7,)),
    "chain_scalar": lambda: chain(()),
    "chain_long": lambda: chain((100003,)),
    "chain_wide": lambda: chain((3, 70001)),
    "chain_column": lambda: chain((5003, 1)),
    "chain_3d": lambda: chain((7, 11, 13)),
    "chain_many_rows": lambda: chain((20000, 3)),
    "chain_empty": lambda: chain((0, 5)),
    "softmax": lambda: softmax((130, 77)),
    "softmax_short": lambda: softmax((300, 20)),
    "softmax_long": lambda: softmax((5, 5000)),
    "softmax_1": lambda: softmax((3, 1)),
    "softmax_batched": lambda: softmax((3, 5, 70)),
    "layer_norm": lambda: layer_norm((67, 129)),
    "layer_norm_4096": lambda: layer_norm((50, 4096)),
    "sum_rows": lambda: reduction("sum", (100, 65), (1,)),
    "sum_columns": lambda: reduction("sum", (100, 65), (0,)),
    "sum_all": lambda: reduction("sum", (31, 17), (0, 1)),
    "sum_vector": lambda: reduction("sum", (1001,), (0,)),
    "max_middle": lambda: reduction("max", (5, 6, 7), (1,)),
    "min_outer": lambda: reduction("min", (5, 6, 7), (0, 2)),
    "sum_column": lambda: reduction("sum", (300, 1), (0,)),
    "sum_i32": lambda: reduction("sum", (9, 33), (1,), I32),
    "max_i32": lambda: reduction("max", (9, 33), (0,), I32),
    "min_i8": lambda: reduction("min", (9, 33), (0, 1), I8),
    "trigonometry": lambda: mathematics((17, 33), "sin", "cos", "tan", "atan", "atan2"),
    "hyperbolas": lambda: mathematics((1001,), "sinh", "cosh", "asinh", "expm1", "exp2", "erfc"),
    "roots": lambda: mathematics((5, 7), "cbrt", "hypot", "fmod", "signbit"),
    "half": lambda: half((65, 33), F16),
    "bfloat": lambda: half((3, 100), BF16),
    "functions": lambda: functions((40, 50)),
    "choices": lambda: choices((33, 65)),
    "masks": lambda: masks((33, 65)),
    "integers": lambda: integers((33, 65), I32),
    "integers_i16": lambda: integers((5, 9), I16),
    "integers_i8": lambda: integers((5, 9), I8),
    "integers_u8": lambda: integers((5, 70), U8),
    "division": lambda: division((33, 65), I32),
    "division_i8": lambda: division((20, 50), I8),
    "division_u8": lambda: division((20, 50), U8),
    "casts": lambda: casts((17, 19)),
    "batched": lambda: batched((6, 5, 33)),
    "scalars": lambda: scalars((20, 30)),
    "accumulate": lambda: accumulate((5, 40), 7),
    "accumulate_none": lambda: accumulate((5, 40), 0),
    "accumulate_once": lambda: accumulate((5, 40), 1, 3),
    "copies_rows": lambda: copies_rows((9, 40)),
    "nested": lambda: nested((5, 40), 7, 3),
    "nested_no_inner": lambda: nested((5, 40), 3, 0),
    "nested_no_outer": lambda: nested((5, 40), 0, 4),
    "nested_loads": lambda: nested_loads((5, 40)),
    "spmd": lambda: spmd(8, 4, 30),
    "spmd_many_blocks": lambda: spmd(100, 2, 30),
    "spmd_large_blocks": lambda: spmd(3, 700, 130),
    "clipped": lambda: clipped(130, 20),
    "views": lambda: views(5, 12),
    "views_aligned": lambda: views(4, 16),
    "inserts": lambda: inserts(4, 9),
    "columns_apart": lambda: columns_apart(6, 10),
    "stores_apart": lambda: stores_apart(7, 9),
    "in_place": lambda: in_place((300, 50)),
    "nothing_to_reduce": nothing_to_reduce,
    "many_inputs": lambda: many_inputs(9, (4, 8)),
    "copies_no_row": lambda: copies_rows((0, 40)),
    "copies_one_row": lambda: copies_rows((1, 40)),
    "copies_two_rows": lambda: copies_rows((2, 40)),
    "copies_three_rows": lambda: copies_rows((3, 40)),
    "copies_triple": lambda: with_attributes(copies_rows((9, 40)), buffer_depth=3),
    "copies_single": lambda: with_attributes(copies_rows((9, 40)), buffer_depth=1),
    "chain_triple": lambda: with_attributes(chain((1000, 300)), buffer_depth=3, aicore_num=2),
    "chain_single": lambda: with_attributes(chain((1000, 300)), buffer_depth=1, aicore_num=2),
    "softmax_tiles": lambda: with_attributes(softmax((1000, 300)), aicore_num=4),
    "softmax_huge": lambda: softmax((2, 60000)),
    "layer_norm_tiles": lambda: with_attributes(layer_norm((500, 600)), aicore_num=3),
    "mean_huge": lambda: reduction("mean", (2, 100001), (1,)),
    "sum_of_all_huge": lambda: reduction("sum", (300, 1000), (0, 1)),
    "window": lambda: window((2, 128, 128)),
}

"""Text and place of the mistakes in the body of a tile function.

Each kernel below makes one mistake; `wrong` says its name, a part of the report and what the caret stands under.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pypto
from pypto import tile
from pypto.ir.dtypes import F32, I32
from pypto.ir.index import Symbol
from pypto.tile_function import TileFunction
from pypto.tracing.trace import trace
from pypto.tracing.views import ArrayView, ViewAxis
from tests.language.running import traced


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    under: str
    kernel: TileFunction


CASES: list[Case] = []


def wrong(name: str, text: str, under: str, **options: Any) -> Callable[[Any], Any]:
    """Register a kernel that makes the mistake `name`."""

    def register(function: Any) -> Any:
        CASES.append(Case(name, text, under, tile(**options)(function)))
        return function

    return register


def arrays(kernel: TileFunction) -> list[Any]:
    """Return float arguments of shape (4, 6); `n` stands for an integer array, `s` for a scalar, `e` for an empty one."""
    made: dict[str, Any] = {"n": np.arange(4, dtype=np.int32), "s": 2.0, "e": np.zeros((0, 6), np.float32)}
    return [made.get(item.name, np.ones((4, 6), np.float32)) for item in kernel.parameters if item.name != "tile_id"]


def caught(kernel: TileFunction) -> pypto.UserError:
    with pytest.raises(pypto.UserError) as failure:
        traced(kernel, *arrays(kernel))
    return failure.value


WEIGHTS = np.ones((4, 6), np.float32)
KEPT: list[Any] = []


@wrong("broadcast-write", "shows one of shape (6,)", "wide[0]")
def write_through_repeated_axes(x, out):
    wide = pypto.broadcast_to(x[0] + 0, (4, 6))
    wide[0] = 1.0
    out[:] = wide


@wrong("number-range", "a whole number of 1329 bits does not fit dtype f32", "x + 10**400")
def huge_number(x, out):
    out[:] = x + 10**400


@wrong("call-recursion", "calls itself without end", "")
def endless(x, out):
    out[:] = CASES[[case.kernel.name for case in CASES].index("endless")].kernel(x)


# -- control flow of Python


@wrong("tile-bool", "pypto.where", "x > 0.0")
def condition(x, out):
    if x > 0.0:
        out[:] = x


@wrong("tile-and-or", "(a > 0) & (b > 0)", "x > 0.0 and x < 1.0")
def both(x, out):
    out[:] = pypto.where(x > 0.0 and x < 1.0, x, 0.0)


@wrong("tile-not", "~(x > 0)", "not (x > 0.0)")
def negated(x, out):
    out[:] = pypto.where(not (x > 0.0), x, 0.0)


@wrong("tile-chained", "(low < x) & (x < high)", "0.0 < x < 1.0")
def chained(x, out):
    out[:] = pypto.where(0.0 < x < 1.0, x, 0.0)


@wrong("tile-while", "pypto.loop", "x > 0.0")
def repeated(x, out):
    while x > 0.0:
        x = x - 1.0
    out[:] = x


@wrong("tile-builtin", "pypto.sum(x, axis=...)", "sum(x)")
def builtin_sum(x, out):
    out[:] = sum(x)


@wrong("tile-builtin", "pypto.maximum(a, b)", "max(x, 0.0)")
def builtin_max(x, out):
    out[:] = max(x, 0.0)


@wrong("tile-iter", "pypto.loop(n)", "")
def iterated(x, out):
    for row in x:
        out[0] = row


@wrong("tile-len", "x.shape[0]", "len(x)")
def length(x, out):
    out[:] = x * len(x)


@wrong("tile-contains", "pypto.max(x == value)", "1.0 in x")
def contained(x, out):
    out[:] = 1.0 in x


@wrong("tile-as-number", "pypto.cast", "float(x)")
def as_number(x, out):
    out[:] = float(x)


@wrong("math-function", "write pypto.exp(x)", "math.exp(x)")
def of_math(x, out):
    out[:] = math.exp(x)


@wrong("tile-to-array", "functions of pypto", "np.asarray(x)")
def to_array(x, out):
    out[:] = np.asarray(x)


@wrong("generator-body", "out[:] = ...", "")
def generator(x, out):
    out[:] = x
    yield


@wrong("returned-value", "returns a Tile", "")
def returned(x, out):
    out[:] = x
    return x


@wrong("index-bool", "pypto.cond(i < n", "i < 2")
def index_condition(x, out):
    for i in pypto.loop(4):
        if i < 2:
            out[i] = x[i]


@wrong("index-number", "unroll", "range(i)")
def index_number(x, out):
    for i in pypto.loop(4):
        out[i] = x[len(range(i))]


@wrong("block-id", "tile_num=N", "pypto.get_block_id()")
def no_blocks(x, out):
    out[:] = x * helper_block_id()


def helper_block_id() -> Any:
    return pypto.get_block_id()


# -- values


@wrong("captured-array", "shape (4, 6)", "x * WEIGHTS")
def captured_array(x, out):
    out[:] = x * WEIGHTS


@wrong("operand-kind", "a str", "x + 'a'")
def text_operand(x, out):
    out[:] = x + 'a'  # fmt: skip


@wrong("not-a-tile", "pypto.sum takes a tile, not a float", "pypto.sum(1.0)")
def no_tile(x, out):
    out[:] = pypto.sum(1.0) + x


@wrong("number-range", "3000000000 does not fit dtype i32", "n + 3000000000")
def big_number(n, out):
    out[:, 0] = n + 3000000000


@wrong("numpy-function", "np.median does not work on tiles", "np.median(x)")
def numpy_median(x, out):
    out[:] = np.median(x)


@wrong("numpy-function", "use pypto.sum", "np.add.reduce(x)")
def numpy_reduce(x, out):
    out[:] = np.add.reduce(x)


@wrong("numpy-keyword", "np.exp on a tile does not take where", "np.exp(x, where=x > 0)")
def numpy_keyword(x, out):
    out[:] = np.exp(x, where=x > 0)


@wrong("numpy-keyword", "dtype", "np.sum(x, dtype=np.float64)")
def numpy_dtype(x, out):
    out[:] = np.sum(x, dtype=np.float64)


@wrong("read-unwritten", "pypto.zeros(shape)", "t * 2.0")
def unwritten(x, out):
    t = pypto.empty((4, 6))
    t[1:] = x[1:]
    out[:] = t * 2.0


@wrong("scalar-write", "s is a scalar argument", "s[...]")
def scalar_written(x, s, out):
    out[:] = x
    s[...] = 1.0


@wrong("integer-power", "to the power -1", "n ** -1")
def integer_power(n, out):
    out[:, 0] = n ** -1  # fmt: skip


@wrong("condition-dtype", "has dtype f32, not bool", "pypto.where(x, x, 0.0)")
def float_condition(x, out):
    out[:] = pypto.where(x, x, 0.0)


@wrong("unsupported-dtype", "and does not take dtype f32", "x & 1")
def bits_of_floats(x, out):
    out[:] = x & 1


# -- outputs


@wrong("assign-shape", "(6, 4) does not fit a target of shape (4, 6)", "out[:]")
def wrong_shape(x, out):
    out[:] = x.T


@wrong("in-place-dtype", "dtype f32 and cannot be kept in a tile of dtype i32", "n *= 0.5")
def in_place(n, out):
    n *= 0.5
    out[:, 0] = n


@wrong("no-output", "writes to none of its parameters", "")
def nothing_written(x, out):
    pypto.exp(x)


@wrong("rebound-parameter", "write `out[:] = ...`", "x + 1.0")
def rebound(x, out):
    out = x + 1.0  # noqa: F841


@wrong("rebound-parameter", "b is bound to a new value", "x * 2.0")
def half_written(x, a, b):
    a[:] = x
    b = x * 2.0  # noqa: F841


# -- indexing


@wrong("index-count", "3 indices for a tile with 2 axes", "x[0, 0, 0]")
def many_indices(x, out):
    out[:] = x[0, 0, 0]


@wrong("index-kind", "a tile cannot be an index", "x[x]")
def tile_index(x, out):
    out[:] = x[x]


@wrong("index-kind", "a list cannot be an index", "x[[0, 1]]")
def list_index(x, out):
    out[:2] = x[[0, 1]]


@wrong("index-range", "index 4 is outside axis 0 of extent 4", "x[4]")
def outside(x, out):
    out[:] = x[4]


@wrong("slice-step", "0 cannot be the step", "x[::0]")
def zero_step(x, out):
    out[:] = x[::0]


@wrong("slice-extent", "no constant extent", "x[i:]")
def open_slice(x, out):
    for i in pypto.loop(4):
        out[:] = x[i:]


@wrong("slice-range", "elements 1 to 4 are used, outside axis 0 of extent 4", "x[i + 1]")
def slice_range(x, out):
    for i in pypto.loop(4):
        out[i] = x[i + 1]


@wrong("slice-range", "elements 0 to 7 are used", "x[b * 4 : b * 4 + 4]", tile_num=2, shape=(4, 6))
def block_range(x, out):
    b = pypto.get_block_id()
    out[b] = pypto.sum(x[b * 4 : b * 4 + 4], axis=0)


@wrong("block-arguments", "of a tile with 2 axes", "pypto.block(x, 0, (2, 2))")
def block_arguments(x, out):
    out[:2, :2] = pypto.block(x, 0, (2, 2))


# -- shapes and names


@wrong("axis-range", "axis 2 of a tile with 2 axes", "pypto.sum(x, axis=2)")
def axis_range(x, out):
    out[:] = pypto.sum(x, axis=2)


@wrong("axis-kind", "1.5 is not an axis number", "x.sum(axis=1.5)")
def axis_kind(x, out):
    out[:] = x.sum(axis=1.5)


@wrong("axis-twice", "axes (0, -2) name one axis twice", "pypto.max(x, axis=(0, -2))")
def axis_twice(x, out):
    out[:] = pypto.max(x, axis=(0, -2))


@wrong("both-keywords", "axis and dim are both given", "pypto.sum(x, axis=0, dim=1)")
def both_keywords(x, out):
    out[:] = pypto.sum(x, axis=0, dim=1)


@wrong("function-keyword", "did you mean 'keepdims'", "pypto.sum(x, keepdim_=True)")
def unknown_keyword(x, out):
    out[:] = pypto.sum(x, keepdim_=True)


@wrong("empty-reduction", "pypto.sum", "pypto.max(e, axis=0)")
def empty_reduction(e, out):
    out[0] = pypto.max(e, axis=0)


@wrong("shape-mismatch", "shapes (4, 6) and (6, 4) do not broadcast", "x + x.T")
def mismatch(x, out):
    out[:] = x + x.T


@wrong("shape-mismatch", "shapes (4, 6) and (3, 4) do not broadcast", "pypto.broadcast_to(x, (3, 4))")
def broadcast(x, out):
    out[:] = pypto.broadcast_to(x, (3, 4))


@wrong("reshape-size", "cannot reshape (4, 6) to (5, -1)", "x.reshape(5, -1)")
def reshape_size(x, out):
    out[:] = x.reshape(5, -1)


@wrong("shape-kind", "'a' is no extent", "pypto.zeros((4, 'a'))")
def shape_kind(x, out):
    out[:] = x + pypto.zeros((4, 'a'))  # fmt: skip


@wrong("transpose-axes", "are not a permutation of the 2 axes", "pypto.transpose(x, (0, 0))")
def transpose_axes(x, out):
    out[:] = pypto.transpose(x, (0, 0))


@wrong("concat-pieces", "pypto.concat([a, b], axis=0)", "pypto.concat(x)")
def concat_pieces(x, out):
    out[:] = pypto.concat(x)


@wrong("concat-shapes", "shapes (4, 6) and (6, 4) differ", "pypto.concat([x, x.T], axis=0)")
def concat_shapes(x, out):
    out[:] = pypto.concat([x, x.T], axis=0)


@wrong("pad-widths", "are no widths for 2 axes", "pypto.nn.pad(x, ((1, 1),))")
def pad_widths(x, out):
    out[:] = pypto.nn.pad(x, ((1, 1),))


@wrong("rounding-mode", "no rounding 'up'", 'pypto.cast(x, "int32", rounding="up")')
def rounding_mode(x, out):
    out[:] = pypto.cast(x, "int32", rounding="up")


@wrong("cast-rounding", "rounding='floor' does not go with a cast to f16", 'pypto.cast(x, "float16", rounding="floor")')
def cast_rounding(x, out):
    out[:] = pypto.cast(x, "float16", rounding="floor")


@wrong("odd-halves", "axis 1 of extent 3 has no two halves", "pypto.nn.swiglu(x[:, :3])")
def odd_halves(x, out):
    out[:] = pypto.nn.swiglu(x[:, :3])


@wrong("quantized-dtype", "cannot quantize to f32", 'pypto.nn.quantize(x, 0.5, dtype="float32")')
def quantized_dtype(x, out):
    out[:] = pypto.nn.quantize(x, 0.5, dtype="float32")


@wrong("gelu-form", "no form 'fast' of gelu", 'pypto.nn.gelu(x, approximate="fast")')
def gelu_form(x, out):
    out[:] = pypto.nn.gelu(x, approximate="fast")


@wrong("norm-shape", "is not the end of the shape", "pypto.nn.layer_norm(x, (4,))")
def norm_shape(x, out):
    out[:] = pypto.nn.layer_norm(x, (4,))


@wrong("no-such-dtype", "did you mean 'float32'", 'pypto.cast(x, "flaot32")')
def no_such_dtype(x, out):
    out[:] = pypto.cast(x, "flaot32")


# -- loops


@wrong("loop-break", "unroll with `for i in range(n):`", "")
def broken(x, out):
    for i in pypto.loop(4):
        out[i] = x[i]
        break


@wrong("loop-break", "return", "pypto.loop(4)")
def left(x, out):
    for i in pypto.loop(4):
        out[i] = x[i]
        return


@wrong("loop-break", "an exception", "pypto.loop(4)")
def interrupted(x, out):
    try:
        for i in pypto.loop(4):
            out[i] = x[i]
            raise KeyError
    except KeyError:
        pass


@wrong("loop-direct", "without enumerate, zip or list", "pypto.loop(4)")
def enumerated(x, out):
    for number, i in enumerate(pypto.loop(4)):
        out[i] = x[number]


@wrong("loop-direct", "directly in a for statement", "pypto.loop(4)")
def listed(x, out):
    out[:] = sum([x[i] for i in pypto.loop(4)])


@wrong("loop-direct", "directly in a for statement", "pypto.loop(4)")
def zipped(x, out):
    for i, j in zip(pypto.loop(4), range(4), strict=True):
        out[i] = x[j]


@wrong("loop-difference", "mul first, then mul", "x[i] * scale")
def counted(x, out):
    state = Counter()
    for i in pypto.loop(4):
        scale = state.next()
        out[i] = x[i] * scale


class Counter:
    def __init__(self) -> None:
        self.number = 0

    def next(self) -> int:
        self.number += 1
        return self.number


@wrong("loop-difference", "keep state in tiles", "acc += next(rows)")
def iterator(x, out):
    acc = x[0] + 0.0
    rows = iter([x[0], x[1], x[2], x[3]])
    for i in pypto.loop(4):
        acc += next(rows)
        out[i] = acc


@wrong("loop-python-state", "changes count, which is not a tile", "pypto.loop(4)")
def python_number(x, out):
    count = 0
    for i in pypto.loop(4):
        count += 1
        out[i] = x[i]
    out[0] = out[0] * count


@wrong("loop-python-state", "changes parts", "pypto.loop(4)")
def python_list(x, out):
    parts = []
    for i in pypto.loop(4):
        parts.append(x[i])
    out[:] = parts[0]


@wrong("loop-value", "a value first made in the body", "row + 1.0")
def first_made(x, out):
    for i in pypto.loop(4):
        row = x[i] * 2.0
    out[:] = row + 1.0


@wrong("loop-value", "a loop index is used after it", "x[i]")
def index_after(x, out):
    for i in pypto.loop(4):
        out[i] = x[i]
    out[0] = x[i]


@wrong("loop-carried-type", "acc is <tile f32(6,)> before the loop and <tile f32(4, 6)>", "pypto.loop(4)")
def carried_shape(x, out):
    acc = x[0]
    for _ in pypto.loop(4):
        acc = acc + x
    out[:] = acc


@wrong("loop-carried-type", "i32", "pypto.loop(4)")
def carried_dtype(x, n, out):
    acc = n + 0
    for _ in pypto.loop(4):
        acc = acc * 0.5
    out[:, 0] = acc


@wrong("loop-alias", "acc is bound anew in a loop and shares elements", "pypto.loop(4)")
def alias(x, out):
    acc = x[0] + 0.0
    other = acc
    for i in pypto.loop(4):
        acc += x[i]
        acc = acc * 2.0
    out[:] = acc + other


@wrong("loop-bound", "1.5 is not a bound", "pypto.loop(1.5)")
def loop_bound(x, out):
    for i in pypto.loop(1.5):
        out[i] = x[i]


@wrong("loop-step-value", "0 is not a step", "pypto.loop(0, 4, 0)")
def loop_step(x, out):
    for i in pypto.loop(0, 4, 0):
        out[i] = x[i]


# -- conditions


@wrong("cond-predicate", "a bool tile without axes", "pypto.cond(x > 0.0, lambda: None)")
def cond_predicate(x, out):
    out[:] = x
    pypto.cond(x > 0.0, lambda: None)


@wrong("cond-function", "takes functions, not a Tile", "pypto.cond(pypto.max(x) > 0.0, x)")
def cond_function(x, out):
    out[:] = x
    pypto.cond(pypto.max(x) > 0.0, x)


@wrong("cond-results", "return Tile and NoneType", "pypto.cond(pypto.max(x) > 0.0, lambda: x, lambda: None)")
def cond_results(x, out):
    out[:] = pypto.cond(pypto.max(x) > 0.0, lambda: x, lambda: None)


@wrong("cond-index-result", "change a tile made before it", "pypto.cond(i < 2, lambda: x[0])")
def cond_index_result(x, out):
    for i in pypto.loop(4):
        out[i] = pypto.cond(i < 2, lambda: x[0])


@wrong("cond-rebinding", "a side of pypto.cond binds acc", "pypto.cond(pypto.max(x) > 0.0, then)")
def cond_rebinding(x, out):
    acc = x * 2.0

    def then():
        nonlocal acc
        acc = x * 3.0

    pypto.cond(pypto.max(x) > 0.0, then)
    out[:] = acc


# -- calls


@tile
def double(x, y):
    y[:] = x * 2.0


@tile
def partial(x, y):
    y[:2] = x[:2]


@tile
def reader(x, y):
    y[:] = y * x


@tile
def numbered(x, y):
    y[:] = 0.0


@tile
def silent(x, y):
    if False:
        y[:] = x


@tile
def two_inputs(a, b, y):
    y[:] = a + b


@pypto.tile
def two_outputs(x, more, less):
    more[:] = x + 1.0
    less[:] = x - 1.0


@wrong("call-arguments", "double is called with 3 arguments", "double(x, out, x)")
def call_arguments(x, out):
    double(x, out, x)


@wrong("call-keyword", "no further argument 'scale'", "double(x, scale=2.0)")
def call_keyword(x, out):
    out[:] = double(x, scale=2.0)


@wrong("call-arguments", "double is called with 2 arguments", "double(x, 3)")
def call_with_a_number_in_the_place_of_an_output(x, out):
    out[:] = double(x, 3)


@wrong("call-arguments", "two_outputs is called with 2 arguments", "two_outputs(x, out)")
def call_with_some_outputs_by_position(x, out):
    two_outputs(x, out)


@wrong("call-output", "double writes y, and 3 is no tile", "double(x, y=3)")
def call_output(x, out):
    double(x, y=3)
    out[:] = x


@wrong("call-missing", "two_inputs is called without b", "two_inputs(x)")
def call_missing(x, out):
    out[:] = two_inputs(x)


@wrong("fresh-partial", "covers a part of it", "y[:2]")
def fresh_partial(x, out):
    out[:] = partial(x)


@wrong("fresh-read", "is read before it is written", "y * x")
def fresh_read(x, out):
    out[:] = reader(x)


@wrong("fresh-number", "a number, which has no shape", "y[:]")
def fresh_number(x, out):
    out[:] = numbered(x)


@wrong("fresh-unwritten", "silent never writes its output y", "silent(x)")
def fresh_unwritten(x, out):
    out[:] = silent(x)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.kernel.name}")
def test_mistake(case: Case) -> None:
    error = caught(case.kernel)
    assert error.name == case.name, str(error)
    assert case.text in str(error)
    location = error.location
    assert location is not None
    if case.under:
        line = location.source_line() or ""
        assert case.under in line, str(error)
        if location.column and sys.version_info >= (3, 11):
            assert line[location.column - 1 : location.end_column - 1] == case.under, str(error)
    else:
        lines, start = inspect.getsourcelines(case.kernel.original)
        assert location.file == __file__
        assert start <= location.line < start + len(lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("axis-range", "use -2 to 1"),
        ("index-range", "use -4 to 3"),
        ("index-kind", "pypto.where(mask, value, out)"),
        ("assign-shape", "keepdims=True"),
        ("captured-array", "pypto.zeros"),
    ],
)
def test_the_help_says_what_to_write(name: str, text: str) -> None:
    case = next(case for case in CASES if case.name == name)
    assert text in caught(case.kernel).help


def test_break_is_reported_at_the_break() -> None:
    case = next(case for case in CASES if case.kernel.name == "broken")
    location = caught(case.kernel).location
    assert location is not None
    assert (location.source_line() or "").strip() == "break"


def test_a_call_outside_a_kernel() -> None:
    with pytest.raises(pypto.UserError, match=r"pypto.compile\(double\)") as failure:
        double(np.ones(3), np.ones(3))
    assert failure.value.name == "call-outside"
    assert failure.value.location is not None
    assert failure.value.location.file == __file__


def test_a_function_outside_a_kernel() -> None:
    with pytest.raises(pypto.UserError, match="under @tile") as failure:
        pypto.exp(np.ones(3))
    assert failure.value.name == "outside-tile-function"
    assert failure.value.location is not None
    assert "pypto.exp" in (failure.value.location.source_line() or "")


def test_a_tile_of_another_kernel() -> None:
    @tile
    def first(x, out):
        KEPT.append(x + 1.0)
        out[:] = x

    @tile
    def second(x, out):
        out[:] = x + KEPT[0]

    traced(first, *arrays(first))
    error = caught(second)
    assert error.name == "stale-tile"
    assert "x + KEPT[0]" in str(error)


def test_a_called_function_uses_a_tile_of_its_caller() -> None:
    @tile
    def kernel(x, out):
        @tile(shape=(2,), tile_num=2)
        def inner(a, b):
            b[:] = a - pypto.max(a) + x[0, 0]

        out[:, 0] = inner(x[:, 0])

    error = caught(kernel)
    assert error.name == "captured-tile"
    assert "x[0, 0]" in str(error)


def test_all_tiles_would_write_one_element() -> None:
    @tile
    def kernel(x, out):
        out[:] = pypto.sum(x)

    cut = ArrayView("x", F32, (ViewAxis(0, 3, 4),))
    shared = ArrayView("out", F32, (ViewAxis(None, 1, 1),))
    with pytest.raises(pypto.UserError, match="all 3 tiles would write") as failure:
        trace(kernel, (cut, shared), (3,))
    assert failure.value.name == "hidden-output"
    assert "out[:]" in str(failure.value)


def test_an_extent_without_a_number() -> None:
    @tile
    def kernel(x, out):
        out[:] = x * x.shape[0]
        for i in range(x.shape[0]):
            out[i] = x[i]

    views = tuple(ArrayView(name, I32, (ViewAxis(None, 1, Symbol("M")),)) for name in ("x", "out"))
    with pytest.raises(pypto.UserError, match="`shapes=`") as failure:
        trace(kernel, views, ())
    assert failure.value.name == "extent-unknown"
    assert "range(x.shape[0])" in str(failure.value)


def test_rebinding_without_source() -> None:
    names: dict[str, Any] = {"pypto": pypto}
    exec("def k(x, out):\n a = x\n for i in pypto.loop(3):\n  a = a + x\n out[:] = a\n", names)
    error = caught(tile(names["k"]))
    assert error.name == "loop-rebinding"
    assert "a[:] = ..." in str(error)
    assert error.location is not None
    assert error.location.line == 3


def test_nothing_is_recorded_after_a_caught_mistake() -> None:
    @tile
    def kernel(x, out):
        out[:] = x
        try:
            out[:] = x + x.T
        except pypto.UserError:
            out[:] = out * 2.0

    traced(kernel, *arrays(kernel))


def test_locations_in_names_beyond_ascii() -> None:
    @tile
    def ядро(α, выход):  # noqa: PLC2401
        выход[:] = α + α.T

    error = caught(ядро)
    report = str(error).splitlines()
    if sys.version_info >= (3, 11):
        assert report[2].index("^") == report[1].index("α + α.T")

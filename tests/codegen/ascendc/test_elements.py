"""What goes element by element through the scalar unit, on values chosen to break it; compiled against the stub."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ascendc.host import Host, compile_all
from passes.kernels import Arrays, KernelBuilder
from pypto.ir import interpreter
from pypto.ir.dtypes import I8, I32, I64, DType
from pypto.ir.nodes import Module
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES

NAN, INFINITY = np.nan, np.inf
COUNT = 4096
PAIRS = ("gcd", "pow", "shift_left", "shift_right")


def pairs(dtype: DType) -> Module:
    k = KernelBuilder("pairs")
    x, y = k.input("x", (15, 15), dtype), k.input("y", (15, 15), dtype)
    for name in PAIRS:
        k.output(name, k.op(name, x, y))
    return k.module()


def extremes() -> Module:
    k = KernelBuilder("extremes")
    x = k.input("x", (7, 9))
    for name in ("argmax", "argmin"):
        k.output(name, k.op(name, x, axis=1))
    for name, descending in (("up", False), ("down", True)):
        k.output(name, k.op("argsort", x, axis=1, count=9, descending=descending))
    return k.module()


def sums() -> Module:
    k = KernelBuilder("sums")
    k.output("out", k.op("cumsum", k.input("x", (3, COUNT)), axis=1))
    return k.module()


def chosen(dtype: DType, wrap: bool) -> Module:
    k = KernelBuilder("chosen")
    x, numbers, updates = k.input("x", (5, 8)), k.input("numbers", (6, 1), dtype), k.input("updates", (6, 8))
    k.output("read", k.op("gather", x, numbers, axis=0, wrap=wrap))
    k.output("written", k.op("scatter", x, numbers, updates, axis=0, wrap=wrap))
    k.output("added", k.op("scatter_add", x, numbers, updates, axis=0, wrap=wrap))
    return k.module()


MODULES: dict[str, Callable[[], Module]] = {
    "pairs_i32": lambda: pairs(I32),
    "pairs_i8": lambda: pairs(I8),
    "extremes": extremes,
    "sums": sums,
    "chosen_i32": lambda: chosen(I32, wrap=False),
    "chosen_i64": lambda: chosen(I64, wrap=True),
}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    planned = {name: run_passes(make(), NPU_PASSES)[0] for name, make in MODULES.items()}
    made = compile_all(planned, tmp_path_factory.mktemp("elements"))
    assert made is not None
    return made


def outputs(host: Host, name: str, inputs: Arrays) -> tuple[Arrays, Module]:
    module = MODULES[name]()
    arrays = {item.name: np.zeros(item.type.shape, item.type.dtype.numpy) for item in module.parameters} | inputs
    assert host.run(name, arrays, {}) is None
    return arrays, module


def check_exact(host: Host, name: str, inputs: Arrays) -> None:
    found, module = outputs(host, name, inputs)
    wanted = {key: np.zeros_like(array) for key, array in found.items()} | inputs
    interpreter.run(module, wanted, {})
    for key, array in wanted.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)


@pytest.mark.parametrize(("name", "dtype"), [("pairs_i32", np.int32), ("pairs_i8", np.int8)])
def test_pairs_of_ends(host: Host, name: str, dtype: type) -> None:
    limits = np.iinfo(dtype)
    some = [0, 1, -1, 2, -2, 7, 8, 30, 31, 32, 33, 100, -100, limits.min, limits.max]
    x, y = (np.ascontiguousarray(grid) for grid in np.meshgrid(*2 * [np.array(some, dtype)]))
    check_exact(host, name, {"x": x, "y": y})


def test_extremes_with_nan_ties_and_zeros(host: Host) -> None:
    x = np.array(
        [
            [9, 1, NAN, 9, NAN, 0, 1, 2, 3],
            [NAN] * 9,
            [-INFINITY] * 9,
            [0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0],
            [INFINITY, NAN, INFINITY, -INFINITY, 1e-45, -1e-45, 0.0, -0.0, 1],
            [3, 3, 3, 2, 2, 2, 1, 1, 1],
            [1, 1, 1, 2, 2, 2, 3, 3, NAN],
        ],
        np.float32,
    )
    check_exact(host, "extremes", {"x": x})


def test_running_sums_keep_what_additions_round_away(host: Host) -> None:
    random = np.random.default_rng(5)
    x = random.standard_normal((3, COUNT)).astype(np.float32)
    x[0] *= np.float32(10.0) ** random.integers(-6, 7, COUNT)
    x[1, 0] = 1e8
    x[2, 7], x[2, 50] = INFINITY, -INFINITY
    found = outputs(host, "sums", {"x": x})[0]["out"]
    with np.errstate(invalid="ignore"):
        wanted = np.cumsum(x, axis=1, dtype=np.float64)
    bound = 2 * np.finfo(np.float32).eps * np.cumsum(np.abs(x[:2]), axis=1, dtype=np.float64)
    assert (np.abs(found[:2] - wanted[:2]) <= bound).all()
    np.testing.assert_array_equal(found[2, 7:], wanted[2, 7:].astype(np.float32))


@pytest.mark.parametrize("name", ["chosen_i32", "chosen_i64"])
def test_indices_of_no_element(host: Host, name: str) -> None:
    """A gather reads element 0 there, a scatter leaves the update out; indices beyond 32 bits stay wrong."""
    wraps = name == "chosen_i64"
    wrong = [5, -6, 2**32 + 1, -(2**40)] if wraps else [5, -1, 2**31 - 1, -(2**31)]
    numbers = np.array([2, *wrong, 4], np.int64 if wraps else np.int32).reshape(6, 1)
    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    updates = 100 + np.arange(48, dtype=np.float32).reshape(6, 8)
    found = outputs(host, name, {"x": x, "numbers": numbers, "updates": updates})[0]
    np.testing.assert_array_equal(found["read"], x[[2, 0, 0, 0, 0, 4]])
    written, added = x.copy(), x.copy()
    written[[2, 4]] = updates[[0, 5]]
    added[[2, 4]] += updates[[0, 5]]
    np.testing.assert_array_equal(found["written"], written)
    np.testing.assert_array_equal(found["added"], added)

"""Run a random kernel on one target and compare with the oracle; make a failing kernel small."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np

import pypto
from fuzz.generator import REFUSALS, Kernel
from fuzz.shadow import SAFETY, Shadow, is_float
from pypto.ir import interpreter
from pypto.ir.parser import parse_module
from pypto.ir.verifier import verify

TARGETS = ("eager", "reference", "cpu")


def tile_function(kernel: Kernel, decorator: Any = pypto.tile) -> Any:
    """Return the kernel as a tile function whose source inspect and tracebacks can read."""
    file = f"<{kernel.name} {abs(hash(kernel.source)):x}>"
    source = kernel.source
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"pypto": pypto, "__name__": kernel.name}
    exec(compile(source, file, "exec"), namespace)
    return decorator(namespace["kernel"])


def difference(function: Any, kernel: Kernel, target: str) -> str | None:
    """Return how the target's result differs from what it must be, or None."""
    expected = kernel.expected()
    arrays = {argument.name: argument.make() for argument in kernel.arguments}
    pypto.compile(function, target=target).execute(*arrays.values())
    for name, array in arrays.items():
        found = wrong_elements(array, expected[name])
        if found is not None:
            return f"{target}: {name} {found}"
    return None


def batched_difference(kernel: Kernel, target: str, count: int) -> str | None:
    """Run the kernel on a batch: `shape=` of the kernel's rank, one axis more in front of the outputs and the inputs of full rank.

    Each item has values of its own. Raises one of REFUSALS where an item is not fit to compare.
    """
    rank = max(len(argument.shape) for argument in kernel.arguments)
    items = [kernel.with_seeds(turn) for turn in range(count)]
    expected = [item.expected() for item in items]
    arrays = {}
    for position, argument in enumerate(kernel.arguments):
        if argument.name.startswith("out") or len(argument.shape) == rank:
            arrays[argument.name] = np.stack([item.arguments[position].make() for item in items])
        else:
            arrays[argument.name] = argument.make()
    function = tile_function(kernel, pypto.tile(shape=(None,) * rank))
    pypto.compile(function, target=target).execute(*arrays.values())
    for name, array in arrays.items():
        if name.startswith("out"):
            for turn in range(count):
                found = wrong_elements(array[turn], expected[turn][name])
                if found is not None:
                    return f"{target}: item {turn} of {name} {found}"
    return None


def lowered_difference(kernel: Kernel) -> str | None:
    """Interpret the kernel's IR at level planned, read back from its text; AscendC source must come out of it as well.

    What the device computes by its own formulas (docs/numerics.md) may be off by 1e-5 more than the oracle allows. Raises UserError
    where the NPU cannot take the kernel.
    """
    arrays = {argument.name: np.ascontiguousarray(argument.make()) for argument in kernel.arguments}
    shapes = {name: array.shape for name, array in arrays.items()}
    dtypes = {argument.name: argument.dtype for argument in kernel.arguments}
    module = parse_module(_planned_text(kernel, shapes, dtypes))
    verify(module)
    interpreter.run(module, arrays, {})
    for name, expected in kernel.expected().items():
        if is_float(expected.dtype):
            expected.error = expected.error + 1e-5 * np.abs(expected.value) + 2e-6
        found = wrong_elements(arrays[name], expected)
        if found is not None:
            return f"planned IR: {name} {found}"
    return None


def _planned_text(kernel: Kernel, shapes: dict[str, Any], dtypes: dict[str, Any]) -> str:
    """Return the IR at level planned, checking that source comes out of it unless it runs on the cube cores."""
    function = tile_function(kernel)
    try:
        compiled = pypto.compile(function, target="ascendc", shapes=shapes, dtypes=dtypes)
    except pypto.UserError as error:
        if error.name != "ascendc-cube":
            raise
        return pypto.compile(function, target="reference", shapes=shapes, dtypes=dtypes).to_text("planned")
    assert "__global__" in compiled.source()
    return compiled.to_text("planned")


def wrong_elements(array: np.ndarray, expected: Shadow) -> str | None:
    if array.dtype.kind in "iub":
        wrong = array != expected.value
        allowed = np.zeros(array.shape)
    else:
        got = array.astype(np.float64)
        allowed = SAFETY * expected.error
        with np.errstate(all="ignore"):
            near = np.abs(got - expected.value) <= allowed
        wrong = ~(near | (got == expected.value) | (np.isnan(got) & np.isnan(expected.value)))
    if not wrong.any():
        return None
    where = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(wrong)))
    position = where if array.ndim else ()
    return (
        f"{array.dtype}{list(array.shape)}: {int(wrong.sum())} of {wrong.size} elements wrong, first at {position}: "
        f"got {array[position]!r}, want {expected.value[position]!r} within {allowed[position]:.3g}"
    )


def failure(kernel: Kernel, target: str) -> str | None:
    """Return what goes wrong, a raised error included, or None."""
    try:
        return difference(tile_function(kernel), kernel, target)
    except Exception as error:  # a fuzzer reports whatever happens
        return f"{target}: {type(error).__name__}: {error}"


def smallest(kernel: Kernel, target: str) -> Kernel:
    """Drop statements while the kernel still fails in the same way and its oracle still stands."""
    way = way_of(failure(kernel, target))
    shrunk = True
    while shrunk:
        shrunk = False
        for position in reversed(range(len(kernel.statements))):
            smaller = kernel.without(position)
            if smaller.statements and fails_alike(smaller, target, way):
                kernel, shrunk = smaller, True
    return drop_arguments(kernel, target, way)


def way_of(found: str | None) -> str:
    """Return how a kernel fails: with wrong elements, or the name of what is raised."""
    words = (found or "").split(": ")
    return "" if found is None else ("wrong" if "elements wrong" in found else words[1])


def fails_alike(kernel: Kernel, target: str, way: str) -> bool:
    try:
        kernel.expected()
    except (*REFUSALS, NameError, SyntaxError):
        return False
    outputs = [argument.name for argument in kernel.arguments if argument.name.startswith("out")]
    written = any(f"{name}[" in statement for name in outputs for statement in kernel.statements)
    return written and way_of(failure(kernel, target)) == way


def drop_arguments(kernel: Kernel, target: str, way: str) -> Kernel:
    for argument in kernel.arguments:
        remaining = tuple(item for item in kernel.arguments if item is not argument)
        smaller = Kernel(kernel.name, remaining, kernel.statements)
        if argument.name not in "\n".join(kernel.statements) and fails_alike(smaller, target, way):
            kernel = smaller
    return kernel

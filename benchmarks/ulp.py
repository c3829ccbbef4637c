"""Measures the CPU target's functions of floats: largest error in ulp, and time per element.

    python benchmarks/ulp.py                 every 997th f32 pattern; f64 random patterns and the ranges where they
    matter python benchmarks/ulp.py --step 1        every f32 pattern (minutes)
    python benchmarks/ulp.py --time          also nanoseconds per element, arrays of 16384 in cache
    python benchmarks/ulp.py --sse2          x86-64 code without fused multiply-add

Exact values come from NumPy and SciPy in float64 (for f32) or from longdouble and mpmath (for f64).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import special

from pypto.codegen.llvm.rules.single import Application, RuleLoop, Rules
from pypto.ir.dtypes import F32, F64, DType
from pypto.ir.numerics import ulp_distance
from pypto.runtime.toolchain import host_machine

Array = NDArray[Any]
Function = Callable[..., Array]
CHUNK = 1 << 20


def sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, np.ones_like(small)) / (1 + small)


def by_mpmath(function: Any, single: Function) -> Function:
    """float64 by `single` of SciPy, longdouble by mpmath's `function` in 80 bits."""

    def exact(x: Array) -> Array:
        if x.dtype == np.float64:
            return np.asarray(single(x))
        mpmath.mp.prec = 80
        bounded = np.clip(x.astype(np.float64), -100, 100)  # beyond, mpmath fails and both are constant
        values = [np.longdouble(mpmath.nstr(function(float(value)), 24)) for value in bounded]
        return np.array(values, np.longdouble)

    return exact


FUNCTIONS: dict[str, Function] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "reciprocal": lambda x: 1 / x,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": by_mpmath(mpmath.erf, special.erf),
    "erfc": by_mpmath(mpmath.erfc, special.erfc),
    "sigmoid": sigmoid,
    "pow": np.power,
    "atan2": np.arctan2,
    "hypot": np.hypot,
}


def single_patterns(step: int) -> Iterator[Array]:
    """Every `step`-th bit pattern of f32, in chunks."""
    for start in range(0, 1 << 32, CHUNK * step):
        patterns = np.arange(start, min(start + CHUNK * step, 1 << 32), step, np.uint64)
        yield patterns.astype(np.uint32).view(np.float32)


def double_samples(generator: np.random.Generator, count: int) -> Array:
    """Random f64 patterns, and values near 0, near 1, of ordinary size and near the ends of exp."""
    patterns = generator.integers(0, 1 << 64, count, np.uint64).view(np.float64)
    sizes = [generator.normal(size=count) * scale for scale in (1e-3, 1.0, 5.0, 300.0)]
    ends = [-745 + generator.normal(size=count // 8) * 5, 709 + generator.normal(size=count // 8)]
    tiny = 2.0 ** generator.uniform(-1074, -1000, count // 8)
    return np.concatenate([patterns, *sizes, *ends, tiny, 1 + generator.normal(size=count) * 1e-2])


def power_samples(generator: np.random.Generator, count: int, dtype: DType) -> tuple[Array, Array]:
    """Bases and exponents: ordinary results, bases near 1 with large exponents, whole exponents of negative bases."""
    base = np.exp(generator.normal(size=count) * 3)
    near = 1 + generator.normal(size=count) * 1e-5
    x = np.concatenate([base, near, -base])
    y = np.concatenate(
        [generator.normal(size=count) * 20, generator.normal(size=count) * 1e6, generator.integers(-9, 9, count)]
    )
    return x.astype(dtype.numpy), y.astype(dtype.numpy)


def pair_samples(generator: np.random.Generator, count: int, dtype: DType) -> tuple[Array, Array]:
    """Points of ordinary size, near the axes, and of any bit pattern."""
    near = generator.normal(size=(2, count))
    steep = generator.normal(size=(2, count)) * 10.0 ** generator.uniform(-30, 30, (2, count))
    unsigned = np.uint32 if dtype == F32 else np.uint64
    patterns = generator.integers(0, np.iinfo(unsigned).max, (2, count), unsigned).view(dtype.numpy)
    x, y = np.concatenate([near.astype(dtype.numpy), steep.astype(dtype.numpy), patterns], axis=1)
    return x, y


def samples(name: str, dtype: DType, step: int) -> Iterator[tuple[Array, ...]]:
    generator = np.random.default_rng(0)
    count = 4000 if name in ("erf", "erfc") else 50_000  # mpmath is slow
    if name in ("atan2", "hypot"):
        yield pair_samples(generator, 200_000, dtype)
    elif name == "pow":
        yield power_samples(generator, 200_000, dtype)
    elif dtype == F32:
        yield from ((chunk,) for chunk in single_patterns(step))
    else:
        yield (double_samples(generator, count),)


def largest_error(rules: Rules, name: str, dtype: DType, step: int) -> tuple[float, str]:
    """Return the largest error in ulp, and the operands there."""
    loop = rules.loop(Application.of(name, dtype), rules.machine.lanes(dtype))
    wide = np.float64 if dtype == F32 else np.longdouble
    worst, place = 0.0, ""
    for operands in samples(name, dtype, step):
        with np.errstate(all="ignore"):
            exact = FUNCTIONS[name](*(operand.astype(wide) for operand in operands))
        errors = ulp_distance(loop(*operands), exact)
        index = int(np.argmax(errors))
        if errors[index] > worst:
            worst, place = float(errors[index]), ", ".join(str(operand[index]) for operand in operands)
    return worst, place


def nanoseconds(loop: RuleLoop, count: int = 16384) -> float:
    """Return the best time per element over arrays that stay in cache, the call's own cost included."""
    generator = np.random.default_rng(0)
    dtype = loop.application.result.numpy
    operands = [np.abs(generator.normal(size=count) * 2).astype(dtype) for _ in loop.application.dtypes]
    result = np.zeros(count, dtype)
    addresses = [result.ctypes.data, *(operand.ctypes.data for operand in operands)]
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(50):
            loop.function(*addresses, count)
        best = min(best, (time.perf_counter() - start) / 50)
    return best / count * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=int, default=997, help="distance of the f32 patterns tried")
    parser.add_argument("--time", action="store_true", help="measure the time per element too")
    parser.add_argument("--sse2", action="store_true", help="use the instructions of the first x86-64 processors only")
    parser.add_argument("names", nargs="*", default=list(FUNCTIONS), help="functions (default: all)")
    options = parser.parse_args()
    rules = Rules(host_machine())
    if options.sse2:
        rules = Rules(rules.restricted("x86-64", "+sse2", 128))
    print(f"{rules.machine.cpu}, {rules.machine.vector_bits} bits")
    for name in options.names:
        for dtype in (F32, F64):
            error, place = largest_error(rules, name, dtype, options.step)
            line = f"{name:12} {dtype!s:4} {error:6.3f} ulp at {place}"
            if options.time:
                loop = rules.loop(Application.of(name, dtype), rules.machine.lanes(dtype))
                line = f"{line:60} {nanoseconds(loop):7.3f} ns"
            print(line)


if __name__ == "__main__":
    main()

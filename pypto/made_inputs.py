"""Inputs made from a fixed seed, for `execute()` without arguments and ``pypto run``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pypto.codegen.llvm.code import Layout
from pypto.ir.dtypes import DType
from pypto.ir.index import Extent
from pypto.tracing.views import ArrayView, ScalarView, View

SEED = 0


def make_inputs(views: Mapping[str, View], outputs: Iterable[str] = ()) -> dict[str, Any]:
    """Return a value for each launch parameter: arrays of seeded numbers, `outputs` of zeros, constants as they are.

    Floats are normally distributed, integers -8 .. 8 (from 0 for u8), bools either.
    """
    random = np.random.default_rng(SEED)
    return {name: _value(view, random, name in outputs) for name, view in views.items()}


def _value(view: View, random: np.random.Generator, is_output: bool) -> Any:
    if isinstance(view, ArrayView):
        shape = _shape(axis.extent for axis in view.axes)
        return np.zeros(shape, view.dtype.numpy) if is_output else _numbers(view.dtype, shape, random)
    if isinstance(view, ScalarView):
        number = _numbers(view.dtype, (), random)
        return number.item() if view.dtype.name in ("f32", "i64", "bool") else number[()]
    return getattr(view, "value", None)


def _numbers(dtype: DType, shape: tuple[int, ...], random: np.random.Generator) -> Any:
    if dtype.is_float:
        return random.standard_normal(shape).astype(dtype.numpy) if shape else np.asarray(1.5, dtype.numpy)
    low = 0 if dtype.kind in ("unsigned", "bool") else -8
    return random.integers(low, 2 if dtype.kind == "bool" else 9, shape).astype(dtype.numpy)


def _shape(extents: Iterable[Extent]) -> tuple[int, ...]:
    shape = tuple(extents)
    assert all(isinstance(extent, int) for extent in shape), "shapes of made inputs are numbers"
    return tuple(int(extent) for extent in shape if isinstance(extent, int))


def contiguous_layouts(views: Mapping[str, View]) -> dict[str, Layout]:
    """Return the layout of contiguous arrays for each array view with known extents."""
    layouts = {}
    for name, view in views.items():
        if isinstance(view, ArrayView) and all(isinstance(axis.extent, int) for axis in view.axes):
            layouts[name] = Layout(contiguous_strides(tuple(axis.extent for axis in view.axes)))
    return layouts


def contiguous_strides(shape: tuple[Extent, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of a contiguous array as `runtime.arguments` normalises them."""
    strides: list[int] = []
    step = 1
    for extent in reversed(_shape(shape)):
        strides.append(step)
        step *= max(1, extent)
    return tuple(reversed(strides))

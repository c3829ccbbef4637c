"""What the bug cases share: the targets, comparisons, and kernels that live in a real file."""

from __future__ import annotations

import importlib.util
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pypto

EVERYWHERE = ("cpu", "reference", "eager")
TRACED = ("cpu", "reference")
F32, I32, I64 = np.float32, np.int32, np.int64
INF, NAN = float("inf"), float("nan")


def run(kernel: Any, *arguments: Any, target: str, **keywords: Any) -> None:
    pypto.compile(kernel, target=target).execute(*arguments, **keywords)


def same(got: Any, want: Any) -> None:
    """Equal in shape and every element; NaN equals NaN."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert np.array_equal(got, want, equal_nan=got.dtype.kind == "f"), (got, want)


def same_bits(got: Any, want: Any) -> None:
    """Equal, the sign of zero too; the payload of a NaN is free."""
    same(got, want)
    got, want = np.asarray(got), np.asarray(want)
    numbers = ~np.isnan(want)
    assert np.array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers]), (got, want)


def close(got: Any, want: Any, rtol: float = 1e-5, atol: float = 0.0) -> None:
    np.testing.assert_allclose(
        np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=rtol, atol=atol, equal_nan=True
    )


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def quiet(function: Callable[[], Any]) -> Any:
    with np.errstate(all="ignore"):
        return function()


def from_source(source: str, name: str) -> Any:
    """Return a kernel from a module of its own."""
    path = Path(tempfile.mkdtemp()) / "kernels.py"
    path.write_text("import pypto\nfrom pypto import tile\n" + textwrap.dedent(source), encoding="utf-8")
    specification = importlib.util.spec_from_file_location(f"kernels_{abs(hash(str(path)))}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return getattr(module, name)

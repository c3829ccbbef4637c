"""Text and place of operands that an operation cannot take."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto.ir.base.errors import UserError
from pypto.ir.parser import parse_module

HEADER = "pto 1\n\n"


def test_dtypes_that_differ_in_a_file_are_shown_at_their_operation() -> None:
    text = HEADER + (
        "kernel k(x: gm f32[4], y: gm i32[4]) -> (out: gm f32[4]) level tile {\n"
        "  %0 = load x[0 : 4] : f32[4]\n"
        "  %1 = load y[0 : 4] : i32[4]\n"
        "  %2 = add %0, %1 : f32[4]\n"
        "  store out[0 : 4], %2\n"
        "}\n"
    )
    with pytest.raises(UserError) as caught:
        parse_module(text, "wrong.pto")
    assert caught.value.name == "dtype-mismatch"
    assert "operands have different dtypes: f32 and i32" in str(caught.value)
    assert caught.value.location is not None
    assert caught.value.location.line == 6


def test_shapes_that_do_not_broadcast_are_shown_at_their_line() -> None:
    @pypto.tile
    def add(x, y, out):
        out[:] = x + y

    arrays = [np.zeros(shape, np.float32) for shape in (4, 3, 4)]
    with pytest.raises(UserError) as caught:
        pypto.compile(add).execute(*arrays)
    assert caught.value.name == "shape-mismatch"
    assert "(4,) and (3,)" in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.line == add.location.line + 2

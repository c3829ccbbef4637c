"""Images unfolded on the way to L0A (LoadData 3D v2) against convolutions by NumPy: padding, strides, dilation."""

from __future__ import annotations

import functools
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pypto.runtime.ascendc_host.driver import Program, build, run

Array = NDArray[Any]
CHANNELS = 32
CASES = [  # height and width of the image, of the filter; strides; dilations; pads left, right, top, bottom; value of the padding
    ((6, 7), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), 0),
    ((6, 7), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 0),
    ((9, 8), (2, 3), (2, 1), (1, 1), (0, 2, 1, 0), 3),
    ((11, 10), (3, 2), (1, 3), (2, 3), (3, 0, 0, 2), 0),
    ((5, 5), (3, 3), (2, 2), (2, 2), (2, 2, 2, 2), 1),
    ((4, 1), (4, 1), (1, 1), (1, 1), (0, 0, 0, 0), 0),
]


@functools.cache
def program() -> Program:
    return build((Path(__file__).parent / "kernels" / "convolution.cpp").read_text(), file="convolution.cpp")


@pytest.mark.parametrize(("image", "window", "strides", "dilations", "pads", "value"), CASES)
def test_convolution(
    image: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    pads: tuple[int, int, int, int],
    value: int,
) -> None:
    random = np.random.default_rng(sum(image))
    x = random.integers(-4, 5, (CHANNELS // 16, *image, 16)).astype(np.float16)
    taps = CHANNELS * window[0] * window[1]
    weights = random.integers(-4, 5, (32, taps)).astype(np.float16)
    left, right, top, bottom = pads
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=value)
    extent = [(size - 1) * step + 1 for size, step in zip(window, dilations, strict=True)]
    places = [
        (y, z)
        for y in range(0, padded.shape[1] - extent[0] + 1, strides[0])
        for z in range(0, padded.shape[2] - extent[1] + 1, strides[1])
    ]
    unfolded = [
        padded[:, y : y + extent[0] : dilations[0], z : z + extent[1] : dilations[1]].reshape(-1) for y, z in places
    ]
    expected = np.array(unfolded, np.float32) @ weights.T.astype(np.float32)
    numbers = (*image, *window, *strides, *dilations, len(places), value)
    shape = struct.pack("<10I4B", *numbers, *pads)
    report = run(program(), {"x": x, "weights": weights, "z": np.zeros_like(expected), "shape": shape})
    assert not report.findings, str(report)
    np.testing.assert_array_equal(report.outputs["z"], expected)

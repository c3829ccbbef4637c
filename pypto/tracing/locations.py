"""Where in the user's source an operation was written: the nearest frame outside this package."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType

import numpy

from pypto.ir.base.locations import UNKNOWN, Location

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(numpy.__file__)) + os.sep
_INTERNAL = (_PACKAGE, _NUMPY, "<__array_function__")

Position = tuple[int, int, int]


def user_frame() -> FrameType | None:
    """Return the innermost frame that runs user code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        frame = frame.f_back
    return frame


class Locator:
    """Finds locations; positions of each code object are decoded once."""

    def __init__(self) -> None:
        self._positions: dict[CodeType, list[Position]] = {}

    def here(self) -> Location:
        """Return the location of the user's expression that is being evaluated."""
        frame = user_frame()
        return self.of_frame(frame) if frame is not None else UNKNOWN

    def of_frame(self, frame: FrameType) -> Location:
        code = frame.f_code
        positions = self._positions.get(code)
        if positions is None:
            positions = self._positions[code] = _decode(code)
        line, column, end = frame.f_lineno or 0, 0, 0
        number = frame.f_lasti // 2
        if 0 <= number < len(positions):
            line, column, end = positions[number]
        return Location(code.co_filename, line or frame.f_lineno or 0, column, end)


def _decode(code: CodeType) -> list[Position]:
    """Return line, column and end column (from 1, in characters) of each instruction; empty before Python 3.11."""
    if sys.version_info < (3, 11):
        return []
    found: list[Position] = []
    for line, end_line, column, end_column in code.co_positions():
        if line is None or column is None or end_column is None:
            found.append((line or 0, 0, 0))
            continue
        text = linecache.getline(code.co_filename, line)
        last = end_column if end_line == line else len(text.rstrip("\n").encode())
        found.append((line, _characters(text, column) + 1, _characters(text, last) + 1))
    return found


def _characters(line: str, offset: int) -> int:
    """Return the number of characters in the first `offset` bytes of the line's UTF-8."""
    return offset if line.isascii() else len(line.encode()[:offset].decode(errors="ignore"))

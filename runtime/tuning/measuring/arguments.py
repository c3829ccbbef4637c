"""Copies of the arguments of a launch, in files that the measuring process maps, and as arrays to launch with.

The copies lie in memory as the originals do: the same strides, gaps and alignment, so that the same code runs on them.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import BF16, BY_NAME
from pypto.runtime.arguments import Argument, ArrayArgument, ScalarArgument, read
from pypto.runtime.tuning.channel import Message
from pypto.runtime.tuning.measuring.options import Expected, Inputs, MeasureOptions
from pypto.runtime.tuning.private_folders import PrivateFolder

Array = NDArray[Any]
Bytes = NDArray[np.uint8]
ALIGNMENT = 4096
"""Bytes; a copy's address is the original's modulo this."""
SHARED_MEMORY = "/dev/shm"
FOLDER_PREFIX = "pypto-measure-"


class ArgumentFiles:
    """The arguments and the expected results as files in a private folder, in memory where the system allows that.

    Each array has a file with the bytes that it spans and, when it is an output, one with what is expected.
    """

    def __init__(self, inputs: Inputs, expected: Mapping[str, Expected], options: MeasureOptions) -> None:
        zero = frozenset(options.reset_to_zero)
        self._restored = inputs.updated | zero | frozenset(options.restore_value)
        arguments = [read(name, value) for name, value in inputs.values.items()]
        self._private = _private_folder(arguments)
        self.folder = self._private.path
        try:
            items = [self._save(number, item, inputs, zero) for number, item in enumerate(arguments)]
            wanted = {name: self._save_expected(name, item) for name, item in expected.items()}
        except BaseException:
            self.remove()
            raise
        self.description: Message = {"folder": str(self.folder), "arguments": items, "expected": wanted}

    def remove(self) -> None:
        """Remove the files."""
        self._private.remove()

    def _save(self, number: int, item: Argument, inputs: Inputs, zero: frozenset[str]) -> Message:
        if isinstance(item, ScalarArgument):
            return {"name": item.name, "scalar": item.value, "dtype": item.dtype.name, "python": item.python}
        assert isinstance(item, ArrayArgument)
        low, high = item.byte_range()
        content = (ctypes.c_char * (high - low)).from_address(item.address + low) if high > low else b""
        file = self.folder / f"{number}.array"
        file.write_bytes(bytes(high - low) if item.name in zero else content)
        return {
            "name": item.name,
            "dtype": item.dtype.name,
            "shape": item.shape,
            "strides": item.strides,
            "low": low,
            "bytes": high - low,
            "residue": (item.address + low) % ALIGNMENT,
            "framework": item.framework,
            "written": item.name in inputs.written,
            "restored": item.name in self._restored,
            "file": file.name,
        }

    def _save_expected(self, name: str, item: Expected) -> Message:
        file = self.folder / f"{name}.expected"
        file.write_bytes(np.ascontiguousarray(item.value).tobytes())
        return {"file": file.name, "relative": item.relative, "absolute": item.absolute}


def _private_folder(arguments: list[ArrayArgument | ScalarArgument]) -> PrivateFolder:
    """Return a new folder: in shared memory when twice the arguments leave half of it free."""
    spans = [item.byte_range() for item in arguments if isinstance(item, ArrayArgument)]
    needed = 2 * sum(high - low for low, high in spans)
    roomy = os.access(SHARED_MEMORY, os.W_OK) and shutil.disk_usage(SHARED_MEMORY).free > 2 * needed
    return PrivateFolder(FOLDER_PREFIX, SHARED_MEMORY if roomy else None)


@dataclass(slots=True)
class WorkingArray:
    """One array to launch with: `memory` are the bytes that it spans, `original` what they are at the start."""

    name: str
    value: Any
    view: Array
    memory: Bytes
    original: Bytes
    written: bool
    restored: bool

    def restore(self) -> None:
        np.copyto(self.memory, self.original)

    def changed(self) -> bool:
        return not np.array_equal(self.memory, self.original)


class WorkingArguments:
    """The arguments that a session launches with, made from the files of `ArgumentFiles`.

    `tensors`: whether copies of torch tensors are tensors, as the user's functions expect; else they are arrays, which
    lie in memory alike and need no torch.
    """

    def __init__(self, description: Message, tensors: bool = False) -> None:
        self.folder, self._tensors = Path(description["folder"]), tensors
        self.arrays: dict[str, WorkingArray] = {}
        self.arguments: list[Argument] = []
        for item in description["arguments"]:
            self.arguments.append(self._argument(item))
        self.expected = {name: self._expected(name, item) for name, item in description["expected"].items()}

    @property
    def values(self) -> dict[str, Any]:
        """Return the values by name, as the user's functions get them."""
        return {item.name: item.value for item in self.arguments}

    def restore_all(self) -> None:
        for array in self.arrays.values():
            array.restore()

    def restore(self) -> None:
        """Restore what a launch changes and reads; it never writes its inputs, which `changed_input` checks."""
        for array in self.arrays.values():
            if array.restored:
                array.restore()

    def changed_input(self) -> str | None:
        """Return the name of an input that was written to, or None."""
        return next((item.name for item in self.arrays.values() if not item.written and item.changed()), None)

    def _argument(self, item: Message) -> Argument:
        dtype = BY_NAME[item["dtype"]]
        if "scalar" in item:
            return ScalarArgument(item["name"], item["scalar"], dtype, item["python"])
        original = _mapped(self.folder / item["file"], item["bytes"])
        memory = _aligned(item["bytes"], item["residue"])
        shape, strides = tuple(item["shape"]), tuple(stride * dtype.bytes for stride in item["strides"])
        view: Array = np.ndarray(shape, dtype.numpy, memory, -item["low"], strides)
        value = _tensor(view) if self._tensors and item["framework"] == "torch" else view
        argument = read(item["name"], value)
        made = WorkingArray(item["name"], value, view, memory, original, item["written"], item["restored"])
        made.restore()
        self.arrays[item["name"]] = made
        return argument

    def _expected(self, name: str, item: Message) -> Expected:
        view = self.arrays[name].view
        content = _mapped(self.folder / item["file"], view.size * view.itemsize)
        return Expected(content.view(view.dtype).reshape(view.shape), item["relative"], item["absolute"])


def _mapped(path: Path, size: int) -> Bytes:
    return np.memmap(path, np.uint8, "r") if size else np.empty(0, np.uint8)


def _aligned(size: int, residue: int) -> Bytes:
    """Return bytes from NumPy's own allocator, so from pages as the user's arrays have, at `residue` in a page."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = (residue - int(memory.__array_interface__["data"][0])) % ALIGNMENT
    return memory[start : start + size]


def _tensor(view: Array) -> Any:
    import torch

    if view.dtype == BF16.numpy:
        return torch.from_numpy(view.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(view)

"""`FusionTile`: a fused kernel as an object, with its parts, its intermediates and where each of them lives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pypto.compiled_kernel import CompiledKernel
from pypto.compiler import compile as compile_kernel
from pypto.explain import size_in_bytes
from pypto.ir.nodes import Load, Module, Space, results, walk


@dataclass(frozen=True, slots=True)
class Intermediate:
    """A value between two operations of a fused kernel: its size and the memory that holds it ("UB", "GM" ...)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    place: str


class FusionTile:
    """What ``@fuse`` made of its parts.

    kernel: a function under ``@pypto.fuse`` (or any compiled kernel). shapes, dtypes: as for `pypto.compile`; needed
    where the decorators do not cover the arguments exactly. Raises UserError ``shapes-needed`` and whatever compiling
    raises.
    """

    def __init__(self, kernel: Any, shapes: Mapping[str, Any] | None = None, dtypes: Any = None) -> None:
        is_compiled = isinstance(kernel, CompiledKernel)
        self.kernel = (
            kernel if is_compiled else compile_kernel(kernel, target="reference", shapes=shapes, dtypes=dtypes)
        )
        self.parts: tuple[str, ...] = tuple(
            part.name for function in self.kernel.functions for part in (function.parts or (function,))
        )
        self._planned: Module = self.kernel.module_at("planned")

    def __repr__(self) -> str:
        return f"FusionTile({self.kernel.name}: {' + '.join(self.parts)})"

    @property
    def intermediates(self) -> tuple[Intermediate, ...]:
        """What the kernel computes between its loads and its stores, one entry per buffer, then those in GM."""
        return (*self._on_chip(), *self._in_memory())

    def unfused(self) -> list[Intermediate]:
        """Return the intermediates that go through global memory because they did not fit on chip."""
        return list(self._in_memory())

    def _on_chip(self) -> list[Intermediate]:
        found = []
        for kernel in self._planned.kernels:
            computed = {
                value.buffer
                for statement in walk(kernel.body)
                if not isinstance(statement, Load)
                for value in results(statement)
            }
            found += [
                Intermediate(item.name, item.dtype.name, item.shape, item.slot_bytes * item.depth, item.space.name)
                for item in kernel.buffers
                if item.name in computed and item.space is not Space.GM
            ]
        return found

    def _in_memory(self) -> list[Intermediate]:
        return [
            Intermediate(
                item.name,
                item.type.dtype.name,
                tuple(extent for extent in item.type.shape if isinstance(extent, int)),
                size_in_bytes(item.type) or 0,
                "GM",
            )
            for item in self._planned.intermediates
        ]

"""What of a kernel a schedule may choose, and how much memory a tile of it needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from pypto.ir.axes import Axis, AxisAnalysis, analyse
from pypto.ir.nodes import Kernel, Module, Parameter, Role
from pypto.ir.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Facts:
    """The kernel that writes the largest output: its axes, which of them may be cut, and what is contracted.

    `reasons` says for each axis that may not be cut why not (empty for the others). `depth` is the longest contracted
    axis (0: none).
    """

    kernel: str
    extents: tuple[int, ...]
    reasons: tuple[str, ...]
    depth: int
    element_bytes: int

    @property
    def output_bytes(self) -> int:
        return math.prod(self.extents) * self.element_bytes

    @property
    def cuttable(self) -> tuple[bool, ...]:
        return tuple(not reason for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class TileBytes:
    """Of one tile, in bytes: the blocks of all arguments that it works on at a time, and all that it reads and writes
    of global memory.
    """

    resident: int
    moved: int


def extents_of(parameter: Parameter) -> tuple[int, ...]:
    """Return the extents of a parameter of a specialised module."""
    assert all(isinstance(extent, int) for extent in parameter.type.shape), "kernels are specialised before tuning"
    return tuple(int(extent) for extent in parameter.type.shape if isinstance(extent, int))


def _output(kernel: Kernel) -> Parameter | None:
    """Return the largest output of a kernel; of several the last."""
    outputs = [item for item in kernel.parameters if item.role is not Role.IN]
    outputs.sort(key=lambda item: math.prod(extents_of(item)))
    return outputs[-1] if outputs else None


def _main(module: Module) -> Kernel:
    def size(kernel: Kernel) -> int:
        output = _output(kernel)
        return -1 if output is None else math.prod(extents_of(output))

    return max(reversed(module.kernels), key=size)


def facts(module: Module) -> Facts:
    """Return what a schedule of `module` (level tile, extents known) may choose."""
    kernel = _main(module)
    output = _output(kernel)
    if output is None:
        return Facts(kernel.name, (), (), 0, 4)
    analysis = analyse(kernel)
    classes = analysis.classes_of(output.name)
    extents = extents_of(output)
    reasons = tuple(_reason(kernel, analysis, item) for item in classes)
    return Facts(kernel.name, extents, reasons, _depth(kernel, analysis), output.type.dtype.bytes)


def _reason(kernel: Kernel, analysis: AxisAnalysis, axis: Axis) -> str:
    """Return why an axis of the output may not be cut; empty when it may."""
    if kernel.grid or dict(kernel.attributes).get("meaning") in ("tiles", "blocks"):
        return "the tiles belong to the meaning of the kernel"
    binding = analysis.binding(axis)
    if binding is not None:
        return f"{binding.operation} works across it"
    return "" if analysis.splittable(axis) else "it is found twice in one value"


def _depth(kernel: Kernel, analysis: AxisAnalysis) -> int:
    found = [
        extent
        for parameter in kernel.parameters
        for position, extent in enumerate(extents_of(parameter))
        if analysis.contracted(Axis(parameter.name, position))
    ]
    return max(found, default=0)


def common_schedule(module: Module) -> Schedule:
    """Return what the schedules of all kernels of `module` have in common."""
    first, *others = (Schedule.of(kernel) for kernel in module.kernels)
    same = {
        item.name: getattr(first, item.name)
        for item in fields(Schedule)
        if all(getattr(other, item.name) == getattr(first, item.name) for other in others)
    }
    declared = tuple(name for name in first.declared or () if same.get(name) is not None)
    return Schedule(**{**same, "declared": declared or None})


def tile_bytes(module: Module, schedule: Schedule) -> TileBytes:
    """Return the bytes of the largest tile under `schedule`; without a tile that was chosen, of the whole arrays."""
    sizes = [_kernel_bytes(kernel, schedule.choices()) for kernel in module.kernels]
    return TileBytes(max(size.resident for size in sizes), max(size.moved for size in sizes))


def _kernel_bytes(kernel: Kernel, schedule: Schedule) -> TileBytes:
    analysis, tiles = analyse(kernel), _tiles(kernel, schedule)
    resident = moved = 0
    for parameter in kernel.parameters:
        here = everything = parameter.type.dtype.bytes
        for position, extent in enumerate(extents_of(parameter)):
            axis = analysis.find(Axis(parameter.name, position))
            tile = min(tiles.get(axis, extent), extent)
            everything *= tile
            here *= min(tile, schedule.tile_k or tile) if analysis.contracted(axis) else tile
        resident += here
        moved += everything * (2 if parameter.role is Role.INOUT else 1)
    return TileBytes(resident, moved)


def _tiles(kernel: Kernel, schedule: Schedule) -> Mapping[Axis, int]:
    """Return the extent of a tile along each class of axes that is cut."""
    output, shape = _output(kernel), schedule.tile_shape or ()
    if output is None or kernel.grid:
        return {}
    classes = analyse(kernel).classes_of(output.name)
    return {axis: tile for axis, tile in zip(reversed(classes), reversed(shape), strict=False) if tile is not None}

"""What the options ask of a kernel's schedule, as plain attributes of the kernel, and in words for `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from pypto.config import BufferConfig, Options
from pypto.ir.base.errors import UserError
from pypto.ir.nodes import Attribute, Load, Module, Store, walk
from pypto.meaning import Meaning
from pypto.tile_function import Shape, TileFunction


def declared(stage: TileFunction) -> tuple[Shape | None, int | None]:
    """Return the tile shape and number that the decorator gives; those of a fused kernel are its parts', when equal."""
    if not stage.parts or stage.shape is not None:
        return stage.shape, stage.tile_num
    shapes = {part.shape for part in stage.parts}
    numbers = {part.tile_num for part in stage.parts}
    return shapes.pop() if len(shapes) == 1 else None, numbers.pop() if len(numbers) == 1 else None


def check_schedule(stage: TileFunction, meaning: Meaning, options: Options) -> None:
    """Raise UserError ``schedule-meaning`` where an option would change what a kernel computes."""
    if meaning.kind == "whole":
        return
    wanted = (("tile_num", options.tile_num, stage.tile_num), ("shape", options.tile_shape, stage.shape))
    for option, value, own in wanted:
        if value is not None and value != own:
            raise UserError(
                "schedule-meaning", stage.location, option=option, value=value, kernel=stage.name, declared=own
            )


def check_slots(module: Module, options: Options) -> None:
    """Raise UserError ``slot-too-small`` when a buffer of a planned module needs more than ``buffer_size_per_tile``.

    Only buffers that data crosses between global memory and the chip count.
    """
    given = options.buffer.buffer_size_per_tile if options.buffer else None
    if given is None:
        return
    for kernel in module.kernels:
        crossing = {statement.result.buffer for statement in walk(kernel.body) if isinstance(statement, Load)}
        crossing |= {statement.value.buffer for statement in walk(kernel.body) if isinstance(statement, Store)}
        sizes = [(buffer.slot_bytes, buffer.name) for buffer in kernel.buffers if buffer.name in crossing]
        needed, name = max(sizes, default=(0, ""))
        if needed > given:
            raise UserError(
                "slot-too-small", kernel.location, given=given, kernel=kernel.name, needed=needed, buffer=name
            )


def schedule_attributes(stage: TileFunction, meaning: Meaning, options: Options) -> dict[str, Attribute]:
    """Return the kernel attributes ``tile_shape``, ``tile_num``, ``tile_k``, ``aicore_num``, ``buffer_depth`` and
    ``pipeline`` (see `pypto.ir.schedule.Schedule`).

    Options win over the decorator; what neither gives is left out. ``declared`` names what only the decorator gives.
    """
    shape, number = declared(stage)
    wishes = (
        ("tile_num", options.tile_num is None and number is not None),
        ("tile_shape", options.tile_shape is None and shape is not None),
    )
    values: dict[str, Attribute] = {
        "meaning": meaning.kind,
        "tile_shape": options.tile_shape or shape,
        "tile_num": options.tile_num or number,
        "tile_k": options.tile_k,
        "aicore_num": options.aicore_num,
        "buffer_depth": options.buffer_depth,
        "pipeline": options.enable_pipeline,
        "declared": tuple(name for name, is_wish in wishes if is_wish) or None,
    }
    if options.scheduler is not None:
        planned = options.scheduler.choices(stage, meaning.kind, options.aicore_num)
        values.update((name, value) for name, value in planned.items() if getattr(options, name) is None)
    return {key: value for key, value in values.items() if value is not None}


def what_options_did(options: Options, target: str) -> Iterator[str]:
    """Yield one line per key that the user gave: its value and what came of it on `target`."""
    for key, value in options.given:
        if key == "buffer" and options.buffer is not None:
            yield from _buffer_lines(options.buffer, target)
        else:
            yield f"{key}={value}: {_effect(key, options, target)}"


_WISH = "taken where it fits the unified buffer; the schedule on the device says where it does not"
_ON_DEVICE = {
    "scheduler": "coarse tiles are shared by cores, fine ones are what a core computes at once, as printed above",
    "tile_num": _WISH,
    "tile_m": _WISH,
    "tile_n": _WISH,
    "tile_k": "elements of a contracted axis per step on the cube cores, where they fit",
    "shape": _WISH,
    "aicore_num": "at most that many vector cores are used",
    "enable_double_buffer": "two slots for what copies fill or empty in a loop, where they fit; otherwise one",
    "enable_pipeline": "without it, buffers of loops get two slots only when asked for",
    "l1_workspace_mb": "recorded; vector kernels use the unified buffer, none of L1",
    "fusion_boundary": "intermediates stay in the unified buffer: vector cores reach no L1",
}
_CPU_TILE = "rows and columns of what one work item computes, where those axes can run in parallel"
_ON_CPU = {
    "tile_num": "chunks that threads take, at most, where the work can be cut into that many",
    "tile_m": _CPU_TILE,
    "tile_n": _CPU_TILE,
    "tile_k": "positions of a contracted axis that are packed and added up at a time",
    "shape": _CPU_TILE,
}
"""What a config or the tuner chooses for the CPU, which disregards the decorator's wishes for the same."""
_EVERYWHERE = {
    "barrier": "orders the tiles of stages",
    "dependency": "links the stages",
    "dependency_graph": "links the stages",
    "enable_fusion": "linked stages whose tiles can go on with each other's become one kernel unless it is False; the "
    "parts under @fuse are one kernel in any case",
    "enable_store_clean": "nothing is flushed between fused parts",
    "enable_profiling": "the time of every stage and launch is kept for profile()",
    "schedule": "what tuning found",
    "output_pto_ir": "the PTO IR is written when it is first known",
    "pto_ir_path": "the PTO IR is written there",
}


def _effect(key: str, options: Options, target: str) -> str:
    if key in _EVERYWHERE:
        return _EVERYWHERE[key]
    if target in ("ascendc", "npu"):
        return _ON_DEVICE[key]
    if target == "cpu" and key in _ON_CPU:
        return _ON_CPU[key]
    return f"no effect on target {target}; in the NPU schedule: {_ON_DEVICE[key]}"


def _buffer_lines(buffer: BufferConfig, target: str) -> Iterator[str]:
    place = "" if target in ("ascendc", "npu") else f" (no effect on target {target})"
    if buffer.strategy is not None:
        yield f"buffer strategy {buffer.strategy.name}: that many slots for what copies fill or empty in a loop{place}"
    if buffer.buffer_size_per_tile is not None:
        yield f"buffer_size_per_tile={buffer.buffer_size_per_tile}: checked against the largest buffer{place}"
    if buffer.enable_async_copy is not None:
        yield f"enable_async_copy={buffer.enable_async_copy}: copies run on their own pipes in any case{place}"
    if buffer.enable_prefetch is not None:
        yield f"enable_prefetch={buffer.enable_prefetch}: recorded; copies run ahead by the slots that there are{place}"
    if buffer.overlap_compute_ratio is not None:
        ratio = buffer.overlap_compute_ratio
        yield f"overlap_compute_ratio={ratio}: a target; nothing measures it in this version{place}"

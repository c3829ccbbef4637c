"""`CompiledKernel.explain`: what the compiler decided, in plain text."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from pypto.compiler import Built
from pypto.config import Options
from pypto.ir.base.settings import current
from pypto.ir.nodes import Module, Parameter, TileType
from pypto.meaning import Meaning
from pypto.schedule import what_options_did
from pypto.subject import Subject, TracedSubject
from pypto.tile_plan import plan_tiles

_MEANINGS = {
    "whole": "WHOLE: the body applies to the whole arguments; tiles are only schedule",
    "tiles": "TILES: the body applies to each tile alone",
    "blocks": "BLOCKS: the body asks for its block id and runs once per block",
}


def explain(subject: Subject, options: Options, target: str, built: Built | None, kept: int) -> str:
    """Return the report; `kept` is the number of specialisations in memory."""
    lines = [f"kernel {subject.name}{subject.signature} for target {target}"]
    if built is None:
        lines.append("not compiled yet: shapes are learned at the first call, or given by shapes=")
    else:
        lines += _meaning_lines(subject, built)
        lines += _argument_lines(built.module)
        lines += _merged_lines(built)
        lines += _intermediate_lines(_fused(built))
        lines += _plan_lines(subject, options, built)
        lines += _phase_lines(built)
        lines += _device_lines(built)
        lines += _indented("notes", built.notes)
        lines += _indented("replaced texts", tuple(built.stages.notes))
    if options.scheduler is not None and subject.functions:
        plan = options.scheduler.plan_stages(subject.functions, options.aicore_num)
        lines += _indented("coarse and fine tiles", tuple(str(plan).splitlines()))
    lines += _indented("options", what_options_did(options, target))
    lines.append(f"specialisations in memory: {kept} of at most {current().specializations}")
    return "\n".join(lines)


def _indented(title: str, lines: Iterator[str] | tuple[str, ...]) -> list[str]:
    items = [f"  {line}" for line in lines]
    return [f"{title}:", *items] if items else []


def _meaning_lines(subject: Subject, built: Built) -> Iterator[str]:
    if not isinstance(subject, TracedSubject):
        yield f"read from {subject.location}, at level {built.module.level.value}"
        return
    for stage, meaning in zip(subject.functions, built.program.meanings, strict=True):
        yield f"{stage.name}: {_MEANINGS[meaning.kind]}"
        yield from (f"  {line}" for line in _axes_lines(meaning))


def _axes_lines(meaning: Meaning) -> Iterator[str]:
    if meaning.batch:
        extents = ", ".join(map(str, meaning.hidden[: meaning.batch]))
        yield f"batch axes (not seen by the body): {extents}"
    if meaning.hidden[meaning.batch :]:
        yield f"tiles along the cut axes: {', '.join(map(str, meaning.hidden[meaning.batch :]))}"
    if meaning.block is not None:
        yield f"blocks: {meaning.block.extent}"


def _argument_lines(module: Module) -> list[str]:
    lines = [f"{item.name}: {item.type} {item.role.value}{_bytes(item)}" for item in module.parameters]
    return _indented("arguments", tuple(lines))


def _bytes(item: Parameter) -> str:
    size = size_in_bytes(item.type)
    return "" if item.scalar or size is None else f", {size} bytes"


def size_in_bytes(type_: TileType) -> int | None:
    """Return the bytes of an array of `type_`, None while an extent is unknown."""
    extents = [extent for extent in type_.shape if isinstance(extent, int)]
    return prod(extents) * type_.dtype.bytes if len(extents) == type_.rank else None


def _fused(built: Built) -> Module:
    return built.stages.modules.get("fuse", built.module)


def _merged_lines(built: Built) -> list[str]:
    """Return the kernels that several stages became, with the arrays between them that are not stored any more."""
    from pypto.ir.passes.fuse_kernels import stages_of

    kept = {item.name for item in _fused(built).intermediates}
    merged = [stages_of(kernel) for kernel in _fused(built).kernels if len(stages_of(kernel)) > 1]
    dropped = [item.name for item in built.module.intermediates if item.name not in kept]
    lines = [f"{', '.join(names)} are one kernel" for names in merged]
    lines += [f"not stored: {', '.join(dropped)}"] if dropped else []
    return _indented("merged stages", tuple(lines))


def _intermediate_lines(module: Module) -> list[str]:
    lines = [f"{item.name}: {item.type}{_bytes(item)}" for item in module.intermediates]
    return _indented("intermediates in memory between stages", tuple(lines))


def _plan_lines(subject: Subject, options: Options, built: Built) -> list[str]:
    """Return the schedule of a graph of several stages: phases, and the barriers between them."""
    if not isinstance(subject, TracedSubject) or len(subject.graph.stages) < 2 or not built.module.is_concrete:
        return []
    plan = plan_tiles(subject.graph, options.aicore_num, built.program)
    return _indented("tile graph", tuple(str(plan).splitlines()))


def _device_lines(built: Built) -> list[str]:
    """Return how kernels that were lowered for an NPU use its cores, and what of their schedules was not followed."""
    lines: list[str] = []
    for kernel in (kernel for module in built.lowered for kernel in module.kernels):
        attributes = dict(kernel.attributes)
        tiles, notes = attributes.get("tiles"), attributes.get("notes")
        blocks = prod(axis.extent for axis in kernel.grid if isinstance(axis.extent, int))
        shape = f", tiles of {' x '.join(map(str, tiles))}" if isinstance(tiles, tuple) and tiles else ""
        lines.append(f"{kernel.name}: {blocks} core{'s' * (blocks != 1)}{shape}")
        lines += [f"  {note}" for note in (notes if isinstance(notes, tuple) else ())]
    return _indented("schedule on the device", tuple(lines))


def _phase_lines(built: Built) -> list[str]:
    if built.code is None:
        return []
    lines = [f"{phase.symbol}: {phase.items} items, {phase.grain} per chunk" for phase in built.code.phases]
    lines.append(f"code {'from the disk cache' if built.from_disk else 'made now'}")
    lines.append(f"workspace {built.code.workspace_bytes} bytes, scratch {built.code.scratch_bytes} bytes per thread")
    return _indented("phases (parallel loops, one after another)", tuple(lines))

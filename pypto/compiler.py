"""The one path from tile functions to something that runs, on one page.

    tile functions --graph--> tile graph --tile--> PTO IR at level tile --verify-->
        target reference:  the NumPy meaning of that IR
        target cpu:        --fuse--> fewer kernels --source--> LLVM IR --library--> machine code --launch--> a call
        target ascendc:    --fuse--> --(the passes of pypto.ir.passes)--> level planned --source--> AscendC

Each stage is a function from one thing to the next, run by `Stages`, which times and dumps it. Its name is the name
of the dump, of the row in `profile()`, and what `to_text` and ``pypto ir --emit`` take.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pypto.caller import PLACED_AT_CALLER
from pypto.config import Options, read_config
from pypto.device_limit import within_device_limit
from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.settings import current
from pypto.ir.nodes import Level, Module, Role
from pypto.ir.schedule import with_schedule
from pypto.schedule import check_slots
from pypto.stages import Stages
from pypto.subject import Subject, TracedSubject, read_subject
from pypto.tile_plan import plan_tiles

if TYPE_CHECKING:
    from pypto.codegen.llvm.code import CpuCode, Layout
    from pypto.compiled_kernel import CompiledKernel
    from pypto.program import Program
    from pypto.runtime.launcher import Launcher
    from pypto.tracing.views import View

TARGETS: dict[str, str] = {
    "cpu": "native code for this machine, through LLVM (the default)",
    "reference": "the NumPy meaning of the IR",
    "eager": "the body as plain Python on NumPy, for print and debuggers",
    "ascendc": "AscendC source for dav-2201 (Atlas A2/A3)",
    "npu": "an Ascend device through torch_npu",
}


def compile(  # noqa: A001  # the public name
    what: Any,
    config: Any = None,
    *,
    target: str | None = None,
    shapes: Mapping[str, Any] | None = None,
    dtypes: Any = None,
) -> CompiledKernel:
    """Return a kernel that can be executed, printed and saved.

    what: a tile function, a list of them (stages that run in order), a `DependencyGraph`, a networkx graph, or the
    path of a ``.pto`` file. config: a `TileConfig`, a `BufferConfig`, a `Scheduler` or a dict of keys: the schedule,
    which never changes results. target: one of ``cpu``, ``reference``, ``eager``, ``ascendc``, ``npu``; default: the
    setting `target`.
    shapes, dtypes: what is known about arguments before the first call, by parameter name (extents are ints, or names
    for unknown ones; one dtype may stand for all).

    Raises UserError of the catalogue's groups `options`, `graph` and `text`; with all `shapes` known also whatever
    compiling raises. Without, shapes are learned at the first `execute`, one specialisation per signature.
    """
    from pypto.compiled_kernel import CompiledKernel
    from pypto.known_shapes import read_known

    with PLACED_AT_CALLER:
        options, dependencies = read_config(config)
        subject = read_subject(what, dependencies)
        if options.scheduler is not None:
            options.scheduler.plan_stages(subject.functions, options.aicore_num)
        return CompiledKernel(subject, options, _check_target(target), read_known(subject, shapes, dtypes))


def _check_target(target: str | None) -> str:
    name = current().target if target is None else target
    if name not in TARGETS:
        raise UserError("unknown-target", None, target=name, hint=nearest(str(name), TARGETS))
    return name


@dataclass(frozen=True, slots=True)
class Built:
    """A subject compiled for one signature.

    `program` has a kernel for each stage, before any are merged. `views` are how tracing saw the
    arguments, `assumed` the notes on shapes that nobody gave; `source` is what `CompiledKernel.source` returns;
    `launcher` runs it on the CPU; `from_disk` says that its code came from the disk cache; `lowered` holds the module
    at level planned once somebody asked for it; `fast` the launcher's functions for repeated calls, by the frameworks
    of the arguments.
    """

    program: Program
    stages: Stages
    views: Mapping[str, View]
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    source: str | None = None
    code: CpuCode | None = None
    launcher: Launcher | None = None
    from_disk: bool = False
    lowered: list[Module] = field(default_factory=list)
    fast: dict[tuple[str, ...], Callable[..., object]] = field(default_factory=dict)

    @property
    def module(self) -> Module:
        return self.program.module


def build(
    subject: Subject,
    views: Mapping[str, View],
    layouts: Mapping[str, Layout],
    options: Options,
    target: str,
    assumed: tuple[str, ...] = (),
) -> Built:
    """Return `subject` compiled for launch arguments seen as `views` and lying in memory as `layouts` say.

    `assumed` are notes on shapes that were guessed. Raises UserError ``level-too-low`` and whatever the stages raise.
    """
    stages = Stages()
    program = stages.run("tile", subject.program, views, options)
    stages.run("verify", _verify, program.module)
    if isinstance(subject, TracedSubject) and subject.graph.waits and program.module.is_concrete:
        stages.run("plan", plan_tiles, subject.graph, options.aicore_num, program)
    built = Built(program, stages, views, (*assumed, *program.notes), assumed)
    if current().debug >= 1:
        _print_notes(subject.name, built.notes)
    if target == "cpu" and built.module.level is not Level.TILE:
        raise UserError("level-too-low", subject.location, target=target, level=built.module.level.value)
    if target == "cpu":
        return _build_cpu(built, layouts, options)
    if target == "ascendc":
        return _build_ascendc(built, options)
    return built


def _build_cpu(built: Built, layouts: Mapping[str, Layout], options: Options) -> Built:
    from pypto.runtime.code_cache import cached_code, generate
    from pypto.runtime.launcher import Launcher
    from pypto.runtime.status import index_mistake
    from pypto.runtime.toolchain import compile_code, host_machine

    machine, fused = host_machine(), kernels_of(built.stages, built.module, options)
    made: list[CpuCode] = []

    def emit_and_count(*inputs: Any) -> CpuCode:
        made.append(generate(*inputs))
        return made[-1]

    code = built.stages.generate("source", cached_code, fused, dict(layouts), machine, emit_and_count)
    library = built.stages.run("library", compile_code, code, machine)
    written = [item.name for item in built.module.parameters if item.role is not Role.IN]
    mistake = functools.partial(index_mistake, fused)
    launcher = built.stages.run("launch", functools.partial(Launcher, mistake=mistake), code, library, written)
    notes = (*built.notes, *code.notes)
    return replace(built, source=code.text, code=code, launcher=launcher, notes=notes, from_disk=not made)


def _build_ascendc(built: Built, options: Options) -> Built:
    from pypto.codegen.ascendc.emitter import emit

    planned = lower(built.stages, built.module, options)
    source = built.stages.generate("source", emit, planned)
    return replace(built, source=source, lowered=[planned])


def lower(stages: Stages, module: Module, options: Options) -> Module:
    """Return `module` at level planned; a module read midway takes the passes that are left.

    Stages that do not fit on chip as one kernel are kept apart, and a note of the kernel says so. Without fusion, each
    stage is a launch of its own.
    """
    from pypto.ir.passes.join_phases import JOIN_PHASES
    from pypto.ir.passes.pipeline import NPU_PASSES

    kept = [item for item in NPU_PASSES if options.enable_fusion is not False or item is not JOIN_PHASES]

    apart: dict[tuple[str, ...], str] = {}
    while True:
        fused = within_device_limit(kernels_of(stages, module, options, apart))
        try:
            planned = stages.run_passes(fused, tuple(kept))
        except UserError as error:
            if not _split(fused, error, apart):
                raise
        else:
            check_slots(planned, options)
            return planned


def kernels_of(
    stages: Stages, module: Module, options: Options, apart: Mapping[tuple[str, ...], str] = MappingProxyType({})
) -> Module:
    """Return the kernels that a target runs: linked stages are merged, except those in `apart`, with the reason; they
    carry the tuner's schedule where there is one.
    """
    if options.enable_fusion is not False and module.level is Level.TILE:
        module = stages.run("fuse", _fuse, module, apart)
    return module if options.schedule is None else with_schedule(module, options.schedule)


def _fuse(module: Module, apart: Mapping[tuple[str, ...], str]) -> Module:
    if len(module.kernels) < 2:  # most modules: the pass need not be imported
        return module
    from pypto.ir.passes.fuse_kernels import fuse_kernels

    return fuse_kernels(module, apart)


def _split(fused: Module, error: UserError, apart: dict[tuple[str, ...], str]) -> bool:
    """Note in `apart` that the stages of the kernel which `error` is about are too large for one; False: it is one."""
    from pypto.ir.passes.fuse_kernels import stages_of

    if error.name != "unified-buffer-full":
        return False
    for kernel in fused.kernels:
        names = stages_of(kernel)
        if kernel.name == error.details["kernel"] and len(names) > 1 and names not in apart:
            needed, has = error.details["needed"], error.details["capacity"]
            apart[names] = f"they would need {needed} bytes of the {has} of a core at once"
            return True
    return False


def _print_notes(name: str, notes: tuple[str, ...]) -> None:
    for note in notes:
        print(f"pypto: {name}: {note}", file=sys.stderr)


def stage_names(target: str) -> tuple[str, ...]:
    """Return the stages that can be printed on `target`, in order; levels may be named as well."""
    names = [*module_stages(), *(level.value for level in Level)]
    if target in ("cpu", "ascendc"):
        names.append("source")
    return tuple(dict.fromkeys(names))


def module_stages() -> tuple[str, ...]:
    """Return the stages that make a module, in order."""
    from pypto.ir.passes.pipeline import NPU_PASSES

    return "tile", "fuse", *(item.name for item in NPU_PASSES)


def _verify(module: Module) -> None:
    from pypto.ir.verifier import verify

    verify(module)

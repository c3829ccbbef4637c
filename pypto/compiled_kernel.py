"""`CompiledKernel`: what `pypto.compile` returns. It binds arguments, keeps one specialisation per signature, and
runs them.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto.binding import bind, constant_type
from pypto.caller import PLACED_AT_CALLER
from pypto.captured import Captured
from pypto.compiler import Built, build, lower, stage_names
from pypto.config import Options
from pypto.fork_safe_lock import ForkSafeLock
from pypto.ir.base.errors import UserError, nearest
from pypto.ir.base.settings import Settings, current
from pypto.ir.nodes import Module, Role
from pypto.ir.passes.manager import Timing
from pypto.known_shapes import KnownShapes, believed, known_views
from pypto.overrides import fingerprint
from pypto.result import Result
from pypto.subject import Subject, TracedSubject
from pypto.tile_function import TileFunction
from pypto.tracing.views import ArrayView, View

if TYPE_CHECKING:
    import networkx

    from pypto.changes import Change
    from pypto.signature import Call

Fast = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Quick:
    """What a repeated call needs: the launcher's function, and what has to be as it was.

    `count` arguments were given, all by position; `defaults` are the values of the other parameters.
    """

    launch: Fast
    count: int
    defaults: tuple[Any, ...]
    settings: Settings
    captured: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time went, in seconds: `stages` of the last compilation, `launches` with ``enable_profiling``."""

    stages: tuple[Timing, ...]
    launches: tuple[float, ...]

    def __str__(self) -> str:
        lines = [f"{item.name:<20} {item.seconds * 1e3:10.3f} ms" for item in self.stages]
        if self.launches:
            mean = sum(self.launches) / len(self.launches)
            lines.append(f"{f'{len(self.launches)} launches, mean':<20} {mean * 1e3:10.3f} ms")
        return "\n".join(lines)


class CompiledKernel:
    """A kernel that can be executed, printed and saved. Made by `pypto.compile`; safe to call from several threads."""

    def __init__(self, subject: Subject, options: Options, target: str, known: KnownShapes) -> None:
        self._subject, self._options, self.target, self._known = subject, options, target, known
        self._built: OrderedDict[Any, Built] = OrderedDict()
        self._lock = ForkSafeLock()
        self._captured = Captured(subject.functions)
        self._quick: _Quick | None = None
        self._last: Built | None = None
        self._launches: deque[float] = deque(maxlen=1000)
        self._outputs = subject.outputs
        self._positions = _positions(subject, self._outputs)
        self._file_written = False
        if target == "npu":
            require_device()
        if target == "eager" and not subject.functions:
            raise UserError("eager-needs-python", subject.location, kernel=subject.name)
        self._compile_known()

    @property
    def name(self) -> str:
        return self._subject.name

    @property
    def functions(self) -> tuple[TileFunction, ...]:
        """The tile functions it is made from, in program order; none for a `.pto` file."""
        return self._subject.functions

    def __repr__(self) -> str:
        return f"<compiled kernel {self.name}{self._subject.signature} for {self.target}>"

    # -- running

    def execute(self, /, *arguments: Any, verify: bool = False, **keywords: Any) -> Result:
        """Run the kernel: its outputs are written in place.

        Arguments are NumPy arrays, torch CPU tensors and numbers, given by position or name as to the tile function.
        Without any, inputs are made from a fixed seed (in the shapes of `compile`, of the last call, or of the
        decorators). With `verify`, the reference runs on copies of the arguments as well, and the result says whether
        the outputs agree.

        Raises UserError for wrong arguments (before anything is written) and, at the first call of a signature, for
        mistakes in the kernel.
        """
        quick = self._quick
        if (
            quick is not None
            and not keywords
            and not verify
            and len(arguments) == quick.count
            and current() is quick.settings
            and self._captured.unchanged(quick.captured)
            and quick.launch(*arguments, *quick.defaults) is True
        ):
            return Result(self._outputs, arguments, self._positions)
        with PLACED_AT_CALLER:
            if not arguments and not keywords and self._subject.signature.parameters:
                return self._execute_made_inputs(verify)
            return self._execute(arguments, keywords, verify)

    def execute_again(self, arguments: tuple[Any, ...]) -> Result | None:
        """Run if that is a repetition of the last call: arguments like those, and nothing else changed; else None."""
        quick = self._quick
        if (
            quick is not None
            and len(arguments) == quick.count
            and current() is quick.settings
            and self._captured.unchanged(quick.captured)
            and quick.launch(*arguments, *quick.defaults) is True
        ):
            return Result(self._outputs, arguments, self._positions)
        return None

    def _execute(
        self, arguments: tuple[Any, ...], keywords: Mapping[str, Any], verify: bool, notes: tuple[str, ...] = ()
    ) -> Result:
        from pypto.launching import launch, launch_verified

        values = bind(self.name, self._subject.signature, arguments, keywords)
        call, built = self._compiled_call(values, notes)
        run = launch_verified if verify else launch
        start = time.perf_counter()
        problem = run(self._subject, self.target, built, call)
        if self._options.enable_profiling:
            self._launches.append(time.perf_counter() - start)
        if not keywords:
            self._remember(built, call, arguments, tuple(values.values()))
        passed = problem is None if verify else None
        return Result(self._outputs, tuple(values.values()), self._positions, passed, problem)

    def _compiled_call(self, values: Mapping[str, Any], notes: tuple[str, ...]) -> tuple[Call, Built]:
        """Return what the arguments are and the specialisation for them.

        A body may write parameters that its code does not show as written, through an alias or a helper. Compiling
        finds them; then the arguments are read again, as outputs.
        """
        from pypto.signature import read_call

        while True:
            call = read_call(self._subject, values, self._outputs)
            built = self._specialisation(call, notes)
            written = {item.name for item in built.module.parameters if item.role is not Role.IN}
            if written <= set(self._outputs):
                return call, built
            with self._lock:
                found = written | set(self._outputs)
                outputs = tuple(name for name in self._subject.signature.parameters if name in found)
                self._quick, self._positions, self._outputs = None, _positions(self._subject, outputs), outputs

    def _execute_made_inputs(self, verify: bool) -> Result:
        from pypto.made_inputs import make_inputs

        views, notes = self._last_views()
        with believed(self._subject, self._known, notes):
            return self._execute((), make_inputs(views, self._outputs), verify, notes)

    def _specialisation(self, call: Call, notes: tuple[str, ...]) -> Built:
        """Return the specialisation for a call: kept, or compiled now. The least recently used ones are dropped."""
        from pypto.signature import check_partly_shared, copy_notes

        with self._lock:
            key = self._key(call.key)
            built = self._built.get(key)
            if built is None:
                built = self._build(call, notes)
                check_partly_shared(call, built.module)
                built = replace(built, notes=(*built.notes, *copy_notes(call)))
                self._built[key] = built
                while len(self._built) > max(1, current().specializations):
                    self._built.popitem(last=False)
            self._built.move_to_end(key)
            self._last = built
            return built

    def _key(self, signature: Hashable) -> Hashable:
        """Return what a specialisation depends on: arguments, captured values, settings and texts that change
        code.
        """
        values = current()
        limits = values.cube_limit, values.vector_limit
        return signature, self._captured.snapshot(), values.vector_bits, limits, fingerprint()

    def _build(self, call: Call, notes: tuple[str, ...]) -> Built:
        from pypto.runtime.arguments import ArrayArgument

        layouts = {
            name: item.layout
            for name, item in call.arguments.items()
            if isinstance(item, ArrayArgument) and name not in call.same
        }
        built = build(self._subject, call.views, layouts, self._options, self.target, notes)
        self._write_file(built)
        return built

    def _remember(self, built: Built, call: Call, given: tuple[Any, ...], values: tuple[Any, ...]) -> None:
        """Let the next call with arguments like the `given` ones go straight to the launcher."""
        if built.launcher is None or call.same or call.partly or self._options.enable_profiling or current().override:
            return
        if any(position >= len(given) for position in self._positions):
            return
        arguments = list(call.arguments.values())
        kinds = tuple(getattr(item, "framework", "") for item in arguments)
        launch = built.fast.get(kinds)
        if launch is None:
            launch = built.fast[kinds] = built.launcher.fast_call(arguments)
        self._quick = _Quick(launch, len(given), values[len(given) :], current(), self._captured.snapshot())

    # -- before the first call

    def _compile_known(self) -> None:
        """Compile now when all shapes were given; write the PTO IR when that was asked for and can be done."""
        needed = {
            name
            for name, item in self._subject.signature.parameters.items()
            if item.default is item.empty and constant_type(item) is None
        }
        concrete = all(isinstance(extent, int) for shape in self._known.shapes.values() for extent in shape)
        if self._known.shapes and needed <= set(self._known.shapes) and concrete:
            self._from_known()
        elif self._options.pto_ir_path or self._options.output_pto_ir:
            try:
                self._write_file(self._from_known())
            except UserError as error:
                if error.name != "shapes-needed":
                    raise

    def _last_views(self) -> tuple[Mapping[str, View], tuple[str, ...]]:
        if self._last is not None:
            return self._last.views, ()
        return known_views(self._subject, self._known)

    def _from_known(self) -> Built:
        """Return the last specialisation, else one for the shapes known before the first call."""
        from pypto.made_inputs import contiguous_layouts
        from pypto.signature import expected_key

        with self._lock:
            if self._last is None:
                views, notes = known_views(self._subject, self._known)
                concrete = _are_concrete(views)
                target = self.target if concrete else "reference"
                with believed(self._subject, self._known, notes):
                    self._last = build(self._subject, views, contiguous_layouts(views), self._options, target, notes)
                if concrete:
                    self._built[self._key(expected_key(views))] = self._last
                self._write_file(self._last)
            return self._last

    # -- reading

    @property
    def graph(self) -> networkx.MultiDiGraph:
        """The tile graph: nodes are stages (attribute ``stage``), edges links (``src_buffer``, ``dst_buffer``)."""
        from pypto.graph import link_stages

        subject = self._subject
        return (subject.graph if isinstance(subject, TracedSubject) else link_stages(())).to_networkx()

    def to_text(self, stage: str | None = None) -> str:
        """Return the PTO IR after a stage, a pass or at a level: ``tile``, ``buffered``, ``synchronised``,
        ``planned`` ...

        Default: ``planned``; before shapes are known ``tile``, with symbols for unknown extents. Raises UserError
        ``unknown-stage-text`` or ``shapes-needed``.
        """
        from pypto.ir.printer import print_module

        names = stage_names(self.target)
        if stage is not None and stage not in names:
            raise UserError("unknown-stage-text", None, stage=stage, target=self.target, hint=nearest(stage, names))
        if stage == "source":
            return self.source()
        if self._last is None and stage in (None, "tile"):
            return self._symbolic_text()
        module = self.module_at(stage or "planned")
        return _with_notes(self._from_known().assumed, print_module(module))

    def _symbolic_text(self) -> str:
        from pypto.ir.printer import print_module

        try:
            views, notes = known_views(self._subject, self._known, symbolic=True)
            return _with_notes(notes, print_module(self._subject.program(views, self._options).module))
        except UserError as error:
            if error.name == "shapes-needed":
                raise
        built = self._from_known()
        return _with_notes(built.assumed, print_module(built.module))

    def module_at(self, stage: str) -> Module:
        """Return the IR of the last specialisation after a stage, a pass or at a level, as `to_text` prints it."""
        built = self._from_known()
        if stage not in built.stages.modules:
            with self._lock:
                if not built.lowered:
                    built.lowered.append(lower(built.stages, built.module, self._options))
        modules = built.stages.modules
        if stage in modules:
            return modules[stage]
        at_level = [module for module in modules.values() if module.level.value == stage]
        if not at_level:
            names = sorted(modules)
            raise UserError(
                "unknown-stage-text", None, stage=stage, target=self.target, hint=f"this kernel has: {', '.join(names)}"
            )
        return at_level[-1]

    def changes(self) -> tuple[Change, ...]:
        """Return what each stage down to level planned changed in the PTO IR: its diff and its time.

        Raises UserError ``shapes-needed`` or whatever lowering raises.
        """
        from pypto.changes import changes

        self.module_at("planned")
        stages = self._from_known().stages
        return changes(stages.modules, stages.timings)

    def source(self) -> str:
        """Return the generated source: LLVM IR on target cpu, AscendC on target ascendc.

        Raises UserError ``no-source`` on targets that generate none, ``shapes-needed`` before shapes are known.
        """
        if self.target not in ("cpu", "ascendc"):
            raise UserError("no-source", None, target=self.target)
        source = self._from_known().source
        if source is None:
            raise UserError("no-source", None, target=f"{self.target} with unknown extents")
        return source

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write the text of every stage, the source and `explain()` into `folder`; returns the paths.

        Raises UserError ``cannot-write`` or ``shapes-needed``.
        """
        from pypto.saving import save_texts

        self.module_at("planned")
        return save_texts(Path(folder), self._from_known(), self.target, self.explain())

    def explain(self) -> str:
        """Return in plain text what the compiler decided: meaning, axes, intermediates, what each option did."""
        from pypto.explain import explain

        with self._lock:
            return explain(self._subject, self._options, self.target, self._last, len(self._built))

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of the compiler about the last specialisation."""
        return (*self._last.notes, *self._last.stages.notes) if self._last is not None else ()

    @property
    def tiling(self) -> dict[str, dict[str, Any]]:
        """The schedule of each kernel of the last specialisation, by kernel name."""
        built = self._from_known()
        modules = built.lowered or [built.module]
        return {kernel.name: dict(kernel.attributes) for kernel in modules[-1].kernels}

    def profile(self) -> Profile:
        """Return where the time of the last compilation and of the launches went."""
        stages = tuple(self._last.stages.timings) if self._last is not None else ()
        return Profile(stages, tuple(self._launches))

    def _write_file(self, built: Built) -> None:
        from pypto.ir.base.files import write_text

        path = self._options.pto_ir_path or (f"{self.name}.pto" if self._options.output_pto_ir else None)
        if path is None or self._file_written:
            return
        self._file_written = True
        self._last = built
        write_text(Path(path), self.to_text())

    # -- pickling

    def __reduce__(self) -> tuple[Any, ...]:
        from pypto.pickling import describe_subject

        return _rebuild, (describe_subject(self._subject), self._options, self.target, self._known)


def _rebuild(description: Any, options: Options, target: str, known: KnownShapes) -> CompiledKernel:
    from pypto.pickling import find_subject

    return CompiledKernel(find_subject(description), options, target, known)


def _with_notes(notes: tuple[str, ...], text: str) -> str:
    """Return PTO IR after comments that say what was assumed before the first call."""
    return "".join(f"# {note}\n" for note in notes) + text


def _are_concrete(views: Mapping[str, View]) -> bool:
    """Return whether every extent is a number."""
    arrays = [view for view in views.values() if isinstance(view, ArrayView)]
    return all(isinstance(axis.extent, int) for view in arrays for axis in view.axes)


def _positions(subject: Subject, outputs: tuple[str, ...]) -> tuple[int, ...]:
    names = tuple(subject.signature.parameters)
    return tuple(names.index(name) for name in outputs)


def require_device() -> None:
    """Raise UserError ``needs-device``: nothing is launched on a device yet."""
    try:
        import torch_npu  # noqa: F401
    except ImportError as error:
        raise UserError("needs-device", None, why=str(error)) from None
    raise UserError("needs-device", None, why="this version generates source for the device and does not launch there")

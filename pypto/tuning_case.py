"""What is tuned: a kernel with its arguments, traced once; every candidate is the same IR with another schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pypto.binding import bind
from pypto.compiler import kernels_of
from pypto.config import Options
from pypto.device_limit import device_limit, within_device_limit
from pypto.ir.base.errors import UserError
from pypto.ir.nodes import Level, Module, Role
from pypto.known_shapes import KnownShapes, known_views, read_known
from pypto.launching import as_numpy, run_reference
from pypto.made_inputs import make_inputs
from pypto.overrides import fingerprint
from pypto.program import Program
from pypto.runtime.arguments import Argument, ArrayArgument, read
from pypto.runtime.tuning.facts import facts
from pypto.runtime.tuning.keys import SubjectKey, alignment, digest, ir_digest
from pypto.runtime.tuning.measuring.options import Expected, Inputs
from pypto.runtime.tuning.work import Work, work_of
from pypto.signature import Call, read_call
from pypto.stages import Stages
from pypto.subject import Subject
from pypto.tuning_result import Problem
from pypto.verification import magnitude, tolerance

if TYPE_CHECKING:
    from pypto.codegen.llvm.code import Machine


@dataclass(frozen=True, slots=True)
class TuningCase:
    """A kernel and one set of arguments.

    call: the arguments, read. program: the traced stages. module: what candidates are made from (stages merged, level
    tile), with the schedule of an untuned kernel. made: the arguments were made from a seed, since only shapes were
    known.
    """

    subject: Subject
    options: Options
    target: str
    call: Call
    program: Program
    module: Module
    made: bool

    @property
    def name(self) -> str:
        return self.subject.name

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each array argument."""
        return {name: item.shape for name, item in self._arrays().items()}

    @property
    def layouts(self) -> dict[str, tuple[int, ...]]:
        """The strides in elements of each array parameter of the module."""
        return {name: item.strides for name, item in self._arrays().items() if name not in self.call.same}

    def machine(self) -> Machine | None:
        """Return the processor that candidates are compiled for; None for a device."""
        if self.target != "cpu":
            return None
        from pypto.runtime.toolchain import host_machine

        return host_machine()

    def inputs(self) -> Inputs:
        """Return the arguments as measuring takes them."""
        values = {item.name: self.call.arguments[item.name].value for item in self.module.parameters}
        return Inputs.of(self.module, values)

    def expected(self, zero: Sequence[str] = ()) -> dict[str, Expected]:
        """Return what the reference gives for copies of the arguments, those in `zero` set to zero, with the error that
        an output may have.
        """
        module = self.program.module
        names = {item.name: item for item in module.parameters}
        copies = {name: _copied(self.call.arguments[name]) for name in names}
        before = {name: item.value for name, item in copies.items() if isinstance(item, ArrayArgument)}
        for name in zero:
            before[name][...] = 0
        scale = magnitude({name: item for name, item in before.items() if names[name].role is not Role.OUT})
        run_reference(module, copies)
        after = {name: item for name, item in before.items() if names[name].role is not Role.IN}
        scale = max(scale, magnitude(after))
        relative = {name: tolerance(module, names[name].type.dtype) for name in after}
        return {name: Expected(value, relative[name], relative[name] * scale) for name, value in after.items()}

    def work(self) -> Work:
        """Return how much work a launch is."""
        return work_of(self.module)

    def problem(self) -> Problem:
        """Return what one launch does."""
        known, work = facts(self.module), self.work()
        extents = dict(zip(("tile_n", "tile_m"), reversed(known.extents), strict=False))
        if known.depth:
            extents["tile_k"] = known.depth
        return Problem(work.operations, work.bytes, extents, known.extents)

    def key(self, generated: str) -> SubjectKey:
        """Return what the case is, for the cache; `generated` is the code of the untuned kernel."""
        static = all(isinstance(extent, int) for item in self.module.parameters for extent in item.type.shape)
        arrays = self._arrays().items()
        arguments = tuple((name, item.strides, alignment(item.address)) for name, item in arrays)
        on_device = self.target in ("ascendc", "npu")
        return SubjectKey(
            kernel=self.name,
            ir=ir_digest(self.module),
            arguments=(*arguments, *((name, (), 0) for name in sorted(self.call.same))),
            target=self.target,
            device=_device(self.target),
            cores=device_limit() if on_device and static else None,
            threads=_threads(self.target),
            toolchain=_toolchain(self.target),
            generator=digest(generated + fingerprint()),
        )

    def _arrays(self) -> dict[str, ArrayArgument]:
        return {name: item for name, item in self.call.arguments.items() if isinstance(item, ArrayArgument)}


def trace_case(subject: Subject, options: Options, target: str, values: Mapping[str, Any], *, made: bool) -> TuningCase:
    """Return the case of arguments that are bound by parameter name.

    Raises whatever reading the arguments and tracing the kernel raises (UserError).
    """
    outputs = subject.outputs
    while True:
        call = read_call(subject, values, outputs)
        program = subject.program(call.views, options)
        written = {item.name for item in program.module.parameters if item.role is not Role.IN}
        if written <= set(outputs):
            break
        outputs = tuple(name for name in subject.signature.parameters if name in written | set(outputs))
    if program.module.level is not Level.TILE:
        raise UserError("tune-level", subject.location, kernel=subject.name, level=program.module.level.value)
    module = kernels_of(Stages(), program.module, options)
    if target in ("ascendc", "npu"):
        module = within_device_limit(module)
    return TuningCase(subject, options, target, call, program, module, made)


def trace_made_case(subject: Subject, options: Options, target: str, input_shape: Any, dtypes: Any) -> TuningCase:
    """Return the case of arguments made from a seed; see `made_arguments`.

    Raises UserError ``tune-shapes`` where one shape for all parameters does not fit the kernel.
    """
    values = made_arguments(subject, input_shape, dtypes)
    try:
        return trace_case(subject, options, target, values, made=True)
    except UserError as error:
        if input_shape is None or isinstance(input_shape, Mapping):
            raise
        why = f"in that shape for all parameters the kernel is wrong at {error.location}: {error.message}"
        raise _wrong_shape(subject, input_shape, why) from error


def generated_code(case: TuningCase) -> str:
    """Return the code of the untuned kernel, which stands for everything that generates code.

    Raises CompilerBug for a fault in a generator, UserError where the kernel cannot be lowered.
    """
    if case.target != "cpu":
        from pypto.codegen.ascendc.emitter import emit as emit_source
        from pypto.compiler import lower

        return emit_source(lower(Stages(), case.program.module, case.options))
    from pypto.codegen.llvm.code import Layout
    from pypto.runtime.code_cache import cached_code, generate

    machine, layouts = case.machine(), {name: Layout(strides) for name, strides in case.layouts.items()}
    assert machine is not None, "target cpu has a machine"
    return cached_code(case.module, layouts, machine, generate).text


def bound_arguments(subject: Subject, args: Any) -> dict[str, Any]:
    """Return the arguments by parameter name; `args` is a sequence, or a dict by name.

    Raises UserError of the group `binding`, or ``option-value``.
    """
    if isinstance(args, Mapping):
        return bind(subject.name, subject.signature, (), args)
    if not isinstance(args, Sequence) or isinstance(args, str):
        wants = "a tuple of the kernel's arguments, or a dict by name"
        raise UserError("option-value", None, what="auto_tune", option="args", value=type(args).__name__, wants=wants)
    return bind(subject.name, subject.signature, args, {})


def made_arguments(subject: Subject, input_shape: Any, dtypes: Any) -> dict[str, Any]:
    """Return arguments made from a fixed seed, in the given shapes.

    input_shape: a dict by parameter name; a shape for each array parameter in order; one shape, for every parameter
    that has no default; or None, for the shapes that the decorators cover. Raises UserError ``shapes-needed`` and
    those of reading shapes.
    """
    known = read_known(subject, _shapes(subject, input_shape), dtypes)
    views, _ = known_views(subject, _without_symbols(subject, known))
    return make_inputs(views, subject.outputs)


def _shapes(subject: Subject, given: Any) -> Any:
    if given is None or isinstance(given, Mapping):
        return given
    names = [name for name, item in subject.signature.parameters.items() if item.default is item.empty]
    if isinstance(given, int):
        return dict.fromkeys(names, (given,))
    shapes = tuple(given) if isinstance(given, (tuple, list)) else ()
    if shapes and all(isinstance(item, (tuple, list)) for item in shapes):
        if len(shapes) != len(names):
            raise _wrong_shape(subject, given, f"{len(shapes)} shapes for {len(names)} parameters: {', '.join(names)}")
        return dict(zip(names, shapes, strict=True))
    if not isinstance(given, (tuple, list)):
        raise _wrong_shape(subject, given, f"it is of type {type(given).__name__}")
    return dict.fromkeys(names, shapes)


def _without_symbols(subject: Subject, known: KnownShapes) -> KnownShapes:
    for name, shape in known.shapes.items():
        if not all(isinstance(extent, int) for extent in shape):
            raise _wrong_shape(subject, shape, f"{name!r} has an extent that is no number")
    return known


def _wrong_shape(subject: Subject, given: Any, why: str) -> UserError:
    example = "{" + ", ".join(f"{name!r}: (1024, 512)" for name in subject.signature.parameters) + "}"
    return UserError("tune-shapes", None, kernel=subject.name, given=given, why=why, example=example)


def _copied(argument: Argument) -> Argument:
    if not isinstance(argument, ArrayArgument):
        return argument
    return read(argument.name, np.array(as_numpy(argument)))


def _device(target: str) -> str:
    if target == "cpu":
        from pypto.runtime.toolchain import host_machine

        machine = host_machine()
        return f"{machine.triple} {machine.cpu} {machine.features} {machine.vector_bits}"
    if target in ("ascendc", "npu"):
        from pypto.codegen.targets.target import load_target

        chip = load_target("ascend910b1")
        return f"{chip.name} {digest(repr(chip.groups))}"
    return target


def _threads(target: str) -> int:
    if target != "cpu":
        return 0
    from pypto.runtime.native import thread_count

    return thread_count()


def _toolchain(target: str) -> str:
    if target != "cpu":
        return ""
    import llvmlite
    import llvmlite.binding as llvm

    return f"llvmlite {llvmlite.__version__}, LLVM {llvm.llvm_version_info}"

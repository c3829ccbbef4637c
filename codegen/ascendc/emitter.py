"""AscendC source from planned IR: a one-to-one translation of statements, in static-tensor style.

Every decision (tiles, buffers, flags, addresses) is in the IR already; rules are looked up by operation name.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from pypto.codegen.ascendc import helpers, memory
from pypto.codegen.ascendc.emission import Emission
from pypto.codegen.ascendc.expressions import CPP_TYPES, register_type
from pypto.codegen.ascendc.names import comment, identifier, place
from pypto.codegen.ascendc.rules import PLANNED_ONLY, RULES
from pypto.ir.base.errors import CompilerBug, UserError
from pypto.ir.base.locations import UNKNOWN, Location
from pypto.ir.index import Index, product
from pypto.ir.nodes import (
    Buffer,
    For,
    If,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Parameter,
    Statement,
    Store,
    results,
    walk,
)
from pypto.ir.passes.footprint import whole_repeats
from pypto.ir.passes.plan_addresses import footprint
from pypto.ir.passes.slots import slot
from pypto.ir.verification.barriers import has_barriers

if TYPE_CHECKING:
    import jinja2


def emit(module: Module) -> str:
    """Return the source of all kernels of `module` (level *planned*) and of a function that launches them."""
    if module.level is not Level.PLANNED:
        raise CompilerBug("ascendc", f"module {module.name} is at level {module.level.value}, not planned")
    _check_emitted(module)
    outer = {item.name: identifier("arg", k, item.name) for k, item in enumerate(_arguments(module))}
    bodies = [_kernel(kernel, number, outer) for number, kernel in enumerate(module.kernels)]
    used = {name for _, emission in bodies for name in emission.helpers}
    return _template().render(
        module=comment(module.name),
        file=identifier("pypto", 0, module.name),
        launcher=identifier("pypto", 0, f"launch_{module.name}"),
        arguments=[_host_argument(item, outer[item.name]) for item in _arguments(module)],
        helpers=helpers.texts(used),
        kernels=[frame for frame, _ in bodies],
    )


def _check_emitted(module: Module) -> None:
    """Raise UserError ``ascendc-cube`` for a kernel that is planned for the cube cores."""
    for kernel in module.kernels:
        for item in walk(kernel.body):
            if isinstance(item, Operation) and item.name in PLANNED_ONLY:
                raise UserError("ascendc-cube", item.location, kernel=kernel.name)


@functools.cache
def _template() -> jinja2.Template:
    import jinja2

    text = resources.files("pypto.codegen.ascendc").joinpath("templates", "source.asc.jinja2").read_text("utf-8")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(text)


@dataclass(frozen=True, slots=True)
class Frame:
    """What the template needs to know of one kernel."""

    name: str
    comment: str
    place: str
    blocks: int
    waits: bool
    bytes: int
    parameters: list[str]
    arguments: list[str]
    arrays: list[dict[str, object]]
    buffers: list[dict[str, object]]
    lines: list[str]


def _arguments(module: Module) -> tuple[Parameter, ...]:
    return module.parameters + module.intermediates


def _host_argument(parameter: Parameter, name: str) -> str:
    return f"{register_type(parameter.type.dtype)} {name}" if parameter.scalar else f"void* {name}"


def _kernel(kernel: Kernel, number: int, outer: dict[str, str]) -> tuple[Frame, Emission]:
    emission = Emission.of(kernel)
    _grid(emission)
    _body(emission, kernel.body)
    arrays = [item for item in kernel.parameters if not item.scalar]
    frame = Frame(
        name=identifier("pypto_kernel", number, kernel.name),
        comment=comment(kernel.name),
        place=place(kernel.location),
        blocks=_blocks(kernel),
        waits=has_barriers(kernel),
        bytes=footprint(kernel.buffers),
        parameters=[_parameter(item, emission.names[item.name]) for item in kernel.parameters],
        arguments=[_argument(item, outer[item.name]) for item in kernel.parameters],
        arrays=[_array(item, emission.names[item.name]) for item in arrays],
        buffers=[_buffer(item, emission.names[f"@{item.name}"]) for item in kernel.buffers],
        lines=emission.lines,
    )
    return frame, emission


def _blocks(kernel: Kernel) -> int:
    blocks = product(tuple(axis.extent for axis in kernel.grid))
    assert isinstance(blocks, int), "memory was planned for fixed shapes"
    return max(1, blocks)


def _parameter(parameter: Parameter, name: str) -> str:
    return f"{register_type(parameter.type.dtype)} {name}" if parameter.scalar else f"GM_ADDR {name}"


def _argument(parameter: Parameter, name: str) -> str:
    return name if parameter.scalar else f"static_cast<GM_ADDR>({name})"


def _array(parameter: Parameter, name: str) -> dict[str, object]:
    return {"type": CPP_TYPES[parameter.type.dtype], "name": name, "elements": product(parameter.type.shape)}


def _buffer(buffer: Buffer, name: str) -> dict[str, object]:
    type_ = CPP_TYPES[buffer.dtype]
    elements = whole_repeats(buffer) // buffer.dtype.bytes
    return {"type": type_, "name": name, "address": buffer.address, "elements": elements}


def _grid(emission: Emission) -> None:
    """The block's number, as one symbol for each axis of the grid (the last runs fastest)."""
    following = 1
    for axis in reversed(emission.kernel.grid):
        assert isinstance(axis.extent, int), "memory was planned for fixed shapes"
        name = emission.name_symbol(axis.symbol)
        number = "AscendC::GetBlockIdx()" if following == 1 else f"AscendC::GetBlockIdx() / {following}"
        if len(emission.kernel.grid) > 1:
            number = f"{number} % {axis.extent}"
        emission.line(f"const int64_t {name} = {number};")
        following *= axis.extent


def _body(emission: Emission, body: tuple[Statement, ...]) -> None:
    outer = dict(emission.named)
    for index in _extents(body):
        emission.name_index(index)
    last: Location = UNKNOWN
    for statement in body:
        if statement.location not in (UNKNOWN, last):
            emission.line(f"// {place(statement.location)}")
            last = statement.location
        _statement(emission, statement)
    emission.named = outer


def _extents(body: tuple[Statement, ...]) -> Iterator[Index]:
    """Yield the offsets and extents that the statements of `body` itself use, in order."""
    for statement in body:
        if isinstance(statement, Load | Store):
            for item in statement.region:
                yield from (item.offset, item.extent)
        if not isinstance(statement, For | If):
            for value in results(statement):
                yield from value.shape


def _statement(emission: Emission, statement: Statement) -> None:
    if isinstance(statement, Load):
        memory.load(emission, statement)
    elif isinstance(statement, Store):
        memory.store(emission, statement)
    elif isinstance(statement, For):
        _loop(emission, statement)
    elif isinstance(statement, If):
        _choice(emission, statement)
    else:
        _operation(emission, statement)


def _operation(emission: Emission, operation: Operation) -> None:
    rule = RULES.get(operation.name)
    if rule is None:
        raise CompilerBug("ascendc", f"operation {operation.name} has no emission rule")
    rule(emission, operation)


def _loop(emission: Emission, loop: For) -> None:
    name = emission.name_symbol(loop.index)
    start, stop = emission.index(loop.start), emission.index(loop.stop)
    with emission.block(f"for (int64_t {name} = {start}; {name} < {stop}; {name} += {loop.step})"):
        whole, outside = dict(emission.names), dict(emission.named)
        _slots(emission, loop)
        _body(emission, loop.body)
        emission.names.update((key, text) for key, text in whole.items() if key.startswith("@"))
        emission.named = outside


def _slots(emission: Emission, loop: For) -> None:
    """Name the slots that this turn of `loop` uses of the buffers that rotate in it."""
    numbers: dict[int, str] = {}
    for buffer in emission.kernel.buffers:
        if emission.rotating.get(buffer.name) is not loop:
            continue
        if buffer.depth not in numbers:
            name = numbers[buffer.depth] = identifier("slot", next(emission.counter), "")
            index = slot(loop, buffer.depth, emission.ranges)
            emission.line(f"const int64_t {name} = {emission.index(index)};")
            emission.named[index] = name
        whole = emission.names[f"@{buffer.name}"]
        part = emission.names[f"@{buffer.name}"] = f"{whole}_slot"
        elements = buffer.slot_bytes // buffer.dtype.bytes
        emission.line(f"const auto {part} = {whole}[{numbers[buffer.depth]} * {elements}];")


def _choice(emission: Emission, choice: If) -> None:
    condition = choice.condition
    left, right = emission.index(condition.left), emission.index(condition.right)
    with emission.block(f"if ({left} {condition.comparison} {right})"):
        _body(emission, choice.then_body)
    if choice.else_body:
        with emission.block("else"):
            _body(emission, choice.else_body)

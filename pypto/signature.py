"""What the arguments of one call are: a view per parameter, and a key that tells specialisations apart."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pypto.binding import constant, constant_type
from pypto.captured import freeze
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import F32, F64, DType
from pypto.ir.nodes import Module, TileType
from pypto.made_inputs import contiguous_strides
from pypto.program import array_view
from pypto.runtime.arguments import Argument, ArrayArgument, ConstantArgument, ScalarArgument, check_output, read
from pypto.runtime.overlap import Overlap, overlap
from pypto.subject import Subject
from pypto.tracing.views import ArrayView, ConstantView, ScalarView, View


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one call, by launch parameter.

    `same` maps an argument that is the same memory as an earlier one (and one of them is written) to that one. `partly`
    lists pairs (input, output) that share memory in some other way. `key` is equal for calls that one specialisation
    serves.
    """

    arguments: Mapping[str, Argument]
    views: Mapping[str, View]
    same: Mapping[str, str]
    partly: tuple[tuple[str, str], ...]
    key: Hashable


def read_call(subject: Subject, values: Mapping[str, Any], outputs: tuple[str, ...]) -> Call:
    """Return what the bound `values` are, of which the kernel writes `outputs`.

    Raises UserError of the catalogue's groups `arguments` and `binding`.
    """
    parameters = subject.signature.parameters
    arguments = {name: _read(subject, parameters[name], value) for name, value in values.items()}
    for name in outputs:
        check_output(arguments[name])
    same, partly = _shared_memory(arguments, outputs)
    wide = any(isinstance(item, ArrayArgument) and item.dtype == F64 for item in arguments.values())
    views = {name: _view(arguments[same.get(name, name)], wide) for name in arguments}
    key = (tuple(_key(item) for item in arguments.values()), tuple(sorted(same.items())), partly)
    return Call(arguments, views, same, partly, key)


_TRACED = (bool, int, float)
_CONSTANTS = (str, bytes, tuple, frozenset, type, type(None), DType)


def _read(subject: Subject, parameter: inspect.Parameter, value: Any) -> Argument:
    if constant_type(parameter) is not None:
        return ConstantArgument(parameter.name, constant(subject.name, parameter, value))
    if isinstance(value, _CONSTANTS):
        return ConstantArgument(parameter.name, value)
    return read(parameter.name, value)


def _view(argument: Argument, wide: bool) -> View:
    """Return how tracing sees an argument. A Python float is f64 beside f64 arrays, else f32."""
    if isinstance(argument, ArrayArgument):
        return array_view(argument.name, TileType(argument.dtype, argument.shape))
    if isinstance(argument, ScalarArgument):
        dtype = F64 if wide and argument.python and argument.dtype == F32 else argument.dtype
        return ScalarView(argument.name, dtype)
    return ConstantView(argument.name, argument.value)


def expected_key(views: Mapping[str, View]) -> Hashable:
    """Return the key of a call with contiguous arrays and Python numbers that look like `views`, sharing no memory."""
    return tuple(_expected(view) for view in views.values()), (), ()


def _expected(view: View) -> Hashable:
    if isinstance(view, ArrayView):
        shape = tuple(axis.extent for axis in view.axes)
        return view.dtype.name, shape, contiguous_strides(shape)
    if isinstance(view, ScalarView):
        return (F32 if view.dtype == F64 else view.dtype).name, True
    frozen: Hashable = freeze(getattr(view, "value", None), 4)
    return frozen


def _key(argument: Argument) -> Hashable:
    if isinstance(argument, ArrayArgument):
        return argument.dtype.name, argument.shape, argument.strides
    if isinstance(argument, ScalarArgument):
        return argument.dtype.name, argument.python
    frozen: Hashable = freeze(argument.value, 4)
    return frozen


def _shared_memory(
    arguments: Mapping[str, Argument], outputs: Iterable[str]
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Return the arguments that are the same memory as an earlier one, and the pairs (input, output) that partly are.

    Only memory that is written counts. Raises UserError ``aliased-arguments`` for two outputs that partly share.
    """
    written = frozenset(outputs)
    arrays = [item for item in arguments.values() if isinstance(item, ArrayArgument) and item.elements]
    groups: dict[Hashable, list[str]] = {}
    for item in arrays:
        groups.setdefault((item.address, item.dtype.name, item.shape, item.strides), []).append(item.name)
    same = {name: names[0] for names in groups.values() if written & set(names) for name in names[1:]}
    partly = [
        _input_and_output(first, second, written)
        for position, second in enumerate(arrays)
        for first in arrays[:position]
        if written & {first.name, second.name} and overlap(first, second) is Overlap.PARTLY
    ]
    return same, tuple(partly)


def _input_and_output(first: ArrayArgument, second: ArrayArgument, written: frozenset[str]) -> tuple[str, str]:
    if {first.name, second.name} <= written:
        raise shared_error(second.name, first.name)
    return (first.name, second.name) if second.name in written else (second.name, first.name)


def shared_error(output: str, other: str) -> UserError:
    return UserError("aliased-arguments", None, output=output, other=other, how=f"they hold {Overlap.PARTLY.value}")


def check_partly_shared(call: Call, module: Module) -> None:
    """Raise UserError ``aliased-arguments`` unless inputs that partly share memory with outputs may be copied."""
    from pypto.ir.aliasing import reads_after_writes

    for source, output in call.partly:
        if reads_after_writes(module, source, call.same.get(output, output)):
            raise shared_error(output, source)


def copy_notes(call: Call) -> tuple[str, ...]:
    """Return a note for each input that every launch copies because it partly shares memory with an output."""
    sizes = {
        name: item.elements * item.dtype.bytes
        for name, item in call.arguments.items()
        if isinstance(item, ArrayArgument)
    }
    return tuple(
        f"{source} shares memory with {output} in other places: each launch copies its {sizes[source]} bytes"
        for source, output in call.partly
    )

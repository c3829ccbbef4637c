"""Shapes before the first call: those that `shapes=` gives, else those that the decorators cover exactly."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pypto.binding import constant_type
from pypto.ir.base.errors import UserError, nearest
from pypto.ir.dtypes import ALL, F32, F64, DType, find
from pypto.ir.index import Extent, Symbol
from pypto.ir.nodes import TileType
from pypto.links import launch_parameters
from pypto.program import array_view
from pypto.schedule import declared
from pypto.subject import Subject, TracedSubject
from pypto.tile_function import TileFunction
from pypto.tracing.views import ArrayView, ConstantView, ScalarView, View

Shape = tuple[Extent, ...]

_ABOUT_EXTENTS = frozenset({
    "assign-shape", "batch-extent", "block-bounds", "block-overlap", "cut-bound-axis", "index-range", "reshape-size",
    "shape-mismatch", "slice-range", "tile-output", "tile-view",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownShapes:
    """What `compile` was told: shapes (extents are ints, or names of symbols) and dtypes by launch parameter."""

    shapes: Mapping[str, Shape]
    dtypes: Mapping[str, DType]


def read_known(subject: Subject, shapes: object, dtypes: object) -> KnownShapes:
    """Return `shapes` and `dtypes` checked.

    `shapes`: name to a tuple of ints or symbol names, or an int for one axis. `dtypes`: name to a dtype in any
    spelling, or one dtype for all parameters. Raises UserError ``shape-option`` or ``unknown-parameter-option``.
    """
    names = tuple(subject.signature.parameters)
    read_shapes = {name: _shape(name, value) for name, value in _mapping("shapes", shapes, subject, names).items()}
    if dtypes is not None and not isinstance(dtypes, Mapping):
        dtypes = dict.fromkeys(names, dtypes)
    read_dtypes = {name: _dtype(name, value) for name, value in _mapping("dtypes", dtypes, subject, names).items()}
    return KnownShapes(read_shapes, read_dtypes)


def _mapping(option: str, given: object, subject: Subject, names: tuple[str, ...]) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UserError(
            "shape-option", None, option=option, value=given, parameter=names[0], wants="a dict from parameter to value"
        )
    for name in given:
        if name not in names:
            hint = nearest(str(name), names)
            raise UserError(
                "unknown-parameter-option", None, option=option, parameter=name, kernel=subject.name, hint=hint
            )
    return dict(given)


def _shape(name: str, value: object) -> Shape:
    extents = (value,) if isinstance(value, (int, str)) else tuple(value) if isinstance(value, (tuple, list)) else None
    if extents is None or not all(_is_extent(extent) for extent in extents):
        wants = "a tuple of whole numbers from 0, or of names for unknown extents"
        raise UserError("shape-option", None, option="shapes", value=value, parameter=name, wants=wants)
    return tuple(Symbol(extent) if isinstance(extent, str) else extent for extent in extents)


def _is_extent(extent: object) -> bool:
    if isinstance(extent, str):
        return extent.isidentifier()
    return isinstance(extent, int) and not isinstance(extent, bool) and extent >= 0


def _dtype(name: str, value: object) -> DType:
    dtype = find(value)
    if dtype is None:
        wants = f"one of {', '.join(item.long_name for item in ALL)}"
        raise UserError("shape-option", None, option="dtypes", value=value, parameter=name, wants=wants)
    return dtype


def known_views(
    subject: Subject, known: KnownShapes, symbolic: bool = False
) -> tuple[dict[str, View], tuple[str, ...]]:
    """Return a view per launch parameter and notes on where shapes came from.

    With `symbolic`, extents that the decorators only imply are symbols. Raises UserError ``shapes-needed``.
    """
    views: dict[str, View] = {}
    notes: list[str] = []
    for name, parameter in subject.signature.parameters.items():
        views[name] = _view(subject, name, parameter, known, symbolic, notes)
    return _widened(subject, views), tuple(notes)


def _widened(subject: Subject, views: dict[str, View]) -> dict[str, View]:
    """Make Python's float defaults f64 beside f64 arrays, as `signature.read_call` does."""
    if not any(isinstance(view, ArrayView) and view.dtype == F64 for view in views.values()):
        return views
    parameters = subject.signature.parameters
    floats = [name for name, view in views.items() if type(parameters[name].default) is float]
    return {**views, **{name: ScalarView(name, F64) for name in floats if isinstance(views[name], ScalarView)}}


def _view(
    subject: Subject,
    name: str,
    parameter: inspect.Parameter,
    known: KnownShapes,
    symbolic: bool,
    notes: list[str],
) -> View:
    if not isinstance(subject, TracedSubject):
        own = next(item for item in subject.module.parameters if item.name == name)
        type_ = TileType(own.type.dtype, known.shapes.get(name, own.type.shape))
        return ScalarView(name, type_.dtype) if own.scalar else array_view(name, type_)
    if name not in known.shapes and (parameter.default is not parameter.empty or constant_type(parameter)):
        return _constant_view(subject, name, parameter, known)
    dtype = known.dtypes.get(name, F32)
    shape = known.shapes.get(name)
    if shape is None:
        shape = _covered(subject, name, known, symbolic, notes)
    is_scalar = shape == () and name not in subject.outputs
    return ScalarView(name, dtype) if is_scalar else array_view(name, TileType(dtype, shape))


def _constant_view(subject: Subject, name: str, parameter: inspect.Parameter, known: KnownShapes) -> View:
    default = parameter.default
    if default is parameter.empty:
        why = f"{name!r} is a constant of the signature, annotated {parameter.annotation}, and has no default"
        raise _needed(subject, [name], known, why)
    if isinstance(default, (bool, int, float)) and constant_type(parameter) is None:
        dtype = find(type(default))
        assert dtype is not None
        return ScalarView(name, dtype)
    return ConstantView(name, default)


def _needed(subject: Subject, names: list[str], known: KnownShapes, why: str) -> UserError:
    """Return the error about the shapes of `names`; its help keeps those that are known."""
    given = {name: _spelling(shape) for name, shape in known.shapes.items()}
    shapes = {**given, **dict.fromkeys(names, "(1024, 512)")}
    example = (
        "{" + ", ".join(f"{name!r}: {shapes[name]}" for name in subject.signature.parameters if name in shapes) + "}"
    )
    return UserError(
        "shapes-needed", subject.location, parameters=", ".join(names), why=why, example=example, first=names[0]
    )


def _spelling(shape: Shape) -> str:
    return str(tuple(extent if isinstance(extent, int) else str(extent) for extent in shape))


def _unknown(subject: Subject, known: KnownShapes) -> list[str]:
    """Return the arrays that no shape was given for."""
    parameters = subject.signature.parameters.items()
    return [
        name
        for name, parameter in parameters
        if name not in known.shapes and parameter.default is parameter.empty and not constant_type(parameter)
    ]


@contextlib.contextmanager
def believed(subject: Subject, known: KnownShapes, notes: Sequence[str]) -> Iterator[None]:
    """Turn a mistake that the body makes on shapes taken from decorators (`notes`) into ``shapes-needed``.

    A decorator's tile may be a block of a larger array: then the kernel is right and the guess was wrong.
    """
    try:
        yield
    except UserError as error:
        if not notes or error.name not in _ABOUT_EXTENTS:
            raise
        why = f"with the shapes that the decorators suggest, the body is wrong at {error.location}: {error.message}"
        raise _needed(subject, _unknown(subject, known), known, why) from error


def _covered(subject: TracedSubject, name: str, known: KnownShapes, symbolic: bool, notes: list[str]) -> Shape:
    """Return the shape that the decorator of the first stage with this argument covers exactly."""
    graph = subject.graph
    stage = next(
        stage
        for stage, names in zip(graph.stages, graph.names, strict=True)
        if any(names[item.name] == name for item in launch_parameters(stage))
    )
    shape, number = declared(stage)
    if shape is None or None in shape:
        why = f"the decorator of {stage.name!r} gives no tile shape" if shape is None else f"its shape {shape} is open"
        raise _needed(subject, _unknown(subject, known), known, why)
    extents = tuple(extent for extent in shape if extent is not None)
    if symbolic and not stage.uses_block_id:
        notes.append(f"{name}: extents unknown")
        return tuple(Symbol(f"n{axis}") for axis in range(len(extents)))
    return _grid_shape(stage, name, extents, number or 1, notes)


def _grid_shape(stage: TileFunction, name: str, extents: tuple[int, ...], number: int, notes: list[str]) -> Shape:
    covered = (number, *extents) if stage.uses_block_id else (number * extents[0], *extents[1:])
    tiles = f"{number} tile{'s' if number > 1 else ''} of {extents}"
    notes.append(f"{name}: shape {covered} taken from the decorator of {stage.name}: {tiles}")
    return covered

"""Tracing a whole graph: each stage to a kernel, the links to intermediates, all of it to one module at level tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pypto.barriers import SYNC_MODE
from pypto.config import Options
from pypto.graph import Graph, Join
from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.ir.blocks import check_blocks
from pypto.ir.index import Extent, Symbol, symbols
from pypto.ir.nodes import Attribute, Kernel, Module, Parameter, Role, TileType
from pypto.ir.rename import rename_parameters
from pypto.ir.specialise import specialise
from pypto.joining import join_kernel
from pypto.links import Link, launch_parameters, tile_count
from pypto.meaning import Meaning, decide
from pypto.schedule import check_schedule, schedule_attributes
from pypto.tile_function import TileFunction
from pypto.tracing.trace import trace
from pypto.tracing.views import ArrayView, ConstantView, FreshView, ScalarView, View, ViewAxis


@dataclass(frozen=True, slots=True)
class Program:
    """A traced graph: the module, what each stage means, remarks for `explain`, and the kernels that are no stages.

    `joins[i]` are the generated kernels that run just before stage i.
    """

    module: Module
    meanings: tuple[Meaning, ...]
    notes: tuple[str, ...] = ()
    joins: tuple[tuple[Kernel, ...], ...] = ()

    @property
    def stage_kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the stages, without the generated ones."""
        generated = {kernel.name for kernels in self.joins for kernel in kernels}
        return tuple(kernel for kernel in self.module.kernels if kernel.name not in generated)


def array_view(name: str, type_: TileType) -> ArrayView:
    """Return the view of a whole array."""
    return ArrayView(name, type_.dtype, tuple(ViewAxis(None, 1, extent) for extent in type_.shape))


def adapt_module(module: Module, views: Mapping[str, View], location: Location) -> Program:
    """Return a module that exists already, its symbolic extents replaced by those of the launch arguments.

    Raises UserError ``argument-shape-fixed`` when an argument does not have the shape or dtype written in the module.
    """
    values: dict[Symbol, Extent] = {}
    for parameter in module.parameters:
        view = views[parameter.name]
        given = _view_type(view) if isinstance(view, (ArrayView, ScalarView)) else None
        if given is None or not _fits(parameter.type, given, values):
            raise UserError(
                "argument-shape-fixed", location, parameter=parameter.name, given=given, written=parameter.type
            )
    return Program(specialise(module, values), ())


def _fits(written: TileType, given: TileType, values: dict[Symbol, Extent]) -> bool:
    """Return whether an argument fits what a module says; learns the values of symbols."""
    if written.dtype != given.dtype or written.rank != given.rank:
        return False
    for extent, actual in zip(written.shape, given.shape, strict=True):
        known = values.setdefault(extent, actual) if isinstance(extent, Symbol) else extent
        if known != actual:
            return False
    return True


def trace_graph(graph: Graph, views: Mapping[str, View], options: Options) -> Program:
    """Return the module of `graph` for launch arguments seen as `views` (by launch name).

    Two launch arguments that are the same memory have views of one name: the stages then see one array. Raises
    whatever UserError deciding or tracing a stage raises, and those of links that do not fit.
    """
    known: dict[str, View] = dict(views)
    kernels: list[Kernel] = []
    meanings: list[Meaning] = []
    joins: list[tuple[Kernel, ...]] = []
    intermediates: dict[str, Parameter] = {}
    plan = _Plan(graph)
    for number, stage in enumerate(graph.stages):
        joins.append(tuple(_join(plan, join, known, intermediates) for join in plan.joins.get(number, ())))
        for name, type_ in _links_out(plan, number, known).items():
            known[name] = array_view(name, type_)
            intermediates[name] = Parameter(name, type_, Role.INOUT, location=stage.location)
        meaning, kernel = _trace_stage(graph, number, known, options)
        _check_consumed(plan, number, kernel)
        kernels += [*joins[-1], kernel]
        meanings.append(meaning)
    parameters = _module_parameters(graph, known, kernels)
    module = Module(graph.name, parameters, tuple(intermediates.values()), tuple(kernels))
    notes = tuple(note for meaning in meanings for note in meaning.notes)
    return Program(module, tuple(meanings), notes, tuple(joins))


class _Plan:
    """The links and joins of a graph by the stages they belong to."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.outgoing: dict[tuple[int, str], list[Link]] = {}
        self.incoming: dict[int, list[Link]] = {}
        self.joins: dict[int, list[Join]] = {}
        for link in graph.links:
            self.outgoing.setdefault(link.source_port, []).append(link)
            self.incoming.setdefault(link.destination, []).append(link)
        for join in graph.joins:
            self.joins.setdefault(join.destination, []).append(join)
        self.kernel_names = {stage.name for stage in graph.stages}

    def kernel_name(self, join: Join) -> str:
        """Return an unused name for a join's kernel: what it does to which array."""
        what = join.reduction or ("copy" if join.picks is None else "pick")
        name = f"{what}_{join.name}"
        while name in self.kernel_names:
            name += "_"
        self.kernel_names.add(name)
        return name


def _join(plan: _Plan, join: Join, known: dict[str, View], intermediates: dict[str, Parameter]) -> Kernel:
    graph = plan.graph
    types = [_view_type(known[graph.names[number][buffer]]) for number, buffer in join.sources]
    type_, kernel = join_kernel(graph, join, types, plan.kernel_name(join))
    known[join.name] = array_view(join.name, type_)
    intermediates[join.name] = Parameter(join.name, type_, Role.INOUT, location=kernel.location)
    return kernel


def _stage_views(graph: Graph, number: int, known: Mapping[str, View]) -> tuple[View, ...]:
    """Return one view per launch parameter of a stage; outputs of links that are not known yet are fresh."""
    stage, names = graph.stages[number], graph.names[number]
    return tuple(
        replace(known[names[item.name]], name=item.name) if names[item.name] in known else FreshView(item.name)
        for item in launch_parameters(stage)
    )


def _trace_stage(graph: Graph, number: int, known: Mapping[str, View], options: Options) -> tuple[Meaning, Kernel]:
    stage = graph.stages[number]
    meaning = decide(stage, _stage_views(graph, number, known))
    check_schedule(stage, meaning, options)
    kernel = meaning.traced or trace(stage, meaning.views, meaning.hidden, meaning.block)
    attributes = {**dict(kernel.attributes), **schedule_attributes(stage, meaning, options), **_waits(graph, number)}
    kernel = replace(kernel, name=stage.name, attributes=tuple(sorted(attributes.items())))
    kernel = rename_parameters(kernel, _array_names(graph, number, known, meaning))
    if kernel.grid and not any(symbols(extent) for item in kernel.parameters for extent in item.type.shape):
        check_blocks(kernel)
    return meaning, kernel


def _waits(graph: Graph, number: int) -> dict[str, Attribute]:
    """Return the attribute ``waits_for``: the stages before the barriers of this one, and whether these block."""
    before = [
        (graph.stages[earlier].name, wait.barrier.mode is SYNC_MODE.BLOCKING)
        for wait in graph.waits
        if wait.after[0] == number
        for earlier, _ in wait.before
    ]
    return {"waits_for": tuple(dict.fromkeys(before))} if before else {}


def _array_names(graph: Graph, number: int, known: Mapping[str, View], meaning: Meaning) -> dict[str, str]:
    """Return the module's array for each parameter of a stage; launch arguments that are one memory share a name.

    Raises UserError ``alias-views`` when the stage cuts two such parameters differently.
    """
    names = {parameter: known[name].name for parameter, name in graph.names[number].items()}
    seen: dict[str, View] = {}
    for view in meaning.views:
        name = names.get(view.name)
        if name is None or not isinstance(view, ArrayView):
            continue
        other = seen.setdefault(name, view)
        if isinstance(other, ArrayView) and other.axes != view.axes:
            stage = graph.stages[number]
            raise UserError("alias-views", stage.location, first=other.name, second=view.name, kernel=stage.name)
    return names


# -- links


def _links_out(plan: _Plan, number: int, known: Mapping[str, View]) -> dict[str, TileType]:
    """Return the array type of each intermediate that stage `number` is the first to write.

    When either end asks for its block id, an intermediate is ``(tile_num, *shape)``; else it is what the stage
    writes. The dtype is that of the first whole write.
    """
    graph = plan.graph
    stage, names = graph.stages[number], graph.names[number]
    fresh = [item.name for item in launch_parameters(stage) if names[item.name] not in known]
    if not fresh:
        return {}
    try:
        meaning = decide(stage, _stage_views(graph, number, known))
        kernel = meaning.traced or trace(stage, meaning.views, meaning.hidden, meaning.block)
    except UserError as error:
        raise _linked(error, stage, fresh) from None
    return {
        names[name]: _link_type(graph, number, plan.outgoing[number, name], kernel.parameter(name).type)
        for name in fresh
    }


def _linked(error: UserError, stage: TileFunction, fresh: Sequence[str]) -> UserError:
    """Return an error about an output without a value in the words of links: it cannot be given as an argument."""
    parameter = error.details.get("parameter")
    name = {"fresh-read": "link-fresh-read", "fresh-partial": "link-fresh-partial"}.get(error.name)
    if name is None or parameter not in fresh:
        return error
    return UserError(name, error.location, parameter=parameter, stage=stage.name)


def _link_type(graph: Graph, number: int, links: list[Link], written: TileType) -> TileType:
    """Return the type of a linked array. The only tile of a stage is what it writes, for all tiles of its consumers."""
    source = graph.stages[number]
    if tile_count(source) == 1:
        return written
    ends = [(source, links[0])] if source.uses_block_id else []
    plain = [link for link in links if link.picks is None and link.reduction is None]
    ends += [(graph.stages[link.destination], link) for link in plain if graph.stages[link.destination].uses_block_id]
    if not ends:
        return written
    shapes = [_items(graph, stage, link) for stage, link in ends]
    for (stage, link), shape in zip(ends[1:], shapes[1:], strict=True):
        if shape != shapes[0]:
            raise _shape_error(graph, link, ends[0][0], shapes[0], stage, shape)
    expected = shapes[0][1:] if source.uses_block_id else shapes[0]
    if written.shape != expected:
        raise _shape_error(graph, links[0], source, written.shape, ends[0][0], expected)
    return TileType(written.dtype, shapes[0])


def _items(graph: Graph, stage: TileFunction, link: Link) -> tuple[Extent, ...]:
    if stage.shape is None or None in stage.shape or stage.tile_num is None:
        raise UserError("link-shape-unknown", stage.location, link=graph.describe(link), stage=stage.name)
    return (stage.tile_num, *(extent for extent in stage.shape if extent is not None))


def _shape_error(
    graph: Graph,
    link: Link,
    source: TileFunction,
    given: tuple[Extent, ...],
    destination: TileFunction,
    taken: tuple[Extent, ...],
) -> UserError:
    return UserError(
        "link-shape",
        destination.location,
        link=graph.describe(link),
        source=source.name,
        given=given,
        destination=destination.name,
        taken=taken,
    )


def _check_consumed(plan: _Plan, number: int, kernel: Kernel) -> None:
    """Raise UserError ``consumer-overwrites`` for a link whose destination never reads it."""
    graph = plan.graph
    stage = graph.stages[number]
    for link in plan.incoming.get(number, ()):
        name = graph.names[number].get(link.destination_buffer)
        if name and kernel.parameter(name).role is Role.OUT:
            raise UserError(
                "consumer-overwrites",
                stage.location,
                link=graph.describe(link),
                parameter=link.destination_buffer,
                stage=stage.name,
            )


# -- the parameters of the module


def _module_parameters(graph: Graph, known: Mapping[str, View], kernels: list[Kernel]) -> tuple[Parameter, ...]:
    """Return one parameter per launch argument that is an array or a traced scalar, in launch order."""
    found: dict[str, Parameter] = {}
    for argument in graph.arguments:
        view = known[argument]
        if isinstance(view, (ConstantView, FreshView)) or view.name in found:
            continue
        uses = [item for kernel in kernels for item in kernel.parameters if item.name == view.name]
        if uses:
            type_ = _view_type(view)
            found[view.name] = Parameter(
                view.name, type_, _merged_role(uses), isinstance(view, ScalarView), uses[0].location
            )
    return tuple(found.values())


def _view_type(view: View) -> TileType:
    assert isinstance(view, (ArrayView, ScalarView))
    shape = tuple(axis.extent for axis in view.axes) if isinstance(view, ArrayView) else ()
    return TileType(view.dtype, shape)


def _merged_role(uses: list[Parameter]) -> Role:
    """Return a launch argument's role from what each kernel does with it, in order."""
    roles = {item.role for item in uses}
    if roles == {Role.IN}:
        return Role.IN
    return Role.OUT if uses[0].role is Role.OUT and Role.INOUT not in roles else Role.INOUT

"""Split a kernel with matrix products into kernels for the cube cores and kernels for the vector cores.

Cube and vector cores meet in global memory only. Work is numbered by *phase*: products have odd numbers, everything
else even ones, and what a phase reads of others comes from earlier ones, through workspaces: intermediate arrays of
the module, meant to stay in L2. Vector work is done as late as it can be, which keeps workspaces few, but
for what only prepares arguments for products; loads of arguments, constants and numbers are repeated where they are
needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pypto.ir.axes import Axis, analyse
from pypto.ir.base.errors import UserError
from pypto.ir.index import Extent
from pypto.ir.nodes import (
    For,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Parameter,
    Range,
    Region,
    Role,
    Statement,
    Store,
    TileType,
    Value,
    operands,
    regions,
    results,
    walk,
)
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.manager import ModulePass
from pypto.ir.passes.products import Product, Products, is_plain

CORE = "core"
CUBE = "cube"
ROWS = "rows_of"
"""Attribute of parts whose rows belong together: the name of the kernel that they were made from."""


def split_cores(module: Module) -> Module:
    """Return `module` with a kernel for each phase of those that have matrix products.

    Raises UserError ``npu-operation`` for products in loops or branches and of element types that the cube core lacks.
    """
    kernels: list[Kernel] = []
    workspaces: list[Parameter] = []
    taken = {item.name for item in (*module.parameters, *module.intermediates)}
    for kernel in module.kernels:
        if not _has_products(kernel) or is_cube(kernel):
            kernels.append(kernel)
            continue
        names = (f"{kernel.name}_workspace{number}" for number in itertools.count())
        splitter = Splitter(kernel, (name for name in names if name not in taken))
        kernels += splitter.parts()
        workspaces += splitter.workspaces.values()
    return replace(module, kernels=tuple(kernels), intermediates=(*module.intermediates, *workspaces))


def is_cube(kernel: Kernel) -> bool:
    """Return whether `kernel` is one product for the cube cores."""
    return dict(kernel.attributes).get(CORE) == CUBE


def _has_products(kernel: Kernel) -> bool:
    return any(isinstance(item, Operation) and item.name == "matmul" for item in walk(kernel.body))


@dataclass(slots=True)
class Splitter:
    """Splits one kernel. `phases` by identity of a statement; `homes` the phase that defines a value."""

    kernel: Kernel
    names: Iterator[str]
    found: Products = field(init=False)
    products: list[Product] = field(default_factory=list)
    phases: dict[int, int] = field(default_factory=dict)
    homes: dict[str, int] = field(default_factory=dict)
    free: dict[str, Statement] = field(default_factory=dict)
    workspaces: dict[str, Parameter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found = Products(self.kernel)
        self.refuse_nested()
        for item in self.found.all():
            if isinstance(item, Operation):
                raise _refused(item, "f16, bf16, f32 and i8 matrices are multiplied; cast the operands to one of these")
            self.products.append(item)

    def refuse_nested(self) -> None:
        for statement in self.kernel.body:
            for region in regions(statement):
                for inner in walk(region):
                    if isinstance(inner, Operation) and inner.name == "matmul":
                        raise _refused(inner, "take the product out of the loop or branch: `x @ y` may have batch axes")

    def parts(self) -> list[Kernel]:
        self.number()
        made: list[tuple[int, Kernel]] = []
        for number, product in enumerate(self.products):
            made.append((self.phases[id(product.matmul)], self.cube_part(product, number)))
        prepared = {0 for product in self.products for item in product.sources if self.is_made(item.base)}
        for phase in prepared | {self.phases[id(item)] for item in self.vector_statements()}:
            made.append((phase, self.vector_part(phase)))
        return with_common_rows(self.kernel, [kernel for _, kernel in sorted(made, key=lambda item: item[0])])

    # phases

    def owned(self) -> dict[int, Product]:
        """Return the product that each statement of its own belongs to, by identity."""
        return {
            id(item): product
            for product in self.products
            for item in (product.matmul, *product.epilogue, *product.stores)
        }

    def vector_statements(self) -> list[Statement]:
        """Return what the vector cores do, in program order."""
        owned = self.owned()
        return [item for item in self.kernel.body if id(item) not in owned and id(item) in self.phases]

    def number(self) -> None:
        """Give every statement its phase: first as early as can be, then vector work as late as can be."""
        owned = self.owned()
        for statement in self.kernel.body:
            if self.is_free(statement):
                self.free.update((value.name, statement) for value in results(statement))
            elif id(statement) in owned:
                self.phases[id(statement)] = self.cube_phase(owned[id(statement)])
                self.define(statement)
            else:
                before = [self.homes[name] for name in self.inputs(statement) if name in self.homes]
                self.phases[id(statement)] = max((phase + phase % 2 for phase in before), default=0)
                self.define(statement)
        self.delay(owned)

    def define(self, statement: Statement) -> None:
        self.homes.update((value.name, self.phases[id(statement)]) for value in results(statement))

    def is_free(self, statement: Statement) -> bool:
        """Return whether every part may do `statement` for itself: loads, constants, and numbers made of such."""
        if isinstance(statement, Load):
            return True
        if not isinstance(statement, Operation) or statement.name == "matmul":
            return False
        scalar = not statement.results[0].shape and all(value.name in self.free for value in statement.operands)
        return TABLE[statement.name].category is Category.CONSTANT or scalar

    def cube_phase(self, product: Product) -> int:
        before = [self.homes[item.base.name] for item in product.sources if item.base.name in self.homes]
        before += [0 for item in product.sources if self.is_made(item.base)]
        return max((phase + 1 + phase % 2 for phase in before), default=1)

    def is_made(self, base: Value) -> bool:
        """Return whether the cube core cannot load `base` itself."""
        return base.name in self.free and not is_plain(self.free[base.name])

    def inputs(self, statement: Statement) -> Iterator[str]:
        """Yield the values from outside that `statement` reads, through free ones too."""
        inner = {value.name for item in walk((statement,)) for value in _defined(item)}
        for item in walk((statement,)):
            yield from (value.name for value in operands(item) if value.name not in inner)

    def delay(self, owned: dict[int, Product]) -> None:
        """Move vector work towards what it is needed for; stores stay, but those of arrays that are loaded as well."""
        loaded = {item.source for item in walk(self.kernel.body) if isinstance(item, Load)}
        last = max(self.phases.values()) // 2 * 2
        last += 2 if max(self.phases.values()) > last and self.has_stores_of(loaded, owned) else 0
        wanted: dict[str, int] = {}
        for product in self.products:
            for source in product.sources:
                early = self.homes.get(source.base.name) == 0
                self.want(wanted, source.base.name, 0 if early else self.phases[id(product.matmul)] - 1)
        for statement in reversed(self.kernel.body):
            if id(statement) not in self.phases or id(statement) in owned:
                continue
            stores = {item.target for item in walk((statement,)) if isinstance(item, Store)}
            asked = [wanted[value.name] for value in results(statement) if value.name in wanted]
            if not stores and not asked:
                del self.phases[id(statement)]
                continue
            phase = last if stores & loaded else self.phases[id(statement)] if stores else min(asked)
            self.phases[id(statement)] = phase
            self.define(statement)
            for name in self.inputs(statement):
                self.want(wanted, name, phase)

    def has_stores_of(self, loaded: set[str], owned: dict[int, Product]) -> bool:
        rest = (item for item in self.kernel.body if id(item) not in owned)
        return any(isinstance(item, Store) and item.target in loaded for item in walk(tuple(rest)))

    def want(self, wanted: dict[str, int], name: str, phase: int) -> None:
        wanted[name] = min(phase, wanted.get(name, phase))

    # parts

    def cube_part(self, product: Product, number: int) -> Kernel:
        phase = self.phases[id(product.matmul)]
        part = Part(self, phase)
        for source in product.sources:
            part.bring(source.base)
            part.statements += (item for item in reversed(source.chain) if item not in part.statements)
        numbers = [value.name for item in product.epilogue for value in item.operands if not value.shape]
        part.statements += (self.free[name] for name in dict.fromkeys(numbers))
        part.statements += (product.matmul, *product.epilogue, *product.stores)
        if not product.stores:
            part.save(product.result)
        return part.kernel(f"{self.kernel.name}_product{number}", core=CUBE)

    def vector_part(self, phase: int) -> Kernel:
        part = Part(self, phase)
        made = [item for item in self.vector_statements() if self.phases[id(item)] == phase]
        inner = {value.name for item in made for value in results(item)}
        for statement in made:
            for name in self.inputs(statement):
                if name not in inner:
                    part.bring(self.value(name))
            part.statements.append(statement)
        for statement in made:
            for value in results(statement):
                if self.crosses(value, phase):
                    part.save(value)
        part.add_made(self)
        return part.kernel(f"{self.kernel.name}_vector{phase // 2}")

    def value(self, name: str) -> Value:
        maker = self.found.makers[name]
        return next(value for value in results(maker) if value.name == name)

    def crosses(self, value: Value, phase: int) -> bool:
        """Return whether another phase needs `value`."""
        bases = {item.base.name for product in self.products for item in product.sources}
        users = (item for item in self.vector_statements() if value.name in self.inputs(item))
        return value.name in bases or any(self.phases[id(item)] != phase for item in users)

    def workspace(self, value: Value) -> Parameter:
        if value.name not in self.workspaces:
            grid = tuple(axis.extent for axis in self.kernel.grid)
            type_ = TileType(value.dtype, (*grid, *value.shape))
            self.workspaces[value.name] = Parameter(next(self.names), type_, Role.INOUT)
        return self.workspaces[value.name]

    def place(self, value: Value) -> Region:
        """Return where a block keeps `value` in its workspace."""
        own: list[Range] = [Range(axis.symbol, 1) for axis in self.kernel.grid]
        return (*own, *(Range(0, extent) for extent in value.shape))


@dataclass(slots=True)
class Part:
    """The statements of one part in the making; `brought` are the values from elsewhere that it has."""

    splitter: Splitter
    phase: int
    statements: list[Statement] = field(default_factory=list)
    brought: set[str] = field(default_factory=set)

    def bring(self, value: Value) -> None:
        """Have `value`: by its own statement if that is free, else from its workspace."""
        if value.name in self.brought:
            return
        self.brought.add(value.name)
        maker = self.splitter.free.get(value.name)
        if maker is None or (self.phase % 2 and self.splitter.is_made(value)):
            self.load(value)
            return
        for name in self.splitter.inputs(maker):
            self.bring(self.splitter.value(name))
        self.statements.append(maker)

    def load(self, value: Value) -> None:
        workspace, region = self.splitter.workspace(value), self.splitter.place(value)
        location = self.splitter.found.makers[value.name].location
        if not self.splitter.kernel.grid:
            self.statements.append(Load(value, workspace.name, region, None, location))
            return
        held = Value(f"{value.name}.held", workspace_type(value, region))
        self.statements.append(Load(held, workspace.name, region, None, location))
        self.statements.append(Operation("reshape", (held,), (value,), (("shape", value.shape),), location))

    def save(self, value: Value) -> None:
        workspace, region = self.splitter.workspace(value), self.splitter.place(value)
        location = self.splitter.found.makers[value.name].location
        if self.splitter.kernel.grid:
            held = Value(f"{value.name}.kept", workspace_type(value, region))
            self.statements.append(Operation("reshape", (value,), (held,), (("shape", held.shape),), location))
            value = held
        self.statements.append(Store(workspace.name, region, value, False, location))

    def add_made(self, splitter: Splitter) -> None:
        """In the first phase, prepare what the cube core cannot load itself."""
        if self.phase:
            return
        for product in splitter.products:
            for source in product.sources:
                if splitter.is_made(source.base) and source.base.name not in self.saved():
                    self.bring(source.base)
                    self.save(source.base)

    def saved(self) -> set[str]:
        return {item.value.name for item in self.statements if isinstance(item, Store)}

    def kernel(self, name: str, **attributes: str) -> Kernel:
        whole = self.splitter.kernel
        body = tuple(self.statements)
        known = {item.name: item for item in (*whole.parameters, *self.splitter.workspaces.values())}
        parameters = tuple(_used(item, body) for item in known.values() if _touches(item, body))
        kept = dict(whole.attributes) | attributes
        return replace(whole, name=name, parameters=parameters, body=body, attributes=tuple(sorted(kept.items())))


def workspace_type(value: Value, region: Region) -> TileType:
    extents: tuple[Extent, ...] = tuple(item.extent for item in region)
    return TileType(value.dtype, extents)


def _defined(statement: Statement) -> tuple[Value, ...]:
    return (*results(statement), *statement.carried) if isinstance(statement, For) else results(statement)


def _touches(parameter: Parameter, body: tuple[Statement, ...]) -> bool:
    names = {
        item.source if isinstance(item, Load) else item.target for item in walk(body) if isinstance(item, Load | Store)
    }
    return parameter.name in names


def with_common_rows(kernel: Kernel, parts: list[Kernel]) -> list[Kernel]:
    """Return `parts` with the attribute ``rows_of`` on those that go through the same rows as the last one: whatever
    they store has its rows, each made from the same row of what the others store."""
    body = tuple(item for part in parts for item in part.body)
    arrays = {item.name: item for part in parts for item in part.parameters}
    analysis = analyse(replace(kernel, parameters=tuple(arrays.values()), body=body))

    def rows(part: Kernel) -> set[tuple[Axis, ...]]:
        stores = [item for item in walk(part.body) if isinstance(item, Store)]
        return {analysis.classes_of(f"%{item.value.name}")[:-1] for item in stores}

    last = rows(parts[-1])
    (axes,) = last if len(last) == 1 else ((),)
    if kernel.grid or not axes or not all(map(analysis.splittable, axes)) or len(set(axes)) < len(axes):
        return parts
    return [_with_rows(part, kernel.name) if rows(part) == last else part for part in parts]


def _with_rows(part: Kernel, name: str) -> Kernel:
    return replace(part, attributes=tuple(sorted((*part.attributes, (ROWS, name)))))


def _used(parameter: Parameter, body: tuple[Statement, ...]) -> Parameter:
    """Return `parameter` with the role that it has in a part."""
    loaded = any(isinstance(item, Load) and item.source == parameter.name for item in walk(body))
    stored = any(isinstance(item, Store) and item.target == parameter.name for item in walk(body))
    if stored and (loaded or parameter.role is not Role.IN):
        role = parameter.role if parameter.role is Role.OUT or loaded else Role.INOUT
        return replace(parameter, role=role)
    return replace(parameter, role=Role.IN)


def _refused(operation: Operation, alternative: str) -> UserError:
    dtypes = " and ".join(sorted({value.dtype.long_name for value in operation.operands}))
    return UserError("npu-operation", operation.location, operation="matmul", dtype=dtypes, alternative=alternative)


SPLIT_CORES = ModulePass("split_cores", Level.TILE, Level.TILE, split_cores)

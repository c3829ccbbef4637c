"""Matrix products that the cube core takes whole: where their operands lie, and what the fixpipe does to the result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from pypto.ir.dtypes import BF16, F16, F32, I32, DType
from pypto.ir.index import Extent
from pypto.ir.nodes import Kernel, Load, Operation, Region, Statement, Store, Value, operands, results, walk
from pypto.ir.operations.cube import OPERANDS

WIDENED = (F16, BF16)
ROW_DTYPES = (F16, F32, I32)
"""What the bias table can be filled from."""


@dataclass(frozen=True, slots=True)
class Source:
    """What an operand is made from: the value `base`, moved by the views and exact casts of `chain` (last first)."""

    base: Value
    chain: tuple[Operation, ...]

    @property
    def transposed(self) -> bool:
        """Whether the last two axes, of which a row has only the last, change places on the way."""
        return sum(item.name == "transpose" or _stands_up(item) for item in self.chain) % 2 == 1


@dataclass(frozen=True, slots=True)
class Product:
    """A ``matmul`` of `left` and `right`, whose bases have one element type of the cube core.

    `bias` is the row that is added, `relu` whether negative elements become 0 then, `result` the value after these and
    a cast, which `stores` write. `epilogue` are the operations from the matmul to `result`.
    """

    matmul: Operation
    left: Source
    right: Source
    bias: Source | None
    relu: bool
    result: Value
    epilogue: tuple[Operation, ...]
    stores: tuple[Store, ...]

    @property
    def dtype(self) -> DType:
        return self.left.base.dtype

    @property
    def sources(self) -> tuple[Source, ...]:
        return (self.left, self.right) if self.bias is None else (self.left, self.right, self.bias)


@dataclass(slots=True)
class Products:
    """Finds the products of one kernel (level tile)."""

    kernel: Kernel
    makers: dict[str, Statement] = field(default_factory=dict)
    users: dict[str, list[Statement]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for statement in self.kernel.body:
            self.makers.update((value.name, statement) for value in results(statement))
        for statement in walk(self.kernel.body):
            for value in operands(statement):
                self.users[value.name].append(statement)

    def all(self) -> Iterator[Product | Operation]:
        """Yield each matmul as a product, or as it is when its element type is none of the cube core's."""
        for statement in self.kernel.body:
            if isinstance(statement, Operation) and statement.name == "matmul":
                yield self.product(statement) or statement

    def product(self, matmul: Operation) -> Product | None:
        left, right = (self.source(value) for value in matmul.operands)
        if left.base.dtype != right.base.dtype:
            left, right = (self.source(value, casts=False) for value in matmul.operands)
        if left.base.dtype != right.base.dtype or left.base.dtype not in OPERANDS:
            return None
        return self.with_epilogue(matmul, left, right)

    def source(self, value: Value, casts: bool = True) -> Source:
        """Return what `value` is made from; without `casts` elements stay in the type that they have."""
        chain: list[Operation] = []
        while True:
            maker = self.makers.get(value.name)
            if not isinstance(maker, Operation) or not _moves_matrices(maker, casts):
                return Source(value, tuple(chain))
            chain.append(maker)
            value = maker.operands[0]

    def with_epilogue(self, matmul: Operation, left: Source, right: Source) -> Product:
        bias: Source | None = None
        relu = False
        value, taken = matmul.results[0], []
        while (operation := self.only_user(value)) is not None:
            row = self.row(operation, value) if bias is None and not relu else None
            if row is not None:
                bias = row
            elif not relu and self.is_relu(operation, value):
                relu = True
            elif not self.is_converted(operation, value):
                break
            taken.append(operation)
            value = operation.results[0]
        return Product(matmul, left, right, bias, relu, value, tuple(taken), self.stores_of(value))

    def only_user(self, value: Value) -> Operation | None:
        """Return the one operation that `value` goes into, if it goes nowhere else."""
        users = self.users[value.name]
        if len(users) != 1 or not isinstance(users[0], Operation) or users[0].results[0].name not in self.makers:
            return None
        return users[0]

    def is_converted(self, operation: Operation, value: Value) -> bool:
        """Return whether the fixpipe can do `operation` on its way: a cast, or a reshape that moves nothing and leaves
        an axis to write along.
        """
        if operation.name == "reshape":
            after = operation.results[0].shape
            return bool(after) and _without_ones(value.shape) == _without_ones(after)
        return operation.name == "cast" and operation.attribute("dtype") in WIDENED and value.dtype == F32

    def row(self, operation: Operation, value: Value) -> Source | None:
        """Return the row that `operation` adds to each row of `value`, if it can come from the bias table."""
        if operation.name != "add" or value not in operation.operands or operation.results[0].shape != value.shape:
            return None
        (other,) = [item for item in operation.operands if item is not value and item != value] or [value]
        source = self.source(other)
        long = [extent for extent in other.shape if extent != 1]
        fits = other is not value and other.shape and other.shape[-1] == value.shape[-1] and len(long) <= 1
        plain = isinstance(self.makers.get(source.base.name), Load) and is_plain(self.makers[source.base.name])
        known = source.base.dtype in ROW_DTYPES and (source.base.dtype == I32) == (value.dtype == I32)
        return source if fits and plain and known and not source.transposed else None

    def is_relu(self, operation: Operation, value: Value) -> bool:
        others = [item for item in operation.operands if item != value]
        if operation.name != "maximum" or len(others) != 1:
            return False
        maker = self.makers.get(others[0].name)
        return isinstance(maker, Operation) and maker.name == "constant" and maker.attribute("value") == 0

    def stores_of(self, value: Value) -> tuple[Store, ...]:
        """Return the stores of `value`, if it goes nowhere else and the fixpipe can write where they do."""
        stores = [item for item in self.users[value.name] if isinstance(item, Store) and not item.clip]
        loaded = {item.source for item in walk(self.kernel.body) if isinstance(item, Load)}
        plain = all(is_matrix(item.region) and item.target not in loaded for item in stores)
        top = {id(item) for item in self.kernel.body}
        own = len(stores) == len(self.users[value.name]) and all(id(item) in top for item in stores)
        return tuple(stores) if own and plain else ()


def _moves_matrices(operation: Operation, casts: bool) -> bool:
    """Return whether `operation` is a view or an exact cast that copies to L1 and L0 take in their stride."""
    (before, *_), after = operation.operands or operation.results, operation.results[0]
    if operation.name == "cast":
        return casts and before.dtype in WIDENED and after.dtype == F32
    if operation.name == "reshape":
        kept = _without_ones(before.shape) == _without_ones(after.shape)
        return kept and (before.shape[-2:] == after.shape[-2:] or before.type.rank == 1)
    rank = len(before.shape)
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return operation.name == "transpose" and rank >= 2 and operation.attribute("permutation") == swapped


def _stands_up(operation: Operation) -> bool:
    """Return whether a reshape makes a row a column."""
    before, after = operation.operands[0], operation.results[0]
    return operation.name == "reshape" and before.type.rank == 1 and after.shape[-1] != before.shape[-1]


def _without_ones(shape: tuple[Extent, ...]) -> list[Extent]:
    return [extent for extent in shape if extent != 1]


def is_plain(statement: Statement) -> bool:
    """Return whether a load brings elements one beside the other, all inside the array."""
    return isinstance(statement, Load) and statement.fill is None and is_matrix(statement.region)


def is_matrix(region: Region) -> bool:
    return bool(region) and all(item.step == 1 for item in region)

"""Bring operations into the forms that instructions have: operands of one shape or a number, one step per broadcast,
workspaces for row operations, regions that stay inside their arrays.

The result is what `assign_buffers` gives memory to; it is a level of its own for nobody else.
"""

from __future__ import annotations

from dataclasses import replace

from pypto.ir.dtypes import BOOL, F32, I32
from pypto.ir.index import Extent, add, bounds, maximum, minimum, product, subtract
from pypto.ir.nodes import Kernel, Load, Operation, Range, Region, Store, Value
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.decompose import REGISTER_OPERATIONS
from pypto.ir.passes.forms import is_repeated_row, is_row_reduction, reduced_axis
from pypto.ir.passes.layout import Ranges, largest, stored_rank
from pypto.ir.passes.rewriting import Rewriter

COMMUTATIVE = frozenset(("add", "mul", "maximum", "minimum"))
SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
NUMBER_LAST = COMMUTATIVE | {"sub"}
"""Operations with an instruction whose second operand is a number in a register."""

ROW_OPERATIONS = frozenset(("add", "div", "maximum", "minimum", "mul", "sub"))
"""Operations of which one source may be one row for all rows: its stride from repeat to repeat is 0."""

REPEAT_LANES = 64
"""Elements of f32 in one repeat."""

LONGEST_STRIDED_ROW = 2040
"""Most f32 elements of a row that one instruction can step over: 255 blocks of 32 bytes."""

MOST_REPEATS = 255
LARGEST_MULTIPLE = 32
"""Elements that rows of any kernel are padded to a multiple of, at most."""


class Selector(Rewriter):
    def __init__(self, kernel: Kernel, ranges: Ranges) -> None:
        super().__init__(kernel)
        self.ranges = ranges
        self.registers: set[str] = set()
        self.makers: dict[str, Operation] = {}
        self.orders: dict[str, Value] = {}

    # statements

    def operation(self, operation: Operation) -> None:
        operation = replace(operation, operands=self.all(operation.operands))
        (result,) = operation.results
        if self.stays_in_register(operation):
            self.registers.add(result.name)
            self.keep(operation)
            return
        category = TABLE[operation.name].category
        is_order = operation.name == "cast" and operation.operands[0].name in self.orders
        if is_order and operation.attribute("dtype") == I32:
            self.values[result.name] = self.orders[operation.operands[0].name]
            return
        made = self.keep(operation) if category is Category.CONSTANT else self.selected(operation, category)
        self.values[result.name] = made

    def stays_in_register(self, operation: Operation) -> bool:
        if operation.results[0].shape:
            return False
        if TABLE[operation.name].category is Category.CONSTANT:
            return operation.name != "undefined"
        in_registers = all(value.name in self.registers for value in operation.operands)
        return operation.name in REGISTER_OPERATIONS and in_registers

    def keep(self, operation: Operation) -> Value:
        self.builder.append(operation)
        self.makers[operation.results[0].name] = operation
        return operation.results[0]

    def selected(self, operation: Operation, category: Category) -> Value:
        if category is Category.ELEMENTWISE:
            return self.elementwise(operation)
        operands = tuple(self.tile(value, value.shape) for value in operation.operands)
        operation = replace(operation, operands=operands)
        if category is Category.REDUCTION:
            return self.reduction(operation)
        if operation.name == "broadcast_to":
            return self.broadcast(operands[0], operation.results[0].shape)
        rules = {
            "insert": self.insert,
            "pad": self.pad,
            "concat": self.concat,
            "argsort": self.order,
            "scatter": self.scatter,
            "scatter_add": self.scatter,
        }
        return rules.get(operation.name, self.keep)(operation)

    def order(self, operation: Operation) -> Value:
        """Positions as i32, which the cast after an argsort asks for; workspace: the order of a row twice over."""
        (x,), attributes = operation.operands, dict(operation.attributes)
        axis = attributes["axis"]
        assert isinstance(axis, int)
        length = largest(x.shape[axis], self.ranges, self.kernel)
        workspace = self.call("undefined", dtype=I32, shape=(2 * length,))
        made = self.call("row_order", x, workspace, **attributes)
        self.orders[made.name] = made
        return made

    def scatter(self, operation: Operation) -> Value:
        """In place, in a copy of the base made for this."""
        base, indices, updates = operation.operands
        return self.call(operation.name, self.base(base), indices, updates, **dict(operation.attributes))

    def load(self, load: Load) -> None:
        if self.kernel.parameter(load.source).scalar:
            self.registers.add(load.result.name)
        if load.fill is None or not load.region:
            self.builder.append(replace(load, fill=None))
            return
        inside, ranges = self.clipped(load.region, self.kernel.parameter(load.source).type.shape)
        base = self.call("constant", dtype=load.result.dtype, value=load.fill, shape=load.result.shape)
        type_ = replace(load.result.type, shape=tuple(item.extent for item in inside))
        piece = self.builder.value(type_)
        self.builder.append(replace(load, result=piece, region=inside, fill=None))
        if piece.type == base.type:
            self.values[load.result.name] = piece
            return
        self.values[load.result.name] = self.call("insert", base, piece, ranges=ranges)

    def store(self, store: Store) -> None:
        value = self.tile(self.value(store.value), store.value.shape)
        region = store.region
        if store.clip:
            region, ranges = self.clipped(region, self.kernel.parameter(store.target).type.shape)
            if region != store.region:
                value = self.call("slice", value, ranges=ranges)
        self.builder.append(replace(store, value=value, region=region, clip=False))

    def clipped(self, region: Region, shape: tuple[Extent, ...]) -> tuple[Region, tuple[tuple[Extent, ...], ...]]:
        """Return the part of `region` inside an array of `shape` and where in the value that part lies."""
        inside, ranges = [], []
        for item, size in zip(region, shape, strict=True):
            skipped = self.bounded(maximum(0, subtract(0, item.offset)), item.extent)
            end = self.bounded(minimum(item.extent, maximum(0, subtract(size, item.offset))), item.extent)
            extent = self.bounded(maximum(0, subtract(end, skipped)), item.extent)
            inside.append(Range(add(item.offset, skipped), extent))
            ranges.append((skipped, extent, 1))
        return tuple(inside), tuple(ranges)

    def bounded(self, index: Extent, extent: Extent) -> Extent:
        """Return `index` as a number when its bounds leave only one."""
        found = bounds(index, self.ranges)
        return found[0] if found and found[0] == found[1] else index

    def yields(self, yielded: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(self.tile(value, value.shape) for value in self.all(yielded))

    # operands

    def tile(self, value: Value, shape: tuple[Extent, ...]) -> Value:
        """Return `value` as a tile of `shape`: a number in a register fills one, a smaller tile is repeated."""
        if value.name in self.registers:
            return self.filled(value, shape)
        return value if value.shape == shape else self.broadcast(value, shape)

    def filled(self, value: Value, shape: tuple[Extent, ...]) -> Value:
        if value.dtype == BOOL:
            number = self.call("cast", value, dtype=F32)
            self.registers.add(number.name)
            zero = self.call("constant", dtype=F32, value=0.0)
            self.registers.add(zero.name)
            return self.call("ne", self.filled(number, shape), zero)
        maker = self.makers.get(value.name)
        if maker is not None and maker.name == "constant" and shape:
            return self.call("constant", dtype=value.dtype, value=maker.attribute("value"), shape=shape)
        return self.call("broadcast_to", value, shape=shape)

    def elementwise(self, operation: Operation) -> Value:
        shape = operation.results[0].shape
        name, operands = self.ordered(operation.name, operation.operands)
        last_may_be_number = self.takes_number(name, operands)
        if self.one_meets_all_rows(name, operands, shape):
            return self.call(name, *operands, **dict(operation.attributes))
        tiles = [
            value if value.name in self.registers and last_may_be_number and position == len(operands) - 1
            else self.tile(value, shape)
            for position, value in enumerate(operands)
        ]  # fmt: skip
        return self.call(name, *tiles, **dict(operation.attributes))

    def one_meets_all_rows(self, name: str, operands: tuple[Value, ...], shape: tuple[Extent, ...]) -> bool:
        """Return whether one operand is a row that instructions for 64 columns each, with a repeat for each row, take
        as it is, and these are no more than copying it to every row would take."""
        last = stored_rank(shape) - 1
        shapes = [value.shape for value in operands]
        if name not in ROW_OPERATIONS or shape not in shapes or any(value.name in self.registers for value in operands):
            return False
        inner = all(isinstance(extent, int) for extent in shape[1 : max(1, last)])
        if not inner or shapes[0] == shapes[1] or operands[0].dtype.bytes != F32.bytes:
            return False
        if not is_repeated_row(shapes[1 - shapes.index(shape)], shape):
            return False
        rows = largest(product(shape[:last]), self.ranges, self.kernel)
        columns = largest(shape[last], self.ranges, self.kernel)
        pitch = -(-columns // LARGEST_MULTIPLE) * LARGEST_MULTIPLE
        return rows <= MOST_REPEATS and pitch <= LONGEST_STRIDED_ROW and -(-columns // REPEAT_LANES) <= rows + 1

    def ordered(self, name: str, operands: tuple[Value, ...]) -> tuple[str, tuple[Value, ...]]:
        """Return the operation with a number, if there is one, in last place where that is possible."""
        if len(operands) != 2 or operands[0].name not in self.registers:
            return name, operands
        first, second = operands
        if name in COMMUTATIVE:
            return name, (second, first)
        if name in SWAPPED and first.dtype == F32:
            return SWAPPED[name], (second, first)
        if name == "sub":
            minus_one = self.call("constant", dtype=second.dtype, value=-1.0 if second.dtype.is_float else -1)
            self.registers.add(minus_one.name)
            return "add", (self.call("mul", self.tile(second, second.shape), minus_one), first)
        return name, operands

    def takes_number(self, name: str, operands: tuple[Value, ...]) -> bool:
        dtype = operands[-1].dtype
        if dtype == F32:
            return name in NUMBER_LAST or name in SWAPPED or name == "where"
        return dtype == I32 and (name in NUMBER_LAST or name == "floor_div")

    # broadcasts and reductions

    def broadcast(self, value: Value, shape: tuple[Extent, ...]) -> Value:
        """Repeat `value` along each axis that is too short, the last stored axis first, then from inner to outer."""
        if value.dtype == BOOL:
            numbers = self.broadcast(self.as_numbers(value), shape)
            zero = self.call("constant", dtype=F32, value=0.0)
            self.registers.add(zero.name)
            return self.call("ne", numbers, zero)
        if value.type.rank < len(shape):
            value = self.call("reshape", value, shape=(1,) * (len(shape) - value.type.rank) + value.shape)
        last = stored_rank(shape) - 1
        for axis in range(last, -1, -1):
            if value.shape[axis] != shape[axis]:
                step = (*value.shape[:axis], shape[axis], *value.shape[axis + 1 :])
                value = self.along_rows(value, step) if axis == last else self.call("broadcast_to", value, shape=step)
        return value

    def as_numbers(self, value: Value) -> Value:
        one = self.call("constant", dtype=F32, value=1.0)
        zero = self.call("constant", dtype=F32, value=0.0)
        self.registers.update((one.name, zero.name))
        return self.call("where", value, self.filled(one, value.shape), zero)

    def along_rows(self, value: Value, shape: tuple[Extent, ...]) -> Value:
        """Workspace: one 32-byte block for the number of each row that one step handles."""
        lanes = 32 // value.dtype.bytes
        rows = -(-largest(self.last_extent(value.shape), self.ranges, self.kernel) // lanes) * lanes
        workspace = self.call("undefined", dtype=value.dtype, shape=(rows, lanes))
        return self.call("row_broadcast", value, workspace, shape=shape)

    def last_extent(self, shape: tuple[Extent, ...]) -> Extent:
        rank = stored_rank(shape)
        return shape[rank - 1] if rank else 1

    def reduction(self, operation: Operation) -> Value:
        operand = operation.operands[0]
        axis = reduced_axis(operation)
        if operand.dtype != F32 or operation.name == "prod" or not is_row_reduction(operand.type, axis):
            return self.keep(operation)
        shape = self.reduction_workspace(operation)
        workspace = self.call("undefined", dtype=F32, shape=shape)
        return self.call(f"row_{operation.name}", operand, workspace, axes=(axis,))

    def reduction_workspace(self, operation: Operation) -> tuple[Extent, ...]:
        """One repeat for each row of one step, or for long rows one number per repeat of a row, twice over."""
        shape = operation.operands[0].shape
        length = largest(self.last_extent(shape), self.ranges, self.kernel)
        if length <= REPEAT_LANES:
            return (1,)
        if length <= LONGEST_STRIDED_ROW:
            return (self.last_extent(operation.results[0].shape), REPEAT_LANES)
        partial = -(-length // REPEAT_LANES)
        return (-(-partial // REPEAT_LANES) * REPEAT_LANES + REPEAT_LANES,)

    # assemblies

    def insert(self, operation: Operation) -> Value:
        """In place, in a copy of the base made for this."""
        base, piece = operation.operands
        return self.call("insert", self.base(base), piece, ranges=operation.attribute("ranges"))

    def base(self, base: Value) -> Value:
        """Return a tile like `base` that may be changed."""
        maker = self.makers.get(base.name)
        if maker is not None and maker.name in ("undefined", "constant"):
            return self.call(maker.name, **dict(maker.attributes))
        return self.call("copy", base)

    def pad(self, operation: Operation) -> Value:
        (operand,), (result,) = operation.operands, operation.results
        low = operation.attribute("low")
        assert isinstance(low, tuple)
        base = self.call("constant", dtype=result.dtype, value=operation.attribute("value"), shape=result.shape)
        ranges = tuple((start, extent, 1) for start, extent in zip(low, operand.shape, strict=True))
        return self.call("insert", base, operand, ranges=ranges)

    def concat(self, operation: Operation) -> Value:
        (result,) = operation.results
        axis = operation.attribute("axis")
        assert isinstance(axis, int)
        whole = self.call("undefined", dtype=result.dtype, shape=result.shape)
        offset: Extent = 0
        for piece in operation.operands:
            ranges = tuple((offset if k == axis else 0, extent, 1) for k, extent in enumerate(piece.shape))
            whole = self.call("insert", whole, piece, ranges=ranges)
            offset = add(offset, piece.shape[axis])
        return whole

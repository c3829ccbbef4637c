"""Rewrite every operation into what the vector core of dav-2201 has, still at level tile, with operations of the table.

Element types: i8, u8 and i16 are computed as i32 and brought back into their range after each operation that can leave
it; booleans are comparison bits, and numbers 0 and 1 wherever they move (loads, stores, views, reductions). There is no
64-bit arithmetic: see `held_integers`. Functions: see `decompose_functions`. Reductions: one axis at a time, last axis
last. Positions, scans, indexing: see `decompose_ordered`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import BOOL, F32, F64, I8, I16, I32, I64, U8, DType
from pypto.ir.nodes import Attribute, Kernel, Level, Load, Operation, Role, Store, TileType, Value
from pypto.ir.operations.definition import Category
from pypto.ir.operations.table import TABLE
from pypto.ir.passes import decompose_functions, decompose_integers, decompose_ordered, held_integers
from pypto.ir.passes.decompose_casts import cast, from_memory, to_memory
from pypto.ir.passes.decompose_stores import append_store
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.refused import REFUSED
from pypto.ir.passes.rewriting import Rewriter
from pypto.ir.passes.split_cores import is_cube

NARROW_INTEGERS = (I8, U8, I16)


def computed_as(dtype: DType) -> DType:
    """Return the type that values of `dtype` have after this pass."""
    return I32 if dtype in NARROW_INTEGERS else dtype


class Decomposer(Rewriter):
    """Rules are looked up by operation name: first those for the operand's kind of type, then those for all."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.numbers: dict[str, float | int] = {}
        self.registers: set[str] = set()
        self.read_back: set[str] = set()
        self.intervals: dict[str, held_integers.Interval] = {}
        self.indices = held_integers.indices_only(kernel)

    def run(self) -> Kernel:
        """Outputs that are read back around a store are in/out afterwards."""
        kernel = super().run()
        parameters = tuple(
            replace(item, role=Role.INOUT) if item.name in self.read_back else item for item in kernel.parameters
        )
        return replace(kernel, parameters=parameters)

    def in_register(self, value: Value) -> bool:
        """Return whether `value` is a number of the scalar unit, not a tile (of shape (), perhaps)."""
        return value.name in self.registers

    def call(self, name: str, *operands: Value, **attributes: Attribute) -> Value:
        result = super().call(name, *operands, **attributes)
        constant = TABLE[name].category is Category.CONSTANT and name != "undefined"
        computed = name in REGISTER_OPERATIONS and all(map(self.in_register, operands))
        if not result.shape and (constant or computed):
            self.registers.add(result.name)
        return result

    def constant_of(self, value: Value) -> float | int | None:
        """Return the number that `value` is, or None when it is no constant of shape ()."""
        return self.numbers.get(value.name)

    def type_of(self, type_: TileType) -> TileType:
        if type_.dtype == I64 and type_.shape:
            return replace(type_, dtype=I32)
        return replace(type_, dtype=computed_as(type_.dtype))

    def redefine(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        made = super().redefine(values)
        for before, value in zip(values, made, strict=True):
            if before.dtype == I64 and value.dtype == I32:
                held_integers.note(self, value, held_integers.ALL_I32)
        return made

    def yields(self, yielded: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(
            held_integers.all_held(self, (value,), "a value that a loop carries")[0] if before.shape else value
            for before, value in zip(yielded, self.all(yielded), strict=True)
        )

    def load(self, load: Load) -> None:
        scalar = self.kernel.parameter(load.source).scalar
        if load.result.dtype == I64 and not scalar and load.result.name in self.indices:
            self.values[load.result.name] = held_integers.load(self, load)
            return
        self.check(load.result, load.source, scalar)
        self.builder.append(load)
        if scalar:
            self.registers.add(load.result.name)
        else:
            self.values[load.result.name] = from_memory(self, load.result)

    def store(self, store: Store) -> None:
        value = self.value(store.value)
        if store.value.dtype == I64 and (found := held_integers.held(self, value)) is not None:
            value = self.call("cast", found, dtype=I64)
        else:
            self.check(store.value, store.target)
            value = to_memory(self, value, store.value.dtype)
        append_store(self, replace(store, value=value))

    def check(self, value: Value, array: str, scalar: bool = False) -> None:
        if value.dtype == F64 or (value.dtype == I64 and not scalar):
            wanted = "float32" if value.dtype == F64 else "int32"
            details = {"name": array, "dtype": value.dtype.long_name, "wanted": wanted}
            raise UserError("npu-dtype", self.location, **details)

    def operation(self, operation: Operation) -> None:
        operands = self.all(operation.operands)
        before = operation.operands[0].dtype if operation.operands else None
        if operation.name in REFUSED:
            dtype = before.long_name if before else operation.results[0].dtype.long_name
            details = {"operation": operation.name, "dtype": dtype, "alternative": REFUSED[operation.name]}
            raise UserError("npu-operation", self.location, **details)
        result = self.decomposed(operation, operands, before)
        self.values[operation.results[0].name] = result

    def decomposed(self, operation: Operation, operands: tuple[Value, ...], before: DType | None) -> Value:
        """Return the value of `operation` made of what the chip has; `before`: the first operand's dtype as written."""
        if operation.name in decompose_ordered.RULES:
            return decompose_ordered.RULES[operation.name](self, operation, operands)
        if operation.name == "cast":
            return self.cast(operation, operands[0])
        category = TABLE[operation.name].category
        if category is Category.CONSTANT:
            return self.constant(operation)
        if category in (Category.VIEW, Category.ASSEMBLY):
            return self.moved(operation, operands)
        if category is Category.REDUCTION and before == I64:
            return held_integers.reduction(self, operation, operands[0])
        if category is Category.REDUCTION:
            result = self.reduced(operation, operands[0])
        else:
            result = self.elementwise(operation, operands)
        return decompose_integers.wrap(self, result, operation.name, before)

    def constant(self, operation: Operation) -> Value:
        attributes = dict(operation.attributes)
        dtype = attributes["dtype"]
        assert isinstance(dtype, DType)
        if dtype == F64:
            raise UserError("npu-dtype", self.location, name="a constant", dtype="float64", wanted="float32")
        if dtype == I64 and attributes.get("shape"):
            return self.long_constant(attributes)
        attributes["dtype"] = computed_as(dtype)
        if dtype in NARROW_INTEGERS and "value" in attributes:
            attributes["value"] = int(np.asarray(attributes["value"]).astype(dtype.numpy))
        result = self.call(operation.name, **attributes)
        number = attributes.get("value")
        if operation.name == "constant" and not result.shape and isinstance(number, int | float):
            self.numbers[result.name] = number
        return result

    def long_constant(self, attributes: dict[str, Attribute]) -> Value:
        """A tile filled with an i64 number, which must fit into i32."""
        number = attributes.get("value", 0)
        assert isinstance(number, int)
        if not held_integers.fits((number, number)):
            return held_integers.refuse(self, f"the constant {number}")
        made = self.call("constant", dtype=I32, value=number, shape=attributes["shape"])
        return held_integers.note(self, made, (number, number))

    def cast(self, operation: Operation, value: Value) -> Value:
        before, target = operation.operands[0].dtype, operation.attribute("dtype")
        assert isinstance(target, DType)
        if before == I64 and not self.in_register(value) and target != F64:
            (value,), before = held_integers.all_held(self, (value,), "cast"), I32
            interval = held_integers.interval_of(self, value)
        else:
            interval = held_integers.INTERVALS.get(before, held_integers.ALL_I32)
        if target == I64 and before in held_integers.INTERVALS and not self.in_register(value):
            return held_integers.note(self, cast(self, value, before, I32), interval)
        return cast(self, value, before, target)

    def elementwise(self, operation: Operation, operands: tuple[Value, ...]) -> Value:
        dtype = operands[-1].dtype
        if operation.operands[-1].dtype == I64 and not all(map(self.in_register, operands)):
            return held_integers.elementwise(self, operation, operands)
        if dtype == F64:
            raise UserError("npu-dtype", self.location, name=operation.name, dtype="float64", wanted="float32")
        if all(map(self.in_register, operands)) and operation.name in REGISTER_OPERATIONS:
            return self.call(operation.name, *operands, **dict(operation.attributes))
        rules = {BOOL: decompose_integers.BOOLEAN_RULES, I32: decompose_integers.INTEGER_RULES}
        rule = rules.get(dtype, decompose_functions.RULES).get(operation.name)
        if rule is not None:
            return rule(self, *operands)
        return self.call(operation.name, *operands, **dict(operation.attributes))

    def moved(self, operation: Operation, operands: tuple[Value, ...]) -> Value:
        """Views and assemblies move whole elements: booleans go as numbers."""
        if operation.operands[0].dtype == I64:
            operands = held_integers.all_held(self, operands, operation.name)
            made = self.call(operation.name, *operands, **dict(operation.attributes))
            return held_integers.note(self, made, self.moved_interval(operation, operands))
        if operands[0].dtype != BOOL:
            return self.call(operation.name, *operands, **dict(operation.attributes))
        numbers = tuple(decompose_integers.as_number(self, value, F32) for value in operands)
        result = self.call(operation.name, *numbers, **dict(operation.attributes))
        return decompose_integers.is_nonzero(self, result)

    def moved_interval(self, operation: Operation, operands: tuple[Value, ...]) -> held_integers.Interval:
        low, high = held_integers.union(self, operands)
        filling = dict(operation.attributes).get("value")
        return (min(low, filling), max(high, filling)) if isinstance(filling, int) else (low, high)

    def reduced(self, operation: Operation, operand: Value) -> Value:
        if operand.dtype == F64:
            raise UserError("npu-dtype", self.location, name=operation.name, dtype="float64", wanted="float32")
        if operand.dtype == BOOL:
            numbers = decompose_integers.as_number(self, operand, F32)
            name = {"any": "max", "all": "min"}.get(operation.name, operation.name)
            return decompose_integers.is_nonzero(self, self.reduced(replace(operation, name=name), numbers))
        axes = operation.attribute("axes")
        assert isinstance(axes, tuple)
        if operation.name == "mean":
            return decompose_functions.mean(self, operand, axes)
        return self.reduce_axes(operation.name, operand, axes)

    def reduce_axes(self, name: str, operand: Value, axes: tuple[object, ...]) -> Value:
        """Reduce one axis after the other; axes of one element are there already."""
        for axis in sorted(axis for axis in axes if isinstance(axis, int)):
            if operand.shape[axis] != 1:
                operand = self.call(name, operand, axes=(axis,))
        return operand


REGISTER_OPERATIONS = frozenset(
    ("add", "cast", "eq", "ge", "gt", "le", "lt", "maximum", "minimum", "mul", "ne", "neg", "sub")
)
"""What the scalar unit does with numbers in registers, in f32, i32 and i64."""


def decompose(kernel: Kernel) -> Kernel:
    """Return `kernel` with only such operations as `codegen/ascendc/rules` has instructions for.

    Raises UserError ``npu-dtype`` for 64-bit elements and ``npu-operation`` for what the chip has no way to do.
    """
    return kernel if is_cube(kernel) else Decomposer(kernel).run()


DECOMPOSE = Pass("decompose", Level.TILE, Level.TILE, decompose)

"""Loads and stores of single elements and of vectors: contiguous, reversed, spread, masked, guarded."""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.codegen.llvm import affine, rules
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.builder import FunctionBuilder, Register, constant
from pypto.codegen.llvm.indices import Frames, Indices
from pypto.codegen.llvm.masked import gather, masked_load, masked_store, scatter
from pypto.codegen.llvm.program import Access, Array
from pypto.ir.dtypes import DType
from pypto.ir.index import Symbol


@dataclass(frozen=True, slots=True)
class Lanes:
    """Where the lanes of a vector are: `symbol` at start + shift, start + shift + 1, ...

    `mask` (None: all) says which lanes count.
    """

    symbol: Symbol
    count: int
    start: Register
    mask: Register | None = None
    shift: int = 0
    streams: bool = False
    """Whether stores to the array that `Memory.streamed` names go past the caches; they are aligned then."""


@dataclass(slots=True)
class Memory:
    """Emits accesses. `pointers` holds the address of each array's first element."""

    builder: FunctionBuilder
    frames: Frames
    indices: Indices
    pointers: dict[str, Register] = field(default_factory=dict)
    streamed: str | None = None
    has_streamed: bool = False
    status: Register | None = None
    """Address of the status words, in code that checks indices."""

    # -- addresses

    def flat(self, access: Access) -> Affine:
        """Return the element's distance from the array's first element."""
        total = affine.ZERO
        for stride, index in zip(access.array.strides, access.index, strict=True):
            total = affine.add(total, affine.scale(index, stride))
        return total

    def address(self, array: Array, form: Affine) -> Register:
        """Return the address of an element, as a constant distance from one that does not depend on the constant."""
        constant_part, rest = form.constant, Affine(0, form.terms)
        base = self.base(array, rest)
        if constant_part == 0:
            return base
        return self.builder.offset(base, constant(constant_part, "i64"), rules.memory_element(array.dtype))

    def base(self, array: Array, rest: Affine) -> Register:
        if rest.is_constant:
            return self.pointers[array.name]
        key = ("address", array.name, rest)
        known = self.frames.get(key)
        if known is None:
            index = self.indices.scalar(rest)
            known = self.builder.offset(self.pointers[array.name], index, rules.memory_element(array.dtype))
            self.frames.set(key, known)
        return known

    def split(self, access: Access, symbol: Symbol) -> tuple[int, Affine] | None:
        """Return the step of `symbol` and the rest of the element's distance; None when it is not linear in it."""
        form = self.flat(access)
        step = form.coefficient(symbol)
        rest = affine.subtract(form, Affine(0, ((symbol, step),))) if step else form
        return None if self.indices.varies(rest, symbol) else (step, rest)

    def position(self, lanes: Lanes) -> Register:
        """Return the value of the lanes' symbol, one per lane."""
        start = lanes.start
        if lanes.shift:
            start = self.builder.binary("add", start, constant(lanes.shift, "i64"))
        return self.indices.lanes_from(start, lanes.count)

    # -- loads

    def load_one(self, access: Access) -> Register:
        """Load one element; `fill` where the access leaves the array."""
        dtype = access.array.dtype
        guard = self.guard(access, None)
        address = self.address(access.array, self.flat(access))
        if guard is None:
            return rules.from_memory(self.builder, self._plain(address, dtype, 1), dtype)
        loaded = masked_load(self.builder, address, guard, self.fill(access, 1), dtype.bytes)
        return rules.from_memory(self.builder, loaded, dtype)

    def load(self, access: Access, lanes: Lanes) -> Register:
        """Load one element per lane; lanes that do not count are never read and hold any value."""
        dtype, mask = access.array.dtype, _both(self.builder, lanes.mask, self.guard(access, lanes))
        found = self.split(access, lanes.symbol)
        if found is None:
            loaded = self._gather(self._irregular(access, lanes), dtype, lanes.count, mask, access)
        elif found[0] == 0 and mask is lanes.mask:
            loaded = self.builder.splat(self._plain(self.address(access.array, found[1]), dtype, 1), lanes.count)
        elif abs(found[0]) == 1:
            loaded = self._contiguous(access, found[0], found[1], lanes, mask)
        else:
            loaded = self._gather(self._spread(access, *found, lanes), dtype, lanes.count, mask, access)
        return rules.from_memory(self.builder, loaded, dtype)

    def _contiguous(self, access: Access, step: int, rest: Affine, lanes: Lanes, mask: Register | None) -> Register:
        address = self._run(access.array, step, rest, lanes)
        dtype = access.array.dtype
        if mask is None:
            loaded = self._plain(address, dtype, lanes.count)
            return loaded if step == 1 else self._reverse(loaded)
        mask = mask if step == 1 else self._reverse(mask)
        loaded = masked_load(self.builder, address, mask, self.fill(access, lanes.count), dtype.bytes)
        return loaded if step == 1 else self._reverse(loaded)

    def _run(self, array: Array, step: int, rest: Affine, lanes: Lanes) -> Register:
        """Return the lowest address of a contiguous vector, which is the last lane's when `step` is -1."""
        element = rules.memory_element(array.dtype)
        low = rest.constant if step == 1 else rest.constant - (lanes.count - 1)
        base = self.base(array, Affine(0, rest.terms))
        start = lanes.start
        key = ("run", base.text, step, start.text, array.dtype.name)
        address = self.frames.get(key)
        if address is None:
            if step == -1:
                start = self.builder.binary("sub", constant(0, "i64"), start)
            address = self.builder.offset(base, start, element)
            self.frames.set(key, address)
        low += step * lanes.shift
        return address if low == 0 else self.builder.offset(address, constant(low, "i64"), element)

    def _plain(self, address: Register, dtype: DType, lanes: int) -> Register:
        return self.builder.load(address, rules.memory_element(dtype), lanes, dtype.bytes)

    def fill(self, access: Access, lanes: int) -> Register:
        return constant(
            rules.memory_number(access.fill or 0, access.array.dtype), rules.memory_element(access.array.dtype), lanes
        )

    def _reverse(self, value: Register) -> Register:
        order = ", ".join(f"i32 {number}" for number in reversed(range(value.lanes)))
        mask = f"<{value.lanes} x i32> <{order}>"
        return self.builder.emit(
            f"shufflevector {value.typed}, {value.type} poison, {mask}", value.element, value.lanes
        )

    def _gather(self, addresses: Register, dtype: DType, lanes: int, mask: Register | None, access: Access) -> Register:
        mask = mask or constant(True, "i1", lanes)
        return gather(self.builder, addresses, mask, self.fill(access, lanes), dtype.bytes)

    def _spread(self, access: Access, step: int, rest: Affine, lanes: Lanes) -> Register:
        """Return one address per lane, `step` elements apart."""
        base = self.address(access.array, rest)
        position = self.position(lanes)
        offsets = self.builder.binary("mul", position, constant(step, "i64", lanes.count))
        return self._addresses(base, offsets, access.array.dtype)

    def _irregular(self, access: Access, lanes: Lanes) -> Register:
        position = self.position(lanes)
        offsets = self.indices.vector(self.flat(access), lanes.symbol, position, lanes.count)
        return self._addresses(self.pointers[access.array.name], offsets, access.array.dtype)

    def _addresses(self, base: Register, offsets: Register, dtype: DType) -> Register:
        element = rules.memory_element(dtype)
        text = f"getelementptr {element}, ptr {base.text}, {offsets.typed}"
        return self.builder.emit(text, "ptr", offsets.lanes)

    # -- stores

    def store_one(self, access: Access, value: Register) -> None:
        """Store one element, unless the access is guarded and leaves the array."""
        dtype, guard = access.array.dtype, self.guard(access, None)
        stored = rules.to_memory(self.builder, value, dtype)
        address = self.address(access.array, self.flat(access))
        if guard is None:
            self.builder.store(stored, address, dtype.bytes)
        else:
            masked_store(self.builder, stored, address, guard, dtype.bytes)

    def store(self, access: Access, value: Register, lanes: Lanes) -> None:
        """Store one element per lane that counts and lies in the array."""
        dtype, mask = access.array.dtype, _both(self.builder, lanes.mask, self.guard(access, lanes))
        stored = rules.to_memory(self.builder, self.builder.splat(value, lanes.count), dtype)
        found = self.split(access, lanes.symbol)
        if found is None:
            addresses = self._irregular(access, lanes)
        elif abs(found[0]) == 1:
            self._store_run(access, found, stored, lanes, mask)
            return
        else:
            addresses = self._spread(access, *found, lanes)
        scatter(self.builder, stored, addresses, mask or constant(True, "i1", lanes.count), dtype.bytes)

    def _store_run(
        self, access: Access, found: tuple[int, Affine], stored: Register, lanes: Lanes, mask: Register | None
    ) -> None:
        step, rest = found
        address, width = self._run(access.array, step, rest, lanes), access.array.dtype.bytes
        if step == -1:
            stored, mask = self._reverse(stored), self._reverse(mask) if mask is not None else None
        if mask is None and lanes.streams and access.array.name == self.streamed:
            self.has_streamed = True
            self.builder.store(stored, address, width * lanes.count, ", !nontemporal !0")
        elif mask is None:
            self.builder.store(stored, address, width)
        else:
            masked_store(self.builder, stored, address, mask, width)

    # -- guards

    def guard(self, access: Access, lanes: Lanes | None) -> Register | None:
        """Return where a guarded access lies inside its array; None when it always does."""
        if not access.guarded:
            return None
        result: Register | None = None
        for index, extent in zip(access.index, access.array.shape, strict=True):
            for condition in self._limits(index, extent, lanes):
                result = _both(self.builder, result, condition)
        return result

    def _limits(self, index: Affine, extent: int, lanes: Lanes | None) -> list[Register]:
        known = affine.bounds(index, self.indices.ranges)
        if known is not None and known[0] >= 0 and known[1] < extent:
            return []
        if lanes is not None and self.indices.varies(index, lanes.symbol):
            position = self.position(lanes)
            value = self.indices.vector(index, lanes.symbol, position, lanes.count)
        else:
            value = self.indices.scalar(index)
        # One unsigned comparison tests both ends: a negative index is a huge number.
        inside = self.builder.compare("icmp ult", value, constant(extent, "i64", value.lanes))
        return [self.builder.splat(inside, lanes.count) if lanes is not None else inside]


def _both(builder: FunctionBuilder, left: Register | None, right: Register | None) -> Register | None:
    if left is None or right is None:
        return left if right is None else right
    return builder.binary("and", left, right)

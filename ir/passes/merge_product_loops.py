"""Make one product of a loop that adds up products over parts of the contracted axis.

    for i: total += x[:, i * s : s] @ y[i * s : s, :]        becomes        total += x @ y

People write the loop to keep tiles small; blocks of the cube core are chosen from the whole. Where parts lie one behind
the other in both arrays, the products add up the same terms.
"""

from __future__ import annotations

from dataclasses import replace

from pypto.ir.index import Symbol, substitute, symbols
from pypto.ir.nodes import For, Kernel, Level, Load, Operation, Range, TileType, Value
from pypto.ir.passes.independence import coefficient
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.products import Products, Source, is_plain
from pypto.ir.passes.rewriting import Rewriter


class _Merger(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.zeros: set[str] = set()

    def operation(self, operation: Operation) -> None:
        if operation.name == "constant" and operation.attribute("value") == 0:
            self.zeros.add(operation.results[0].name)
        super().operation(operation)

    def loop(self, loop: For) -> None:
        operands = self.merged(loop)
        if operands is None:
            super().loop(loop)
            return
        made = [self.whole(source, load) for source, load in operands]
        total = self.call("matmul", *made)
        if loop.initial[0].name not in self.zeros:
            total = self.call("add", self.value(loop.initial[0]), total)
        self.values[loop.results[0].name] = total

    def merged(self, loop: For) -> list[tuple[Source, Load]] | None:
        """Return both operands of the product that `loop` adds up, with loads of all that its turns load; None for any
        other loop."""
        if len(loop.carried) != 1 or not isinstance(loop.start, int) or not isinstance(loop.stop, int):
            return None
        products = Products(replace(self.kernel, body=loop.body))
        total = products.makers.get(loop.yielded[0].name)
        product = _added(total, loop.carried[0], products)
        known = {"add", "matmul", "cast", "transpose"}
        plain = all(
            isinstance(item, Load) or (isinstance(item, Operation) and item.name in known) for item in loop.body
        )
        turns = -(-(loop.stop - loop.start) // loop.step)
        if product is None or not plain or turns < 1 or len(products.users[loop.carried[0].name]) != 1:
            return None
        found = []
        for value, axis in zip(product.operands, (1, 0), strict=True):
            source = products.source(value)
            load = products.makers.get(source.base.name)
            if value.type.rank != 2 or not isinstance(load, Load) or not is_plain(load):
                return None
            whole = _whole(load, 1 - axis if source.transposed else axis, loop, turns)
            if whole is None:
                return None
            found.append((source, whole))
        return found

    def whole(self, source: Source, load: Load) -> Value:
        """Append the load of a whole operand, and what is done to it."""
        value = self.builder.value(load.result.type)
        self.builder.append(replace(load, result=value))
        for operation in reversed(source.chain):
            value = self.call(operation.name, value, **dict(operation.attributes))
        return value


def _added(total: object, carried: Value, products: Products) -> Operation | None:
    """Return the matmul that `total` adds to what is carried."""
    if not isinstance(total, Operation) or total.name != "add" or carried not in total.operands:
        return None
    others = [value for value in total.operands if value != carried]
    maker = products.makers.get(others[0].name) if others else None
    once = isinstance(maker, Operation) and maker.name == "matmul" and len(products.users[others[0].name]) == 1
    return maker if once and isinstance(maker, Operation) and maker.results[0].type == carried.type else None


def _whole(load: Load, axis: int, loop: For, turns: int) -> Load | None:
    """Return the load of what all turns load along `axis` of the last two, or None where turns do not lie one behind
    the other."""
    position = len(load.region) - 2 + axis
    if len(load.result.shape) != 2 or len(load.region) != 2:
        return None
    moving = load.region[position]
    others = symbols(load.region[1 - position].offset)
    if not isinstance(moving.extent, int) or loop.index in others or moving.step != 1:
        return None
    factor = coefficient(moving.offset, loop.index)
    if factor is None or factor * loop.step != moving.extent:
        return None
    start: dict[Symbol, int] = {loop.index: loop.start} if isinstance(loop.start, int) else {}
    region = list(load.region)
    region[position] = Range(substitute(moving.offset, start), turns * moving.extent)
    type_ = TileType(load.result.dtype, tuple(item.extent for item in region))
    return replace(load, result=replace(load.result, type=type_), region=tuple(region))


def merge_product_loops(kernel: Kernel) -> Kernel:
    """Return `kernel` (level tile) with such loops as one product."""
    return _Merger(kernel).run()


MERGE_PRODUCT_LOOPS = Pass("merge_product_loops", Level.TILE, Level.TILE, merge_product_loops)

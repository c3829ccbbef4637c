"""Attention as tasks: blocks of keys with a running maximum and sum, so that the scores of all keys never exist.

For each block of keys and each query, with scores s: m' = max(m, max s), a = exp(m - m'), p = exp(s - m'),
sum' = a sum + sum p, out' = a out + p v. The result is out / sum. Sources: Milakov and Gimelshein, arXiv 1805.02867;
Dao et al., arXiv 2205.14135. A query without a key stays at m = -inf, sum = 0 and gives 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import cast

from pypto.codegen.llvm import affine
from pypto.codegen.llvm.affine import Affine
from pypto.codegen.llvm.contracting import Lowering, product, with_roles, zeros
from pypto.codegen.llvm.evaluation import Evaluation, Point, broadcast, extents
from pypto.codegen.llvm.program import Access, Array, Axis, Node, NodeKind, Repeat, Statement, Task
from pypto.ir.dtypes import BOOL, I32, DType
from pypto.ir.index import Symbol
from pypto.ir.nodes import Attribute, Operation, TileType, Value

KEYS = 128
"""Keys of a block."""


def lower_attention(lowering: Lowering, statement: Operation, value: Value) -> None:
    """Append the tasks of an attention and say what its value is."""
    query, key, _, _ = statement.operands
    if 0 in extents(value.shape) or extents(key.shape)[-2] == 0:
        lowering.definitions[value.name] = zeros(value)
        return
    if extents(query.shape)[-1] == 0:
        statement = _without_depth(lowering, statement, value)
    _Attention(lowering, statement, value).lower()


def _without_depth(lowering: Lowering, statement: Operation, value: Value) -> Operation:
    """Return the statement with zeros of one element in place of queries and keys of none: all scores are 0."""
    made = []
    for number, operand in enumerate(statement.operands[:2]):
        made.append(Value(f"{value.name}.none{number}", TileType(operand.dtype, (*operand.shape[:-1], 1))))
        lowering.definitions[made[-1].name] = zeros(made[-1])
    return replace(statement, operands=(*made, *statement.operands[2:]))


@dataclass(slots=True)
class _Attention:
    lowering: Lowering
    statement: Operation
    value: Value
    dtype: DType = field(init=False)
    rows: tuple[int, ...] = field(init=False)
    """Extents of the batch axes and of the queries."""
    keys: int = field(init=False)
    turn: Symbol = field(init=False)
    """The first key of a block."""

    def __post_init__(self) -> None:
        self.dtype = self.value.dtype
        self.rows = extents(self.value.shape)[:-1]
        self.keys = extents(self.statement.operands[1].shape)[-2]
        self.turn = self.lowering.symbol("k", (0, self.keys - 1))

    def lower(self) -> None:
        largest, total, factor = (self.local(self.rows) for _ in range(3))
        output = self.local(extents(self.value.shape))
        width = min(KEYS, self.keys)
        scores, part = self.local((*self.rows, width)), self.local(output.shape)
        block = self.local(self.rows)
        body = [
            self.scores(scores),
            self.block_maximum(scores, block),
            self.factor(largest, block, factor),
            self.maximum(largest, block),
            self.weights(scores, largest),
            self.block_sum(scores, block),
            self.running(total, factor, block),
            self.part(scores, part),
            self.running(output, factor, part),
        ]
        limit = self.row_symbol(body) if self.statement.attribute("causal") else None
        loop = Repeat(self.turn, affine.ZERO, affine.number(self.keys), width, list(body), limit)
        start = [self.filled(largest, -math.inf), self.filled(total, 0.0), self.filled(output, 0.0)]
        self.lowering.output.append(_once(self.lowering, [*start, loop]))
        self.result(output, total)

    # -- arrays and nodes

    def local(self, shape: tuple[int, ...]) -> Array:
        return self.lowering.local(TileType(self.dtype, shape))

    def filled(self, array: Array, number: float) -> Task:
        axes, point = self.lowering.axes(array.shape)
        return Task(Access(array, point), axes, (Node(NodeKind.CONSTANT, self.dtype, value=number),), 0)

    def key_axis(self, reduced: bool = False) -> tuple[Axis, Affine, Affine]:
        """Return a loop over the keys of a block, a key's number, and its place in the block."""
        width = min(KEYS, self.keys)
        symbol = self.lowering.symbol("i", (0, self.keys - 1))
        start = affine.symbol(self.turn)
        stop = affine.add(start, affine.number(width))
        if self.keys % width:
            limits = {self.turn: (0, self.keys - 1)}
            stop = affine.extremum("min", stop, affine.number(self.keys), limits)
        form = affine.symbol(symbol)
        return Axis(symbol, width, start, stop, reduced), form, affine.subtract(form, start)

    # -- the tasks of one block

    def scores(self, target: Array) -> Task:
        """query key^T, the scale applied to the query."""
        query, key, _, _ = self.statement.operands
        axes, point = self.lowering.axes(self.rows)
        keys, number, place = self.key_axis()
        depth, (position,) = self.lowering.axes((extents(query.shape)[-1],), (0,))
        scale = float(cast("float", self.statement.attribute("scale")))
        operands = ((query, (*point, position)), (key, (*point[:-1], number, position)))
        task = product(self.lowering, operands, self.dtype, scale)
        task = replace(task, target=Access(target, (*point, place)), axes=(*axes, keys, *depth))
        return with_roles(task, bool(depth))

    def score(self, evaluation: Evaluation, scores: Array, point: Point, number: Affine, place: Affine) -> int:
        """Append the nodes of one score with its mask."""
        result = evaluation.load(Access(scores, (*point, place)))
        mask = self.statement.operands[3]
        if not self.is_zero(mask):
            added = evaluation.evaluate(mask, broadcast(mask, (*point, number)))
            result = self.node(evaluation, "add", result, added)
        if self.statement.attribute("causal"):
            query, key = (evaluation.append(Node(NodeKind.INDEX, I32, value=form)) for form in (point[-1], number))
            visible = evaluation.append(Node(NodeKind.OPERATION, BOOL, "le", (key, query)))
            nothing = self.constant(evaluation, -math.inf)
            result = self.node(evaluation, "where", visible, result, nothing)
        return result

    def is_zero(self, mask: Value) -> bool:
        """True when there is no mask: the front end adds the number 0 then."""
        definition = self.lowering.definitions[mask.name]
        if not isinstance(definition, Operation) or definition.name != "constant" or mask.shape:
            return False
        return definition.attribute("value") == 0.0

    def node(self, evaluation: Evaluation, name: str, *operands: int) -> int:
        return evaluation.append(Node(NodeKind.OPERATION, self.dtype, name, operands))

    def constant(self, evaluation: Evaluation, number: float) -> int:
        return evaluation.append(Node(NodeKind.CONSTANT, self.dtype, value=number))

    def block_maximum(self, scores: Array, target: Array) -> Task:
        axes, point = self.lowering.axes(self.rows)
        keys, number, place = self.key_axis(reduced=True)
        evaluation = self.lowering.evaluation()
        result = self.score(evaluation, scores, point, number, place)
        return Task(Access(target, point), (*axes, keys), tuple(evaluation.nodes), result, "max")

    def factor(self, largest: Array, block: Array, target: Array) -> Task:
        """exp(m - m'): 0 before the first key."""
        axes, point = self.lowering.axes(self.rows)
        evaluation = self.lowering.evaluation()
        before = evaluation.load(Access(largest, point))
        after = self.node(evaluation, "maximum", before, evaluation.load(Access(block, point)))
        difference = self.node(evaluation, "sub", before, self.finite(evaluation, after))
        result = self.node(evaluation, "exp", difference)
        return Task(Access(target, point), axes, tuple(evaluation.nodes), result)

    def finite(self, evaluation: Evaluation, value: int) -> int:
        """Append -inf as 0, so that exp(-inf - it) is 0."""
        nothing = self.constant(evaluation, -math.inf)
        none = evaluation.append(Node(NodeKind.OPERATION, BOOL, "eq", (value, nothing)))
        return self.node(evaluation, "where", none, self.constant(evaluation, 0.0), value)

    def maximum(self, largest: Array, block: Array) -> Task:
        axes, point = self.lowering.axes(self.rows)
        evaluation = self.lowering.evaluation()
        values = (evaluation.load(Access(array, point)) for array in (largest, block))
        result = self.node(evaluation, "maximum", *values)
        return Task(Access(largest, point), axes, tuple(evaluation.nodes), result)

    def weights(self, scores: Array, largest: Array) -> Task:
        axes, point = self.lowering.axes(self.rows)
        keys, number, place = self.key_axis()
        evaluation = self.lowering.evaluation()
        score = self.score(evaluation, scores, point, number, place)
        top = self.finite(evaluation, evaluation.load(Access(largest, point)))
        result = self.node(evaluation, "exp", self.node(evaluation, "sub", score, top))
        return Task(Access(scores, (*point, place)), (*axes, keys), tuple(evaluation.nodes), result)

    def block_sum(self, weights: Array, target: Array) -> Task:
        axes, point = self.lowering.axes(self.rows)
        keys, _, place = self.key_axis(reduced=True)
        evaluation = self.lowering.evaluation()
        result = evaluation.load(Access(weights, (*point, place)))
        return Task(Access(target, point), (*axes, keys), tuple(evaluation.nodes), result, "sum")

    def running(self, total: Array, factor: Array, part: Array) -> Task:
        """total = total * factor + part."""
        axes, point = self.lowering.axes(total.shape)
        evaluation = self.lowering.evaluation()
        values = [evaluation.load(Access(array, point[: len(array.shape)])) for array in (total, factor, part)]
        result = self.node(evaluation, "add", self.node(evaluation, "mul", *values[:2]), values[2])
        return Task(Access(total, point), axes, tuple(evaluation.nodes), result)

    def part(self, weights: Array, target: Array) -> Task:
        """Weights times values."""
        value = self.statement.operands[2]
        axes, point = self.lowering.axes(target.shape)
        keys, number, place = self.key_axis(reduced=True)
        definition = Value(f"{self.value.name}.weights", TileType(self.dtype, weights.shape))
        self.lowering.definitions[definition.name] = weights
        operands = ((definition, (*point[:-1], place)), (value, (*point[:-2], number, point[-1])))
        task = product(self.lowering, operands, self.dtype)
        return with_roles(replace(task, target=Access(target, point), axes=(*axes, keys)), True)

    # -- around the blocks

    def row_symbol(self, body: list[Task]) -> Symbol | None:
        """Return the loop over queries of the first task; tasks share the class of that axis."""
        index = body[0].target.index[-2]
        atom = index.terms[0][0] if index.terms else None
        return atom if isinstance(atom, Symbol) else None

    def result(self, output: Array, total: Array) -> None:
        """Define the value as output / total, and 0 where no key had a weight."""
        sums = self.defined("total", total, (*total.shape, 1))
        outputs = self.defined("output", output, output.shape)
        zero, one = (self.number(number) for number in (0.0, 1.0))
        nothing = self.made("none", BOOL, extents(sums.shape), "eq", sums, zero)
        divisor = self.made("divisor", self.dtype, extents(sums.shape), "where", nothing, one, sums)
        self.lowering.definitions[self.value.name] = Operation("div", (outputs, divisor), (self.value,))

    def defined(self, stem: str, array: Array, shape: tuple[int, ...]) -> Value:
        value = Value(f"{self.value.name}.{stem}", TileType(self.dtype, array.shape))
        self.lowering.definitions[value.name] = array
        if shape == array.shape:
            return value
        return self.made(f"{stem}.column", self.dtype, shape, "reshape", value, shape=shape)

    def number(self, number: float) -> Value:
        return self.made(f"number{number}", self.dtype, (), "constant", dtype=self.dtype, value=number)

    def made(
        self, stem: str, type_: DType, extent: tuple[int, ...], name: str, /, *operands: Value, **attributes: Attribute
    ) -> Value:
        value = Value(f"{self.value.name}.{stem}", TileType(type_, extent))
        self.lowering.definitions[value.name] = Operation(name, operands, (value,), tuple(sorted(attributes.items())))
        return value


def _once(lowering: Lowering, body: list[Statement]) -> Repeat:
    """Return statements as one, so that they run under one set of parallel loops."""
    return Repeat(lowering.symbol("k", (0, 0)), affine.ZERO, affine.number(1), 1, body)

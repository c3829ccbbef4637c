"""Write attention out as two products with a softmax between: what cube and vector cores compute together.

The largest score of each row is subtracted first. A row of -inf only gives 0: 0 is subtracted there, and its weights,
all 0, are divided by 1.
"""

from __future__ import annotations

import math

from pypto.ir.dtypes import F64, I32
from pypto.ir.nodes import Kernel, Level, Operation, Value
from pypto.ir.passes.manager import Pass
from pypto.ir.passes.rewriting import Rewriter


class _Expander(Rewriter):
    def operation(self, operation: Operation) -> None:
        if operation.name != "attention" or operation.operands[0].dtype == F64:
            super().operation(operation)
            return
        made = self.attention(operation)
        self.values[operation.results[0].name] = made

    def attention(self, operation: Operation) -> Value:
        query, key, value, mask = self.all(operation.operands)
        result = operation.results[0]
        if key.shape[-2] == 0:
            return self.call("constant", dtype=result.dtype, value=0.0, shape=result.shape)
        rank = key.type.rank
        turned = self.call("transpose", key, permutation=(*range(rank - 2), rank - 1, rank - 2))
        scale = operation.attribute("scale")
        assert isinstance(scale, int | float)
        scores = self.call("mul", self.call("matmul", query, turned), self.number(query, float(scale)))
        scores = self.call("add", scores, mask)
        if operation.attribute("causal"):
            scores = self.causal(scores)
        return self.call("matmul", self.weights(scores), value)

    def number(self, like: Value, value: float) -> Value:
        return self.call("constant", dtype=like.dtype, value=value)

    def causal(self, scores: Value) -> Value:
        """Key j counts for query i where j <= i."""
        rows, columns = scores.shape[-2:]
        queries = self.call("iota", axis=0, dtype=I32, shape=(rows, 1))
        keys = self.call("iota", axis=1, dtype=I32, shape=(1, columns))
        return self.call("where", self.call("ge", queries, keys), scores, self.number(scores, -math.inf))

    def weights(self, scores: Value) -> Value:
        last = (scores.type.rank - 1,)
        largest = self.call("max", scores, axes=last)
        nothing = self.call("eq", largest, self.number(scores, -math.inf))
        largest = self.call("where", nothing, self.number(scores, 0.0), largest)
        raised = self.call("exp", self.call("sub", scores, largest))
        total = self.call("sum", raised, axes=last)
        total = self.call("maximum", total, self.call("cast", nothing, dtype=scores.dtype))
        return self.call("div", raised, total)


def expand_attention(kernel: Kernel) -> Kernel:
    """Return `kernel` (level tile) without ``attention`` of f32."""
    return _Expander(kernel).run()


EXPAND_ATTENTION = Pass("expand_attention", Level.TILE, Level.TILE, expand_attention)

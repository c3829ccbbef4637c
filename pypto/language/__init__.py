"""The functions of tile functions: everything here is also a name of `pypto`."""

from __future__ import annotations

from pypto.language import nn
from pypto.language.assembling import broadcast_to, cast, concat, empty, full, ones, reshape, transpose, zeros
from pypto.language.control import block, cond, get_block_id, loop
from pypto.language.mathematics import (
    abs,
    clip,
    erf,
    exp,
    log,
    maximum,
    minimum,
    neg,
    pow,
    reciprocal,
    rsqrt,
    sigmoid,
    sqrt,
    tanh,
    where,
)
from pypto.language.reductions import max, mean, min, sum

__all__ = [
    "abs",
    "block",
    "broadcast_to",
    "cast",
    "clip",
    "concat",
    "cond",
    "empty",
    "erf",
    "exp",
    "full",
    "get_block_id",
    "log",
    "loop",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "neg",
    "nn",
    "ones",
    "pow",
    "reciprocal",
    "reshape",
    "rsqrt",
    "sigmoid",
    "sqrt",
    "sum",
    "tanh",
    "transpose",
    "where",
    "zeros",
]

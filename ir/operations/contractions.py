"""Records of the contractions: products that add up over axes which the operands share and the result lacks."""

from __future__ import annotations

from pypto.ir.nodes import Pipe
from pypto.ir.operations import contraction_meanings, contraction_rules
from pypto.ir.operations.definition import Category, Cost, OperationDefinition
from pypto.ir.operations.records import FLOATS, NUMBERS

PRODUCT_BOUND = "(k + 1) * eps * sum|x||y|; integers exact"

RECORDS = (
    OperationDefinition(
        "matmul",
        ("x", "y"),
        Category.CONTRACTION,
        contraction_rules.matmul,
        contraction_meanings.matmul,
        Cost(2, 2),
        "matrix products [.., m, k] x [.., k, n]; leading axes broadcast; i8 and u8 add up in i32",
        NUMBERS,
        PRODUCT_BOUND,
        pipe=Pipe.M,
    ),
    OperationDefinition(
        "convolution",
        ("x", "w"),
        Category.CONTRACTION,
        contraction_rules.convolution,
        contraction_meanings.convolution,
        Cost(2, 2),
        "windows of [.., c, h, w] times kernels [.., o, c, p, q]; leading axes broadcast; no padding",
        NUMBERS,
        PRODUCT_BOUND,
        attributes=("dilation", "stride"),
        pipe=Pipe.M,
    ),
    OperationDefinition(
        "attention",
        ("query", "key", "value", "mask"),
        Category.CONTRACTION,
        contraction_rules.attention,
        contraction_meanings.attention,
        Cost(8, 8),
        "softmax(query key^T scale + mask) value over the last two axes; a row of -inf only gives 0",
        FLOATS,
        "(e + s + 8) * eps * max|scores| * max|value|",
        attributes=("causal", "scale"),
        pipe=Pipe.M,
    ),
)

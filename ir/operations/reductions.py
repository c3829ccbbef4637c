"""Records of the reductions; reduced axes stay, with extent 1."""

from __future__ import annotations

from pypto.ir.dtypes import BOOL
from pypto.ir.operations import meanings, ordered_meanings, rules
from pypto.ir.operations.records import FLOATS, NUMBERS, PRODUCT_BOUND, SUM_BOUND, VALUES, reduction

RECORDS = (
    # reductions
    reduction("sum", rules.reduction, meanings.sum_, "sum over axes", NUMBERS, SUM_BOUND),
    reduction("mean", rules.reduction, meanings.mean, "arithmetic mean over axes; NaN of nothing", FLOATS, SUM_BOUND),
    reduction("max", rules.ordered_reduction, meanings.max_, "largest over axes; NaN wins", VALUES, "exact"),
    reduction("min", rules.ordered_reduction, meanings.min_, "smallest over axes; NaN wins", VALUES, "exact"),
    reduction(
        "prod", rules.reduction, ordered_meanings.prod, "product over axes; of nothing 1", NUMBERS, PRODUCT_BOUND
    ),
    reduction("any", rules.reduction, ordered_meanings.any_, "whether one is true over axes", (BOOL,), "exact"),
    reduction("all", rules.reduction, ordered_meanings.all_, "whether all are true over axes", (BOOL,), "exact"),
)

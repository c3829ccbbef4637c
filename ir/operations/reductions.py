"""Records of the reductions; reduced axes stay, with extent 1."""

from __future__ import annotations

from pypto.ir.operations import meanings, rules
from pypto.ir.operations.records import FLOATS, NUMBERS, SUM_BOUND, VALUES, reduction

RECORDS = (
    # reductions
    reduction("sum", rules.reduction, meanings.sum_, "sum over axes", NUMBERS, SUM_BOUND),
    reduction("mean", rules.reduction, meanings.mean, "arithmetic mean over axes; NaN of nothing", FLOATS, SUM_BOUND),
    reduction("max", rules.ordered_reduction, meanings.max_, "largest over axes; NaN wins", VALUES, "exact"),
    reduction("min", rules.ordered_reduction, meanings.min_, "smallest over axes; NaN wins", VALUES, "exact"),
)

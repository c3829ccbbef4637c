"""How many candidates are compiled and measured: the setting `autotune_topn`, at most 10."""

from __future__ import annotations

import warnings

from pypto.ir.base.settings import MOST_TOPN, current


def autotune_topn() -> int:
    """Return how many of the modelled best candidates are kept: the search is always asked for 10."""
    return min(current().autotune_topn, MOST_TOPN)


def _warn() -> None:
    number = current().autotune_topn
    if number > MOST_TOPN:
        warnings.warn(
            f"PYPTO_AUTOTUNE_TOPN={number} exceeds the maximum of {MOST_TOPN}; "
            f"at most {MOST_TOPN} solutions will be returned.",
            stacklevel=3,
        )


_warn()  # once, when this module is imported

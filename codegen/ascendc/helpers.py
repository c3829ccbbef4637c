"""The device functions that emitted kernels call, kept as C++ beside this file; each source holds those it uses."""

from __future__ import annotations

import functools
from importlib import resources

NEEDS: dict[str, tuple[str, ...]] = {
    "RowBroadcast": ("Minimum",),
    "RowMax": ("Minimum",),
    "RowMin": ("Minimum",),
    "RowSum": ("Minimum",),
    "RowOrder": ("IsBefore",),
    "CumulativeSum": ("Plus",),
    "CumulativeProduct": ("Times",),
}
"""What each function calls."""

ROW_REDUCTIONS = {
    "RowMax": ("Max", "WholeReduceMax", ", AscendC::ReduceOrder::ORDER_ONLY_VALUE"),
    "RowMin": ("Min", "WholeReduceMin", ", AscendC::ReduceOrder::ORDER_ONLY_VALUE"),
    "RowSum": ("Add", "WholeReduceSum", ""),
}
"""By function: how two repeats combine, how one is reduced, and its last argument."""


def texts(names: set[str]) -> list[str]:
    """Return the text of the functions `names` and of those they call, each after what it calls."""
    needed = {other for name in names for other in NEEDS.get(name, ())} | names
    return [_text(name) for name in sorted(needed, key=lambda name: (name in NEEDS, name))]


@functools.cache
def _text(name: str) -> str:
    if name not in ROW_REDUCTIONS:
        return _file(f"{name}.h").strip()
    import jinja2

    combine, reduce, order = ROW_REDUCTIONS[name]
    template = jinja2.Template(_file("RowReduction.h.jinja2"), undefined=jinja2.StrictUndefined)
    return str(template.render(name=name, combine=combine, reduce=reduce, order=order)).strip()


def _file(name: str) -> str:
    return resources.files("pypto.codegen.ascendc").joinpath("helpers", name).read_text(encoding="utf-8")

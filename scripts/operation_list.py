"""Writes the operation list of docs/language.md from the operation table. `make docs` runs it; a test compares.

python scripts/operation_list.py           prints the list
python scripts/operation_list.py --write   puts it into docs/language.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from pypto.codegen.ascendc.emitter import emit
from pypto.codegen.ascendc.rules import RULES
from pypto.ir.base.errors import CompilerBug, UserError
from pypto.ir.builder import Builder
from pypto.ir.dtypes import BOOL, F32, F64, I32, I64, DType
from pypto.ir.nodes import Attribute, Kernel, Level, Load, Module, Parameter, Role, Store, TileType, Value, whole
from pypto.ir.operations.definition import Category, OperationDefinition
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "language.md"
BEGIN = "<!-- begin: operations, written by scripts/operation_list.py -->"
END = "<!-- end: operations -->"
TITLES = {
    Category.ELEMENTWISE: "Elementwise: operands broadcast by NumPy's rule",
    Category.REDUCTION: "Reductions: over any axes, which stay with extent 1 or are dropped",
    Category.VIEW: "Views",
    Category.ASSEMBLY: "Assembly",
    Category.ARGUMENT_REDUCTION: "Positions: where along an axis something is",
    Category.SCAN: "Scans along an axis",
    Category.SORT: "Sorting along an axis",
    Category.INDEXING: "Indexing: elements chosen by numbers in a tile",
    Category.CONSTANT: "Values without operands",
}
ATTRIBUTES: dict[Category, dict[str, Attribute]] = {
    Category.ELEMENTWISE: {},
    Category.REDUCTION: {"axes": (1,)},
    Category.ARGUMENT_REDUCTION: {"axis": 1},
    Category.SCAN: {"axis": 1},
    Category.SORT: {"axis": 1, "count": 5, "descending": False},
    Category.INDEXING: {"axis": 1, "wrap": True},
}
"""What a kernel of one operation gives it, to see which element types target ascendc takes."""


def targets(record: OperationDefinition) -> str:
    """Return which targets take the operation; reference and eager run its NumPy meaning and cpu has a rule for all."""
    if record.category in (Category.VIEW, Category.ASSEMBLY, Category.CONSTANT):
        return "all"
    if record.category not in ATTRIBUTES:
        return "all" if record.name in RULES else "all but ascendc"
    taken = [dtype for dtype in record.dtypes if takes(record, dtype)]
    if taken == [dtype for dtype in record.dtypes if dtype not in (F64, I64)]:
        return "all"
    return f"all; ascendc: {' '.join(map(str, taken))}" if taken else "all but ascendc"


def takes(record: OperationDefinition, dtype: DType) -> bool:
    """Return whether a kernel of the one operation comes through the passes to AscendC source."""
    builder = Builder()
    given = {"condition": BOOL, "indices": I32}
    loads = [loaded(builder, name, given.get(name, dtype)) for name in record.operands]
    attributes = {"dtype": F32} if record.name == "cast" else ATTRIBUTES[record.category]
    result = builder.operation(record.name, tuple(loads), **attributes)
    builder.append(Store("out", whole(result.type), result))
    arrays = [Parameter(name, load.type, Role.IN) for name, load in zip(record.operands, loads, strict=True)]
    parameters = (*arrays, Parameter("out", result.type, Role.OUT))
    kernel = Kernel("probe", parameters, (), tuple(builder.statements))
    try:
        planned, _ = run_passes(Module("probe", parameters, (), (kernel,)), NPU_PASSES)
        emit(planned)
    except (UserError, CompilerBug):  # the first says so; the second is a gap that the tests of the passes name
        return False
    return True


def loaded(builder: Builder, name: str, dtype: DType) -> Value:
    value = builder.value(TileType(dtype, (4, 64)))
    builder.append(Load(value, name, whole(value.type)))
    return value


def dtypes(record: OperationDefinition) -> str:
    names = [str(dtype) for dtype in record.dtypes]
    return " ".join(names)


def row(record: OperationDefinition) -> str:
    operands = ", ".join(record.operands)
    cells = (f"`{record.name}({operands})`", dtypes(record), record.error_bound, targets(record), record.documentation)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def render() -> str:
    parts = []
    for category in Category:
        title = TITLES.get(category, f"{category.value.capitalize()}s")
        records = [record for record in TABLE.values() if record.category is category and record.level is Level.TILE]
        if not records:
            continue
        parts += [
            f"### {title}",
            "",
            "| operation | dtypes | error bound | targets | meaning |",
            "|---|---|---|---|---|",
        ]
        parts += [row(record) for record in records]
        parts.append("")
    return "\n".join(parts)


def replaced(page: str) -> str:
    """Return the page with a fresh list between the two marks."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{render()}\n{END}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(render())

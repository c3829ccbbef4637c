"""Writes the operation list of docs/language.md from the operation table. `make docs` runs it; a test compares.

python scripts/operation_list.py           prints the list
python scripts/operation_list.py --write   puts it into docs/language.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from pypto.ir.operations.definition import Category, OperationDefinition
from pypto.ir.operations.table import TABLE

PAGE = Path(__file__).resolve().parent.parent / "docs" / "language.md"
BEGIN = "<!-- begin: operations, written by scripts/operation_list.py -->"
END = "<!-- end: operations -->"
TITLES = {
    Category.ELEMENTWISE: "Elementwise: operands broadcast by NumPy's rule",
    Category.REDUCTION: "Reductions: over any axes, which stay with extent 1 or are dropped",
    Category.VIEW: "Views",
    Category.ASSEMBLY: "Assembly",
    Category.CONSTANT: "Values without operands",
}


def targets(record: OperationDefinition) -> str:
    """Return the targets that have a rule for the operation; reference and eager run its NumPy meaning."""
    return "all"


def dtypes(record: OperationDefinition) -> str:
    names = [str(dtype) for dtype in record.dtypes]
    return " ".join(names)


def row(record: OperationDefinition) -> str:
    operands = ", ".join(record.operands)
    cells = (f"`{record.name}({operands})`", dtypes(record), record.error_bound, targets(record), record.documentation)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def render() -> str:
    parts = []
    for category, title in TITLES.items():
        records = [record for record in TABLE.values() if record.category is category]
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

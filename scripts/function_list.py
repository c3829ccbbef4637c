"""Writes the list of functions in docs/language.md from `pypto` and `pypto.nn`. `make docs` runs it; a test compares.

python scripts/function_list.py           prints the list
python scripts/function_list.py --write   puts it into docs/language.md
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pypto import language

PAGE = Path(__file__).resolve().parent.parent / "docs" / "language.md"
BEGIN = "<!-- begin: functions, written by scripts/function_list.py -->"
END = "<!-- end: functions -->"


def named(module: Any, names: list[str]) -> dict[Callable[..., Any], list[str]]:
    """Return the functions of a module with all their names, that of the definition first."""
    found: dict[Callable[..., Any], list[str]] = {}
    for name in names:
        value = getattr(module, name)
        if inspect.isfunction(value):
            found.setdefault(value, []).append(name)
    return {function: sorted(own, key=lambda name: name != function.__name__) for function, own in found.items()}


def row(prefix: str, function: Callable[..., Any], names: list[str]) -> str:
    parameters = [
        str(parameter.replace(annotation=inspect.Parameter.empty))
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    shown = re.sub(r"DType\(name='\w+', long_name='(\w+)'[^)]*\)", r"'\1'", ", ".join(parameters))
    meaning = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split()).rstrip(".")
    meaning = meaning.split(". Raises ")[0].split(" Raises UserError")[0].split(". Source: ")[0]
    others = " ".join(f"`{name}`" for name in names[1:])
    cells = (f"`{prefix}{names[0]}({shown})`", others, meaning.replace("``", "`"))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def is_public(name: str, value: Any) -> bool:
    return inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith("pypto.language")


def table(prefix: str, module: Any, names: list[str]) -> list[str]:
    rows = [row(prefix, function, own) for function, own in named(module, names).items()]
    return ["| function | also called | meaning |", "|---|---|---|", *sorted(rows), ""]


def render() -> str:
    networks = [name for name, value in vars(language.nn).items() if is_public(name, value)]
    own = table("", language, language.__all__)
    return "\n".join(["### pypto", "", *own, "### pypto.nn", "", *table("nn.", language.nn, networks)])


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

"""Reads the project's Markdown: fenced blocks, links."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page where the text begins."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    opened: tuple[str, int] | None = None
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if opened is None:
            opened = (line[3:].strip(), number + 1)
        else:
            language, start = opened
            found.append(Block(language, "\n".join(lines[start - 1 : number - 1]), start))
            opened = None
    return found


def links(page: Path) -> list[str]:
    """Return the targets of links that lead to files of the project."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    return [target for target in targets if "://" not in target and not target.startswith("mailto:")]


def run_page(page: Path) -> int:
    """Run the page's python blocks in one namespace; a text block right after one is what it prints. Return how many ran."""
    namespace: dict[str, object] = {"__name__": page.stem}
    count = 0
    found = blocks(page)
    for position, block in enumerate(found):
        if block.language != "python":
            continue
        printed = run_block(page, block, namespace)
        following = found[position + 1] if position + 1 < len(found) else None
        if following is not None and following.language == "text":
            assert comparable(printed) == comparable(following.text), f"{page}:{following.line}"
        count += 1
    return count


def run_block(page: Path, block: Block, namespace: dict[str, object]) -> str:
    """Run one block; its lines have the numbers that they have on the page. Return what it prints."""
    text = page.read_text(encoding="utf-8")
    linecache.cache[page.name] = (len(text), None, text.splitlines(keepends=True), page.name)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile("\n" * (block.line - 1) + block.text, page.name, "exec"), namespace)
    return output.getvalue()


def without_trailing_space(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def comparable(text: str) -> list[str]:
    """Return the lines to compare; Python 3.10 does not know columns, so there carets are left out."""
    lines = without_trailing_space(text)
    return lines if sys.version_info >= (3, 11) else [line for line in lines if set(line) - set(" ^") or not line]

"""Writes the output blocks of README.md anew: each ``text`` block after a ``python`` block is what that block prints.

`make docs` runs it; `tests/test_readme.py` compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from documents import ROOT, blocks, run_block, without_trailing_space


def rewritten(page: Path) -> str:
    lines = page.read_text(encoding="utf-8").splitlines()
    found = blocks(page)
    namespace: dict[str, object] = {"__name__": page.stem}
    printed = {}
    for block, following in zip(found, [*found[1:], None], strict=True):
        if block.language != "python":
            continue
        output = run_block(page, block, namespace)
        if following is not None and following.language == "text":
            printed[following] = without_trailing_space(output)
    for block in sorted(printed, key=lambda item: -item.line):
        height = len(block.text.splitlines())
        lines[block.line - 1 : block.line - 1 + height] = printed[block]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(rewritten(readme), encoding="utf-8")

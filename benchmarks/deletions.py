"""Leave out every flag and barrier of the emitted corpus in turn, and count what the host model reports.

    python benchmarks/deletions.py [KERNEL ...]

Compiles all kernels once (a minute or two), runs each deletion in up to three modes, prints one line for each kernel
and the deletions that nothing reported. Exit code 1 when there are any in the kernels' own bodies.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from ascendc_host.deletions import Deleter, Deletion, Outcome, helper_barriers
from ascendc_host.modules import build_all
from passes.corpus import CORPUS
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES


def main() -> int:
    start = time.perf_counter()
    names = sys.argv[1:] or list(CORPUS)
    modules = {name: run_passes(CORPUS[name](), NPU_PASSES)[0] for name in names}
    program = build_all(modules)
    print(f"{len(names)} kernels compiled in {time.perf_counter() - start:.0f} s")
    found: list[Deletion] = []
    for name in names:
        made = Deleter(name, CORPUS[name](), modules[name], program).deletions()
        found += made
        kinds = Counter(item.kind for item in made if item.in_body)
        reported = sum(item.outcome is Outcome.REPORTED for item in made if item.in_body)
        shown = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "nothing to order"
        print(f"{name:<22} {shown}; {reported} reported")
    silent = report(found)
    for text, outcomes in sorted(helper_barriers(found, modules).items()):
        print(f"helper {text}: {outcomes[Outcome.REPORTED]} of {outcomes.total()} kernels report it")
    print(f"{time.perf_counter() - start:.0f} s in all")
    return 1 if silent else 0


def report(found: list[Deletion]) -> int:
    """Print the totals and what was not reported; return the number of deletions in bodies that are silent."""
    own = [item for item in found if item.in_body]
    for kind in sorted({item.kind for item in own}):
        outcomes = Counter(item.outcome for item in own if item.kind == kind)
        counts = ", ".join(f"{count} {outcome.value}" for outcome, count in outcomes.items())
        print(f"{kind}: {outcomes.total()} deletions: {counts}")
    for item in own:
        if item.outcome is not Outcome.REPORTED:
            print(f"  {item}")
    return sum(item.outcome is Outcome.SILENT for item in own)


if __name__ == "__main__":
    sys.exit(main())

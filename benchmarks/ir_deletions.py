"""Leave out every flag and barrier of the planned IR of all corpus kernels in turn, and count what the clocks report.

    python benchmarks/ir_deletions.py [KERNEL ...]

Cube and mixed kernels are among them, modules of several kernels, and kernels of several phases. Prints one line for
each kind of synchronisation and the deletions that nothing reported. Exit code 1 when there are any. Takes minutes.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from compile.test_phases import GRAPHS, only_kernel
from passes.deletions import KERNELS, Deletion, block_barriers, deletions, lowered


def main() -> int:
    start = time.perf_counter()
    names = sys.argv[1:] or [*KERNELS, *GRAPHS]
    found = [item for name in names for item in of_module(name)]
    kernels = sorted({item.kernel for item in found})
    mixed = sum("(mixed)" in item for item in kernels)
    print(f"{len(names)} modules; {len(kernels)} kernels that order something, {mixed} of them mixed")
    for kind in sorted({item.kind for item in found}):
        counts = Counter(item.is_reported for item in found if item.kind == kind)
        print(f"{kind}: {counts.total()} left out, {counts[True]} reported")
    silent = [item for item in found if not item.is_reported]
    for item in silent:
        print(f"  not reported: {item}")
    print(f"{time.perf_counter() - start:.0f} s in all")
    return 1 if silent else 0


def of_module(name: str) -> Iterator[Deletion]:
    if name in GRAPHS:
        for kernel in only_kernel(name)[0].kernels:
            yield from block_barriers(f"phases {name}", kernel)
        return
    for kernel in lowered(KERNELS[name]()):
        yield from deletions(name, kernel)


if __name__ == "__main__":
    sys.exit(main())

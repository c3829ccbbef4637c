"""What the CPU cost model knows of the processor: figures of ``codegen/targets/cpu.toml``, which a probe measured.

They are those of one kind of machine. Ranking asks for ratios, which carry over to others of the kind (out of order,
two vector additions and two loads per cycle, three levels of cache); the sizes of the caches are this machine's own.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from pypto.codegen.targets.target import load_target

LEVELS = ("l1", "l2", "l3", "dram")


@dataclass(frozen=True, slots=True)
class Level:
    """A memory: its size in bytes, and cycles per byte on one core for reading, writing, and writing past the caches.

    `run` is what a new run of contiguous elements costs, in cycles, until the prefetcher follows. `shared` says that
    all cores have one bandwidth between them.
    """

    size: int
    read: float
    write: float
    past: float
    run: float
    shared: float = 1.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Cycles, unless the name says otherwise; see the file for what each is and where it comes from."""

    gigahertz: float
    vector_every: float
    add_latency: float
    fma_latency: float
    division: float
    gather_lane: float
    turn: float
    loop: float
    rest: float
    item: float
    chunk: float
    phase: float
    call: float
    across: float
    scalar: float
    overlap: float
    levels: tuple[Level, ...]

    def level(self, footprint: float) -> Level:
        """Return the nearest memory that holds `footprint` bytes."""
        return next((item for item in self.levels if footprint <= item.size), self.levels[-1])


@functools.lru_cache(maxsize=1)
def figures() -> Figures:
    """Return the figures for this machine."""
    target = load_target("cpu")
    probe = {name: item.value for name, item in target.groups["probe"].items()}
    model = {name: item.value for name, item in target.groups["model"].items()}
    sizes = _cache_sizes() or {name: target.number("caches", name) for name in LEVELS[:-1]}
    levels = []
    for name in LEVELS:
        read, write, past = (1 / probe[f"{name}_{kind}"] for kind in ("read", "write", "write_past"))
        size = int(sizes.get(name, 1 << 62) * model["usable"])
        levels.append(Level(size, read, write, past, model[f"{name}_run"], model.get(f"{name}_shared", 1.0)))
    return Figures(
        gigahertz=probe["clock"],
        vector_every=probe["fma_every"],
        add_latency=probe["add_latency"],
        fma_latency=probe["fma_latency"],
        division=probe["div_every"],
        gather_lane=probe["gather"] / target.number("probe", "lanes"),
        levels=tuple(levels),
        **{name: value for name, value in model.items() if name in Figures.__slots__},
    )


def _cache_sizes() -> dict[str, int]:
    """Return the bytes of the data caches of the first core, where the system says them."""
    found: dict[str, int] = {}
    for folder in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            return {}
        if kind != "Instruction" and size.endswith("K"):
            found[f"l{level}"] = int(size[:-1]) << 10
    return found if set(found) >= set(LEVELS[:-1]) else {}

"""The disk cache of generated code: what the LLVM emitter made of a module, so that it need not run again.

The key is the module's text, the layouts, the machine and the sources that decide the code. Entries are JSON in the
folder of object_cache.py, whose checks apply: nothing in them is executed by reading them.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import astuple
from pathlib import Path

from pypto import ir
from pypto.codegen.llvm.code import CpuCode, Layout, Machine, Phase, Slot, SlotKind
from pypto.ir.base import settings
from pypto.ir.dtypes import BY_NAME
from pypto.ir.nodes import Module
from pypto.ir.printer import print_module
from pypto.runtime.object_cache import cache_at
from pypto.runtime.toolchain import cache_key

Emit = Callable[[Module, Mapping[str, Layout], Machine], CpuCode]


def cached_code(module: Module, layouts: Mapping[str, Layout], machine: Machine, emit: Emit) -> CpuCode:
    """Return ``emit(module, layouts, machine)``, from the disk cache when it holds that already."""
    folder = settings.current().cache
    if folder == "off":
        return emit(module, layouts, machine)
    cache, key = cache_at(folder), _key(module, layouts, machine)
    content = cache.get(key)
    code = read_code(content) if content is not None else None
    if code is None:
        code = emit(module, layouts, machine)
        cache.put(key, write_code(code))
    return code


def generate(module: Module, layouts: Mapping[str, Layout], machine: Machine) -> CpuCode:
    """Return what the LLVM emitter makes; it is imported only here, since most code comes from the cache."""
    from pypto.codegen.llvm.emitter import emit

    return emit(module, layouts, machine)


def _key(module: Module, layouts: Mapping[str, Layout], machine: Machine) -> str:
    strides = sorted((name, layout.strides) for name, layout in layouts.items())
    parts = ("code", print_module(module), repr(strides), str(machine.vector_bits), ir_fingerprint())
    return cache_key("\0".join(parts), machine)


@functools.lru_cache(maxsize=1)
def ir_fingerprint() -> str:
    """Return a hash of the sources of the IR, which the emitter builds on."""
    digest = hashlib.sha256()
    folder = Path(str(ir.__file__)).parent
    for file in sorted((*folder.glob("*.py"), *folder.glob("operations/*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def write_code(code: CpuCode) -> bytes:
    """Return `code` as JSON."""
    slots = [(slot.name, slot.kind.value, slot.dtype.name, slot.bytes) for slot in code.slots]
    phases = [astuple(phase) for phase in code.phases]
    sizes = code.workspace_bytes, code.scratch_bytes
    return json.dumps([code.text, slots, phases, *sizes, code.notes, code.threads]).encode()


def read_code(content: bytes) -> CpuCode | None:
    """Return the code that `write_code` wrote; None for anything else."""
    try:
        text, slots, phases, workspace, scratch, notes, threads = json.loads(content)
        return CpuCode(
            text,
            tuple(Slot(name, SlotKind(kind), BY_NAME[dtype], size) for name, kind, dtype, size in slots),
            tuple(Phase(symbol, items, grain) for symbol, items, grain in phases),
            workspace,
            scratch,
            tuple(notes),
            threads,
        )
    except (ValueError, KeyError, TypeError):
        return None

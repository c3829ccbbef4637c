"""Keys under which tuning keeps what it found: everything that may change which candidate is best, and nothing else.

A *subject* is a kernel with its arguments on a machine. What was measured is kept by subject and way of measuring, so
that another search of the same kernel measures only candidates that are new. A choice is kept by subject and search.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import CodeType, FunctionType
from typing import Any

from pypto.ir.nodes import Module
from pypto.ir.printer import print_module
from pypto.ir.schedule import Schedule, with_schedule

KNOWN_ALIGNMENT = 16
"""Bytes that every allocator aligns large blocks to; more than that differs from run to run and tells nothing."""


@dataclass(frozen=True, slots=True)
class SubjectKey:
    """What a tuning is about, as parts that can be shown.

    ir: SHA-256 of the module's text without its schedule (which holds shapes and dtypes). arguments: per array
    parameter its strides in elements and alignment in bytes. device: processor or chip. cores: (cube, vector) cores
    that may be used, on static kernels for a device. threads: of the CPU target. toolchain: what compiles sources.
    generator: SHA-256 of what the default candidate compiles to, so that an upgrade that changes no code keeps results.
    """

    kernel: str
    ir: str
    arguments: tuple[tuple[str, tuple[int, ...], int], ...]
    target: str
    device: str
    cores: tuple[int, int] | None
    threads: int
    toolchain: str
    generator: str

    def digest(self) -> str:
        """Return the key: 64 hexadecimal digits."""
        return digest(asdict(self))


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON-able value in hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def ir_digest(module: Module) -> str:
    """Return the SHA-256 of the module's text without what its schedule chooses."""
    return hashlib.sha256(print_module(with_schedule(module, Schedule())).encode()).hexdigest()


def alignment(address: int) -> int:
    """Return the alignment class of an address in bytes: a power of two, at most `KNOWN_ALIGNMENT`."""
    return min(address & -address, KNOWN_ALIGNMENT) if address else KNOWN_ALIGNMENT


def timing_key(subject: SubjectKey, measuring: Mapping[str, Any]) -> str:
    """Return the key of what was measured: the subject, and how it was measured."""
    return digest(["timings", subject.digest(), dict(measuring)])


def search_key(search: Mapping[str, Any]) -> str:
    """Return the name of a search among those of its subject: everything that decides which candidates compete."""
    return digest(["search", dict(search)])


def code_digest(function: Any) -> str:
    """Return a text that differs when a user's function (a hook, a predicate, `do_bench`) does something else.

    It covers bytecode, constants, defaults and the values captured, as far as these can be named.
    """
    return digest(_described(function, 4))


def _described(value: Any, depth: int) -> Any:
    if isinstance(value, (str, int, float, bool, type(None))):
        return repr(value)
    if isinstance(value, CodeType):
        constants = [_described(item, depth) for item in value.co_consts]
        return ["code", value.co_code.hex(), constants, list(value.co_names)]
    if isinstance(value, (tuple, list, set, frozenset)) and depth:
        parts = [json.dumps(_described(item, depth - 1)) for item in value]
        return [type(value).__name__, *(parts if isinstance(value, (tuple, list)) else sorted(parts))]
    if isinstance(value, FunctionType) and depth:
        cells = [_described(_content(cell), depth - 1) for cell in value.__closure__ or ()]
        defaults = [_described(item, depth - 1) for item in value.__defaults__ or ()]
        return ["function", _described(value.__code__, depth), cells, defaults]
    inner = getattr(value, "func", None) or getattr(value, "__func__", None)
    if inner is not None and depth:
        return ["bound", _described(inner, depth - 1), _described(getattr(value, "args", None), depth - 1)]
    kind = value if isinstance(value, type) else type(value)
    return ["object", kind.__module__, kind.__qualname__, getattr(value, "__name__", "")]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None

"""Mistakes in AscendC that is to run on the host model, and in what is passed to it."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "kernel-arguments": Entry(
        "kernel {kernel} takes {wanted} arguments ({names}), {given} were given",
        "give one array or number for each parameter, by name or in this order: {names}",
    ),
    "kernel-does-not-compile": Entry(
        "the C++ compiler rejects this source:\n{message}",
        'kernels need C++17 and `#include "kernel_operator.h"`; what the host model lacks is listed in docs/ascendc-host.md',
    ),
    "no-compiler": Entry(
        "no C++17 compiler was found (looked for {tried})",
        "install g++ or clang++, `pip install ziglang`, or set CXX to a compiler",
    ),
    "no-such-kernel": Entry("there is no kernel {kernel!r} in this source", "choose one of: {kernels}"),
    "which-kernel": Entry(
        "this source holds not one kernel but: {kernels}", "say which with kernel=, on the command line with --kernel"
    ),
}

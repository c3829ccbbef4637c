"""Mistakes in AscendC that is to run on the host model, and in what is passed to it."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "check-argument": Entry(
        "{text!r} is no argument: {why}",
        "write a .npy file, zeros:float32[1024], random:float16[8,128], workspace:4096 or a number; modes are early, "
        "late and random",
    ),
    "kernel-arguments": Entry(
        "kernel {kernel} takes {wanted} arguments ({names}), {given} were given",
        "give one array or number for each parameter, by name or in this order: {names}",
    ),
    "kernel-build-time": Entry(
        "the C++ compiler {compiler} did not end within {seconds:g} s",
        "split the source, or set CXX to another compiler; a busy machine takes longer: try again",
    ),
    "kernel-does-not-compile": Entry(
        "the C++ compiler rejects this source: {message}",
        'kernels need C++17 and `#include "kernel_operator.h"`; docs/ascendc-host.md lists what the host model lacks',
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

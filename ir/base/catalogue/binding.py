"""Mistakes in how the arguments of a launch are given: Python's rules for calls."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "extra-argument": Entry("{kernel}() takes at most {most} positional arguments and got {got}", "call it as {call}"),
    "missing-argument": Entry("{kernel}() misses {missing}", "call it as {call}"),
    "repeated-argument": Entry(
        "{kernel}() got argument {argument!r} twice: by position and by name", "give it once; the call is {call}"
    ),
    "constant-type": Entry(
        "argument {argument!r} of {kernel} is of type {kind}, but it is annotated {annotation}",
        "pass a Python {annotation}, or remove the annotation to pass it as a traced value",
    ),
    "no-such-argument": Entry("{kernel}() has no parameter called {argument!r}", "{hint}"),
}

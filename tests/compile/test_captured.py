"""What a body reads from outside is part of its signature: a change of any of it compiles again."""

from __future__ import annotations

import functools
import sys
import types
from typing import ClassVar

import numpy as np
import pytest

import pypto
from pypto import tile

F32 = np.float32
SCALE = 2.0


@pytest.fixture(params=("cpu", "reference", "eager"))
def target(request):
    return request.param


class Limits:
    low = 1.0
    nested: ClassVar = {"high": [2.0]}

    @staticmethod
    def scale(t):
        return t * SCALE


class Slotted:
    __slots__ = ("factor",)

    def __init__(self):
        self.factor = 1.0


class Activation:
    slope = 1.0

    def __init__(self):
        self.bias = 0.0

    def __call__(self, t):
        return t * self.slope + self.bias + SCALE


def scaled_by_global(t):
    return t * SCALE


def _expect(kernel, value):
    for _ in range(3):
        x, out = np.ones(3, F32), np.zeros(3, F32)
        kernel.execute(x, out)
        np.testing.assert_array_equal(out, np.full(3, value, F32))


def test_changed_class_fields_and_slots_compile_again(target, monkeypatch):
    slotted = Slotted()

    @tile
    def by_class(x, out):
        out[:] = x * Limits.low + Limits.nested["high"][0] + slotted.factor

    kernel = pypto.compile(by_class, target=target)
    _expect(kernel, 4.0)
    monkeypatch.setattr(Limits, "low", 5.0)
    _expect(kernel, 8.0)
    monkeypatch.setitem(Limits.nested, "high", [3.0])
    _expect(kernel, 9.0)
    slotted.factor = 2.0
    _expect(kernel, 10.0)


def test_what_functions_behind_objects_read_is_watched(target, monkeypatch):
    table = {"by": [scaled_by_global]}
    act = Activation()
    half = functools.partial(scaled_by_global)

    @tile
    def by_call(x, out):
        out[:] = table["by"][0](x) + act(x) + half(x) + Limits.scale(x)

    kernel = pypto.compile(by_call, target=target)
    _expect(kernel, 9.0)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    _expect(kernel, 13.0)
    act.bias = 1.0
    _expect(kernel, 14.0)
    monkeypatch.setattr(Activation, "slope", 2.0)
    _expect(kernel, 15.0)


def test_what_a_replaced_helper_reads_is_watched(target, monkeypatch):
    @tile
    def by_helper(x, out):
        out[:] = helper(x)  # noqa: F821

    kernel = pypto.compile(by_helper, target=target)
    monkeypatch.setitem(globals(), "helper", lambda t: t * 7.0)
    _expect(kernel, 7.0)
    monkeypatch.setitem(globals(), "helper", scaled_by_global)
    _expect(kernel, 2.0)
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    _expect(kernel, 4.0)


def test_modules_in_modules_and_imports_in_the_body_are_watched(target, monkeypatch):
    outer, inner, other = (types.ModuleType(name) for name in ("outer", "inner", "watched_settings"))
    outer.inner, inner.factor, other.bias = inner, 2.0, 1.0
    monkeypatch.setitem(sys.modules, "watched_settings", other)
    monkeypatch.setitem(globals(), "outer", outer)

    @tile
    def by_module(x, out):
        import watched_settings

        out[:] = x * outer.inner.factor + watched_settings.bias

    kernel = pypto.compile(by_module, target=target)
    _expect(kernel, 3.0)
    inner.factor = 3.0
    _expect(kernel, 4.0)
    other.bias = 2.0
    _expect(kernel, 5.0)
    outer.inner = types.SimpleNamespace(factor=6.0)
    _expect(kernel, 8.0)


def test_a_global_that_hides_a_builtin_is_watched(target, monkeypatch):
    monkeypatch.setitem(globals(), "input", 2.0)

    @tile
    def by_hidden(x, out):
        out[:] = x * input

    kernel = pypto.compile(by_hidden, target=target)
    _expect(kernel, 2.0)
    monkeypatch.setitem(globals(), "input", 3.0)
    _expect(kernel, 3.0)

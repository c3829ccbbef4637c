"""A parameter that a body changes is an output, however the body gets at it: by name, alias, view or helper."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto import tile

F32 = np.float32


def fill(target, value):
    target[:] = value


@tile
def by_helper(x, out):
    fill(out, x * 2.0)


@tile
def by_alias(x, out):
    same = out
    same[:] = x * 2.0


@tile
def by_views(x, out):
    first, rest = out[:1], out[1:]
    first[:] = x[:1] * 2.0
    rest += x[1:] * 2.0 - rest


@tile
def by_container(x, out):
    tiles = {"out": out}
    tiles["out"][:] = x * 2.0


@tile
def by_loop(x, out):
    for item in (out,):
        item[:] = x * 2.0


@tile
def by_choice(x, out):
    chosen = out if x.ndim else x
    chosen[:] = x * 2.0


@tile
def by_numpy(x, out):
    np.multiply(x, 2.0, out=out)


@tile
def by_nested_function(x, out):
    def write():
        out[:] = x * 2.0

    write()


KERNELS = (by_helper, by_alias, by_views, by_container, by_loop, by_choice, by_numpy, by_nested_function)


@pytest.fixture(params=("cpu", "reference", "eager"))
def target(request):
    return request.param


@pytest.fixture(params=KERNELS, ids=lambda kernel: kernel.name)
def compiled(request, target):
    return pypto.compile(request.param, target=target)


def test_result_has_what_was_written(compiled):
    x, out = np.arange(5, dtype=F32), np.zeros(5, F32)
    for _ in range(3):
        result = compiled.execute(x, out)
        assert list(result.outputs) == ["out"]
        assert result.outputs.out is out
        np.testing.assert_array_equal(out, x * 2)


def test_read_only_memory_is_not_written(compiled):
    x, memory = np.ones(5, F32), np.zeros(5, F32)
    out = memory[:]
    out.flags.writeable = False
    for _ in range(2):
        with pytest.raises(pypto.UserError, match="read-only"):
            compiled.execute(x, out)
        assert not memory.any()
        compiled.execute(x, np.zeros(5, F32))


def test_memory_that_is_shared_with_an_input_is_found(compiled):
    buffer = np.arange(6, dtype=F32)
    before, wanted = buffer.copy(), np.concatenate([buffer[:1], buffer[:5] * 2])
    try:
        compiled.execute(buffer[:5], buffer[1:])
    except pypto.UserError:  # by_views reads between its writes
        wanted = before
    np.testing.assert_array_equal(buffer, wanted)


def test_verification_compares_what_was_written(compiled):
    result = compiled.execute(np.ones(5, F32), np.zeros(5, F32), verify=True)
    assert result.verification_passed
    assert list(compiled.execute(verify=True).outputs) == ["out"]


def test_a_helper_that_writes_does_not_change_the_meaning(target):
    @tile(shape=(4,), tile_num=3)
    def shown(x, out):
        out[:] = pypto.sum(x, axis=0, keepdims=True)

    @tile(shape=(4,), tile_num=3)
    def hidden(x, out):
        fill(out, pypto.sum(x, axis=0, keepdims=True))

    for extent in (3, 12):
        x, outs = np.arange(12, dtype=F32), [np.zeros(extent, F32) for _ in range(2)]
        for kernel, out in zip((shown, hidden), outs, strict=True):
            pypto.compile(kernel, target=target).execute(x, out)
        np.testing.assert_array_equal(*outs)


def test_a_changed_input_is_an_output(target):
    @tile
    def raised(x, out):
        alias = x
        alias += 1.0
        out[:] = x

    x, out = np.zeros(3, F32), np.zeros(3, F32)
    result = pypto.compile(raised, target=target).execute(x, out)
    assert list(result.outputs) == ["x", "out"]
    assert x.tolist() == out.tolist() == [1, 1, 1]


def test_stages_and_their_links_know_what_was_written(target):
    @tile
    def first(x, middle):
        fill(middle, x * 2.0)

    @tile(outputs=("middle",))
    def declared(x, middle):
        fill(middle, x * 2.0)

    @tile
    def second(middle, out):
        fill(out, middle + 1.0)

    link = pypto.Dependency(src_op="declared", dst_op="second", src_buffer="middle", dst_buffer="middle")
    x, out = np.arange(3, dtype=F32), np.zeros(3, F32)
    result = pypto.compile([declared, second], pypto.TileConfig(dependency=link), target=target).execute(x, out)
    assert list(result.outputs) == ["out"]
    np.testing.assert_array_equal(out, x * 2 + 1)
    pypto.compile(first, target=target).execute(x, out)
    np.testing.assert_array_equal(out, x * 2)

"""Calling compiled kernels: binding, specialisations, results, memory that arguments share, made inputs, pickling."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest
import torch

import pypto
from pypto import tile

TARGETS = ("cpu", "reference", "eager")
F32 = np.float32


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


@tile
def scaled(x, out, s=3.0, *, bias=0.5):
    out[:] = x * s + bias


@tile
def doubled(x, out):
    out[:] = x * 2.0


def run(kernel, *arguments, target, **keywords):
    return pypto.compile(kernel, target=target).execute(*arguments, **keywords)


# -- binding


@pytest.mark.parametrize(
    ("arguments", "keywords", "s", "bias"),
    [
        ((), {}, 3, 0.5),
        ((2.0,), {}, 2, 0.5),
        ((), {"s": 4.0}, 4, 0.5),
        ((), {"bias": 1.0}, 3, 1),
        ((1.0,), {"bias": 0.0}, 1, 0),
    ],
)
def test_defaults_and_keywords(target, arguments, keywords, s, bias):
    x, out = np.arange(7, dtype=F32), np.zeros(7, F32)
    run(scaled, x, out, *arguments, target=target, **keywords)
    np.testing.assert_array_equal(out, x * F32(s) + F32(bias))


def test_all_arguments_by_name_in_any_order(target):
    x, out = np.arange(7, dtype=F32), np.zeros(7, F32)
    run(scaled, out=out, bias=2.0, x=x, target=target)
    np.testing.assert_array_equal(out, x * 3 + 2)


def test_numbers_of_every_kind(target):
    x = np.arange(5, dtype=F32)
    kernel = pypto.compile(scaled, target=target)
    for s in (2, 2.0, True, np.float32(2), np.int64(2)):
        out = np.zeros(5, F32)
        kernel.execute(x, out, s)
        np.testing.assert_array_equal(out, x * F32(s) + F32(0.5))


def test_python_floats_are_exact_beside_f64(target):
    x, out = np.ones(3), np.zeros(3)
    run(scaled, x, out, 0.1, target=target, bias=0.0)
    np.testing.assert_array_equal(out, np.full(3, 0.1))


def test_annotated_parameters_are_constants_of_the_signature(target):
    @tile
    def repeated(x, out, turns: int = 2):
        y = x + 0.0
        for _ in range(turns):
            y = y * 2.0
        out[:] = y

    kernel, x = pypto.compile(repeated, target=target), np.arange(3, dtype=F32)
    for turns in (0, 1, 3, 1):
        out = np.zeros(3, F32)
        kernel.execute(x, out, turns)
        np.testing.assert_array_equal(out, x * 2**turns)


def test_none_and_strings_are_constants(target):
    @tile
    def chosen(x, out, mode="plain", extra=None):
        out[:] = x if mode == "plain" else -x
        if extra is not None:
            out += extra

    kernel, x = pypto.compile(chosen, target=target), np.arange(3, dtype=F32)
    out = np.zeros(3, F32)
    kernel.execute(x, out)
    np.testing.assert_array_equal(out, x)
    kernel.execute(x, out, "negative")
    np.testing.assert_array_equal(out, -x)
    kernel.execute(x, out, "plain", np.ones(3, F32))
    np.testing.assert_array_equal(out, x + 1)


def test_any_parameter_name_may_be_a_keyword(target):
    @tile
    def odd(self, arguments, out):
        out[:] = self + arguments

    ones, out = np.ones(3, F32), np.zeros(3, F32)
    run(odd, self=ones, arguments=ones, out=out, target=target)
    assert (out == 2).all()


# -- results


def test_outputs_by_name_attribute_and_position(target):
    @tile
    def two(x, low, high):
        low[:] = x - 1.0
        high[:] = x + 1.0

    x, low, high = np.arange(4, dtype=F32), np.zeros(4, F32), np.zeros(4, F32)
    result = run(two, x, low, high, target=target)
    assert result.outputs.low is low
    assert result.outputs["high"] is high
    assert result.outputs[1] is high
    assert list(result.outputs) == ["low", "high"]
    assert dict(result.outputs) == {"low": low, "high": high}
    assert result.verification_passed is None
    with pytest.raises(AttributeError, match="did you mean 'high'"):
        result.outputs.hihg
    with pytest.raises(KeyError, match="did you mean 'low'"):
        result.outputs["lw"]


def test_verify_compares_with_the_reference(target):
    x, out = np.linspace(-3, 3, 100, dtype=F32), np.zeros(100, F32)
    result = run(scaled, x, out, target=target, verify=True)
    assert result.verification_passed is True
    assert result.verification_error is None


def test_verify_finds_a_wrong_result():
    from pypto.ir.dtypes import F32 as f32
    from pypto.verification import compare

    kernel = pypto.compile(doubled, target="reference", shapes={"x": 4, "out": 4})
    module = kernel.module_at("tile")
    wanted = np.arange(4, dtype=F32)
    got = wanted.copy()
    got[2] += 1e-4
    problem = compare(module, {"out": f32}, {"out": got}, {"out": wanted}, 4.0)
    assert problem is not None
    assert "out[2]" in problem
    assert "1 of 4 elements differ" in problem
    nothing = np.array([np.nan, np.inf, -np.inf, 0.0], F32)
    assert compare(module, {"out": f32}, {"out": nothing}, {"out": nothing.copy()}, 1.0) is None


# -- specialisations


def test_shapes_dtypes_and_strides_each_get_what_they_need(target):
    kernel = pypto.compile(doubled, target=target)
    for shape in ((), (0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 4)):
        for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32):
            x = np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape).astype(dtype)
            for given in (x, x[::-1] if shape else x, np.asfortranarray(x)):
                out = np.zeros(shape, dtype)
                kernel.execute(given, out)
                np.testing.assert_array_equal(out.astype(np.float64), given.astype(np.float64) * 2)


def test_specialisations_are_bounded():
    with pypto.settings(specializations=3):
        kernel = pypto.compile(doubled, target="reference")
        for extent in range(1, 8):
            kernel.execute(np.ones(extent, F32), np.zeros(extent, F32))
        assert "specialisations in memory: 3 of at most 3" in kernel.explain()


SCALE = 2.0


def test_a_changed_global_compiles_again(target, monkeypatch):
    @tile
    def by_global(x, out):
        out[:] = x * SCALE

    kernel, x, out = pypto.compile(by_global, target=target), np.ones(3, F32), np.zeros(3, F32)
    for scale in (2.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        for _ in range(2):
            kernel.execute(x, out)
            np.testing.assert_array_equal(out, np.full(3, scale))


def test_a_changed_closure_list_or_helper_compiles_again(target):
    factors = [2.0]
    offset = 1.0

    @tile
    def by_closure(x, out):
        out[:] = x * factors[0] + offset

    kernel, x, out = pypto.compile(by_closure, target=target), np.ones(3, F32), np.zeros(3, F32)
    kernel.execute(x, out)
    factors[0] = 5.0
    kernel.execute(x, out)
    np.testing.assert_array_equal(out, np.full(3, 6.0))
    offset = 2.0
    kernel.execute(x, out)
    np.testing.assert_array_equal(out, np.full(3, 7.0))


# -- arguments


def test_torch_tensors_without_copies(target):
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32):
        x = torch.arange(12).to(dtype).reshape(3, 4)
        out = torch.zeros(4, 3, dtype=dtype)
        before = out._version
        run(doubled, x.T, out, target=target)
        assert torch.equal(out, x.T * 2)
        assert out._version > before or target != "cpu"


def test_one_input_twice(target):
    @tile
    def squared(x, y, out):
        out[:] = x * y + y

    x, out = np.arange(5, dtype=F32), np.zeros(5, F32)
    run(squared, x, x, out, target=target)
    np.testing.assert_array_equal(out, x * x + x)


def test_output_that_is_the_input_means_what_numpy_means(target):
    @tile
    def two(a, out, out2):
        out[:] = a + 1.0
        out2[:] = a + 2.0

    a, out2 = np.arange(33, dtype=F32), np.zeros(33, F32)
    kernel = pypto.compile(two, target=target)
    kernel.execute(a, a, out2)
    np.testing.assert_array_equal(a, np.arange(33, dtype=F32) + 1)
    np.testing.assert_array_equal(out2, np.arange(33, dtype=F32) + 3)
    apart = np.zeros(33, F32)
    kernel.execute(a, apart, out2)
    np.testing.assert_array_equal(out2, a + 2)


def test_both_inputs_and_the_output_are_one_memory(target):
    @tile
    def twice(x, y, out, other):
        out[:] = x + y
        other[:] = x + y

    x, other = np.arange(33, dtype=F32), np.zeros(33, F32)
    run(twice, x, x, x, other, target=target)
    np.testing.assert_array_equal(x, np.arange(33) * 2)
    np.testing.assert_array_equal(other, np.arange(33) * 4)


@tile
def transposed(x, out):
    out[:] = x.T + x


@tile
def reversed_rows(x, out):
    out[:] = x[::-1] * 2.0


@tile
def shifted(x, out):
    out[1:] = x[:-1] + 1.0


@tile
def carried(x, out):
    for i in pypto.loop(4):
        out[i + 1] = x[i] + 1.0


@tile
def centred(x, out):
    out[:] = x - pypto.mean(x, axis=0, keepdims=True)


@tile
def normalised(x, out):
    out[:] = pypto.nn.softmax(x, axis=-1)


@tile
def again(x, out):
    out[:] = x * 2.0
    out[:2] = x[3:5]
    out += x


def in_numpy(name, x):
    """What the kernels above mean when `out` is `x`."""
    if name == "transposed":
        x[:] = x.T + x
    elif name == "reversed_rows":
        x[:] = x[::-1] * 2
    elif name == "shifted":
        x[1:] = x[:-1] + 1
    elif name == "carried":
        for i in range(4):
            x[i + 1] = x[i] + 1
    elif name == "centred":
        x[:] = x - x.mean(axis=0, keepdims=True)
    elif name == "normalised":
        x[:] = np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)
    else:
        x[:] = x * 2
        x[:2] = x[3:5]
        x += x


@pytest.mark.parametrize(
    "kernel", [transposed, reversed_rows, shifted, carried, centred, normalised, again], ids=lambda item: item.name
)
@pytest.mark.parametrize("extent", [5, 130])
def test_in_place_means_what_numpy_means(target, kernel, extent):
    x = np.random.default_rng(3).random((extent, extent)).astype(F32)
    wanted = x.copy()
    in_numpy(kernel.name, wanted)
    result = run(kernel, x, x, target=target, verify=True)
    np.testing.assert_allclose(x, wanted, rtol=1e-5, atol=1e-6)
    assert result.verification_passed, result.verification_error


def test_output_that_partly_is_the_input(target):
    for extent in (9, 1000):
        buffer = np.arange(extent, dtype=F32)
        wanted = buffer.copy()
        wanted[1:] = buffer[:-1] * 2
        kernel = pypto.compile(doubled, target=target)
        kernel.execute(buffer[:-1], buffer[1:])
        np.testing.assert_array_equal(buffer, wanted)
        assert f"each launch copies its {4 * (extent - 1)} bytes" in kernel.notes[0]


def test_a_transposed_view_of_the_output(target):
    x = np.arange(9, dtype=F32).reshape(3, 3)
    wanted = x.T * 2
    run(doubled, x.T, x, target=target)
    np.testing.assert_array_equal(x, wanted)


# -- execute() without arguments


def test_made_inputs_are_the_same_every_time(target):
    kernel = pypto.compile(doubled, target=target, shapes={"x": (3, 5), "out": (3, 5)})
    first, second = kernel.execute().outputs.out, kernel.execute(verify=True).outputs.out
    assert first.shape == (3, 5)
    np.testing.assert_array_equal(first, second)


def test_made_inputs_take_the_shapes_of_the_last_call(target):
    kernel = pypto.compile(doubled, target=target)
    kernel.execute(np.ones((2, 7)), np.zeros((2, 7)))
    out = kernel.execute().outputs.out
    assert (out.shape, out.dtype) == ((2, 7), np.float64)


def test_made_inputs_in_the_shapes_that_decorators_cover(target):
    @tile(shape=(4, 8), tile_num=3)
    def tiles(x, out):
        out[:] = x + 1.0

    kernel = pypto.compile(tiles, target=target)
    assert kernel.execute().outputs.out.shape == (12, 8)
    assert kernel.execute(np.ones((5, 8), F32), np.zeros((5, 8), F32)).outputs.out.shape == (5, 8)


def test_what_known_shapes_compiled_serves_the_first_call(target):
    shapes = {"x": (3, 5), "out": (3, 5)}
    for dtype in (np.float32, np.float64):
        kernel = pypto.compile(scaled, target=target, shapes=shapes, dtypes=dtype)
        kernel.execute(np.ones((3, 5), dtype), np.zeros((3, 5), dtype))
        assert "specialisations in memory: 1 of" in kernel.explain()


# -- threads and processes


def test_eight_threads_call_one_kernel(target):
    kernel = pypto.compile(doubled, target=target)
    wrong = []

    def work(seed):
        for extent in (5, 64, 1000):
            x = np.random.default_rng(seed).random(extent).astype(F32)
            out = np.zeros(extent, F32)
            kernel.execute(x, out)
            if not np.array_equal(out, x * 2):
                wrong.append((seed, extent))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_fork_while_another_thread_compiles():
    kernel = pypto.compile(doubled, target="cpu")
    kernel.execute(np.ones(3, F32), np.zeros(3, F32))
    with kernel._lock:  # as a compiling thread holds it
        child = os.fork()
        if child == 0:
            x, out = np.arange(40, dtype=F32), np.zeros(40, F32)
            thread = threading.Thread(target=kernel.execute, args=(x, out))
            thread.start()
            thread.join(30)
            os._exit(0 if np.array_equal(out, x * 2) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_tile_functions_pickle_by_name_and_copy_to_themselves():
    assert pickle.loads(pickle.dumps([doubled, scaled])) == [doubled, scaled]
    assert copy.deepcopy({"kernel": doubled})["kernel"] is copy.copy(doubled) is doubled

    @tile
    def local(x, out):
        out[:] = x

    with pytest.raises(pypto.UserError, match="cannot be imported from module"):
        pickle.dumps(local)


def test_pickling_by_source(target):
    kernel = pypto.compile(scaled, config={"tile_num": 4}, target=target)
    copy = pickle.loads(pickle.dumps(kernel))
    x, out = np.arange(7, dtype=F32), np.zeros(7, F32)
    copy.execute(x, out)
    np.testing.assert_array_equal(out, x * 3 + F32(0.5))
    assert (copy.name, copy.target) == (kernel.name, kernel.target)


def test_a_written_parameter_of_rank_zero_is_an_array() -> None:
    @pypto.tile
    def double(x, out):
        out[...] = x * 2

    kernel = pypto.compile(double, shapes={"x": (), "out": ()})
    assert "out: gm f32" in kernel.to_text("tile")

"""Whatever a schedule asks of the CPU target, results are the reference's; defaults and the decorator change nothing."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import pypto
from pypto.ir import interpreter
from pypto.ir.nodes import Module
from pypto.ir.parser import parse_module
from pypto.ir.printer import print_module
from pypto.ir.schedule import Schedule, with_schedule
from tests.codegen.llvm.harness import compile_module
from tests.codegen.llvm.random_kernels import RandomKernel


def any_schedule(seed: int) -> Schedule:
    """Return a schedule with some of all choices, sensible or not."""
    source = random.Random(seed)

    def maybe(*values: Any) -> Any:
        return source.choice(values) if source.random() < 0.6 else None

    shape = tuple(source.choice((None, 1, 2, 3, 8, 17, 64, 1000)) for _ in range(source.randint(1, 4)))
    return Schedule(
        tile_shape=maybe(shape),
        tile_num=maybe(1, 2, 7, 1000),
        tile_k=maybe(1, 3, 16, 64, 1000),
        loop_order=maybe((1, 0), (0, 1), (2, 0, 1), (5, 0)),
        split_k=maybe(1, 2, 5, 100),
        vector_bits=maybe(128, 256, 512),
        threads=maybe(1, 2),
        streaming=maybe(True, False),
        unroll=maybe(1, 2, 3, 8, 100),
    )


@pytest.mark.parametrize("seed", range(120))
def test_random_kernels_with_random_schedules(seed: int) -> None:
    kernel, schedule = RandomKernel(seed), any_schedule(seed)
    module = with_schedule(kernel.module, schedule)
    assert parse_module(print_module(module)) == module
    ours, expected = kernel.arrays(seed), kernel.arrays(seed)
    interpreter.run(kernel.module, expected)
    code = compile_module(module, ours, 512)
    code(ours, chunk=1 if seed % 2 else None, backwards=seed % 4 == 3)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=f"{name} {schedule}")


# -- kernels with products, attention and long reductions


@pypto.tile
def softmax(x, out):
    out[:] = pypto.nn.softmax(x, axis=-1)


@pypto.tile
def normalised(x, y, out):
    out[:] = pypto.nn.layer_norm(x) * y + pypto.exp(y)


@pypto.tile
def column_sums(x, out):
    out[:] = pypto.sum(x, axis=0)


@pypto.tile
def total(x, out):
    out[:] = pypto.sum(x, axis=(0, 1))


@pypto.tile
def transposed(x, out):
    out[:] = x.T * 2.0 + x.T


@pypto.tile
def product(x, y, out):
    out[:] = pypto.nn.relu(x @ y)


@pypto.tile
def linear(x, y, out):
    out[:] = x @ y.T


@pypto.tile
def convolution(x, w, out):
    out[:] = pypto.nn.conv2d(x, w, padding=1)


@pypto.tile
def attention(q, k, v, out):
    out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, is_causal=True)


KERNELS: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "softmax": (softmax, ((37, 100), (37, 100))),
    "normalised": (normalised, ((40, 70), (40, 70), (40, 70))),
    "column_sums": (column_sums, ((300, 1030), (1030,))),
    "total": (total, ((700, 600), ())),
    "transposed": (transposed, ((130, 257), (257, 130))),
    "product": (product, ((130, 700), (700, 257), (130, 257))),
    "batch": (product, ((3, 33, 65), (3, 65, 31), (3, 33, 31))),
    "linear": (linear, ((65, 130), (257, 130), (65, 257))),
    "convolution": (convolution, ((2, 5, 9, 17), (7, 5, 3, 3), (2, 7, 9, 17))),
    "attention": (attention, ((2, 150, 16), (2, 150, 16), (2, 150, 16), (2, 150, 16))),
}


def traced(name: str) -> tuple[Module, dict[str, np.ndarray]]:
    """Return a kernel's module at level tile and float32 arguments; the result is full of NaN."""
    kernel, shapes = KERNELS[name]
    names = list(kernel.signature.parameters)
    module = pypto.compile(kernel, target="cpu", shapes=dict(zip(names, shapes, strict=True))).module_at("tile")
    source = np.random.default_rng(len(name))
    arrays = {item: source.standard_normal(shape).astype(np.float32) for item, shape in zip(names, shapes, strict=True)}
    arrays["out"] = np.full(shapes[-1], np.nan, np.float32)
    return module, arrays


@pytest.mark.parametrize("name", KERNELS)
def test_sums_and_products_with_random_schedules(name: str) -> None:
    """Sums may add up in another order, within a few units in the last place of the largest partial result."""
    module, arrays = traced(name)
    wide = {item: array.copy() for item, array in arrays.items()}
    interpreter.run(module, wide)
    expected = wide["out"].astype(np.float64)
    scale = max(1.0, float(np.abs(expected).max()))
    for seed in range(7):
        schedule = any_schedule(1000 + seed)
        ours = {item: array.copy() for item, array in arrays.items()}
        compile_module(with_schedule(module, schedule), ours)(ours, chunk=(None, 1, 3)[seed % 3])
        np.testing.assert_allclose(ours["out"], expected, rtol=2e-5, atol=2e-5 * scale, err_msg=str(schedule))


# -- what counts as a choice


def code_of(module: Module, arrays: dict[str, np.ndarray]) -> tuple[object, ...]:
    code = compile_module(module, arrays).code
    return code.text, code.phases, code.threads


@pytest.mark.parametrize("choice", [
    {"tile_shape": (8, 64)}, {"vector_bits": 128}, {"unroll": 1}, {"streaming": True}, {"threads": 1}, {"tile_num": 2},
], ids=str)  # fmt: skip
def test_every_choice_changes_the_code(choice: dict[str, Any]) -> None:
    @pypto.tile
    def chain(x, out):
        out[:] = pypto.exp(x) * x

    shapes = {"x": (64, 1024), "out": (64, 1024)}
    module = pypto.compile(chain, target="cpu", shapes=shapes).module_at("tile")
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    assert code_of(with_schedule(module, Schedule(**choice)), arrays) != code_of(module, arrays)


@pytest.mark.parametrize("choice", [
    {"tile_shape": (32, 32)}, {"tile_k": 32}, {"tile_shape": (64, 64), "loop_order": (1, 0)},
], ids=str)  # fmt: skip
def test_products_obey_their_blocks(choice: dict[str, Any]) -> None:
    module, arrays = traced("product")
    assert code_of(with_schedule(module, Schedule(**choice)), arrays) != code_of(module, arrays)


def test_the_decorator_only_wishes_and_the_config_chooses() -> None:
    def body(x, out):
        out[:] = pypto.exp(x) + 1.0

    shapes = {"x": (64, 1024), "out": (64, 1024)}
    plain, wished = pypto.tile(body, name="body"), pypto.tile(shape=(8, 8), tile_num=1024, name="body")(body)
    sources = [
        pypto.compile(kernel, config, target="cpu", shapes=shapes).source()
        for kernel, config in ((plain, None), (wished, None), (plain, {"shape": (8, 8)}), (wished, {"shape": (8, 8)}))
    ]
    assert sources[0] == sources[1]
    assert sources[2] == sources[3] != sources[0]
    assert pypto.compile(wished, shapes=shapes).tiling["body"]["declared"] == ("tile_num", "tile_shape")
    assert "declared" not in pypto.compile(wished, {"shape": (8, 8), "tile_num": 1024}, shapes=shapes).tiling["body"]


def test_every_field_of_a_schedule_has_a_rule() -> None:
    from pypto.ir.schedule import _RULES

    assert set(_RULES) == {item.name for item in fields(Schedule)}


def test_a_choice_takes_a_wish_off_the_list() -> None:
    wishes = Schedule(tile_shape=(4,), tile_num=2, declared=("tile_num", "tile_shape"))
    assert wishes.choices() == Schedule()
    assert wishes.choosing(tile_shape=(8,)).choices() == Schedule(tile_shape=(8,))
    assert replace(wishes, declared=None).choices() == Schedule(tile_shape=(4,), tile_num=2)


def test_tiles_that_belong_to_the_meaning_are_no_choice() -> None:
    @pypto.tile(shape=(16,), tile_num=8)
    def centred(x, out):
        out[:] = x - pypto.mean(x, axis=0)

    compiled = pypto.compile(centred, shapes={"x": (128,), "out": (128,)})
    module = compiled.module_at("tile")
    arrays = {"x": np.arange(128, dtype=np.float32) ** 2, "out": np.zeros(128, np.float32)}
    chosen = with_schedule(module, Schedule(tile_shape=(4,), tile_num=3, unroll=1))
    compile_module(chosen, arrays)(arrays)
    expected = arrays["x"].reshape(8, 16) - arrays["x"].reshape(8, 16).mean(1, keepdims=True)
    np.testing.assert_allclose(arrays["out"], expected.reshape(128), rtol=1e-5)
    assert code_of(with_schedule(module, Schedule(tile_shape=(4,), tile_num=3)), arrays) == code_of(module, arrays)


def test_threads_are_limited_to_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal((2048, 1024)).astype(np.float32)
    compiled = pypto.compile(softmax, target="cpu", shapes={"x": x.shape, "out": x.shape})
    results = []
    for threads in (None, 1, 3):
        module = with_schedule(compiled.module_at("tile"), Schedule(threads=threads))
        out = np.zeros_like(x)
        assert launch(module, {"x": x, "out": out}, 2) == (1 if threads == 1 else 2)
        results.append(out)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("name", KERNELS)
def test_bits_do_not_depend_on_threads_whatever_the_schedule(name: str) -> None:
    module, arrays = traced(name)
    for seed in range(3):
        schedule = replace(any_schedule(3000 + seed), threads=None)
        results = []
        for threads in (1, 2):
            ours = {item: array.copy() for item, array in arrays.items()}
            launch(with_schedule(module, schedule), ours, threads)
            results.append(ours["out"])
        np.testing.assert_array_equal(results[0], results[1], err_msg=str(schedule))


def launch(module: Module, arrays: dict[str, np.ndarray], threads: int) -> int:
    """Run a module through the thread pool; returns how many threads took part."""
    from pypto.codegen.llvm.emitter import emit
    from pypto.runtime.arguments import read
    from pypto.runtime.launcher import Launcher, Mode
    from pypto.runtime.toolchain import compile_code, host_machine

    code = emit(module, {}, host_machine())
    launcher = Launcher(code, compile_code(code, host_machine()), ("out",), mode=Mode.ALWAYS_LONG)
    with pypto.settings(num_threads=threads):
        launcher.run([read(name, array) for name, array in arrays.items()])
    return int(launcher._frame.call.participants)


def test_code_with_a_limit_of_threads_survives_the_disk_cache() -> None:
    from pypto.runtime.code_cache import read_code, write_code

    module, arrays = traced("softmax")
    code = compile_module(with_schedule(module, Schedule(threads=3)), arrays).code
    assert code.threads == 3
    assert read_code(write_code(code)) == code

"""Random kernels agree with the oracle on eager, reference and cpu, within the bounds of docs/numerics.md.

CI runs the same 500 kernels each time. The long mode: ``pytest tests/fuzz --fuzz-kernels=5000 --fuzz-seed=7``.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import pypto
from fuzz.along import ALONG
from fuzz.compare import TARGETS, batched_difference, failure, lowered_difference, smallest, wrong_elements
from fuzz.generator import FUNCTIONS_OF_TWO, SIMPLE, UNARY, Argument, Generator, Kernel, kernels
from fuzz.shadow import Refused, Shadow

PORTIONS = 20


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "portion" in metafunc.fixturenames:
        metafunc.parametrize("portion", range(PORTIONS))


def test_targets_agree_on_random_kernels(portion: int, pytestconfig: pytest.Config) -> None:
    count, seed = pytestconfig.getoption("--fuzz-kernels"), pytestconfig.getoption("--fuzz-seed")
    current = pytestconfig.cache.mkdir("fuzz") / f"portion{portion}.py"  # what ran last, should the process die
    for kernel in kernels(seed, range(portion, count, PORTIONS)):
        current.write_text(kernel.reproducer("cpu"), encoding="utf-8")
        for target in TARGETS:
            if failure(kernel, target) is not None:
                small = smallest(kernel, target)
                pytest.fail(f"{failure(small, target)}\n\n# {kernel.name}, made small\n{small.reproducer(target)}")


def test_batches_agree_with_their_items(portion: int, pytestconfig: pytest.Config) -> None:
    """Every eighth kernel, on a batch of three. (A kernel of rank 0 has no shape to give.)"""
    count, seed = pytestconfig.getoption("--fuzz-kernels") // 8, pytestconfig.getoption("--fuzz-seed")
    for kernel in kernels(seed + 1, range(portion, count, PORTIONS)):
        if all(not argument.shape for argument in kernel.arguments):
            continue
        for target in TARGETS:
            try:
                found = batched_difference(kernel, target, 3)
            except Refused:
                continue
            assert found is None, f"{found}\n\n# {kernel.name} on a batch\n{kernel.reproducer(target)}"


NPU_LIMITS = {"npu-dtype", "npu-operation", "strided-store", "unified-buffer-full"}


def test_lowering_keeps_the_meaning(portion: int, pytestconfig: pytest.Config) -> None:
    """Every other kernel, down to level planned. Left out: // and %, which the device computes from a rounded quotient."""
    count, seed = pytestconfig.getoption("--fuzz-kernels") // 2, pytestconfig.getoption("--fuzz-seed")
    taken = 0
    for kernel in kernels(seed + 2, range(portion, count, PORTIONS)):
        if "//" in kernel.source or "%" in kernel.source or any(item.kind == "special" for item in kernel.arguments):
            continue
        try:
            found = lowered_difference(kernel)
        except pypto.UserError as error:
            if error.name not in NPU_LIMITS:
                raise
            continue
        taken += 1
        assert found is None, f"{found}\n\n# {kernel.name}\n{kernel.reproducer('ascendc')}"
    assert taken


def test_one_seed_gives_one_kernel() -> None:
    first, second = (Generator(3, 5).kernel() for _ in range(2))
    assert first == second
    assert first != Generator(3, 6).kernel()


def test_generator_covers_every_mechanism() -> None:
    """What the random kernels are made of; a silent hole in the generator would be a hole in every target's test."""
    text = "".join(kernel.source for kernel in kernels(1, range(700)))
    for word in (
        "+", "-", "*", "/", "//", "%", "&", "|", "^", "~", "<", "<=", "==", "!=", "+=", "*=", "exp", "log", "sqrt", "rsqrt", "reciprocal",
        "tanh", "erf", "sigmoid", "relu", "gelu", "softmax", "layer_norm", "rms_norm", "where", "clip", "cast", "sum", "mean", "max", "min",
        "keepdims", "maximum", "minimum", "transpose", "reshape", "broadcast_to", "concat", "loop", "alias", "::-1", "None", "...", ".T",
    ):  # fmt: skip
        assert word in text, word
    for word in re.findall(r"pypto\.(\w+)\(", " ".join(ALONG)):
        assert word in text, word
    for word in (*FUNCTIONS_OF_TWO, *re.findall(r"pypto\.([\w.]+)\(", " ".join(UNARY + SIMPLE))):
        assert word in text, word
    arguments = [argument for kernel in kernels(1, range(400)) for argument in kernel.arguments]
    assert {argument.layout for argument in arguments} == {"plain", "stepped", "reversed", "column"}
    assert {argument.kind for argument in arguments} == {"exact", "special", "real"}
    assert len({argument.dtype for argument in arguments}) == 10
    assert any(0 in argument.shape for argument in arguments)


def test_oracle_refuses_steps_of_inexact_values() -> None:
    inexact = Shadow(np.ones(3), 1e-7, "float32")
    for step in (lambda: inexact < 1.0, lambda: inexact // 2.0, lambda: inexact % 2.0):
        with pytest.raises(Refused):
            step()


def test_oracle_notices_a_wrong_element() -> None:
    expected = Shadow(np.array([1.0, np.nan, np.inf, 2.0]), np.array([1e-7, 0, 0, 0]), "float32")
    assert wrong_elements(np.array([1 + 1e-7, np.nan, np.inf, 2], np.float32), expected) is None
    for position, value in ((0, 1 + 1e-6), (1, 0.0), (2, -np.inf), (3, np.nextafter(np.float32(2), np.float32(3)))):
        array = np.array([1, np.nan, np.inf, 2], np.float32)
        array[position] = value
        assert "1 of 4" in str(wrong_elements(array, expected))


def test_reproducer_is_a_script() -> None:
    kernel = Kernel("k", (Argument("x0", (3,), "float32", "real", "plain", 1), Argument("out0", (3,), "float32", "exact", "plain", 2)),
                    ("out0[:] = x0 + 1.0",))  # fmt: skip
    compile(kernel.reproducer("cpu"), "reproducer", "exec")

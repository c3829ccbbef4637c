"""Text and place of what the NPU target cannot do."""

from __future__ import annotations

import pytest

from passes.kernels import KernelBuilder, region
from pypto.codegen.ascendc.emitter import emit
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import F32, F64, I32, I64
from pypto.ir.index import Symbol
from pypto.ir.nodes import GridAxis, Role, Value
from pypto.ir.passes import insert_synchronisation
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES


def error(k: KernelBuilder, name: str, line: int, *parts: str) -> None:
    """Lower and emit what `k` has written; check the error's name, its line in ``kernel.py`` and parts of its text."""
    with pytest.raises(UserError) as caught:
        emit(run_passes(k.module(), NPU_PASSES)[0])
    assert caught.value.name == name
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == ("kernel.py", line)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_f64_array() -> None:
    k = KernelBuilder("wide")
    k.output("out", k.op("exp", k.input("x", (8,), F64)))
    error(k, "npu-dtype", 1, "x has dtype float64", "use float32 arrays", "target='cpu'")


def test_i64_array() -> None:
    k = KernelBuilder("long")
    wide = k.op("cast", k.input("x", (8,), I32), dtype=I64)
    k.output("out", k.op("add", wide, wide))
    error(k, "npu-dtype", 3, "add has dtype int64", "use int32")


def test_i64_store() -> None:
    k = KernelBuilder("long")
    k.output("out", k.input("x", (8,), I64))
    error(k, "npu-dtype", 1, "x has dtype int64")


def test_row_that_does_not_fit() -> None:
    """Nothing here can be computed in pieces: the carried row is whole in every turn."""
    k = KernelBuilder("long_rows")
    x = k.input("x", (1, 60_000))

    def body(i: Symbol, total: Value) -> tuple[Value, ...]:
        return (k.op("add", total, k.op("sub", x, k.op("max", total, axes=(1,)))),)

    k.output("out", k.loop("i", 0, 3, (x,), 1, body)[0])
    error(
        k, "unified-buffer-full", 1, "kernel long_rows needs", "a core has 196608", "240128 bytes: f32[1, 60000]",
        "line", "pypto.loop",
    )  # fmt: skip


def test_whole_rearrangement_that_does_not_fit() -> None:
    k = KernelBuilder("turned")
    k.output("out", k.op("reshape", k.input("x", (300, 1000)), shape=(1000, 300)))
    error(k, "unified-buffer-full", 1, "kernel turned needs", "1216000 bytes: f32[1000, 304], line 2")


def test_store_of_a_column_by_blocks() -> None:
    k = KernelBuilder("column")
    k.grid = (GridAxis(Symbol("block"), 2),)
    x = k.input("x", (6, 1))
    out = k.array("out", (6, 10), F32, Role.INOUT)
    k.store(out, x, region((0, 6), (3, 1)))
    error(k, "strided-store", 2, "a block stores to elements of out", "step 1 on axis 0", "write whole rows of out")


def test_extent_that_is_not_known() -> None:
    k = KernelBuilder("unknown")
    k.output("out", k.op("exp", k.input("x", (Symbol("n"), 8))))  # type: ignore[arg-type]  # a symbolic extent
    with pytest.raises(UserError) as caught:
        run_passes(k.module(), NPU_PASSES)
    assert caught.value.name == "unknown-extent"
    assert "extent %n in kernel unknown" in str(caught.value)
    assert "`shapes=`" in str(caught.value)
    assert str(caught.value.location) == "kernel.py:1"


def test_loaded_i64_is_no_operand() -> None:
    """It may serve as indices, which nothing but 32 bits of are needed of."""
    k = KernelBuilder("long")
    x, chosen = k.input("x", (8,)), k.input("chosen", (3,), I64)
    k.output("out", k.op("gather", x, chosen, axis=0, wrap=True))
    k.output("more", k.op("maximum", chosen, k.number(0, I64)))
    error(k, "npu-dtype", 2, "chosen has dtype int64", "use int32")


def test_sums_of_positions_that_may_not_fit() -> None:
    k = KernelBuilder("sums")
    wide = k.op("cast", k.input("x", (8,), I32), dtype=I64)
    k.output("out", k.op("cumsum", wide, axis=0))
    error(k, "npu-dtype", 3, "cumsum has dtype int64", "use int32")


def test_i64_constant_beyond_32_bits() -> None:
    k = KernelBuilder("large")
    numbers = k.op("iota", axis=0, dtype=I64, shape=(8,))
    k.output("out", k.op("lt", numbers, k.number(2**40, I64)))
    error(k, "npu-dtype", 3, "lt has dtype int64")


def test_product_of_matrices() -> None:
    k = KernelBuilder("product")
    k.output("out", k.op("matmul", k.input("x", (8, 16)), k.input("y", (16, 8))))
    error(k, "ascendc-cube", 3, "kernel product_product0 is planned for the cube cores", "target='cpu'")


def test_product_of_matrices_of_another_type() -> None:
    k = KernelBuilder("product")
    k.output("out", k.op("matmul", k.input("x", (8, 16), I32), k.input("y", (16, 8), I32)))
    error(k, "npu-operation", 3, "no way to compute matmul of int32", "f16, bf16, f32 and i8")


def test_product_of_matrices_in_a_loop() -> None:
    k = KernelBuilder("product")
    x, total = k.input("x", (8, 8)), k.input("y", (8, 8))

    def body(index: Symbol, carried: Value) -> tuple[Value, ...]:
        return (k.op("matmul", carried, x),)

    k.output("out", k.loop("i", 0, 3, (total,), 1, body)[0])
    error(k, "npu-operation", 3, "out of the loop")


def test_more_flags_than_there_are_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel as small as a test's needs more than six; here none are enough."""
    monkeypatch.setattr(insert_synchronisation, "order", lambda *_: insert_synchronisation.Refusal.IDS)
    k = KernelBuilder("crowded")
    k.output("out", k.op("exp", k.input("x", (64,))))
    error(k, "flag-ids", 1, "of kernel crowded need more than 6 flags", "split the kernel")

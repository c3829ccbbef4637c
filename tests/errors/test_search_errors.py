"""Text and place of the mistakes in search spaces, and in how many candidates are tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import pypto
from pypto import TilingSearchSpace, tile
from pypto.runtime.tuning.ranking import count_of

HERE = __file__


@tile
def double(x, out):
    out[:] = x * 2.0


def search(**axes: object) -> Callable[[], object]:
    """Return a function that looks for the candidates of `double` at 40 x 24."""
    module = pypto.compile(double, shapes={"x": (40, 24), "out": (40, 24)}).module_at("tile")
    return lambda: TilingSearchSpace(**axes).candidates(module, "cpu")


def space(**axes: object) -> Callable[[], object]:
    return lambda: TilingSearchSpace(**axes)


@pytest.mark.parametrize(("name", "parts", "call"), [
    ("memory-name", ("no memory called 'L5'", "did you mean 'L", "GM_per_tile"), space(tile_m=[1], constraint_memory={"L5": 1})),
    ("memory-size", ("L1 is '16 pounds'", "'16KB'"), space(tile_m=[1], constraint_memory={"L1": "16 pounds"})),
    ("memory-size", ("UB is 0",), space(tile_m=[1], constraint_memory={"UB": 0})),
    ("memory-size", ("UB is True",), space(tile_m=[1], constraint_memory={"UB": True})),
    ("memory-size", ("UB is '-4KB'",), space(tile_m=[1], constraint_memory={"UB": "-4KB"})),
    ("predicate-name", ("asks for 'tile_x'", "did you mean 'tile_m'"), space(tile_m=[1], predicates=lambda tile_x: True)),
    ("predicate-name", ("'tile_k'",), space(tile_m=TilingSearchSpace.when([1], tile_k=2))),
    ("predicate-name", ("'tile_m'",), space(tile_m=TilingSearchSpace.when([1], tile_m=2))),
    ("space-axis", ("nothing in 'double' is called 'tile_mm'", "did you mean 'tile_m'"), search(tile_mm=[1])),
    ("space-empty", ("axis tile_m has no values", "give tile_m one"), space(tile_m=[])),
    ("space-empty", ("search space of 'double'", "predicates exclude all"), search(tile_m=[1, 2], predicates=lambda tile_m: False)),
    ("space-rank", ("tiles=(8, 8, 8) has 3 extents", "has 2 axes", "at most 2"), search(tiles=[(8, 8, 8)])),
    ("space-too-large", ("tiles=[1048576,1048576]", "4398046511104 bytes", "smaller tiles"), search(tiles=[(1 << 20, 1 << 20)])),
    ("space-too-large", ("works on 7680 bytes", "allows 16 of L1"), search(tile_m=[64], constraint_memory={"L1": 16})),
    ("space-value", ("tile_m has the value 0", "positive whole numbers"), space(tile_m=[8, 0])),
    ("space-value", ("tile_m has the value True",), space(tile_m=True)),
    ("space-value", ("tile_m has the value '8'",), space(tile_m="8")),
    ("space-value", ("vector_bits has the value 384", "128, 256 or 512"), space(vector_bits=[384])),
    ("space-value", ("loop_order has the value 'mm'",), space(loop_order="mm")),
    ("space-value", ("loop_order has the value (1, 1)",), space(loop_order=(1, 1))),
    ("space-value", ("buffering has the value 4", "'triple'"), space(buffering=[1, 4])),
    ("space-value", ("streaming has the value 1", "True or False"), space(streaming=1)),
    ("space-value", ("anything has the value nan",), space(anything=float("nan"))),
    ("space-value", ("anything has the value {}",), space(anything={})),
    ("top-k", ("top_k is 0", "a fraction"), lambda: count_of(0, 9)),
    ("top-k", ("top_k is 1.5",), lambda: count_of(1.5, 9)),
    ("top-k", ("top_k is True",), lambda: count_of(True, 9)),
])  # fmt: skip
def test_mistake(name: str, parts: tuple[str, ...], call: Callable[[], object]) -> None:
    with pytest.raises(pypto.UserError) as caught:
        call()
    assert caught.value.name == name
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_a_mistake_in_a_space_is_placed_where_the_space_is_made() -> None:
    with pytest.raises(pypto.UserError) as caught:
        TilingSearchSpace(tile_m=0)
    assert caught.value.location is not None
    assert caught.value.location.file == HERE


@pytest.mark.parametrize(("attribute", "parts"), [
    ("vector_bits = 7", ("vector_bits = 7", "128, 256 or 512")),
    ("unroll = 0", ("unroll = 0", "a positive whole number")),
    ("threads = -1", ("threads = -1",)),
    ("tile_num = true", ("tile_num = True",)),
    ("tile_shape = 8", ("tile_shape = 8", "a list of positive whole numbers or none")),
    ("tile_shape = [0]", ("tile_shape = (0,)",)),
    ("loop_order = [1, 1]", ("loop_order = (1, 1)", "different axis numbers")),
    ("streaming = 1", ("streaming = 1", "true or false")),
    ('declared = ["shape"]', ("declared = ('shape',)", "names of the schedule")),
])  # fmt: skip
def test_a_schedule_in_a_text(attribute: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    text = pypto.compile(double, shapes={"x": (4, 4), "out": (4, 4)}).to_text("tile")
    file = tmp_path / "kernel.pto"
    file.write_text(text.replace("@fusion(", f"@fusion({attribute}, "))
    with pytest.raises(pypto.UserError) as caught:
        pypto.compile(str(file), target="cpu", shapes={"x": (4, 4), "out": (4, 4)})
    assert caught.value.name == "schedule-attribute"
    for part in ("kernel 'double' carries", *parts):
        assert part in str(caught.value), str(caught.value)


@pytest.mark.parametrize(("name", "value", "text"), [
    ("topn-not-integer", "ten", "PYPTO_AUTOTUNE_TOPN must be a positive integer, got: 'ten'"),
    ("topn-not-integer", "2.5", "PYPTO_AUTOTUNE_TOPN must be a positive integer, got: '2.5'"),
    ("topn-below-one", "0", "PYPTO_AUTOTUNE_TOPN must be >= 1, got: 0"),
    ("topn-below-one", "-3", "PYPTO_AUTOTUNE_TOPN must be >= 1, got: -3"),
])  # fmt: skip
def test_number_of_candidates(name: str, value: str, text: str) -> None:
    from pypto.ir.base.settings import from_environment

    for variable in ("PYPTO_AUTOTUNE_TOPN", "TORCHINDUCTOR_ASCENDC_AUTOTUNE_TOPN"):
        with pytest.raises(pypto.UserError) as caught:
            from_environment({variable: value})
        assert caught.value.name == name
        assert text.replace("PYPTO_AUTOTUNE_TOPN", variable) in str(caught.value)

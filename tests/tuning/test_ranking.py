"""The order in which candidates are tried, how many of them, and what the models say."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any

import pytest

import pypto
from pypto.automatic_space import automatic_space
from pypto.codegen.llvm.code import Machine
from pypto.ir.base.settings import from_environment
from pypto.ir.nodes import Module
from pypto.ir.schedule import Schedule
from pypto.runtime.toolchain import host_machine
from pypto.runtime.tuning.candidate import Candidate, Outcome
from pypto.runtime.tuning.cpu_figures import figures
from pypto.runtime.tuning.cpu_model import CpuModel
from pypto.runtime.tuning.models import model_for
from pypto.runtime.tuning.ranking import best, count_of, rank
from pypto.runtime.tuning.roofline import Roofline


@pypto.tile
def double(x, out):
    out[:] = x * 2.0


@pypto.tile
def chain(x, y, out):
    out[:] = pypto.nn.gelu(x * y) + y


@pypto.tile
def softmax(x, out):
    out[:] = pypto.nn.softmax(x, axis=-1)


@pypto.tile
def column_sums(x, out):
    out[:] = pypto.sum(x, axis=0)


@pypto.tile
def product(x, y, out):
    out[:] = x @ y


@pypto.tile
def convolution(x, w, out):
    out[:] = pypto.nn.conv2d(x, w, padding=1)


@pypto.tile
def attention(q, k, v, out):
    out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, is_causal=True)


@pypto.tile(tile_num=4)
def blocks(x, out):
    b = pypto.get_block_id()
    out[b] = x[b] + 1.0


def traced(kernel: Any, *shapes: tuple[int, ...]) -> Module:
    names = list(kernel.signature.parameters)
    return pypto.compile(kernel, shapes=dict(zip(names, shapes, strict=True))).module_at("tile")


@dataclass
class Told:
    """A model that knows the times, by unroll."""

    times: dict[int | None, float]
    source: str = "told"
    asked: list[int | None] = field(default_factory=list)

    def predict(self, module: Module, schedule: Schedule) -> float:
        self.asked.append(schedule.unroll)
        return self.times[schedule.unroll]


def some(*unrolls: int | None) -> list[Candidate]:
    return [Candidate((("unroll", item),), Schedule(unroll=item), is_default=item is None) for item in unrolls]


def small() -> Module:
    return traced(double, (4, 4), (4, 4))


# -- order and number


def test_the_default_is_not_first_unless_the_model_says_so() -> None:
    """F: the reference sorts the default first, so that one candidate is the default whatever the model says."""
    ranked = rank(some(None, 1, 2), small(), Told({None: 3.0, 1: 2.0, 2: 1.0}))
    assert [item.schedule.unroll for item in ranked] == [2, 1, None]
    assert [item.predicted for item in ranked] == [1.0, 2.0, 3.0]
    kept, cut = best(ranked, 1)
    assert [item.schedule.unroll for item in kept] == [2, None], "the default is kept beside the best, uncounted"
    assert [(trial.candidate.schedule.unroll, trial.outcome) for trial in cut] == [(1, Outcome.NOT_RANKED)]


def test_the_default_counts_where_the_model_puts_it_among_the_best() -> None:
    ranked = rank(some(1, None, 2), small(), Told({None: 1.0, 1: 2.0, 2: 3.0}))
    kept, cut = best(ranked, 2)
    assert [item.schedule.unroll for item in kept] == [None, 1]
    assert [trial.candidate.schedule.unroll for trial in cut] == [2]
    assert "place 3, 2 are tried" in cut[0].reason


def test_ties_go_by_text_whatever_the_order() -> None:
    for order in itertools.permutations((1, 2, 8)):
        ranked = rank(some(*order), small(), Told(dict.fromkeys((1, 2, 8), 1.0)))
        assert [item.schedule.unroll for item in ranked] == [1, 2, 8]


def test_at_most_ten_are_tried_however_many_are_asked_for() -> None:
    numbers = tuple(range(1, 31))
    ranked = rank(some(None, *numbers), small(), Told({None: 99.0, **{number: float(number) for number in numbers}}))
    kept, cut = best(ranked, 25)
    assert [item.schedule.unroll for item in kept] == [*range(1, 11), None]
    assert len(cut) == 20
    kept, _ = best(ranked, 25, most=100)
    assert len(kept) == 26


def test_a_fraction_that_rounds_to_nothing_keeps_one() -> None:
    """F: a fraction of the candidates that rounds to 0 crashes the reference."""
    assert count_of(0.01, 5) == 1
    assert count_of(0.5, 5) == 2
    assert count_of(1.0, 5) == 5
    assert count_of(3, 5) == 3
    assert count_of(30, 5) == 5


# -- the setting


def test_one_candidate_unless_told_otherwise() -> None:
    assert from_environment({}).autotune_topn == 1
    assert from_environment({"PYPTO_AUTOTUNE_TOPN": "4"}).autotune_topn == 4
    assert from_environment({"TORCHINDUCTOR_ASCENDC_AUTOTUNE_TOPN": "3"}).autotune_topn == 3
    both = {"TORCHINDUCTOR_ASCENDC_AUTOTUNE_TOPN": "none", "PYPTO_AUTOTUNE_TOPN": "4"}
    assert from_environment(both).autotune_topn == 4


def test_more_than_ten_are_cut_to_ten() -> None:
    from pypto.runtime.tuning.topn import autotune_topn

    with pypto.settings(autotune_topn=11):
        assert autotune_topn() == 10
    with pypto.settings(autotune_topn=3):
        assert autotune_topn() == 3


def test_more_than_ten_warns_once_at_import() -> None:
    program = (
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as found:\n"
        "    warnings.simplefilter('always')\n"
        "    from pypto.runtime.tuning.topn import autotune_topn\n"
        "    import pypto.runtime.tuning.topn\n"
        "    print(autotune_topn(), autotune_topn(), *[item.message for item in found], sep='|')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYPTO_AUTOTUNE_TOPN": "12", "PATH": ""}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    text = "PYPTO_AUTOTUNE_TOPN=12 exceeds the maximum of 10; at most 10 solutions will be returned."
    assert done.stdout == f"10|10|{text}\n"


# -- the model of the CPU


def predictions(module: Module, machine: Machine | None = None, threads: int = 1, **choices: Any) -> float:
    return CpuModel({}, machine or host_machine(), threads).predict(module, Schedule(**choices))


KERNELS: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "chain": (chain, ((64, 1000), (1000,), (64, 1000))),
    "softmax": (softmax, ((100, 130), (100, 130))),
    "column_sums": (column_sums, ((200, 300), (300,))),
    "product": (product, ((130, 70), (70, 257), (130, 257))),
    "convolution": (convolution, ((2, 5, 9, 17), (7, 5, 3, 3), (2, 7, 9, 17))),
    "attention": (attention, ((2, 150, 16), (2, 150, 16), (2, 150, 16), (2, 150, 16))),
    "blocks": (blocks, ((4, 33), (4, 33))),
    "nothing": (double, ((0, 5), (0, 5))),
    "one": (double, ((), ())),
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_candidate_of_every_kernel_has_a_time(name: str) -> None:
    kernel, shapes = KERNELS[name]
    module = traced(kernel, *shapes)
    for target in ("cpu", "ascendc", "reference"):
        if target == "ascendc" and name in ("convolution", "attention", "nothing"):
            continue
        found = automatic_space(module, target).candidates(module, target)
        ranked = rank(found.usable, module, model_for(target, {}))
        assert ranked
        for item in ranked:
            assert item.predicted is not None
            assert 0 <= item.predicted < 1, item


def test_a_larger_kernel_takes_longer() -> None:
    times = [predictions(traced(chain, (rows, 1024), (1024,), (rows, 1024))) for rows in (64, 512, 4096)]
    assert times[0] * 6 < times[1] < times[0] * 12
    assert times[1] * 6 < times[2] < times[1] * 24, "beyond the caches"


def test_the_model_sees_what_choices_cost() -> None:
    module = traced(chain, (1024, 1024), (1024,), (1024, 1024))
    default = predictions(module)
    assert predictions(module, vector_bits=128) > 2 * predictions(module, vector_bits=512)
    assert predictions(module, tile_shape=(1, 8)) > 1.5 * default, "short loops"
    assert predictions(module, streaming=True) > default, "results that fit the caches"
    large = traced(double, (4096, 4096), (4096, 4096))
    assert predictions(large, streaming=True) < predictions(large, streaming=False)
    narrow = traced(softmax, (1024, 64), (1024, 64))
    assert predictions(narrow, tile_shape=(1, None)) > predictions(narrow, tile_shape=(8, None)), "items of one row"
    deep = traced(product, (512, 512), (512, 512), (512, 512))
    assert predictions(deep, tile_shape=(32, 64)) > 1.2 * predictions(deep, tile_shape=(256, 512)), "packed too often"


def test_cold_caches_take_longer_and_favour_stores_past_them() -> None:
    module = traced(chain, (1024, 1024), (1024,), (1024, 1024))
    warm, cold = (CpuModel({}, host_machine(), 1, is_cold) for is_cold in (False, True))
    assert cold.predict(module, Schedule()) > warm.predict(module, Schedule())
    past = Schedule(streaming=True)
    assert cold.predict(module, past) < cold.predict(module, Schedule(streaming=False))
    assert warm.predict(module, past) > warm.predict(module, Schedule(streaming=False))


def test_threads_share_the_work_but_not_for_nothing() -> None:
    large = traced(chain, (4096, 1024), (1024,), (4096, 1024))
    assert predictions(large, threads=2) < 0.75 * predictions(large)
    one = CpuModel({}, host_machine(), 2).predict(large, Schedule(threads=1))
    assert one == predictions(large)
    tiny = traced(double, (8, 8), (8, 8))
    assert predictions(tiny, threads=2) == predictions(tiny), "a short call stays on one thread"


def test_predictions_do_not_depend_on_what_was_asked_before() -> None:
    module = traced(softmax, (64, 64), (64, 64))
    schedules = [Schedule(), Schedule(unroll=1), Schedule(tile_shape=(8, None))]
    forward = [predictions(module, **item.attributes()) for item in schedules]
    backward = [predictions(module, **item.attributes()) for item in reversed(schedules)]
    assert forward == backward[::-1]


def test_figures_are_those_of_the_file() -> None:
    known = figures()
    assert 1 < known.gigahertz < 8
    sizes = [level.size for level in known.levels]
    assert sizes == sorted(sizes)
    reads = [level.read for level in known.levels]
    assert reads == sorted(reads), "further away is slower"
    assert known.level(1) is known.levels[0]
    assert known.level(1 << 40) is known.levels[-1]


# -- the roofline


def test_the_roofline_sees_buffers_cores_and_bursts() -> None:
    module = traced(double, (2048, 4096), (2048, 4096))
    model = Roofline()
    default = model.predict(module, Schedule())
    assert model.predict(module, Schedule(buffer_depth=1)) > default
    assert model.predict(module, Schedule(aicore_num=2)) > 2 * default
    assert model.source == "modelled:ascend910b1"
    # 32 MiB in at 1.41 TB/s and about 20 us to launch on all cores.
    assert 20e-6 + 32 * 2**20 / 1.41e12 < default < 100e-6


def test_the_roofline_of_a_product_counts_multiplications() -> None:
    times = [
        Roofline().predict(traced(product, (512, depth), (depth, 512), (512, 512)), Schedule()) for depth in (512, 2048)
    ]
    assert times[1] > times[0]


# -- spaces made by themselves


@pytest.mark.parametrize("name", KERNELS)
def test_a_space_made_by_itself_holds_what_the_kernel_allows(name: str) -> None:
    kernel, shapes = KERNELS[name]
    module = traced(kernel, *shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = automatic_space(module, "cpu").candidates(module, "cpu")
    assert found.default is not None
    assert not [trial for trial in found.rejected if trial.outcome is not Outcome.DUPLICATE]
    assert len(found.usable) < 150


def test_spaces_hold_real_differences() -> None:
    for kernel, shapes in ((chain, ((256, 1024), (1024,), (256, 1024))), (product, ((256, 256),) * 3)):
        module = traced(kernel, *shapes)
        assert len(automatic_space(module, "cpu").candidates(module, "cpu").usable) > 20
        assert len(automatic_space(module, "ascendc").candidates(module, "ascendc").usable) > 3

"""Matrix products on the cube cores: numbers at addresses, every order of pipes, every flag and barrier needed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from passes.cube_corpus import CUBE_CORPUS, SMALL, WITH_FUNCTIONS, asked, layer, product, whole_numbers
from passes.kernels import KernelBuilder
from pypto.ir import interpreter
from pypto.ir.base.errors import UserError
from pypto.ir.dtypes import BF16, F16, F32, F64, I8, I32, U8
from pypto.ir.engine import values
from pypto.ir.engine.clocks import faults
from pypto.ir.engine.machine import ORDERS, Order
from pypto.ir.nodes import Buffer, Kernel, Load, Module, Operation, Space, Store, walk
from pypto.ir.parser import parse_module
from pypto.ir.passes.choose_cube_tiles import Extents, choose_blocks, cube_cores
from pypto.ir.passes.footprint import CAPACITIES
from pypto.ir.passes.insert_synchronisation import order, placed
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.plan_addresses import footprint, memories_of, packed, peak
from pypto.ir.passes.remove_implied import without_barrier, without_flag
from pypto.ir.printer import print_module
from pypto.ir.schedule import Schedule
from pypto.ir.verifier import VerificationError, verify

ALL_ORDERS = (*ORDERS, Order("random", 1), Order("random", 2, reads_late=0.5))
TOLERANCE = {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}


def lowered(module: Module) -> Module:
    return run_passes(module, NPU_PASSES)[0]


def close(left: np.ndarray, right: np.ndarray, tolerance: float) -> bool:
    return np.allclose(left.astype(np.float64), right.astype(np.float64), tolerance, tolerance, equal_nan=True)


def check(module: Module, orders: tuple[Order, ...], exact: bool = True) -> Module:
    """The planned kernels agree with the tile-level ones, and run at addresses as the interpreter runs them."""
    made = lowered(module)
    verify(made)
    assert [str(fault) for kernel in made.kernels for fault in faults(kernel)] == []
    arrays, scalars = whole_numbers(module)
    meant = {name: array.copy() for name, array in arrays.items()}
    expected = {name: array.copy() for name, array in arrays.items()}
    interpreter.run(module, meant, scalars)
    interpreter.run(made, expected, scalars)
    for item in module.parameters:
        tolerance = 0.0 if exact else TOLERANCE[item.type.dtype.name]
        assert close(expected[item.name], meant[item.name], tolerance), item.name
    for chosen in orders:
        found = {name: array.copy() for name, array in arrays.items()}
        assert values.run(made, found, scalars, replace(chosen)) == []
        assert [name for name in expected if not close(found[name], expected[name], 0.0)] == [], chosen
    return made


@pytest.mark.parametrize("name", CUBE_CORPUS)
def test_corpus_in_all_orders(name: str) -> None:
    check(CUBE_CORPUS[name](), ALL_ORDERS, exact=name not in WITH_FUNCTIONS)


@pytest.mark.parametrize("name", CUBE_CORPUS)
def test_text_reads_back_at_every_level(name: str) -> None:
    module = CUBE_CORPUS[name]()
    for item in NPU_PASSES:
        module, _ = run_passes(module, (item,))
        verify(module)
        assert parse_module(print_module(module)) == module


@pytest.mark.parametrize("name", CUBE_CORPUS)
def test_dropping_any_flag_or_barrier_is_reported(name: str) -> None:
    before = [item.name for item in NPU_PASSES].index("insert_synchronisation")
    for kernel in run_passes(CUBE_CORPUS[name](), NPU_PASSES[:before])[0].kernels:
        found = order(kernel)
        assert found is not None
        plan, ids = found
        for number, flag in enumerate(plan.flags):
            fewer = placed(kernel, without_flag(plan, flag), [*ids[:number], *ids[number + 1 :]])
            assert faults(fewer), flag
        for statement, pipes in plan.barriers.items():
            for pipe in pipes:
                assert faults(placed(kernel, without_barrier(plan, statement, pipe), ids)), (statement, pipe)


def cube_kernel(module: Module) -> Kernel:
    return next(item for item in lowered(module).kernels if dict(item.attributes).get("core") == "cube")


def names_in(kernel: Kernel) -> list[str]:
    return [item.name for item in walk(kernel.body) if isinstance(item, Operation)]


def test_small_products_have_barriers_and_large_ones_none() -> None:
    """Fewer than 10 fractals: 32 x 32 has 4, 64 x 64 has 16."""
    assert "pipe_barrier" in names_in(cube_kernel(CUBE_CORPUS["k_many"]()))
    assert "pipe_barrier" not in names_in(cube_kernel(CUBE_CORPUS["in_order"]()))
    assert "pipe_barrier" in names_in(
        cube_kernel(asked(product((130, 64), (64, 130)), SMALL | {"tile_shape": (64, 64)}))
    )


def test_bias_and_relu_stay_on_the_cube_core() -> None:
    made = lowered(layer(100, 200))
    assert len(made.kernels) == 1
    assert {"load_bias", "mmad_bias"} <= set(names_in(made.kernels[0]))
    (conversion,) = [item for item in walk(made.kernels[0].body) if getattr(item, "name", "") == "fixpipe"]
    assert conversion.attribute("relu") is True
    assert conversion.attribute("dtype") == F16


def test_slots_are_those_that_fit_each_memory() -> None:
    kernel = cube_kernel(product((2048, 1024), (1024, 2048)))
    depths = {buffer.space: buffer.depth for buffer in kernel.buffers}
    assert depths == {Space.L0C: 1, Space.L1: 2, Space.L0A: 2, Space.L0B: 2}
    assert dict(kernel.attributes)["notes"] == ("2 slots per buffer do not fit l0c: 1 is used",)


@pytest.mark.parametrize("name", CUBE_CORPUS)
def test_plans_are_within_a_tenth_of_the_lower_bound_in_every_memory(name: str) -> None:
    before = [item.name for item in NPU_PASSES].index("plan_addresses")
    for kernel in run_passes(CUBE_CORPUS[name](), NPU_PASSES[:before])[0].kernels:
        placed_ = packed(kernel, spread=False)
        assert placed_ is not None
        for space in memories_of(kernel):
            used = footprint(item for item in placed_ if item.space is space)
            assert used <= max(1.1 * peak(kernel, space), peak(kernel, space) + 512)


@pytest.mark.parametrize("dtype", [F16, BF16, F32, I8])
@pytest.mark.parametrize("extents", [Extents(1, 1, 1, 1), Extents(1, 7, 9000, 5), Extents(40, 333, 77, 4000)])
def test_blocks_fit_with_two_slots(dtype: object, extents: Extents) -> None:
    blocks = choose_blocks(extents, dtype, 24, Schedule())
    width = dtype.bytes
    assert 2 * blocks.rows * blocks.step * width <= CAPACITIES[Space.L0A]
    assert 2 * blocks.step * blocks.columns * width <= CAPACITIES[Space.L0B]
    assert 4 * blocks.rows * blocks.columns <= CAPACITIES[Space.L0C]
    assert 2 * (blocks.rows + blocks.columns) * blocks.panel * width < CAPACITIES[Space.L1]
    assert blocks.panel % blocks.step == 0
    assert blocks.columns <= 256, "a row of the bias table"
    assert not (blocks.rows % 16 or blocks.columns % 16 or blocks.step % 16)


def test_work_is_spread_over_the_cores() -> None:
    assert cube_kernel(product((512, 256), (256, 512))).grid[0].extent >= 16
    asked_for = cube_kernel(asked(product((512, 256), (256, 512)), {"aicore_num": 5}))
    assert asked_for.grid[0].extent == 5
    assert cube_cores(asked_for) == 5


def test_a_loop_over_parts_of_the_contracted_axis_is_one_product() -> None:
    (kernel,) = lowered(CUBE_CORPUS["loop_over_k"]()).kernels
    loads = [item for item in walk(kernel.body) if isinstance(item, Load)]
    assert [item.region[1].extent for item in loads if item.source == "x"] == [128]
    assert names_in(kernel).count("mmad") == 1


# -- what is not there


@pytest.mark.parametrize("dtype", [F64, U8, I32])
def test_other_element_types_are_refused_by_name(dtype: object) -> None:
    with pytest.raises(UserError) as caught:
        lowered(product((8, 8), (8, 8), dtype, dtype if dtype != U8 else I32))
    assert caught.value.name == "npu-operation"
    assert "f16, bf16, f32 and i8" in str(caught.value)


# -- the verifier


def broken(name: str, change: object) -> str:
    module = lowered(CUBE_CORPUS[name]())
    (kernel,) = module.kernels
    with pytest.raises(VerificationError) as caught:
        verify(replace(module, kernels=(change(kernel),)))
    return caught.value.rule


def with_buffers(kernel: Kernel, change: object) -> Kernel:
    return replace(kernel, buffers=tuple(map(change, kernel.buffers)))


def moved(space: Space, address: int) -> object:
    def change(buffer: Buffer) -> Buffer:
        return replace(buffer, address=address) if buffer.space is space else buffer

    return lambda kernel: with_buffers(kernel, change)


def test_misplaced_buffers_are_found() -> None:
    assert broken("product", moved(Space.L0C, 64)) == "misaligned-address"
    assert broken("product", moved(Space.L0A, 256)) == "misaligned-address"
    assert broken("layer", moved(Space.BT, 1024)) == "over-capacity"
    assert broken("product", moved(Space.L1, 0)) == "buffer-overlap"


def relocated(kernel: Kernel, space: Space, target: Space) -> Kernel:
    return with_buffers(kernel, lambda item: replace(item, space=target) if item.space is space else item)


@pytest.mark.parametrize(
    ("name", "space", "target"),
    [
        ("layer", Space.L0A, Space.L0B),
        ("product", Space.L1, Space.L0C),
        ("layer", Space.L0C, Space.L1),
        ("layer", Space.BT, Space.L1),
        ("layer", Space.L0B, Space.UB),
    ],
)
def test_operands_in_the_wrong_memory_are_found(name: str, space: Space, target: Space) -> None:
    assert broken(name, lambda kernel: relocated(kernel, space, target)) == "wrong-memory"


def test_what_the_fixpipe_converts_goes_to_a_store_only() -> None:
    def without_store(kernel: Kernel) -> Kernel:
        return replace(kernel, body=tuple(item for item in kernel.body if not isinstance(item, Store)))

    assert broken("product", without_store) == "fixpipe-use"


# -- random products


def random_product(seed: int) -> Module:
    source = random.Random(seed)
    dtype, out = source.choice(((F16, F32), (F16, F16), (BF16, F32), (F32, F32), (I8, I32)))
    m, k, n = (source.choice((1, 2, 15, 16, 17, 31, 33, 48, 65, 100)) for _ in range(3))
    turned = (source.random() < 0.5, source.random() < 0.5)
    batch = source.choice(((), (), (2,), (3, 1)))
    left, right = (*batch, m, k), (k, n)
    left = (*batch, k, m) if turned[0] else left
    right = (n, k) if turned[1] else right
    unit = 32 if dtype == I8 else 16
    schedule = {
        "aicore_num": source.choice((1, 2, 24)),
        "tile_shape": (source.choice((16, 32, 64)), source.choice((16, 32, 64))),
        "tile_k": source.choice((unit, 2 * unit, 64)),
        "buffer_depth": source.choice((1, 2, 2, 3)),
    }
    return asked(product(left, right, dtype, out, turned), schedule)


@pytest.mark.parametrize("start", range(0, 60, 10))
def test_random_products(start: int) -> None:
    for seed in range(start, start + 10):
        check(random_product(seed), (ORDERS[1 + seed % (len(ORDERS) - 1)], Order("random", seed, reads_late=0.5)))


def test_plans_of_large_products_are_no_longer_than_those_of_small_ones() -> None:
    """Lowering takes time by statements: blocks, panels and steps are loops, however many turns they have."""
    small, large = (lowered(product((size, size), (size, size))) for size in (1024, 4096))
    assert len(print_module(large).splitlines()) <= len(print_module(small).splitlines()) + 8


def test_a_product_that_becomes_a_number() -> None:
    """What is left of a product without axes is stored by the vector cores: the fixpipe writes along an axis."""
    k = KernelBuilder("inner")
    x = k.input("x", (363,))
    product = k.op("matmul", k.op("reshape", x, shape=(1, 363)), k.op("reshape", x, shape=(363, 1)))
    k.output("out", k.op("broadcast_to", k.op("reshape", product, shape=()), shape=(5,)))
    check(k.module(), ALL_ORDERS, exact=False)

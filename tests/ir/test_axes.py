"""Axis classes: what joins, what binds."""

from __future__ import annotations

import pytest

from pypto.ir.axes import Axis, analyse, reshape_groups
from pypto.ir.builder import Builder
from pypto.ir.dtypes import F32, I64
from pypto.ir.nodes import Attribute, Kernel, Load, Parameter, Range, Role, Store, TileType, Value, whole


class Maker:
    """Builds kernels over arrays given as name=shape."""

    def __init__(self, **arrays: tuple[int, ...]) -> None:
        self.builder = Builder()
        self.parameters = tuple(Parameter(name, TileType(F32, shape), Role.INOUT) for name, shape in arrays.items())

    def type_of(self, name: str) -> TileType:
        return next(item.type for item in self.parameters if item.name == name)

    def load(self, name: str) -> Value:
        value = self.builder.value(self.type_of(name))
        self.builder.append(Load(value, name, whole(value.type)))
        return value

    def store(self, name: str, value: Value) -> None:
        self.builder.append(Store(name, whole(self.type_of(name)), value))

    def kernel(self) -> Kernel:
        return Kernel("k", self.parameters, (), tuple(self.builder.statements))


def test_elementwise_axes_join_and_stay_free() -> None:
    make = Maker(x=(4, 5), bias=(5,), out=(4, 5))
    make.store("out", make.builder.operation("add", (make.load("x"), make.load("bias"))))
    analysis = analyse(make.kernel())
    assert analysis.find(Axis("x", 1)) == analysis.find(Axis("bias", 0)) == analysis.find(Axis("out", 1))
    assert analysis.find(Axis("x", 0)) != analysis.find(Axis("x", 1))
    assert analysis.splittable(Axis("out", 0))
    assert analysis.splittable(Axis("out", 1))


def test_broadcast_axis_of_extent_one_does_not_join() -> None:
    make = Maker(x=(4, 5), row=(1, 5), out=(4, 5))
    make.store("out", make.builder.operation("mul", (make.load("x"), make.load("row"))))
    analysis = analyse(make.kernel())
    assert analysis.find(Axis("row", 0)) != analysis.find(Axis("out", 0))


def test_reduction_binds_its_axis_only() -> None:
    make = Maker(x=(4, 5), out=(4, 1))
    make.store("out", make.builder.operation("sum", (make.load("x"),), axes=(1,)))
    analysis = analyse(make.kernel())
    found = analysis.binding(Axis("x", 1))
    assert found is not None
    assert found.operation == "sum"
    assert analysis.binding(Axis("x", 0)) is None


def test_transposed_sum_repeats_a_class() -> None:
    make = Maker(x=(4, 4), out=(4, 4))
    value = make.load("x")
    turned = make.builder.operation("transpose", (value,), permutation=(1, 0))
    make.store("out", make.builder.operation("add", (value, turned)))
    analysis = analyse(make.kernel())
    assert analysis.binding(Axis("x", 0)) is None
    assert not analysis.splittable(Axis("x", 0))


def test_in_place_transpose_repeats_a_class_through_memory() -> None:
    make = Maker(x=(4, 4))
    make.store("x", make.builder.operation("transpose", (make.load("x"),), permutation=(1, 0)))
    assert not analyse(make.kernel()).splittable(Axis("x", 0))


def test_partial_slice_binds_but_whole_slice_does_not() -> None:
    make = Maker(x=(4, 6), out=(4, 3))
    ranges = ((0, 4, 1), (3, 3, 1))
    make.store("out", make.builder.operation("slice", (make.load("x"),), ranges=ranges))
    analysis = analyse(make.kernel())
    assert analysis.splittable(Axis("x", 0))
    assert not analysis.splittable(Axis("x", 1))


def test_partial_load_binds_the_parameter_axis() -> None:
    make = Maker(x=(4, 6), out=(4, 3))
    value = make.builder.value(TileType(F32, (4, 3)))
    make.builder.append(Load(value, "x", (Range(0, 4), Range(1, 3))))
    make.store("out", value)
    analysis = analyse(make.kernel())
    assert analysis.binding(Axis("x", 1)) is not None
    assert analysis.binding(Axis("out", 1)) is not None


@pytest.mark.parametrize(
    ("before", "after", "groups"),
    [
        ((4, 5), (4, 1, 5), [((0,), (0,)), ((1,), (2,))]),
        ((20,), (4, 5), [((0,), (0, 1))]),
        ((4, 5, 6), (20, 6), [((0, 1), (0,)), ((2,), (1,))]),
        ((6, 4), (4, 6), [((0, 1), (0, 1))]),
        ((1, 1), (), []),
        ((2, 3, 4, 5), (6, 4, 5), [((0, 1), (0,)), ((2,), (1,)), ((3,), (2,))]),
        ((0, 3), (0, 3), [((0,), (0,)), ((1,), (1,))]),
    ],
)
def test_reshape_groups(before: tuple[int, ...], after: tuple[int, ...], groups: list[object]) -> None:
    assert list(reshape_groups(before, after)) == groups


def test_binding_survives_joins_in_either_order() -> None:
    make = Maker(x=(4, 5), out=(4, 5), total=(4, 1))
    value = make.load("x")
    make.store("total", make.builder.operation("sum", (value,), axes=(1,)))
    make.store("out", make.builder.operation("neg", (value,)))
    analysis = analyse(make.kernel())
    assert analysis.binding(Axis("out", 1)) is not None


def test_product_joins_rows_and_columns_and_contracts_depth() -> None:
    make = Maker(x=(3, 4, 5), y=(5, 6), out=(3, 4, 6))
    make.store("out", make.builder.operation("matmul", (make.load("x"), make.load("y"))))
    analysis = analyse(make.kernel())
    assert [analysis.find(Axis("x", axis)) for axis in (0, 1)] == [analysis.find(Axis("out", axis)) for axis in (0, 1)]
    assert analysis.find(Axis("y", 1)) == analysis.find(Axis("out", 2))
    assert analysis.find(Axis("x", 2)) == analysis.find(Axis("y", 0))
    assert analysis.contracted(Axis("x", 2))
    assert analysis.binding(Axis("x", 2)) is None
    assert not analysis.splittable(Axis("y", 0))
    assert all(analysis.splittable(Axis("out", axis)) for axis in range(3))


def test_product_of_a_tile_with_itself_has_one_class() -> None:
    make = Maker(x=(4, 4), out=(4, 4))
    make.store("out", make.builder.operation("matmul", (make.load("x"), make.load("x"))))
    analysis = analyse(make.kernel())
    assert not analysis.splittable(Axis("out", 0))


def test_convolution_binds_height_and_width() -> None:
    make = Maker(x=(2, 3, 8, 9), w=(5, 3, 2, 2), out=(2, 5, 7, 8))
    loads = (make.load("x"), make.load("w"))
    make.store("out", make.builder.operation("convolution", loads, dilation=(1, 1), stride=(1, 1)))
    analysis = analyse(make.kernel())
    assert analysis.splittable(Axis("out", 0))
    assert analysis.find(Axis("w", 0)) == analysis.find(Axis("out", 1))
    assert analysis.contracted(Axis("x", 1))
    for axis in (2, 3):
        assert analysis.binding(Axis("x", axis)) is not None
        assert analysis.binding(Axis("out", axis)) is not None


@pytest.mark.parametrize("causal", [False, True])
def test_attention_binds_queries_only_when_causal(causal: bool) -> None:
    make = Maker(q=(2, 4, 8), k=(2, 5, 8), v=(2, 5, 6), mask=(4, 5), out=(2, 4, 6))
    loads = tuple(map(make.load, ("q", "k", "v", "mask")))
    make.store("out", make.builder.operation("attention", loads, causal=causal, scale=1.0))
    analysis = analyse(make.kernel())
    assert analysis.find(Axis("q", 1)) == analysis.find(Axis("mask", 0)) == analysis.find(Axis("out", 1))
    assert analysis.find(Axis("k", 1)) == analysis.find(Axis("v", 1)) == analysis.find(Axis("mask", 1))
    assert analysis.splittable(Axis("out", 1)) is not causal
    assert analysis.contracted(Axis("k", 1))
    assert analysis.splittable(Axis("v", 2))


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("argmax", {}),
        ("argmin", {}),
        ("cumsum", {}),
        ("cumprod", {}),
        ("argsort", {"count": 3, "descending": False}),
    ],
)
def test_what_looks_along_an_axis_binds_it_in_operand_and_result(name: str, attributes: dict[str, Attribute]) -> None:
    make = Maker(x=(4, 5))
    result = make.builder.operation(name, (make.load("x"),), axis=1, **attributes)
    analysis = analyse(make.kernel())
    for axis in (Axis("x", 1), Axis(f"%{result.name}", 1)):
        binding = analysis.binding(axis)
        assert binding is not None
        assert binding.operation == name
    assert analysis.binding(Axis("x", 0)) is None
    assert analysis.find(Axis("x", 0)) == analysis.find(Axis(f"%{result.name}", 0))


def test_gathering_binds_the_indexed_axis_and_keeps_that_of_the_indices() -> None:
    make = Maker(x=(4, 5), i=(7, 5))
    indices = make.builder.operation("cast", (make.load("i"),), dtype=I64)
    result = make.builder.operation("gather", (make.load("x"), indices), axis=0, wrap=False)
    analysis = analyse(make.kernel())
    assert analysis.binding(Axis("x", 0)) is not None
    assert analysis.find(Axis("i", 0)) == analysis.find(Axis(f"%{result.name}", 0))
    assert analysis.splittable(Axis("i", 0))
    assert analysis.find(Axis("x", 1)) == analysis.find(Axis("i", 1)) == analysis.find(Axis(f"%{result.name}", 1))
    assert analysis.splittable(Axis("x", 1))


def test_scattering_binds_the_axis_everywhere() -> None:
    make = Maker(x=(4, 5), i=(7, 1), u=(7, 5))
    indices = make.builder.operation("cast", (make.load("i"),), dtype=I64)
    operands = (make.load("x"), indices, make.load("u"))
    result = make.builder.operation("scatter_add", operands, axis=0, wrap=False)
    analysis = analyse(make.kernel())
    for axis in (Axis("x", 0), Axis("i", 0), Axis("u", 0), Axis(f"%{result.name}", 0)):
        assert analysis.binding(axis) is not None
    assert analysis.splittable(Axis("u", 1))
    assert analysis.find(Axis("u", 1)) == analysis.find(Axis("x", 1))


def test_numbers_along_an_axis_bind_what_they_meet() -> None:
    make = Maker(x=(4, 5), out=(4, 5))
    numbers = make.builder.operation("iota", (), axis=1, dtype=I64, shape=(1, 5))
    real = make.builder.operation("cast", (numbers,), dtype=F32)
    make.store("out", make.builder.operation("add", (make.load("x"), real)))
    analysis = analyse(make.kernel())
    assert analysis.binding(Axis("out", 1)) is not None
    assert analysis.splittable(Axis("out", 0))

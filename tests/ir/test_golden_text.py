"""Printed modules against golden files, which show how every kind of node looks."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from pypto.ir.builder import Builder
from pypto.ir.dtypes import F16, F32, I64
from pypto.ir.index import Symbol, add, floor_divide, minimum, multiply
from pypto.ir.nodes import (
    Buffer,
    Condition,
    For,
    GridAxis,
    Guard,
    If,
    Kernel,
    Level,
    Load,
    Module,
    Operation,
    Parameter,
    Range,
    Role,
    Space,
    Store,
    TileType,
    Value,
    whole,
)
from pypto.ir.parser import parse_module
from pypto.ir.printer import print_module
from pypto.ir.verifier import verify

Golden = Callable[[str, str], None]
N = Symbol("n")


def row_softmax() -> Module:
    builder = Builder()
    array = TileType(F16, (64, 100))
    x = builder.value(array)
    builder.append(Load(x, "x", whole(array)))
    wide = builder.operation("cast", (x,), dtype=F32)
    largest = builder.operation("max", (wide,), axes=(1,))
    powers = builder.operation("exp", (builder.operation("sub", (wide, largest)),))
    result = builder.operation("div", (powers, builder.operation("sum", (powers,), axes=(1,))))
    builder.append(Store("out", whole(array), builder.operation("cast", (result,), dtype=F16)))
    parameters = (Parameter("x", array, Role.IN), Parameter("out", array, Role.OUT))
    attributes = (("tile_num", 4), ("parts", ("max", "exp")), ("limits", (-0.0, math.inf, math.nan, 1e-5)))
    return _alone(Kernel("row_softmax", parameters, (), tuple(builder.statements), attributes=attributes))


def symbolic_pipeline() -> Module:
    array, row = TileType(F32, (N, 8)), TileType(F32, (1, 8))
    block, turn = Symbol("block"), Symbol("i")
    scale = Parameter("scale", TileType(F32, ()), Role.IN, scalar=True)
    x, buffer, out = (
        Parameter("x", array, Role.IN),
        Parameter("buf", array, Role.INOUT),
        Parameter("out", array, Role.OUT),
    )
    start, acc, loaded, total, after = (Value(name, row) for name in ("start", "acc", "row", "total", "after"))
    offset = minimum(add(multiply(block, 4), turn), add(N, -1))
    loop_body = (
        Load(loaded, "x", (Range(offset, 1), Range(0, 8))),
        Operation("add", (acc, loaded), (total,)),
    )
    position = Operation("index", (), (Value("where", TileType(I64, ())),), (("dtype", I64), ("value", offset)))
    loop = For(
        turn,
        0,
        floor_divide(add(N, 3), 4),
        2,
        (acc,),
        (start,),
        (*loop_body, position),
        (total,),
        (after,),
    )
    first = (Operation("undefined", (), (start,), (("dtype", F32), ("shape", (1, 8)))), loop)
    store = Store("buf", (Range(block, 1), Range(7, 8, -1)), after, clip=True)
    guarded = If(Condition(block, "<", N), (store,), (), (), (), ())
    factor, y, z = Value("scale", TileType(F32, ())), Value("α", array), Value("z", array)
    second = (
        Load(factor, "scale", ()),
        Load(y, "buf", whole(array), fill=0.0),
        Operation("mul", (y, factor), (z,)),
        Store("out", whole(array), z),
    )
    grid = (GridAxis(block, floor_divide(N, 4)),)
    kernels = (
        Kernel("sum rows", (x, buffer), grid, (*first, guarded), guards=(Guard(N, 64),)),
        Kernel("scale", (buffer, scale, out), (), second),
    )
    return Module("pipeline", (x, scale, out), (buffer,), kernels)


def choice() -> Module:
    array = TileType(F32, (4,))
    a, b, c, d = (Value(name, array) for name in "abcd")
    body = (
        Load(a, "x", whole(array)),
        If(
            Condition(Symbol("m"), "!=", 2),
            (Operation("neg", (a,), (b,)),),
            (b,),
            (Operation("abs", (a,), (c,)),),
            (c,),
            (d,),
        ),
        Store("x", whole(array), d),
    )
    return _alone(Kernel("choice", (Parameter("x", array, Role.INOUT),), (GridAxis(Symbol("m"), 4),), body))


def planned() -> Module:
    array = TileType(F32, (4, 10))
    a, b = Value("a", array, "in"), Value("b", array, "result")
    flags = [
        Operation(name, (), (), (("destination", "V"), ("id", 0), ("source", "MTE2")))
        for name in ("set_flag", "wait_flag")
    ]
    barrier = Operation("pipe_barrier", (), (), (("pipe", "MTE3"),))
    body = (Load(a, "x", whole(array)), *flags, Operation("exp", (a,), (b,)), barrier, Store("y", whole(array), b))
    buffers = (Buffer("in", Space.UB, F32, (4, 16), 2, 0), Buffer("result", Space.UB, F32, (4, 16), 1, 512))
    parameters = (Parameter("x", array, Role.IN), Parameter("y", array, Role.OUT))
    return _alone(Kernel("planned", parameters, (), body, Level.PLANNED, buffers))


def _alone(kernel: Kernel) -> Module:
    return Module(kernel.name, kernel.parameters, (), (kernel,))


@pytest.mark.parametrize("make", [row_softmax, symbolic_pipeline, choice, planned])
def test_text(make: Callable[[], Module], golden: Golden) -> None:
    module = make()
    verify(module)
    text = print_module(module)
    golden(f"{make.__name__}.pto", text)
    assert parse_module(text) == module

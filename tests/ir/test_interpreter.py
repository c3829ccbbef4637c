"""The reference interpreter against NumPy written by hand."""

from __future__ import annotations

import time
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

from pypto.ir.builder import Builder
from pypto.ir.dtypes import F32
from pypto.ir.index import Symbol
from pypto.ir.interpreter import run
from pypto.ir.nodes import Kernel, Load, Module, Parameter, Role, Store, TileType, Value, whole
from pypto.ir.parser import parse_module


def execute(text: str, scalars: dict[str, float] | None = None, **arrays: np.ndarray) -> None:
    run(parse_module("pto 1\n" + text), arrays, scalars or {})


def numbers(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)


def test_elementwise_with_scalar_and_broadcast() -> None:
    x, row, y = numbers(3, 4), numbers(4), np.zeros((3, 4), np.float32)
    text = """kernel k(x: gm f32[3, 4], row: gm f32[4], s: scalar f32) -> (y: gm f32[3, 4]) level tile {
  %x = load x[0 : 3, 0 : 4]
  %r = load row[0 : 4]
  %s = load s[]
  %a = mul %x, %s
  %b = add %a, %r
  store y[0 : 3, 0 : 4], %b
}
"""
    execute(text, {"s": 2.5}, x=x, row=row, y=y)
    np.testing.assert_array_equal(y, x * np.float32(2.5) + row)


def test_arrays_of_any_strides_change_in_place() -> None:
    base = np.zeros((8, 6), np.float32)
    y = base[::2, ::-1].T
    x = np.asfortranarray(numbers(6, 4))[::-1]
    text = """kernel k(x: gm f32[6, 4]) -> (y: gm f32[6, 4]) level tile {
  %x = load x[0 : 6, 0 : 4]
  %a = neg %x
  store y[0 : 6, 0 : 4], %a
}
"""
    execute(text, x=x, y=y)
    np.testing.assert_array_equal(base[::2, ::-1].T, -x)
    assert not base[1::2].any()


def test_zero_stride_input() -> None:
    y = np.zeros((3, 4), np.float32)
    text = """kernel k(x: gm f32[3, 4]) -> (y: gm f32[3, 4]) level tile {
  %x = load x[0 : 3, 0 : 4]
  store y[0 : 3, 0 : 4], %x
}
"""
    execute(text, x=np.broadcast_to(np.float32(3), (3, 4)), y=y)
    assert (y == 3).all()


@pytest.mark.parametrize(
    ("region", "index"),
    [
        ("1 : 3", slice(1, 4)),
        ("0 : 4 : 2", slice(0, 7, 2)),
        ("6 : 7 : -1", slice(None, None, -1)),
        ("5 : 3 : -2", slice(5, None, -2)),
        ("2 : 3 : -1", slice(2, None, -1)),
        ("3 : 0", slice(0, 0)),
        ("3 : 1", slice(3, 4)),
        ("0 : 1 : -5", slice(0, 1)),
    ],
)
def test_regions(region: str, index: slice) -> None:
    x = numbers(7)
    expected = x[index]
    y = np.zeros_like(expected)
    z = np.zeros(7, np.float32)
    text = f"""kernel k(x: gm f32[7]) -> (y: gm f32[{len(y)}], z: gm f32[7]) level tile {{
  %x = load x[{region}]
  store y[0 : {len(y)}], %x
  store z[{region}], %x
}}
"""
    execute(text, x=x, y=y, z=z)
    np.testing.assert_array_equal(y, expected)
    wanted = np.zeros(7, np.float32)
    wanted[index] = expected
    np.testing.assert_array_equal(z, wanted)


def test_store_sees_the_load_before_it_only() -> None:
    x = numbers(6)
    before = x.copy()
    text = """kernel k(x: inout gm f32[6]) level tile {
  %a = load x[0 : 5]
  store x[1 : 5], %a
  %b = load x[5 : 6 : -1]
  store x[0 : 6], %b
}
"""
    execute(text, x=x)
    before[1:] = before[:-1].copy()
    np.testing.assert_array_equal(x, before[::-1])


def test_fill_and_clip_at_every_edge() -> None:
    x, y, z = numbers(3, 4), np.zeros((5, 6), np.float32), np.zeros((3, 4), np.float32)
    text = """kernel k(x: gm f32[3, 4]) -> (y: gm f32[5, 6], z: gm f32[3, 4]) level tile {
  %x = load x[-1 : 5, 4 : 6 : -1] fill -inf
  store y[0 : 5, 0 : 6], %x
  store z[-1 : 5, 4 : 6 : -1], %x clip
}
"""
    execute(text, x=x, y=y, z=z)
    wanted = np.full((5, 6), -np.inf, np.float32)
    wanted[1:4, 1:5] = x[:, ::-1]
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(z, x)


def test_fill_far_outside() -> None:
    y = np.zeros(3, np.float32)
    text = """kernel k(x: gm f32[4]) -> (y: gm f32[3]) level tile {
  %x = load x[100 : 3] fill nan
  store y[0 : 3], %x
  store y[50 : 3], %x clip
}
"""
    execute(text, x=numbers(4), y=y)
    assert np.isnan(y).all()


def test_loop_carries_and_swaps() -> None:
    x, y = numbers(2, 3), np.zeros((2, 3), np.float32)
    text = """kernel k(x: gm f32[2, 3]) -> (y: gm f32[2, 3]) level tile {
  %p = load x[0 : 1, 0 : 3]
  %q = load x[1 : 1, 0 : 3]
  %u, %v = for %i = 0 to 3 carry (%a = %p, %b = %q) {
    %c = add %a, %b
    yield %b, %c
  }
  store y[0 : 1, 0 : 3], %u
  store y[1 : 1, 0 : 3], %v
}
"""
    execute(text, x=x, y=y)
    p, q = x[0], x[1]
    for _ in range(3):
        p, q = q, p + q
    np.testing.assert_array_equal(y, np.stack([p, q]))


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 0, 1), (3, 0, 1), (0, 5, 2), (-2, 3, 1), (0, 1, 9)])
def test_trips(start: int, stop: int, step: int) -> None:
    y = np.zeros(1, np.int64)
    text = f"""kernel k() -> (y: gm i64[1]) level tile {{
  %z = constant {{dtype = i64, value = 100}}
  %r = for %i = {start} to {stop} step {step} carry (%a = %z) {{
    %n = index {{dtype = i64, value = %i * 10 + 1}}
    %b = add %a, %n
    yield %b
  }}
  %s = reshape %r {{shape = [1]}}
  store y[0 : 1], %s
}}
"""
    execute(text, y=y)
    assert y[0] == 100 + sum(i * 10 + 1 for i in range(start, stop, step))


def test_loop_that_yields_a_value_from_outside() -> None:
    x, y = numbers(2), np.zeros(2, np.float32)
    text = """kernel k(x: gm f32[2]) -> (y: gm f32[2]) level tile {
  %a = load x[0 : 2]
  %b = neg %a
  %c = for %i = 0 to 2 carry (%d = %a) {
    yield %b
  }
  %e = add %c, %b
  store y[0 : 2], %e
}
"""
    execute(text, x=x, y=y)
    np.testing.assert_array_equal(y, -2 * x)


def test_grid_and_branches() -> None:
    x, y = numbers(4, 2), np.zeros((4, 2), np.float32)
    text = """kernel k(x: gm f32[4, 2]) -> (y: gm f32[4, 2]) level tile {
  grid %m : 2, %n : 2
  %x = load x[%m * 2 + %n : 1, 0 : 2]
  %r = if %m == 0 {
    %a = neg %x
    yield %a
  } else {
    %s = if %n < 1 {
      yield %x
    } else {
      %z = constant {dtype = f32, shape = [1, 2], value = 9.0}
      yield %z
    }
    yield %s
  }
  if %n != 0 {
    store y[%m * 2 + %n : 1, 0 : 2], %r
  }
}
"""
    execute(text, x=x, y=y)
    np.testing.assert_array_equal(y, [[0, 0], -x[1], [0, 0], [9, 9]])


def test_kernels_in_order_through_an_intermediate() -> None:
    x, y = numbers(4), np.zeros(4, np.float32)
    text = """module m(x: gm f32[4]) -> (y: gm f32[4])
intermediate t: inout gm f32[4]

kernel first(x: gm f32[4], t: inout gm f32[4]) level tile {
  %a = load x[0 : 3]
  store t[0 : 3], %a
}

kernel second(t: gm f32[4]) -> (y: gm f32[4]) level tile {
  %a = load t[0 : 4]
  store y[0 : 4], %a
}
"""
    execute(text, x=x, y=y)
    np.testing.assert_array_equal(y[:3], x[:3])
    assert np.isnan(y[3]), "what nobody wrote is NaN"


def test_symbolic_extents_take_the_arrays_values() -> None:
    x, y = numbers(5, 3), np.zeros((3, 5), np.float32)
    text = """kernel k(x: gm f32[%n, %m]) -> (y: gm f32[%m, %n]) level tile {
  for %i = 0 to %n {
    %a = load x[%i : 1, 0 : %m]
    %b = transpose %a {permutation = [1, 0]}
    store y[0 : %m, %i : 1], %b
  }
}
"""
    execute(text, x=x, y=y)
    np.testing.assert_array_equal(y, x.T)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats(dtype: type) -> None:
    name = "f16" if dtype is np.float16 else "bf16"
    x, y = numbers(4).astype(dtype), np.zeros(4, dtype)
    text = f"""kernel k(x: gm {name}[4]) -> (y: gm {name}[4]) level tile {{
  %a = load x[0 : 4]
  %b = cast %a {{dtype = f32}}
  %c = constant {{dtype = f32, value = 0.3}}
  %d = mul %b, %c
  %e = cast %d {{dtype = {name}}}
  store y[0 : 4], %e
}}
"""
    execute(text, x=x, y=y)
    np.testing.assert_array_equal(y, (x.astype(np.float32) * np.float32(0.3)).astype(dtype))


def test_lower_levels_mean_the_same() -> None:
    x, y = numbers(4), np.zeros(4, np.float32)
    text = """kernel k(x: gm f32[4]) -> (y: gm f32[4]) level planned {
  buffer @p : ub f32[8] depth 2 address 0
  %a @p = load x[0 : 4]
  set_flag {destination = "V", id = 0, source = "MTE2"}
  wait_flag {destination = "V", id = 0, source = "MTE2"}
  pipe_barrier {pipe = "V"}
  store y[0 : 4], %a
}
"""
    execute(text, x=x, y=y)
    np.testing.assert_array_equal(y, x)


def test_missing_argument_and_region_outside() -> None:
    module = parse_module("pto 1\nkernel k(x: gm f32[%n]) level tile {\n  %a = load x[0 : 4]\n}\n")
    with pytest.raises(KeyError):
        run(module, {})
    with pytest.raises(IndexError, match="leaves axis of extent 3 of x"):
        run(module, {"x": numbers(3)})


def _chain(length: int, shape: tuple[int, ...]) -> Module:
    builder = Builder()
    type_ = TileType(F32, shape)
    value = builder.value(type_)
    builder.append(Load(value, "x", whole(type_)))
    for _ in range(length):
        value = builder.operation("neg", (value,))
    builder.append(Store("y", whole(type_), value))
    parameters = (Parameter("x", type_, Role.IN), Parameter("y", type_, Role.OUT))
    return Module("k", parameters, (), (Kernel("k", parameters, (), tuple(builder.statements)),))


def test_long_chain_keeps_few_values_and_takes_linear_time() -> None:
    x, y = np.ones(100_000, np.float32), np.zeros(100_000, np.float32)
    tracemalloc.start()
    run(_chain(3000, x.shape), {"x": x, "y": y})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (y == 1).all()
    assert peak < 8 * x.nbytes
    start = time.perf_counter()
    run(_chain(20_000, (1,)), {"x": x[:1], "y": y[:1]})
    assert time.perf_counter() - start < 5


def test_values_of_loops_die_too() -> None:
    lines = ["kernel k(x: gm f32[100000]) -> (y: gm f32[100000]) level tile {", "  %x = load x[0 : 100000]"]
    for number in range(200):
        before = "%x" if number == 0 else f"%r{number - 1}"
        lines += [
            f"  %r{number} = for %i = 0 to 2 carry (%c{number} = {before}) {{",
            f"    %n{number} = neg %c{number}",
        ]
        lines += [f"    yield %n{number}", "  }"]
    lines += ["  store y[0 : 100000], %r199", "}"]
    module = parse_module("pto 1\n" + "\n".join(lines) + "\n")
    x, y = np.ones(100_000, np.float32), np.zeros(100_000, np.float32)
    tracemalloc.start()
    run(module, {"x": x, "y": y})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (y == 1).all()
    assert peak < 10 * x.nbytes


def test_the_same_store_twice() -> None:
    """Immutable statements may be shared; a value must not die at the first of two equal ones."""
    type_ = TileType(F32, (2,))
    load = Load(Value("a", type_), "x", whole(type_))
    store = Store("y", whole(type_), load.result)
    parameters = (Parameter("x", type_, Role.IN), Parameter("y", type_, Role.OUT))
    y = np.zeros(2, np.float32)
    run(Module("k", parameters, (), (Kernel("k", parameters, (), (load, store, store)),)), {"x": numbers(2), "y": y})
    np.testing.assert_array_equal(y, numbers(2))


def test_symbols_of_a_scalar_module() -> None:
    y = np.zeros((2,), np.bool_)
    text = """kernel k(s: scalar bool) -> (y: gm bool[2]) level tile {
  %s = load s[]
  %t = broadcast_to %s {shape = [2]}
  store y[0 : 2], %t
}
"""
    execute(text, {"s": True}, y=y)
    assert y.all()
    assert Symbol("s") == Symbol("s")


def test_blocks_meet_at_a_barrier_in_a_loop() -> None:
    """Each turn, every block adds what its neighbour held after the turn before."""
    text = """pto 1

module ring(x: inout gm f32[2, 4])

kernel ring(x: inout gm f32[2, 4]) level planned {
  grid %core : 4
  buffer @b0 : ub f32[1, 1] depth 1 address 0
  buffer @b1 : ub f32[1, 1] depth 1 address 32
  for %turn = 0 to 3 {
    %0 @b0 = load x[%turn % 2 : 1, (%core + 1) % 4 : 1] : f32[1, 1]
    %1 @b1 = add %0, %0 : f32[1, 1]
    store x[(%turn + 1) % 2 : 1, %core : 1], %1
    set_barrier {barrier_id = 0, participants = 4}
    wait_barrier {barrier_id = 0}
  }
}
"""
    array = np.array([[1, 2, 3, 4], [0, 0, 0, 0]], np.float32)
    run(parse_module(text), {"x": array})
    np.testing.assert_array_equal(array, [[12, 16, 4, 8], [32, 8, 16, 24]])

"""Mistakes in `.pto` text: the name, the place and the words of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from errors.test_cube_errors import CASES as CUBE_CASES
from pypto.ir.base.catalogue.text import ENTRIES
from pypto.ir.base.errors import UserError
from pypto.ir.bounds import check_bounds
from pypto.ir.dtypes import F32
from pypto.ir.index import Symbol
from pypto.ir.nodes import (
    Condition,
    If,
    Kernel,
    Load,
    Module,
    Operation,
    Parameter,
    Range,
    Role,
    Store,
    TileType,
    Value,
)
from pypto.ir.parser import parse_kernel, parse_module, read_module
from pypto.ir.verifier import verify_text

HEAD = "pto 1\nkernel k(x: gm f32[4, 8], s: scalar f32) -> (y: gm f32[4, 8]) level "
LOADED = "  %a = load x[0 : 4, 0 : 8]\n"


def tile(body: str) -> str:
    """A kernel at level tile: the line after its head is line 3, with %a = x."""
    return f"{HEAD}tile {{\n{LOADED}{body}\n}}\n"


def planned(level: str, *lines: str) -> str:
    return (
        f"pto 1\nkernel k(x: gm f32[4, 8], n: scalar f32) -> (y: gm f32[4, 8]) level {level} {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )


B0 = "  buffer @b0 : ub f32[4, 8] depth 1"
SET = '  set_flag {destination = "V", id = 0, source = "MTE2"}'
WAIT = '  wait_flag {destination = "V", id = 0, source = "MTE2"}'

SET_BARRIER = "  set_barrier {barrier_id = 0, participants = 4}"
WAIT_BARRIER = "  wait_barrier {barrier_id = 0}"


def blocks(*lines: str, count: int = 4) -> str:
    """A kernel of several blocks: the lines begin at line 4."""
    return planned("buffered", f"  grid %core : {count}", *lines)


CASES: list[tuple[str, str, tuple[int, int], str]] = [
    ("text-header", "kernel k() level tile {\n}\n", (1, 1), "does not begin"),
    ("text-header", "", (1, 1), "does not begin"),
    ("text-version", "# saved\npto 2\n", (2, 5), "has version 2"),
    ("text-syntax", tile("  %b = add %a,"), (4, 15), "unexpected end of the line"),
    ("text-syntax", tile("  store y[0 : 4, 0 : 8] %a"), (4, 25), "unexpected %a"),
    ("text-syntax", tile("  %b = neg %a;"), (4, 14), "character ';'"),
    ("text-syntax", HEAD + "tile {", (2, 75), "unexpected end of the text"),
    ("text-nesting", tile("  %b = load x[" + "(" * 70 + "0"), (4, 77), "deeper than 64"),
    ("text-nesting", tile("  %b = load x[" + "%n + " * 70 + "%n : 4, 0 : 8]"), (4, 338), "deeper than 64"),
    ("text-number", tile("  %b = load x[0 : 123456789012345678901, 0 : 8]"), (4, 19), "21 digits"),
    ("text-number", tile("  %b = load x[0 : 99999999999 * 99999999999, 0 : 8]"), (4, 31), "at most 20"),
    ("text-escape", 'pto 1\nkernel "k\\q"() level tile {\n}\n', (2, 8), "\\q"),
    ("text-escape", 'pto 1\nkernel "k\\u{110000}"() level tile {\n}\n', (2, 8), "\\u{110000}"),
    ("unknown-word", tile("  %b = sum %a {axes = [zero]}"), (4, 24), "zero is no attribute value"),
    ("unknown-dtype", tile("  %b = cast %a {dtype = f32} : f33[4, 8]"), (4, 32), "called f33"),
    ("unknown-dtype", "pto 1\nkernel k(x: gm float32[4]) level tile {\n}\n", (2, 16), "called float32"),
    ("unknown-level", HEAD + "tiles {\n}\n", (2, 69), "called tiles"),
    ("unknown-space", planned("buffered", "  buffer @b0 : up f32[4] depth 1"), (3, 16), "did you mean 'ub'?"),
    ("buffer-extent", planned("buffered", "  buffer @b0 : ub f32[%n] depth 1"), (3, 10), "extent %n"),
    ("output-role", "pto 1\nkernel k() -> (y: inout gm f32[4]) level tile {\n}\n", (2, 16), "called inout"),
    ("index-divisor", tile("  %b = load x[4 // 0 : 4, 0 : 8]"), (4, 17), "divided by 0"),
    ("fill-value", tile("  %b = load x[0 : 4, 0 : 9] fill none : f32[4, 9]"), (4, 34), "fill is none"),
    ("undefined-value", tile("  %b = add %a, %aa"), (4, 16), "%aa has no definition"),
    (
        "undefined-value",
        tile("  for %i = 0 to 2 {\n    %b = neg %a\n  }\n  %c = neg %b"),
        (7, 12),
        "%b has no definition",
    ),
    ("undefined-symbol", tile("  %b = load x[%m : 1, 0 : 8]"), (4, 3), "index %m is not known"),
    ("undefined-symbol", tile("  for %i = 0 to 2 {\n  }\n  %b = index {dtype = i64, value = %i}"), (6, 3), "%i"),
    ("value-redefined", tile("  %a = neg %a"), (4, 3), "%a is defined twice"),
    ("value-redefined", tile("  %b = for %i = 0 to 2 carry (%a = %a) {\n    yield %a\n  }"), (4, 3), "defined twice"),
    ("symbol-redefined", tile("  for %i = 0 to 2 {\n    for %i = 0 to 2 {\n    }\n  }"), (5, 5), "index %i is already"),
    ("symbol-redefined", HEAD + "tile {\n  grid %b : 2, %b : 3\n}\n", (3, 16), "%b"),
    ("unknown-parameter", tile("  %b = load xx[0 : 4, 0 : 8]"), (4, 13), "no parameter called xx"),
    ("unknown-parameter", tile("  %b = load xx[0 : 4, 0 : 8] : f32[4, 8]"), (4, 13), "no parameter called xx"),
    ("unknown-parameter", tile("  store z[0 : 4, 0 : 8], %a"), (4, 9), "no parameter called z"),
    ("duplicate-parameter", "pto 1\nkernel k(x: gm f32[4], x: gm f32[4]) level tile {\n}\n", (2, 24), "called x"),
    (
        "duplicate-kernel",
        "pto 1\nmodule m()\nkernel k() level tile {\n}\nkernel k() level tile {\n}\n",
        (5, 1),
        "called k",
    ),
    ("unknown-argument", "pto 1\nmodule m()\nkernel k(x: gm f32[4]) level tile {\n}\n", (3, 10), "k takes x"),
    (
        "argument-type",
        "pto 1\nmodule m(x: gm f32[8])\nkernel k(x: gm f32[4]) level tile {\n}\n",
        (3, 10),
        "x is gm f32[4] in kernel k but gm f32[8] in the module",
    ),
    (
        "argument-role",
        "pto 1\nmodule m(x: gm f32[4])\nkernel k(x: inout gm f32[4]) level tile {\n}\n",
        (3, 10),
        "x is an input of the module but inout in kernel k",
    ),
    ("unknown-operation", tile("  %b = sqr %a"), (4, 8), "no operation called sqr"),
    ("unknown-attribute", tile("  %b = sum %a {axis = 0}"), (4, 16), "sum has no attribute called axis"),
    ("missing-attribute", tile("  %b = sum %a : f32[1, 1]"), (4, 3), "sum needs the attribute axes"),
    ("duplicate-attribute", tile("  %b = sum %a {axes = [0], axes = [0]}"), (4, 3), "axes is given twice"),
    ("attribute-order", tile("  %b = constant {value = 1.0, dtype = f32}"), (4, 3), "value, dtype"),
    ("attribute-value", tile("  %b = sum %a {axes = [2]}"), (4, 3), "attribute axes of sum is [2]"),
    ("attribute-value", tile("  %b = constant {dtype = i32, value = nan}"), (4, 3), "is nan"),
    ("attribute-value", tile("  %b = slice %a {ranges = [[0, 4, 0], [0, 8, 1]]}"), (4, 3), "is [[0, 4, 0], [0, 8, 1]]"),
    ("constant-range", tile("  %b = constant {dtype = u8, value = -1}"), (4, 3), "attribute value of constant is -1"),
    ("constant-range", tile("  %b = constant {dtype = i8, value = 128}"), (4, 3), "128, which i8 cannot hold"),
    ("constant-range", tile("  %b = constant {dtype = i8, value = 128}"), (4, 3), "a number from -128 to 127"),
    ("constant-range", tile("  %b = constant {dtype = bool, value = 2}"), (4, 3), "a number from 0 to 1"),
    ("constant-range", tile("  %b = constant {dtype = f16, value = 65536.0}"), (4, 3), "from -65504.0 to 65504.0"),
    ("constant-range", tile("  %b = constant {dtype = i64, value = 9223372036854775808}"), (4, 3), "i64 cannot hold"),
    ("constant-range", tile("  %b = constant {dtype = f32, value = 1e39}"), (4, 3), "1e+39, which f32 cannot hold"),
    (
        "constant-range",
        tile("  %b = pad %a {high = [0, 0], low = [1, 0], value = -1e39}"),
        (4, 3),
        "value of pad is -1e+39",
    ),
    ("constant-range", tile("  %b = load x[0 : 5, 0 : 8] fill 1e39"), (4, 3), "fill is 1e+39, which f32 cannot hold"),
    ("operand-count", tile("  %b = add %a"), (4, 3), "add takes 2 operands, not 1"),
    ("operand-count", tile("  %b = concat {axis = 0}"), (4, 3), "concat takes at least 1"),
    ("operand-count", tile("  %b = neg %a, %a : f32[4, 8]"), (4, 3), "neg takes 1 operands, not 2"),
    ("result-count", tile("  %b, %c = neg %a"), (4, 3), "neg has 1 results, not 2"),
    ("result-count", tile("  neg %a"), (4, 3), "neg has 1 results, not 0"),
    ("result-count", tile("  %b = for %i = 0 to 2 {\n  }"), (4, 3), "this loop has 0 results, not 1"),
    ("result-count", tile("  %b, %c = load x[0 : 4, 0 : 8]"), (4, 3), "load has 1 results, not 2"),
    ("result-type", tile("  %b = neg %a : f32[4, 9]"), (4, 3), "written as f32[4, 9] but is f32[4, 8]"),
    ("result-type", tile("  %b = load x[0 : 4, 0 : 8] : f16[4, 8]"), (4, 3), "written as f16[4, 8]"),
    ("region-rank", tile("  %b = load x[0 : 4]"), (4, 3), "1 ranges but x has 2 axes"),
    ("region-step", tile("  %b = load x[0 : 4, 0 : 8 : 0]"), (4, 3), "range 1 of the region has step 0"),
    ("region-extent", tile("  %b = load x[0 : -4, 0 : 8]"), (4, 3), "has extent -4"),
    ("region-bounds", tile("  %b = load x[0 : 4, 1 : 8]"), (4, 3), "covers 1 to 8, outside axis 1 of x, which has 8"),
    ("region-bounds", tile("  store y[3 : 4 : -2, 0 : 8], %a"), (4, 3), "covers 3 to -3"),
    ("region-bounds", tile("  %b = slice %a {ranges = [[0, 5, 1], [0, 8, 1]]}"), (4, 3), "outside axis 0 of %a"),
    ("stored-type", tile("  store y[0 : 4, 0 : 4], %a"), (4, 3), "%a is f32[4, 8] but the region holds f32[4, 4]"),
    ("store-to-input", tile("  store x[0 : 4, 0 : 8], %a"), (4, 3), "x is stored to but is an input"),
    ("load-from-output", tile("  %b = load y[0 : 4, 0 : 8]"), (4, 3), "y is an output and is read before"),
    ("scalar-parameter", "pto 1\nkernel k(s: scalar f32[2]) level tile {\n}\n", (2, 10), "of shape f32[2]"),
    ("scalar-parameter", "pto 1\nkernel k() -> (s: scalar f32) level tile {\n}\n", (2, 16), "an out parameter"),
    ("bad-extent", "pto 1\nkernel k(x: gm f32[-4]) level tile {\n}\n", (2, 10), "extent -4 of x"),
    ("loop-step", tile("  for %i = 0 to 4 step 0 {\n  }"), (4, 3), "step 0"),
    (
        "loop-carried",
        tile("  %b = for %i = 0 to 4 carry (%c = %a) {\n  }"),
        (4, 3),
        "carries 1 values, starts with 1, yields 0",
    ),
    (
        "loop-type",
        tile("  %b = for %i = 0 to 4 carry (%c = %a) {\n    %d = sum %c {axes = [0]}\n    yield %d\n  }"),
        (4, 3),
        "carries %c of type f32[4, 8] but yielded value %d is f32[1, 8]",
    ),
    (
        "branch-count",
        tile("  %b = if 0 < 1 {\n    yield %a\n  }"),
        (4, 3),
        "yield 1 and 0 values but there are 1 results",
    ),
    (
        "branch-type",
        tile("  %d = sum %a {axes = [0]}\n  %b = if 0 < 1 {\n    yield %a\n  } else {\n    yield %d\n  }"),
        (5, 3),
        "result %b is f32[4, 8] but the else branch yields f32[1, 8]",
    ),
    ("yield-outside", tile("  yield %a"), (4, 3), "yield outside"),
    ("yield-position", tile("  for %i = 0 to 2 {\n    yield\n    %b = neg %a\n  }"), (5, 5), "follows yield"),
    ("wrong-level", tile("  %b @b0 = neg %a"), (4, 3), "value %b has buffer b0 at level tile"),
    ("wrong-level", tile(SET), (4, 3), "operation set_flag at level tile"),
    ("wrong-level", planned("tile", B0), (3, 10), "buffer b0 at level tile"),
    (
        "mixed-levels",
        "pto 1\nmodule m()\nkernel a() level tile {\n}\nkernel b() level planned {\n}\n",
        (5, 1),
        "at levels tile and planned",
    ),
    ("missing-buffer", planned("buffered", "  %a = load x[0 : 4, 0 : 8]"), (3, 3), "%a has no buffer"),
    ("unknown-buffer", planned("buffered", B0, "  %a @b1 = load x[0 : 4, 0 : 8]"), (4, 3), "no buffer called b1"),
    ("duplicate-buffer", planned("buffered", B0, B0), (4, 10), "called b0"),
    ("buffer-shape", planned("buffered", "  buffer @b0 : ub f32[4] depth 4"), (3, 10), "of depth 4"),
    ("buffer-shape", planned("buffered", "  buffer @b0 : gm f32[4] depth 1"), (3, 10), "in gm"),
    ("buffer-shape", planned("buffered", "  buffer @b0 : ub f32[-4] depth 1"), (3, 10), "of extent -4"),
    (
        "buffer-size",
        planned("buffered", "  buffer @b0 : ub f32[4, 6] depth 1", "  %a @b0 = load x[0 : 4, 0 : 8]"),
        (4, 3),
        "%a takes 128 bytes but a slot of buffer b0 has 96",
    ),
    (
        "buffer-overwritten",
        planned("buffered", B0, "  %a @b0 = load x[0 : 4, 0 : 8]", "  %b @b0 = exp %a", "  store y[0 : 4, 0 : 8], %a"),
        (6, 3),
        "%a is read from buffer b0 after %b was put there",
    ),
    (
        "buffer-changed",
        planned(
            "buffered",
            B0,
            B0.replace("b0", "b1"),
            "  %a @b0 = load x[0 : 4, 0 : 8]",
            "  %b @b0 = for %i = 0 to 2 carry (%c @b0 = %a) {",
            "    %d @b1 = neg %c",
            "    yield %d",
            "  }",
        ),
        (6, 3),
        "%c is in buffer b0 but yielded value %d is in b1",
    ),
    ("flag-id", planned("synchronised", SET.replace("id = 0", "id = 6")), (3, 3), "flag id 6"),
    ("flag-pipes", planned("synchronised", SET.replace('"V"', '"MTE2"')), (3, 3), "from pipe MTE2 to pipe MTE2"),
    ("flag-raised", planned("synchronised", SET, SET), (4, 3), "flag MTE2 -> V 0 is set again"),
    ("flag-lowered", planned("synchronised", WAIT), (3, 3), "nothing has set flag MTE2 -> V 0"),
    ("flag-leaked", planned("synchronised", SET), (2, 1), "still set at the end"),
    (
        "flag-loop",
        planned("synchronised", "  for %i = 0 to 2 {", SET, "  }", WAIT),
        (3, 3),
        "is not set before a turn and set after it",
    ),
    (
        "flag-branch",
        planned("synchronised", "  if 0 < 1 {", SET, "  }", WAIT),
        (3, 3),
        "is set after one branch and not set after the other",
    ),
    ("barrier-id", blocks(SET_BARRIER.replace("id = 0", "id = 11")), (4, 3), "barrier id 11"),
    ("barrier-participants", blocks(SET_BARRIER.replace("= 4", "= 3")), (4, 3), "has 3 participants and the kernel 4"),
    ("barrier-participants", planned("buffered", SET_BARRIER), (3, 3), "has 4 participants and the kernel 1"),
    ("barrier-blocks", blocks(SET_BARRIER.replace("= 4", "= 49"), count=49), (4, 3), "49 blocks cannot wait"),
    (
        "barrier-uneven",
        blocks("  for %i = %core to 4 {", SET_BARRIER, WAIT_BARRIER, "  }"),
        (5, 3),
        "how often a set_barrier runs depends on the block (%core)",
    ),
    ("flag-raised", blocks(SET_BARRIER, SET_BARRIER), (5, 3), "barrier 0 is set again"),
    ("flag-lowered", blocks(WAIT_BARRIER), (4, 3), "nothing has set barrier 0"),
    ("flag-leaked", blocks(SET_BARRIER), (2, 1), "remove what sets it"),
    ("flag-branch", blocks("  if %core < 2 {", SET_BARRIER, "  }", WAIT_BARRIER), (4, 3), "barrier 0 is set after one"),
    ("wrong-level", tile(SET_BARRIER.replace("= 4", "= 1")), (4, 3), "set_barrier"),
    ("missing-address", planned("planned", B0), (3, 10), "b0 has no address"),
    ("misaligned-address", planned("planned", B0 + " address 16"), (3, 10), "b0 in ub has address 16"),
    (
        "over-capacity",
        planned("planned", B0 + " address 196608"),
        (3, 10),
        "ends at byte 196736 of ub, which has 196608",
    ),
    (
        "buffer-overlap",
        planned(
            "planned",
            B0 + " address 0",
            B0.replace("b0", "b1") + " address 96",
            "  %a @b0 = load x[0 : 4, 0 : 8]",
            "  %b @b1 = neg %a",
        ),
        (4, 10),
        "buffers b0 (bytes 0 to 127) and b1 (bytes 96 to 223) overlap in ub",
    ),
    (
        "region-unproven",
        HEAD + "tile {\n  grid %b : 2\n  %a = load x[(%b * 3) : 2, 0 : 8]\n}\n",
        (4, 3),
        "which may leave axis 0 of x (4 elements): %b is 0 to 1, so it covers 0 to 4",
    ),
    (
        "region-unproven",
        "pto 1\nkernel k(x: gm f32[%n]) level tile {\n  %a = load x[0 : 4]\n}\n",
        (3, 3),
        "covers 0 to 3, which may leave axis 0 of x (%n elements): %n is not known",
    ),
    (
        "extent-unproven",
        "pto 1\nkernel k(x: gm f32[%n]) level tile {\n  %a = load x[0 : %n - 1]\n}\n",
        (3, 3),
        "extent %n - 1, which may be negative",
    ),
    (
        "index-size",
        tile("  for %i = 0 to 4000000000 {\n    %b = index {dtype = i64, value = %i * %i * %i}\n  }"),
        (5, 5),
        "beyond 64 bits",
    ),
    (
        "index-divisor",
        tile("  for %i = 0 to 2 {\n    %b = index {dtype = i64, value = 4 % %i}\n  }"),
        (5, 5),
        "divided by %i",
    ),
    ("reshape-size", tile("  %b = reshape %a {shape = [4, 9]}"), (4, 3), "(4, 8) to (4, 9)"),
    ("unsupported-dtype", tile("  %b = and %a, %a"), (4, 3), "and does not take dtype f32"),
]


@pytest.mark.parametrize(
    ("name", "text", "place", "words"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)]
)
def test_mistake_in_text(name: str, text: str, place: tuple[int, int], words: str) -> None:
    with pytest.raises(UserError) as caught:
        check_bounds(parse_module(text, "kernel.pto"), "kernel.pto")
    error = caught.value
    assert error.name == name, str(error)
    assert error.location is not None
    assert (error.location.file, error.location.line, error.location.column) == ("kernel.pto", *place), str(error)
    assert words in error.message + error.help
    assert str(error).startswith(f"kernel.pto:{place[0]}:{place[1]}: error[{name}]: ")
    line = text.split("\n")[place[0] - 1]
    assert str(error).split("\n")[1] == "    " + line
    assert str(error).split("\n")[2].index("^") == 4 + place[1] - 1


def _broken(name: str) -> Module:
    """What no text can say."""
    type_ = TileType(F32, (4,))
    x, y = Parameter("x", type_, Role.IN), Parameter("y", type_, Role.OUT)
    a = Value("a", type_)
    load = Load(a, "x", (Range(0, 4),))
    bad = {
        "value-changed": Store("y", (Range(0, 4),), Value("a", TileType(F32, (5,)))),
        "unknown-comparison": If(Condition(Symbol("i"), ">", 0), (), (), (), (), ()),
        "attribute-value": Operation("constant", (), (a,), (("dtype", F32), ("value", [1.0]))),  # type: ignore[arg-type]
    }
    return Module("k", (x, y), (), (Kernel("k", (x, y), (), (load, bad[name])),))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("value-changed", "%a is used as f32[5] but was defined as f32[4]"),
        ("unknown-comparison", "> is no comparison"),
        ("attribute-value", "is [1.0]"),
    ],
)
def test_mistake_that_no_text_can_make(name: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        verify_text(_broken(name))
    assert caught.value.name == name
    assert words in str(caught.value)


def test_file_that_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "kernel.pto"
    file.write_bytes(b"pto 1\n# caf\xe9\n")
    with pytest.raises(UserError) as caught:
        read_module(file)
    assert caught.value.name == "text-encoding"
    assert str(caught.value).startswith(f"{file}:2: error[text-encoding]: byte 11 of the file is not UTF-8")


def test_text_without_a_kernel() -> None:
    with pytest.raises(UserError, match="unexpected the end of the text"):
        parse_kernel("pto 1\n")


def test_every_entry_is_here() -> None:
    tested = {case[0] for case in (*CASES, *CUBE_CASES.values())}
    tested |= {"value-changed", "unknown-comparison", "attribute-value", "text-encoding"}
    assert set(ENTRIES) <= tested, set(ENTRIES) - tested

"""Passes: levels, verification, dumps, timing, and the name of what fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pypto.ir.base.errors import CompilerBug, UserError
from pypto.ir.base.settings import settings
from pypto.ir.nodes import Kernel, Level, Module
from pypto.ir.parser import parse_module, read_module
from pypto.ir.passes.manager import Pass, Timing, dump, run_passes

MODULE = parse_module("""pto 1
module m(x: gm f32[4]) -> (y: gm f32[4], z: gm f32[4])

kernel first(x: gm f32[4]) -> (y: gm f32[4]) level tile {
  %a = load x[0 : 4]
  store y[0 : 4], %a
}

kernel second(x: gm f32[4]) -> (z: gm f32[4]) level tile {
  %a = load x[0 : 4]
  store z[0 : 4], %a
}
""")


def annotate(kernel: Kernel) -> Kernel:
    return replace(kernel, attributes=(("seen", True),))


def lower(kernel: Kernel) -> Kernel:
    return replace(kernel, level=Level.BUFFERED, body=())


IDLE = Pass("idle", Level.TILE, Level.TILE, lambda kernel: kernel)
ANNOTATE = Pass("annotate", Level.TILE, Level.TILE, annotate)
LOWER = Pass("lower", Level.TILE, Level.BUFFERED, lower)


def test_all_kernels_in_order_with_times() -> None:
    module, timings = run_passes(MODULE, (IDLE, ANNOTATE, LOWER))
    assert [kernel.level for kernel in module.kernels] == [Level.BUFFERED] * 2
    assert all(kernel.attributes == (("seen", True),) for kernel in module.kernels)
    assert [(timing.name, timing.changed) for timing in timings] == [
        ("idle", False),
        ("annotate", True),
        ("lower", True),
    ]
    assert all(timing.seconds >= 0 for timing in timings)
    assert MODULE.level is Level.TILE


def test_dumps_are_numbered_and_can_be_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "dump"
    with settings(dump=str(folder)):
        dump(MODULE, 0, "trace")
        module, _ = run_passes(MODULE, (IDLE, ANNOTATE, LOWER))
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["00-trace.pto", "01-idle.pto", "02-annotate.pto", "03-lower.pto"]
    assert read_module(folder / "03-lower.pto") == module
    assert (folder / "01-idle.pto").read_text(encoding="utf-8").startswith("# after idle (unchanged)\npto 1\n")
    assert (folder / "02-annotate.pto").read_text(encoding="utf-8").startswith("# after annotate\npto 1\n")


def test_no_dump_without_the_setting() -> None:
    with settings(dump=""):
        assert dump(MODULE, 0, "trace") is None


def test_times_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with settings(debug=2):
        run_passes(MODULE, (IDLE, LOWER), first=7)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("pypto: pass idle: ")
    assert lines[0].endswith(" ms (unchanged)")
    assert lines[1].endswith(" ms")
    assert str(Timing("x", 0.0015, True)) == "x: 1.50 ms"


def test_level_that_a_pass_needs() -> None:
    with pytest.raises(CompilerBug, match="kernel first is at level tile, not buffered"):
        run_passes(MODULE, (Pass("late", Level.BUFFERED, Level.BUFFERED, lambda kernel: kernel),))


def test_level_that_a_pass_gives() -> None:
    with pytest.raises(CompilerBug, match="kernel first came out at level tile, not buffered"):
        run_passes(MODULE, (Pass("lazy", Level.TILE, Level.BUFFERED, lambda kernel: kernel),))


def _break(kernel: Kernel) -> Kernel:
    return replace(kernel, body=kernel.body[1:])


def test_result_is_verified_with_the_setting() -> None:
    breaking = Pass("break", Level.TILE, Level.TILE, _break)
    with settings(verify=False):
        run_passes(MODULE, (breaking,))
    with settings(verify=True), pytest.raises(CompilerBug, match=r"pass break: undefined-value: %a .* in `store y"):
        run_passes(MODULE, (breaking,))


@pytest.mark.parametrize(
    "fault",
    [ValueError("no"), KeyError("k"), AssertionError(), ZeroDivisionError(), RecursionError(), NotImplementedError()],
)
def test_fault_names_the_pass_and_keeps_what_it_was_given(fault: BaseException, tmp_path: Path) -> None:
    def fail(kernel: Kernel) -> Kernel:
        raise fault

    with settings(dump=str(tmp_path)), pytest.raises(CompilerBug) as caught:
        run_passes(MODULE, (IDLE, Pass("fails", Level.TILE, Level.TILE, fail)))
    path = tmp_path / "02-fails.failed.pto"
    assert "compiler bug in pass fails" in str(caught.value)
    assert type(fault).__name__ in str(caught.value)
    assert caught.value.dump == str(path)
    assert caught.value.__cause__ is fault
    assert read_module(path) == MODULE


def test_fault_without_a_dump_folder_is_kept_somewhere() -> None:
    def fail(kernel: Kernel) -> Kernel:
        raise TypeError("no")

    with settings(dump=""), pytest.raises(CompilerBug) as caught:
        run_passes(MODULE, (Pass("fails", Level.TILE, Level.TILE, fail),))
    assert caught.value.dump is not None
    path = Path(caught.value.dump)
    assert read_module(path) == MODULE
    path.unlink()
    path.parent.rmdir()


def test_mistake_of_the_user_stays_one() -> None:
    def refuse(kernel: Kernel) -> Kernel:
        raise UserError("reshape-size", None, before="(4,)", after="(5,)")

    with pytest.raises(UserError, match="reshape-size"):
        run_passes(MODULE, (Pass("refuses", Level.TILE, Level.TILE, refuse),))


def test_pass_is_a_value() -> None:
    assert replace(IDLE) == IDLE
    module = Module("empty", (), (), ())
    assert run_passes(module, (IDLE,))[0] == module

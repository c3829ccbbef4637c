"""What `pypto check` finds: text and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from pypto.checking import CheckReport, check_module
from pypto.cli_check import check
from pypto.ir.base.errors import UserError
from pypto.ir.parser import parse_module

HEAD = """pto 1

kernel k(x: gm f32[4, 8], y: gm f32[4, 8]) -> (out: gm f32[4, 8]) level planned {
  buffer @a : ub f32[4, 8] depth 1 address 0
  buffer @b : ub f32[4, 8] depth 1 address 288
  buffer @c : ub f32[4, 8] depth 1 address 576
  %a @a = load x[0 : 4, 0 : 8]
  %b @b = load y[0 : 4, 0 : 8]
"""
LOADED = """  set_flag {destination = "V", id = 0, source = "MTE2"}
  wait_flag {destination = "V", id = 0, source = "MTE2"}
"""
ADDED = """  %c @c = add %a, %b
  %d @c = mul %c, %a
"""
BARRED = '  %c @c = add %a, %b\n  pipe_barrier {pipe = "V"}\n  %d @c = mul %c, %a\n'
STORED = """  set_flag {destination = "MTE3", id = 0, source = "V"}
  wait_flag {destination = "MTE3", id = 0, source = "V"}
  store out[0 : 4, 0 : 8], %d
}
"""


def checked(*parts: str) -> CheckReport:
    return check_module("k", parse_module("".join(parts), "k.pto"))


def test_clean_kernel_has_no_findings() -> None:
    report = checked(HEAD, LOADED, BARRED, STORED)
    assert report.findings == ()
    assert str(report) == "k: 0 findings\n  kernel k: 704 of 196608 bytes of ub"


def test_race() -> None:
    first, second, *_ = checked(HEAD, BARRED, STORED).findings
    assert {first.error.name, second.error.name} == {"race"}
    assert str(first.error.location) == "k.pto:9:3"
    assert str(first.other) == "k.pto:7:3"
    assert str(second.other) == "k.pto:8:3"
    text = str(first)
    assert "error[race]: pipe V and pipe MTE2 both touch ub from byte 0, one of them writing" in text
    assert "      %c @c = add %a, %b\n      ^^^^^" in text
    assert 'help: write `set_flag {destination = "V", id = N, source = "MTE2"}` after the earlier' in text
    assert "k.pto:7:3: note: the other place" in text


def test_race_in_pipe() -> None:
    (found,) = checked(HEAD, LOADED, ADDED, STORED).findings
    assert found.error.name == "race-in-pipe"
    assert str(found.error.location) == "k.pto:12:3"
    assert str(found.other) == "k.pto:11:3"
    assert 'write `pipe_barrier {pipe = "V"}` between the two' in str(found)


def test_flag_misuse() -> None:
    """Set again where the wait before it may still be to come: sets of MTE2 know nothing of V."""
    found = [item.error for item in checked(HEAD, LOADED, LOADED, BARRED, STORED).findings]
    assert [item.name for item in found] == ["flag-misuse"]
    assert "flag MTE2 -> V 0 may be set before its last wait has run" in found[0].message
    assert str(found[0].location) == "k.pto:11:3"
    assert "a flag is one bit" in found[0].help


BLOCKS = """pto 1

kernel k(x: gm f32[4, 8], y: gm f32[4, 8]) -> (out: gm f32[4, 8]) level planned {
  grid %core : 4
  buffer @a : ub f32[1, 8] depth 1 address 0
  if %core < 2 {
    set_barrier {barrier_id = 0, participants = 4}
    wait_barrier {barrier_id = 0}
    set_barrier {barrier_id = 1, participants = 4}
    wait_barrier {barrier_id = 1}
  } else {
    set_barrier {barrier_id = 1, participants = 4}
    wait_barrier {barrier_id = 1}
    set_barrier {barrier_id = 0, participants = 4}
    wait_barrier {barrier_id = 0}
  }
"""
COPIES = """  %a @a = load x[%core : 1, 0 : 8]
  set_flag {destination = "MTE3", id = 0, source = "MTE2"}
  wait_flag {destination = "MTE3", id = 0, source = "MTE2"}
  store out[0 : 1, 0 : 8], %a
}
"""


def test_blocks_that_wait_for_ever_or_for_nobody() -> None:
    found = {item.error.name: item for item in checked(BLOCKS, COPIES).findings}
    assert set(found) == {"block-order", "blocks-wait"}
    words = "deadlock: block 0 waits at barrier 0 for block 2, which waits at barrier 1 for block 0"
    assert words in str(found["blocks-wait"])
    assert "set the same barriers, and wait for them, in the same order" in str(found["blocks-wait"])
    assert str(found["blocks-wait"].error.location) == "k.pto:8:5"
    race = str(found["block-order"])
    assert "blocks 0 and 1 touch the same elements of out, one of them writing, and no barrier lies between" in race
    assert "write `set_barrier {barrier_id = 0, participants = N}` after the earlier statement" in race


def test_bank_conflict() -> None:
    report = checked(
        HEAD.replace("address 288", "address 512").replace("address 576", "address 800"), LOADED, BARRED, STORED
    )
    (found,) = report.findings
    assert found.error.name == "bank-conflict"
    assert found.is_warning
    assert report.errors == ()
    assert str(found.error.location) == "k.pto:11:3"
    assert "warning[bank-conflict]: %a and %b, which add reads together, both begin in bank group 0" in str(found)
    assert "(bytes 0 and 512)" in str(found)
    assert "1 finding, 1 of them warnings" in str(report)


def test_check_options(tmp_path: Path) -> None:
    path = tmp_path / "k.pto"
    path.write_text("".join((HEAD, LOADED, BARRED, STORED)))
    with pytest.raises(UserError) as caught:
        check(str(path), blocks=3)
    assert caught.value.name == "check-options"
    assert f"an option does not belong to {path}" in caught.value.message
    assert "--shape and --dtype" in caught.value.help
    with pytest.raises(UserError, match="--blocks"):
        check("kernel.cpp", shape=["x=3"])


def test_file_import(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import pypto\n\n1 / 0\n")
    with pytest.raises(UserError) as caught:
        check(str(path))
    assert caught.value.name == "file-import"
    assert str(caught.value.location) == f"{path}:3"
    assert f"{path} raises ZeroDivisionError: division by zero" in caught.value.message

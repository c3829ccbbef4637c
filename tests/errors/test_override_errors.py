"""Mistakes in texts that replace what stages make: text and place."""

from __future__ import annotations

from pathlib import Path

import pytest

import pypto
from pypto.ir.base.errors import UserError

SHAPES = {"x": (4, 8), "out": (4, 8)}


@pypto.tile
def double(x, out):
    out[:] = x * 2.0


TILE = """pto 1

kernel double(x: gm f32[4, 8]) -> (out: gm f32[4, 8]) level tile {
  %x = load x[0 : 4, 0 : 8]
  %y = add %x, %x
  store out[0 : 4, 0 : 8], %y
}
"""


def compiled(folder: Path, target: str = "cpu", **texts: str) -> UserError:
    """Compile with a folder of texts, by stage and ending; return the mistake."""
    for name, text in texts.items():
        stage, _, ending = name.rpartition("_")
        (folder / f"{stage}.{ending}").write_text(text)
    with pypto.settings(override=folder), pytest.raises(UserError) as caught:
        pypto.compile(double, target=target, shapes=SHAPES)
    return caught.value


def source(target: str) -> str:
    return pypto.compile(double, target=target, shapes=SHAPES).source()


def test_override_text_is_checked_like_any(tmp_path: Path) -> None:
    error = compiled(tmp_path, tile_pto=TILE.replace("add %x, %x", "addd %x, %x"))
    assert error.name == "unknown-operation"
    assert str(error.location) == f"{tmp_path / 'tile.pto'}:5:8"
    assert "^^^^" in str(error)


def test_override_text_is_verified(tmp_path: Path) -> None:
    error = compiled(tmp_path, tile_pto=TILE.replace("add %x, %x", "and %x, %x"))
    assert error.name == "unsupported-dtype"
    assert error.location is not None
    assert error.location.line == 5


def test_override_level(tmp_path: Path) -> None:
    error = compiled(tmp_path, "ascendc", rotate_buffers_pto=TILE)
    assert error.name == "override-level"
    assert "rotate_buffers.pto is at level tile, and the stage that it replaces gives level buffered" in error.message
    assert str(error.location) == f"{tmp_path / 'rotate_buffers.pto'}:1"


def test_override_parameters(tmp_path: Path) -> None:
    error = compiled(tmp_path, tile_pto=TILE.replace("8]", "9]").replace("0 : 8", "0 : 9"))
    assert error.name == "override-parameters"
    assert "has the parameters (x: in f32[4, 9], out: out f32[4, 9])" in error.message
    assert "(x: in f32[4, 8], out: out f32[4, 8])" in error.message


def test_override_llvm(tmp_path: Path) -> None:
    text = source("cpu")
    line = next(number for number, item in enumerate(text.split("\n"), 1) if "load" in item)
    lines = text.split("\n")
    lines[line - 1] = lines[line - 1].replace("load", "lod")
    error = compiled(tmp_path, source_ll="\n".join(lines))
    assert error.name == "override-llvm"
    assert "expected instruction opcode" in error.message
    assert error.location is not None
    assert error.location.line == line
    assert "lod" in str(error)


def test_override_symbol(tmp_path: Path) -> None:
    error = compiled(tmp_path, source_ll=source("cpu").replace("@pypto_double", "@pypto_treble"))
    assert error.name == "override-symbol"
    assert "source.ll defines no function pypto_double_0_0" in error.message
    (tmp_path / "source.ll").unlink()
    error = compiled(tmp_path, "ascendc", source_cpp=source("ascendc").replace("launch_double", "launch_treble"))
    assert "source.cpp defines no function pypto0_launch_double" in error.message


def test_override_twice(tmp_path: Path) -> None:
    (tmp_path / "00-tile.pto").write_text(TILE)
    error = compiled(tmp_path, tile_pto=TILE)
    assert error.name == "override-twice"
    assert "00-tile.pto and" in error.message
    assert "stage tile.pto" in error.message


def test_override_dump(tmp_path: Path) -> None:
    with pypto.settings(dump=tmp_path):
        assert compiled(tmp_path).name == "override-dump"
    assert list(tmp_path.iterdir()) == []


def test_override_folder(tmp_path: Path) -> None:
    assert "No such file" in compiled_in(tmp_path / "none").message
    (tmp_path / "tile.pto").write_bytes(b"pto 1\n\xff")
    error = compiled_in(tmp_path)
    assert error.name == "override-folder"
    assert "tile.pto': it is not UTF-8 text" in error.message


def compiled_in(folder: Path) -> UserError:
    with pypto.settings(override=folder), pytest.raises(UserError) as caught:
        pypto.compile(double, shapes=SHAPES)
    return caught.value


def test_edited_kernel(tmp_path: Path) -> None:
    text = pypto.compile(double, target="ascendc", shapes=SHAPES).to_text("synchronised")
    lines = [line for line in text.split("\n") if "_flag" not in line or '"MTE2"' not in line]
    (tmp_path / "raced.pto").write_text("\n".join(lines))
    with pytest.raises(UserError, match=r"error\[race\]") as caught:
        pypto.compile(tmp_path / "raced.pto", target="ascendc").execute()
    assert caught.value.name == "edited-kernel"
    assert "'double', which was not lowered as the compiler would" in caught.value.message

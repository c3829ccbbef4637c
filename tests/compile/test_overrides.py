"""Texts that replace what stages make: `PYPTO_OVERRIDE`."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import pypto
from pypto.ir.base.errors import UserError
from pypto.ir.nodes import Level

F32 = np.float32
SHAPES = {"x": (12, 8), "out": (12, 8)}


@pypto.tile
def double(x, out):
    out[:] = x * 2.0


@pypto.tile
def other(x, out):
    out[:] = x + 2.0


def dumped(folder: Path, *targets: str) -> Path:
    with pypto.settings(dump=folder):
        for target in targets or ("cpu", "ascendc"):
            pypto.compile(double, target=target, shapes=SHAPES)
    return folder


def edit(folder: Path, stage: str, old: str, new: str) -> Path:
    """Change the text of a stage, whatever its number."""
    (path,) = folder.glob(f"*-{stage}")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def value(target: str, kernel=double) -> float:
    out = np.zeros((12, 8), F32)
    pypto.compile(kernel, target=target).execute(np.ones((12, 8), F32), out)
    assert (out == out[0, 0]).all()
    return float(out[0, 0])


@pytest.mark.parametrize("target", ["cpu", "reference", "ascendc"])
def test_an_edited_text_of_a_whole_dump_replaces_its_stage_alone(tmp_path: Path, target: str) -> None:
    edit(dumped(tmp_path), "tile.pto", "2.0", "3.0")
    with pypto.settings(override=tmp_path):
        assert value(target) == 3
    assert value(target) == 2


@pytest.mark.parametrize(
    "stage", ["fold_constants", "decompose", "choose_tiles", "assign_buffers", "plan_addresses", "finish_plan"]
)
def test_every_stage_of_lowering_can_be_replaced(tmp_path: Path, stage: str) -> None:
    path = edit(dumped(tmp_path, "ascendc"), f"{stage}.pto", "2.0", "5.0")
    with pypto.settings(override=tmp_path):
        assert value("ascendc") == 5
        kernel = pypto.compile(double, target="ascendc", shapes=SHAPES)
        assert f"stage {stage}: its text was taken from {path}" in kernel.notes
        assert str(path) in kernel.explain()
        assert "5.0" in kernel.to_text("planned")
        assert "5.0f" in kernel.source()


def test_llvm_ir_can_be_replaced(tmp_path: Path) -> None:
    edit(dumped(tmp_path, "cpu"), "source.ll", "float 0x4000000000000000", "float 0x4010000000000000")
    with pypto.settings(override=tmp_path):
        assert value("cpu") == 4
        assert value("reference") == 2


def test_ascendc_can_be_replaced(tmp_path: Path) -> None:
    edit(dumped(tmp_path, "ascendc"), "source.cpp", "2.0f", "7.0f")
    with pypto.settings(override=tmp_path):
        assert value("ascendc") == 7


def test_an_edit_that_races_is_the_users_mistake(tmp_path: Path) -> None:
    edit(
        dumped(tmp_path, "ascendc"), "source.cpp", "    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(EVENT_ID0);\n", ""
    )
    edit(tmp_path, "source.cpp", "    AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(EVENT_ID0);\n", "")
    with pypto.settings(override=tmp_path), pytest.raises(UserError, match="error\\[race\\]") as caught:
        value("ascendc")
    assert caught.value.name == "edited-kernel"


def test_a_dump_that_nobody_edited_counts_as_a_whole(tmp_path: Path) -> None:
    @pypto.tile
    def double(x, out):
        out[:] = x * 9.0

    with pypto.settings(override=dumped(tmp_path, "ascendc")):
        assert value("ascendc", double) == 2


def test_a_file_needs_no_number(tmp_path: Path) -> None:
    text = pypto.compile(double, target="reference", shapes=SHAPES).to_text("tile")
    (tmp_path / "tile.pto").write_text(text.replace("2.0", "6.0"))
    with pypto.settings(override=tmp_path):
        assert value("cpu") == 6


def test_texts_of_other_modules_are_left_alone(tmp_path: Path) -> None:
    path = edit(dumped(tmp_path), "tile.pto", "2.0", "3.0")
    with pypto.settings(override=tmp_path):
        assert value("cpu", other) == 3  # 1 + 2
        kernel = pypto.compile(other, target="reference", shapes=SHAPES)
        assert f"stage tile: {path} is of module double, so it was not taken" in kernel.notes


def test_the_texts_are_part_of_the_key_of_a_specialisation(tmp_path: Path) -> None:
    edit(dumped(tmp_path), "tile.pto", "2.0", "3.0")
    kernel, x, out = pypto.compile(double), np.ones((12, 8), F32), np.zeros((12, 8), F32)
    found = []
    kernel.execute(x, out)
    found.append(out[0, 0])
    with pypto.settings(override=tmp_path):
        for old, new in (("3.0", "3.0"), ("3.0", "8.0"), ("8.0", "0.5")):
            edit(tmp_path, "tile.pto", old, new)
            kernel.execute(x, out)
            found.append(out[0, 0])
    kernel.execute(x, out)
    assert [*found, out[0, 0]] == [2, 3, 8, 0.5, 2]


def test_what_was_replaced_is_told_in_the_debug_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = edit(dumped(tmp_path), "tile.pto", "2.0", "3.0")
    with pypto.settings(override=tmp_path, debug=1):
        value("cpu")
    assert f"pypto: stage tile: its text was taken from {path}" in capsys.readouterr().err


def test_what_replaces_a_stage_is_dumped_in_its_place(tmp_path: Path) -> None:
    edit(dumped(tmp_path / "from"), "tile.pto", "2.0", "3.0")
    with pypto.settings(override=tmp_path / "from"):
        dumped(tmp_path / "to", "ascendc")
    assert "3.0" in (tmp_path / "to" / "00-tile.pto").read_text()
    with pypto.settings(override=tmp_path / "to"):
        assert value("ascendc") == 3


def test_a_saved_folder_can_be_given_back(tmp_path: Path) -> None:
    pypto.compile(double, target="ascendc", shapes=SHAPES).save(tmp_path)
    with warnings.catch_warnings(), pypto.settings(override=tmp_path):
        warnings.simplefilter("error")
        assert value("ascendc") == 2
    (tmp_path / "00-tile.pto").write_text((tmp_path / "00-tile.pto").read_text().replace("2.0", "3.0"))
    with pypto.settings(override=tmp_path):
        assert value("ascendc") == 3


def test_a_file_that_is_no_stages_warns_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "03-fold_constans.pto").write_text("")
    with (
        pypto.settings(override=tmp_path),
        pytest.warns(UserWarning, match=r"no stage: did you mean 'fold_constants\.pto'"),
    ):
        value("cpu")


# -- a text at each level, as the beginning


def at_level(level: Level, folder: Path) -> Path:
    path = folder / f"{level.value}.pto"
    path.write_text(pypto.compile(double, target="ascendc", shapes=SHAPES).to_text(level.value))
    assert f"level {level.value}" in path.read_text()
    return path


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("target", ["reference", "ascendc"])
def test_every_level_can_be_entered_from_a_file(tmp_path: Path, level: Level, target: str) -> None:
    kernel = pypto.compile(at_level(level, tmp_path), target=target)
    result = kernel.execute(np.ones((12, 8), F32), out := np.zeros((12, 8), F32), verify=True)
    assert result.verification_passed
    assert (out == 2).all()
    assert "level planned" in kernel.to_text()


def test_levels_give_one_source(tmp_path: Path) -> None:
    def source(kernel) -> str:
        text = pypto.compile(kernel, target="ascendc", shapes=SHAPES).source()
        return re.sub(r"^ *// \S+:\d+.*\n", "", text, flags=re.MULTILINE)  # places in the texts

    wanted = source(double)
    assert "AscendC::Muls" in wanted
    for level in Level:
        assert source(at_level(level, tmp_path)) == wanted, level

"""Reading profiler files: real samples, every known oddity, and damaged files, which never raise."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pytest

from pypto.runtime.tuning.profiler_files import ProfilerData, read_file, read_folder

DATA = Path(__file__).parent / "data"
ONES = "aclnnInplaceOne_OnesLikeAiCore_OnesLike"
GROUPED = "aclnnGroupedMatmulV5_GroupedMatmul_GroupedMatmul"
HEADER = "Name,Type,Start Time(us),Duration(us)"


def parse(tmp_path: Path, text: str | bytes) -> ProfilerData:
    path = tmp_path / "kernel_details.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_file(path)


@pytest.mark.parametrize("name", ["kernel_details_derived.csv", "op_summary_910b_resourceconflict_blocknum.csv"])
def test_both_kinds_of_kernel_files_read_alike(name: str) -> None:
    data = read_file(DATA / name)
    assert data.notes == ()
    assert [row.duration for row in data.named(ONES)] == [Decimal("4.140"), Decimal("7.620")]
    (row,) = data.named(GROUPED)
    assert row.seconds == pytest.approx(25.481e-6)
    assert (row.blocks, row.mixed_blocks, row.model, row.context) == (20, 0, 4294967295, 0)
    assert row.input_shapes == ((512, 16), (8, 2048, 16), (), (), (), (), (), (8,))
    assert row.output_shapes == ((512, 2048),)
    assert row.input_types[:3] == ("DT_BF16", "DT_BF16", "FLOAT")
    assert row.metrics["aic_total_cycles"] == 744404  # summed over blocks
    assert (row.core, row.state, row.type) == ("MIX_AIC", "dynamic", "GroupedMatmul")


def test_time_stamps_keep_all_their_digits() -> None:
    rows = read_file(DATA / "kernel_details_derived.csv").rows
    assert rows[0].start == Decimal("1787504148273307.948")
    assert float("1787504148273307.948") != rows[0].start  # what a float would lose
    assert [row.wait for row in rows] == [0, Decimal("788.360000"), Decimal("13658.630000")]
    assert rows[0].context is None  # N/A


def test_control_rows_of_task_files_have_no_name() -> None:
    data = read_file(DATA / "task_time_910b_vllm.csv")
    assert [row.type for row in data.rows if row.name is None] == [
        "PROFILING_ENABLE",
        "TASK_TIMEOUT_SET",
        "PROFILING_DISABLE",
    ]
    assert sum(row.name is not None for row in data.rows) == 3
    assert data.rows[2].duration == Decimal("4.280")


def test_a_folder_is_read_by_its_best_kind_alone(tmp_path: Path) -> None:
    for path in DATA.glob("*.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert len(read_folder(tmp_path).rows) == 3
    (tmp_path / "kernel_details_derived.csv").write_text(HEADER + "\n", encoding="utf-8")
    assert len(read_folder(tmp_path).rows) == 3  # header only: the next kind
    for path in tmp_path.glob("op_summary*"):
        path.unlink()
    assert len(read_folder(tmp_path).rows) == 6


def test_slices_out_of_order_and_repeated_rows_become_one_list_by_time(tmp_path: Path) -> None:
    lines = (DATA / "op_summary_910b_resourceconflict_blocknum.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "deep").mkdir()
    (tmp_path / "op_summary_0_slice_0.csv").write_text("\n".join((lines[0], lines[3], lines[1])), encoding="utf-8")
    (tmp_path / "deep" / "op_summary_0_slice_1.csv").write_text("\n".join(lines[:3]), encoding="utf-8")
    rows = read_folder(tmp_path).rows
    assert [row.task for row in rows] == [0, 1, 2]
    assert [row.start for row in rows] == sorted(row.start for row in rows if row.start is not None)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_columns_go_by_name(tmp_path: Path, newline: str, bom: bytes) -> None:
    text = newline.join(("Duration(us) ,Block Dim,Step Id, Name,Type,", "1.5\t,4,7,k,T,", "2,,,k,,"))
    data = parse(tmp_path, bom + text.encode())
    assert [(row.duration, row.blocks, row.step, row.type) for row in data.rows] == [
        (Decimal("1.5"), 4, 7, "T"),
        (2, None, None, None),
    ]
    assert all(row.start is None and not row.metrics for row in data.rows)


@pytest.mark.parametrize("missing", ["N/A", "NA", "", "\t", " "])
def test_missing_values_are_none(tmp_path: Path, missing: str) -> None:
    header = "Name,Duration(us),Start Time(us),Block Num,Input Shapes,aiv_time(us)"
    (row,) = parse(tmp_path, f"{header}\nk,1,{missing},{missing},{missing},{missing}\n").rows
    assert (row.start, row.blocks, row.input_shapes, dict(row.metrics)) == (None, None, None, {})


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", "the file is empty"),
        ("\n", "no columns"),
        ("a,b,c\n1,2,3\n", "no columns"),
        (HEADER.replace("Name", "Nome") + "\nk,T,1,2\n", "no columns"),
        ("\0\0\0", "the file is empty"),
    ],
)
def test_files_without_rows_are_noted(tmp_path: Path, text: str, note: str) -> None:
    data = parse(tmp_path, text)
    assert data.rows == () and note in data.notes[0]


def test_missing_files_and_folders_are_noted(tmp_path: Path) -> None:
    assert "No such file" in read_file(tmp_path / "none.csv").notes[0]
    assert read_folder(tmp_path / "nowhere").rows == ()
    assert "holds no rows" in read_folder(tmp_path).notes[-1]


@pytest.mark.parametrize("duration", ["", "abc", "nan", "inf", "-1", "1e400", "N/A", "1,5"])
def test_rows_without_a_duration_are_left_out_and_noted(tmp_path: Path, duration: str) -> None:
    data = parse(tmp_path, f"Name,Type,Duration(us)\ngood,T,1\nbad,T,{duration if ',' not in duration else ''}\n")
    assert [row.name for row in data.rows] == ["good"]
    assert "row 3" in data.notes[0]


def test_many_bad_rows_make_few_notes(tmp_path: Path) -> None:
    assert len(parse(tmp_path, HEADER + "\n" + "k,T,1,x\n" * 500).notes) == 4


def test_a_field_that_never_ends_is_noted(tmp_path: Path) -> None:
    data = parse(tmp_path, f'{HEADER}\nk,T,1,2\n"' + "x" * 200_000)
    assert [row.name for row in data.rows] == ["k"]
    assert "left out" in data.notes[0]


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.csv")))
def test_damaged_files_never_raise(tmp_path: Path, name: str) -> None:
    whole = (DATA / name).read_bytes()
    chance = random.Random(name)
    for number in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(damaged))
            kind = chance.randrange(4)
            if kind == 0:
                damaged[place] = chance.randrange(256)
            elif kind == 1:
                del damaged[place : place + chance.randrange(1, 80)]
            elif kind == 2:
                damaged = damaged[: place + 1]
            else:
                damaged[place:place] = chance.choice((b'"', b",", b"\n", b"\t", b"\0", b"\xff\xfe", b";;", b"N/A"))
        path = tmp_path / f"kernel_details_{number}.csv"
        path.write_bytes(bytes(damaged))
        for row in read_file(path).rows:
            assert row.duration >= 0 and row.duration.is_finite()


def test_truncation_at_every_byte_keeps_only_whole_rows(tmp_path: Path) -> None:
    whole = (DATA / "task_time_910b_vllm.csv").read_bytes()
    names = [row.name for row in read_file(DATA / "task_time_910b_vllm.csv").rows]
    for end in range(0, len(whole), 7):
        rows = parse(tmp_path, whole[:end]).rows
        assert len(rows) <= len(names)

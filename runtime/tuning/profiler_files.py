"""Reading what the device's profiler writes: ``kernel_details.csv``, ``op_summary_*.csv`` and ``task_time_*.csv``.

Columns are found by name, under any of the names they have in the three kinds of file; those that a mode of the
profiler leaves out are None. Times are in microseconds and stay Decimal, since a time stamp has more digits than a
float. Nothing here raises for what is in a file: what cannot be read is left out and noted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path

KINDS = ("kernel_details*.csv", "op_summary*.csv", "task_time*.csv")
"""Patterns of the files, the best first. A folder is read by one of them, since all tell of the same tasks."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "name": ("Name", "Op Name", "kernel_name"),
    "type": ("Type", "OP Type", "kernel_type"),
    "core": ("Accelerator Core", "Task Type", "kernel_type"),
    "start": ("Start Time(us)", "Task Start Time(us)", "task_start(us)"),
    "duration": ("Duration(us)", "Task Duration(us)", "task_time(us)"),
    "wait": ("Wait Time(us)", "Task Wait Time(us)"),
    "blocks": ("Block Dim", "Block Num"),
    "mixed_blocks": ("Mix Block Dim", "Mix Block Num"),
    "step": ("Step Id",),
    "device": ("Device_id",),
    "model": ("Model ID",),
    "task": ("Task ID", "task_id"),
    "stream": ("Stream ID", "stream_id"),
    "context": ("Context ID",),
    "state": ("OP State",),
    "input_shapes": ("Input Shapes",),
    "output_shapes": ("Output Shapes",),
    "input_types": ("Input Data Types",),
    "output_types": ("Output Data Types",),
}
_TEXTS = ("HF32 Eligible", "Input Formats", "Output Formats", "task_stop(us)")
_KNOWN = frozenset(name for names in COLUMNS.values() for name in names) | frozenset(_TEXTS)
_MISSING = frozenset(("", "N/A", "NA", "n/a", "nan", "None"))
_LONGEST = Decimal(10) ** 18  # microseconds; what is beyond is damage
_NOTES_PER_FILE = 3

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task that the device ran. `name` is None for control tasks; `metrics` holds the columns of the mode used."""

    name: str | None
    type: str | None
    duration: Decimal
    start: Decimal | None = None
    wait: Decimal | None = None
    core: str | None = None
    blocks: int | None = None
    mixed_blocks: int | None = None
    step: int | None = None
    device: int | None = None
    model: int | None = None
    task: int | None = None
    stream: int | None = None
    context: int | None = None
    state: str | None = None
    input_shapes: tuple[Shape, ...] | None = None
    output_shapes: tuple[Shape, ...] | None = None
    input_types: tuple[str, ...] = ()
    output_types: tuple[str, ...] = ()
    metrics: Mapping[str, Decimal] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return float(self.duration) * 1e-6

    @property
    def identity(self) -> tuple[object, ...]:
        """Return what tells two tasks apart: the same row in two files is one task."""
        return self.device, self.stream, self.task, self.context, self.start, self.name, self.duration


@dataclass(frozen=True, slots=True)
class ProfilerData:
    """The rows of a folder or a file in order of start, and notes on what could not be read."""

    rows: tuple[TaskRow, ...] = ()
    notes: tuple[str, ...] = ()

    def named(self, name: str) -> tuple[TaskRow, ...]:
        """Return the rows of exactly this kernel, whatever its type."""
        return tuple(row for row in self.rows if row.name == name)


def read_folder(folder: Path) -> ProfilerData:
    """Return the rows of all files of the best kind that has rows, anywhere under `folder`."""
    notes: list[str] = []
    for pattern in KINDS:
        found = [read_file(path) for path in _files(folder, pattern)]
        notes += [note for data in found for note in data.notes]
        rows = _merged(row for data in found for row in data.rows)
        if rows:
            return ProfilerData(rows, tuple(notes))
    return ProfilerData((), (*notes, f"{folder} holds no rows of a profiler"))


def read_file(path: Path) -> ProfilerData:
    """Return the rows of one file; empty, with a note, when it is missing, empty or of another kind."""
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="replace").replace("\0", "")
    except OSError as error:
        return ProfilerData((), (f"{path.name}: {error.strerror or error}",))
    rows: list[TaskRow] = []
    notes: list[str] = []
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        _read_lines(lines, rows, notes)
    except csv.Error as error:
        notes.append(f"line {lines.line_num}: {error}; what follows is left out")
    return ProfilerData(_merged(rows), tuple(f"{path.name}: {note}" for note in _few(notes)))


def _files(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(path for path in folder.rglob(pattern) if path.is_file())
    except OSError:
        return []


def _merged(rows: Iterable[TaskRow]) -> tuple[TaskRow, ...]:
    unique = {row.identity: row for row in rows}
    return tuple(sorted(unique.values(), key=lambda row: row.start if row.start is not None else Decimal(0)))


def _few(notes: list[str]) -> Iterator[str]:
    yield from notes[:_NOTES_PER_FILE]
    if len(notes) > _NOTES_PER_FILE:
        yield f"{len(notes) - _NOTES_PER_FILE} more lines cannot be read"


def _read_lines(lines: Iterator[list[str]], rows: list[TaskRow], notes: list[str]) -> None:
    header = next(lines, None)
    if header is None:
        notes.append("the file is empty")
        return
    places = _places([cell.strip() for cell in header])
    if "name" not in places or "duration" not in places:
        notes.append("no columns for the name and the duration of a task")
        return
    metrics = {cell.strip(): place for place, cell in enumerate(header) if cell.strip() and cell.strip() not in _KNOWN}
    for number, line in enumerate(lines, 2):
        cells = [cell.strip() for cell in line]
        if not any(cells):
            continue
        row = _row(cells, places, metrics)
        if row is None:
            notes.append(f"row {number} has no duration that is a number")
        else:
            rows.append(row)


def _places(header: list[str]) -> dict[str, int]:
    """Return the position of each known column that is there."""
    found = {}
    for column, names in COLUMNS.items():
        places = [header.index(name) for name in names if name in header]
        if places:
            found[column] = places[0]
    return found


def _row(cells: list[str], places: Mapping[str, int], metrics: Mapping[str, int]) -> TaskRow | None:
    def cell(column: str) -> str | None:
        return _cell(cells, places.get(column))

    duration = _decimal(cell("duration"))
    if duration is None or duration < 0:
        return None
    values = {name: _decimal(_cell(cells, place)) for name, place in metrics.items()}
    return TaskRow(
        name=cell("name"),
        type=cell("type"),
        duration=duration,
        start=_decimal(cell("start")),
        wait=_decimal(cell("wait")),
        core=cell("core"),
        **{column: _integer(cell(column)) for column in ("blocks", "mixed_blocks", "step", "device", "model")},
        **{column: _integer(cell(column)) for column in ("task", "stream", "context")},
        state=cell("state"),
        input_shapes=_shapes(cell("input_shapes")),
        output_shapes=_shapes(cell("output_shapes")),
        input_types=_types(cell("input_types")),
        output_types=_types(cell("output_types")),
        metrics={name: value for name, value in values.items() if value is not None},
    )


def _cell(cells: list[str], place: int | None) -> str | None:
    """Return a cell, None when the column is missing, the line too short, or nothing is in it."""
    if place is None or place >= len(cells) or cells[place] in _MISSING:
        return None
    return cells[place]


def _decimal(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) < _LONGEST else None


def _integer(text: str | None) -> int | None:
    number = _decimal(text)
    return int(number) if number is not None and number == number.to_integral_value() else None


def _shapes(text: str | None) -> tuple[Shape, ...] | None:
    """Return the shapes in ``"512,16;8"``, an empty one where nothing stands between; None for anything else."""
    if text is None:
        return None
    shapes = [[_integer(part) for part in item.split(",") if part.strip()] for item in text.strip('"').split(";")]
    if any(extent is None for shape in shapes for extent in shape):
        return None
    return tuple(tuple(extent for extent in shape if extent is not None) for shape in shapes)


def _types(text: str | None) -> tuple[str, ...]:
    return tuple(text.strip('"').split(";")) if text else ()

"""The tuning cache's file: rows, damage, many processes, killed processes, full and forbidden disks."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from pypto.runtime.tuning import store as store_module
from pypto.runtime.tuning.store import SCHEMA, TABLES, Row, TuningStore, export_rows, import_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "tuning.db"


@pytest.fixture(autouse=True)
def forget_warnings() -> None:
    store_module.warn_once.cache_clear()


def filled(path: Path, keys: int = 12, names: int = 8) -> dict[tuple[str, str, str], object]:
    rows = [
        Row(table, f"key{k}", f"name{n}", {"seconds": k + n / 10, "text": "x" * (7 * k + n)})
        for table in TABLES
        for k in range(keys)
        for n in range(names)
    ]
    assert TuningStore(path).write(rows)
    return {(row.table, row.key, row.name): row.value for row in rows}


def test_values_come_back_by_key_and_oldest_first(path: Path) -> None:
    store = TuningStore(path)
    assert store.read("timings", "a") == {}
    assert not path.exists(), "reading makes no file"
    store.write([Row("timings", "a", "2", {"s": 1.5}, 2.0), Row("timings", "a", "1", [None, True, "µ|\n"], 3.0)])
    store.write([Row("timings", "b", "1", 0), Row("choices", "a", "1", "w")])
    assert list(store.read("timings", "a").items()) == [("2", {"s": 1.5}), ("1", [None, True, "µ|\n"])]
    assert store.read("choices", "a") == {"1": "w"}
    store.write([Row("timings", "a", "2", "again")])
    assert store.read("timings", "a")["2"] == "again"


def test_all_rows_of_a_write_are_stored_or_none(path: Path) -> None:
    store = TuningStore(path)
    with pytest.raises(ValueError, match="JSON"):
        store.write([Row("timings", "a", "1", 1), Row("timings", "a", "2", float("nan"))])
    assert store.read("timings", "a") == {}


def test_removing_and_compacting(path: Path) -> None:
    store = TuningStore(path)
    store.write([Row("timings", "a", str(n), "x" * 5000) for n in range(200)])
    assert store.remove(store.rows("timings", "a")) == 200
    assert store.remove([Row("timings", "a", "7", None)]) == 0
    store.compact()
    assert path.stat().st_size < 100_000


def test_export_and_import(path: Path, tmp_path: Path) -> None:
    expected = filled(path)
    other = TuningStore(tmp_path / "other.db")
    other.write(import_rows(export_rows(TuningStore(path).rows())))
    assert {(row.table, row.key, row.name): row.value for row in other.rows()} == expected
    assert other.rows() == TuningStore(path).rows(), "the time of writing is kept"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": "x"}',
        json.dumps({"format": "pypto tuning", "schema": SCHEMA + 1, "rows": []}),
        json.dumps({"format": "pypto tuning", "schema": SCHEMA, "rows": [{"table": "timings"}]}),
        json.dumps(
            {
                "format": "pypto tuning",
                "schema": SCHEMA,
                "rows": [{"table": "x", "key": "", "name": "", "value": 0, "written": 1}],
            }
        ),
    ],
)
def test_import_refuses_other_text(text: str) -> None:
    with pytest.raises(ValueError):
        import_rows(text)


def test_a_changed_row_is_a_miss_and_named(path: Path) -> None:
    expected = filled(path, 3, 3)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE timings SET value='{\"seconds\": 0}' WHERE key='key1' AND name='name2'")
        connection.execute("UPDATE choices SET key='key9' WHERE key='key2' AND name='name0'")
        connection.execute("UPDATE subjects SET value=NULL || x'ff00' || value, checksum='' WHERE name='name1' AND 0")
        connection.execute("UPDATE choices SET value=CAST(x'ff00ff' AS TEXT) WHERE key='key0' AND name='name0'")
    connection.close()
    store = TuningStore(path)
    assert "name2" not in store.read("timings", "key1")
    assert store.read("choices", "key9") == {}, "a value of another key is no answer"
    assert "name0" not in store.read("choices", "key0")
    assert len(store.problems()) == 3
    assert len(store.rows()) == len(expected) - 3


@pytest.mark.parametrize("content", [b"not a database" * 99, b"\0" * 8192, b"SQLite format 3\0" + b"x" * 5000, b"{}"])
def test_a_foreign_file_is_moved_aside_with_a_warning(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    store = TuningStore(path)
    with pytest.warns(RuntimeWarning, match="could not be read"):
        assert store.read("timings", "a") == {}
    kept = list(path.parent.glob("tuning.db.damaged-*"))
    assert [item.read_bytes() for item in kept] == [content]
    assert store.write([Row("timings", "a", "1", 1)])
    assert store.read("timings", "a") == {"1": 1}


def test_an_older_newer_or_foreign_schema_is_moved_aside(path: Path) -> None:
    changes = ("PRAGMA user_version=0", f"PRAGMA user_version={SCHEMA + 1}", "PRAGMA application_id=77")
    for change in (*changes, "DROP TABLE timings", "ALTER TABLE timings DROP COLUMN written"):
        filled(path, 2, 2)
        with sqlite3.connect(path) as connection:
            connection.execute(change)
        connection.close()
        with pytest.warns(RuntimeWarning, match="is now"):
            assert TuningStore(path).read("timings", "key1") == {}, change
        assert TuningStore(path).write([Row("timings", "a", "1", 1)]), change
    assert len(list(path.parent.glob("*.damaged-*"))) >= 5


def test_a_database_of_another_program_is_kept_whole(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.execute("INSERT INTO mine VALUES (7)")
    connection.close()
    with pytest.warns(RuntimeWarning, match="something else"):
        TuningStore(path).write([Row("timings", "a", "1", 1)])
    (aside,) = (item for item in path.parent.glob("*.damaged-*") if not item.name.endswith(("-wal", "-shm")))
    assert sqlite3.connect(aside).execute("SELECT x FROM mine").fetchall() == [(7,)]


def test_two_hundred_random_corruptions_give_no_crash_and_no_wrong_answer(path: Path) -> None:
    expected = filled(path)
    pristine = path.read_bytes()
    generator = random.Random(6)
    for round_ in range(200):
        for item in path.parent.iterdir():
            item.unlink()
        path.write_bytes(corrupted(bytearray(pristine), generator))
        store = TuningStore(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for table in TABLES:
                for row in store.rows(table):
                    assert expected[row.table, row.key, row.name] == row.value, round_
            for (table, key, name), value in list(expected.items())[:: generator.randrange(3, 40)]:
                assert store.read(table, key).get(name, value) == value, round_
            store.problems()
            assert store.write([Row("choices", "new", "1", round_)]), round_
            assert store.read("choices", "new") == {"1": round_}, round_


def corrupted(content: bytearray, generator: random.Random) -> bytes:
    kind = generator.choice(["flip", "flip", "header", "cut", "zero", "swap", "tail"])
    if kind in ("flip", "header"):
        for _ in range(generator.choice([1, 3, 40])):
            place = generator.randrange(100 if kind == "header" else len(content))
            content[place] = generator.randrange(256)
    elif kind == "cut":
        del content[generator.randrange(len(content)) :]
    elif kind == "zero":
        start = generator.randrange(len(content))
        content[start : start + 600] = bytes(len(content[start : start + 600]))
    elif kind == "swap":
        first, second = (4096 * generator.randrange(len(content) // 4096) for _ in range(2))
        content[first : first + 4096], content[second : second + 4096] = (
            content[second : second + 4096],
            content[first : first + 4096],
        )
    else:
        content += generator.randbytes(5000)
    return bytes(content)


def test_a_damaged_write_ahead_log_gives_no_wrong_answer(path: Path) -> None:
    expected = filled(path, 2, 2)
    open_elsewhere = sqlite3.connect(path)
    open_elsewhere.execute("SELECT * FROM timings").fetchall()
    TuningStore(path).write([Row("timings", "late", str(n), "y" * 900) for n in range(30)])
    log = Path(f"{path}-wal").read_bytes()
    content = path.read_bytes()
    open_elsewhere.close()
    generator = random.Random(3)
    for _ in range(40):
        for item in path.parent.iterdir():
            item.unlink()
        path.write_bytes(content)
        Path(f"{path}-wal").write_bytes(corrupted(bytearray(log), generator))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in TuningStore(path).rows():
                assert row.value == "y" * 900 or expected[row.table, row.key, row.name] == row.value
            assert TuningStore(path).write([Row("choices", "new", "1", 1)])


# -- places that cannot be used


@pytest.mark.parametrize("place", ["plain/sub/t.db", "plain/t.db", "folder.db"])
def test_an_unusable_path_is_one_warning(tmp_path: Path, place: str) -> None:
    (tmp_path / "plain").write_text("x")
    (tmp_path / "folder.db").mkdir()
    store = TuningStore(tmp_path / place)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert store.write([Row("timings", "a", "1", 1)]) is False
        assert store.write([Row("timings", "a", "2", 1)]) is False
        assert store.read("timings", "a") == {}
    assert len([item for item in found if "is not used" in str(item.message)]) == 1


IN_A_CHILD = """
import os, resource, sqlite3, sys, warnings
from pathlib import Path
from pypto.runtime.tuning.store import Row, TuningStore
store = TuningStore(Path(sys.argv[1]))
{setting}
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    stored = [store.write([Row("timings", "late", str(n), "x" * 100000)]) for n in range(3)]
    seen = store.read("timings", "key0")
print(len(found), stored, seen)
"""


def in_a_child(path: Path, setting: str) -> str:
    text = IN_A_CHILD.format(setting=setting)
    done = subprocess.run(
        [sys.executable, "-c", text, str(path)], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_full_disk_is_one_warning_and_loses_nothing(path: Path) -> None:
    filled(path, 1, 1)
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))"
    assert in_a_child(path, limit) == f"1 [False, False, False] {TuningStore(path).read('timings', 'key0')}\n"
    assert TuningStore(path).problems() == []
    assert TuningStore(path).write([Row("timings", "late", "1", 1)])


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, as pytest's own may not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_forbidden_folder_is_one_warning(open_folder: Path) -> None:
    folder = open_folder
    path = folder / "made" / "tuning.db"
    filled(path, 1, 1)
    path.parent.chmod(0o555)
    path.chmod(0o444)
    other = "os.seteuid(65534)" if os.geteuid() == 0 else ""
    printed = in_a_child(path, other)
    assert printed.startswith("1 [False, False, False]")
    path.parent.chmod(0o700)
    path.chmod(0o600)
    assert TuningStore(path).problems() == []


READ_ONLY = """
import os, sqlite3, sys, warnings
from pathlib import Path
from pypto.runtime.tuning.store import Row, TuningStore
if os.geteuid() == 0:
    os.seteuid(65534)
store = TuningStore(Path(sys.argv[1]))
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    read, problems = store.read("timings", "key0"), store.problems()
    print(sorted(read), problems, len(found))
    print(store.write([Row("timings", "a", "1", 1)]), store.write([Row("timings", "a", "1", 1)]), len(found))
    print(store.read("timings", "key0") == read, len(found))
"""


@pytest.mark.parametrize("modes", [(0o555, 0o444), (0o555, 0o666), (0o777, 0o444)], ids=["both", "folder", "file"])
def test_what_is_in_a_read_only_folder_can_be_read(open_folder: Path, modes: tuple[int, int]) -> None:
    path = open_folder / "has space #1?" / "tuning.db"
    filled(path, 1, 2)
    path.chmod(modes[1])
    path.parent.chmod(modes[0])
    command = [sys.executable, "-c", READ_ONLY, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    path.parent.chmod(0o700)
    assert done.stdout.splitlines() == ["['name0', 'name1'] [] 0", "False False 1", "True 1"], done.stderr


# -- many at once

WRITER = """
import sys
from pathlib import Path
from pypto.runtime.tuning.store import Row, TuningStore
store = TuningStore(Path(sys.argv[1]))
for n in range(int(sys.argv[3])):
    assert store.write([Row("timings", sys.argv[2], f"{n}", "v" * (n % 50 * 90))])
    print(n, flush=True)
"""


def start_writer(path: Path, key: str, rows: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", WRITER, str(path), key, str(rows)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_many_processes_write_one_new_file(path: Path) -> None:
    writers = [start_writer(path, f"k{n}", 25) for n in range(6)]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    assert [len(TuningStore(path).read("timings", f"k{n}")) for n in range(6)] == [25] * 6
    assert not list(path.parent.glob("*.damaged-*"))


def test_what_a_killed_process_committed_is_there(path: Path) -> None:
    generator = random.Random(1)
    for round_ in range(6):
        writers = [start_writer(path, f"{round_}-{n}", 100000) for n in range(2)]
        time.sleep(0.25 + generator.random() * 0.3)
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for n, writer in enumerate(writers):
            printed = writer.communicate()[0].split("\n")[:-1]
            found = TuningStore(path).read("timings", f"{round_}-{n}")
            assert set(printed) <= set(found), "a committed row is gone"
            assert all(value == "v" * (int(name) % 50 * 90) for name, value in found.items())
    assert TuningStore(path).problems() == []


def test_threads_and_forked_children(path: Path) -> None:
    store = TuningStore(path)

    def work(who: str) -> None:
        for n in range(10):
            assert store.write([Row("timings", who, str(n), n)])

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    children = []
    for n in range(3):
        child = os.fork()
        if child == 0:
            work(f"c{n}")
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    for thread in threads:
        thread.join()
    assert {row.key: 10 for row in store.rows("timings")}.keys() == {f"t{n}" for n in range(4)} | {"c0", "c1", "c2"}
    assert len(store.rows("timings")) == 70


def test_one_of_many_processes_moves_a_damaged_file_aside(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"rubbish" * 1000)
    command = [sys.executable, "-W", "ignore", "-c", WRITER, str(path), "k", "3"]
    writers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(5)]
    assert [writer.wait(60) for writer in writers] == [0] * 5
    assert len(list(path.parent.glob("*.damaged-*"))) == 1
    assert len(TuningStore(path).read("timings", "k")) == 3

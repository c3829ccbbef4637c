"""Folders of binaries: their layout, the winner's file, what is loaded, and the lock."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from pypto.ir.schedule import Schedule
from pypto.runtime.tuning import store
from pypto.runtime.tuning.artefacts import (
    ArtefactFolder,
    Untrusted,
    artefact_root,
    load_binary,
    optimum_key,
    publish,
    tiling_text,
)
from pypto.runtime.tuning.candidate import Candidate
from pypto.runtime.tuning.locks import LockTimeout, locked

FIRST = Candidate((("tile", (8, 16)),), Schedule(tile_shape=(8, 16)), workspace=4096, block_dim=8)
SECOND = Candidate((("tile", (64, 64)),), Schedule(tile_shape=(64, 64)))


@pytest.fixture(autouse=True)
def forget_warnings() -> None:
    store.warn_once.cache_clear()


def write_binary(folder: ArtefactFolder, candidate: Candidate) -> dict[str, str]:
    content = candidate.key().encode()
    publish(folder.kernel_folder(candidate.key()) / "kernel.o", content)
    return {"kernel.o": hashlib.sha256(content).hexdigest()}


@pytest.fixture
def folder(tmp_path: Path) -> ArtefactFolder:
    """A folder with two binaries, of which the first is the winner."""
    found = ArtefactFolder.under(tmp_path, "my kernel/1", "a" * 64)
    found.make()
    for candidate in (FIRST, SECOND):
        found.record([(candidate, write_binary(found, candidate), None)])
    found.save_optimum(FIRST)
    return found


def test_the_layout_is_the_article_s(folder: ArtefactFolder, tmp_path: Path) -> None:
    assert folder.path == tmp_path / "my_kernel_1" / ("a" * 64)
    text = (folder.path / "optimize_tiling").read_text()
    assert text == f"{FIRST.tiling_repr()}|4096|8" == tiling_text(FIRST)
    key = hashlib.md5(text.encode()).hexdigest()
    assert FIRST.key() == key == folder.load_optimum()
    assert (folder.path / "static_kernel" / key / "kernel.o").read_text() == key
    with folder.tuning(wait=1):
        assert (folder.path / "compile.lock").exists()


def test_binaries_go_with_their_database(tmp_path: Path) -> None:
    assert artefact_root(tmp_path / store.FILE_NAME) == tmp_path
    assert artefact_root(tmp_path / "my.db") == tmp_path / "my.db.kernels"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text + "|7",
        lambda text: text + "\n",
        lambda text: "\n" + text,
        lambda text: text.replace("|8", "|8.0"),
        lambda text: text.replace("|8", "|-8"),
        lambda text: text.replace("|8", "| 8"),
        lambda text: text.replace("|8", "|٨"),
        lambda text: text.replace("4096", "4_096"),
        lambda text: "|4096|8",
    ],
)
def test_F_a_damaged_optimize_tiling_is_a_miss_with_the_article_s_words(folder: ArtefactFolder, damage: object) -> None:
    path = folder.path / "optimize_tiling"
    path.write_text(damage(path.read_text()))  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"Load optimize file format error, file path: .*optimize_tiling"):
        optimum_key(path.read_bytes(), path)
    with pytest.warns(RuntimeWarning, match="Load optimize file format error, file path: "):
        assert folder.load_optimum() is None
    folder.save_optimum(SECOND)
    assert folder.load_optimum() == SECOND.key()


@pytest.mark.parametrize("text", ["default|0|7", "other|4096|8", f"{SECOND.tiling_repr()}|1|1"])
def test_F_wrong_numbers_in_optimize_tiling_are_a_miss(folder: ArtefactFolder, text: str) -> None:
    (folder.path / "optimize_tiling").write_text(text)
    with pytest.warns(RuntimeWarning, match="does not list"):
        assert folder.load_optimum() is None


def test_bytes_that_are_no_text_are_a_miss(folder: ArtefactFolder) -> None:
    (folder.path / "optimize_tiling").write_bytes(b"\xff\xfe|1|1")
    with pytest.warns(RuntimeWarning):
        assert folder.load_optimum() is None


def test_F_deleting_optimize_tiling_alone_leaves_a_usable_folder(folder: ArtefactFolder) -> None:
    (folder.path / "optimize_tiling").unlink()
    assert folder.load_optimum() is None
    new = Candidate((), Schedule(tile_shape=(2, 2)))
    folder.record([(new, write_binary(folder, new), None)])
    folder.save_optimum(new)
    assert folder.load_optimum() == new.key(), "the wrapper's map has the new key"
    assert set(folder.binaries()) == {FIRST.key(), SECOND.key(), new.key()}


def test_F_optimize_tiling_is_never_half_written(folder: ArtefactFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = (folder.path / "optimize_tiling").read_bytes()
    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            with pytest.raises(OSError, match="No space"):
                folder.save_optimum(SECOND)
        assert (folder.path / "optimize_tiling").read_bytes() == before
        assert not list(folder.path.glob(".writing-*")), "nothing is left behind"


WRITER = """
import sys
from pathlib import Path
from pypto.runtime.tuning.artefacts import publish
n = 0
print("go", flush=True)
while True:
    n += 1
    publish(Path(sys.argv[1]), (b"%d|" % n * 20000) + b"end")
"""


def test_F_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "optimize_tiling"
    for round_ in range(5):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None and writer.stdout.readline() == b"go\n"
            time.sleep(0.01 + round_ * 0.013)
            writer.kill()
        parts = path.read_bytes().split(b"|") if path.exists() else [b"1", b"end"]
        assert parts[-1] == b"end" and len(set(parts[:-1])) == 1


# -- what is loaded


def test_F_a_binary_with_another_hash_is_not_loaded(folder: ArtefactFolder) -> None:
    (folder.kernel_folder(FIRST.key()) / "kernel.o").write_bytes(b"evil")
    with pytest.warns(RuntimeWarning, match="hash"):
        assert folder.load_optimum() is None
    assert len(folder.problems()) == 1


def test_F_a_link_is_not_loaded(folder: ArtefactFolder, tmp_path: Path) -> None:
    file = folder.kernel_folder(FIRST.key()) / "kernel.o"
    other = tmp_path / "elsewhere.o"
    file.rename(other)
    file.symlink_to(other)
    with pytest.raises(Untrusted, match="symbolic link"):
        load_binary(file, hashlib.sha256(other.read_bytes()).hexdigest())


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_F_a_binary_that_others_may_write_is_not_loaded(folder: ArtefactFolder, mode: int) -> None:
    file = folder.kernel_folder(FIRST.key()) / "kernel.o"
    file.chmod(mode)
    with pytest.raises(Untrusted, match="others may write"):
        load_binary(file, hashlib.sha256(file.read_bytes()).hexdigest())
    with pytest.warns(RuntimeWarning):
        assert folder.load_optimum() is None


def test_F_another_user_s_binary_is_not_loaded(folder: ArtefactFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder.kernel_folder(FIRST.key()) / "kernel.o"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(Untrusted, match="belongs to user"):
        load_binary(file, hashlib.sha256(file.read_bytes()).hexdigest())


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"kernels": {"x": 1}}', '{"kernels": 5}', "\0" * 50])
def test_a_damaged_record_is_a_miss(folder: ArtefactFolder, content: str) -> None:
    (folder.path / "wrapper.json").write_text(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert folder.load_optimum() is None
        folder.record([(SECOND, write_binary(folder, SECOND), None)])
    folder.save_optimum(SECOND)
    assert folder.load_optimum() == SECOND.key()


def test_a_record_names_files_in_its_own_folder_only(folder: ArtefactFolder) -> None:
    path = folder.path / "wrapper.json"
    path.write_text(path.read_text().replace("kernel.o", "../../../evil.o"))
    with pytest.warns(RuntimeWarning):
        assert folder.load_optimum() is None


# -- the lock

HOLDER = """
import sys, time
from pathlib import Path
from pypto.runtime.tuning.locks import locked
with locked(Path(sys.argv[1]), 10):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_holder_loses_the_lock_at_once(tmp_path: Path) -> None:
    path = tmp_path / "compile.lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with pytest.raises(LockTimeout), locked(path, 0.1):
            pass
        holder.send_signal(signal.SIGKILL)
        start = time.monotonic()
        with locked(path, 10):
            assert time.monotonic() - start < 2


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "compile.lock"
    with locked(path, 1):
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
    try:
        done = subprocess.run(
            [sys.executable, "-c", HOLDER.replace("time.sleep(60)", ""), str(path)], check=True, capture_output=True
        )
        assert done.stdout == b"held\n"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(5):
            with locked(tmp_path / "lock", 20):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 30


def test_a_lock_file_removed_meanwhile_still_excludes(tmp_path: Path) -> None:
    """Whoever waited for the removed file takes the lock of the new one."""
    path = tmp_path / "lock"
    order: list[str] = []

    def wait() -> None:
        with locked(path, 20):
            order.append("waited")

    with locked(path, 1):
        script = HOLDER.replace("time.sleep(60)", "time.sleep(0.3)")
        other = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
        time.sleep(0.5)
        path.unlink()
    assert other.stdout is not None and other.stdout.readline() == b"held\n"
    wait()
    assert order == ["waited"] and other.wait(10) == 0
    other.stdout.close()


def test_a_folder_is_removed_with_its_binaries(folder: ArtefactFolder) -> None:
    folder.remove()
    assert not folder.path.exists() and not folder.path.parent.exists()

"""The disk cache: never wrong code, never a half-built entry, never a failed run."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hand_kernels import add_code, launcher, read_all
from pypto.ir.base.settings import settings
from pypto.runtime import object_cache, toolchain
from pypto.runtime.native import native
from pypto.runtime.object_cache import SUFFIX, TEMPORARY, ObjectCache

KEY, OTHER_KEY = "ab" * 32, "cd" * 32
CONTENT = b"machine code" * 100
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
POSIX = hasattr(os, "geteuid")


@pytest.fixture(autouse=True)
def _forget_warnings() -> Iterator[None]:
    object_cache._warn_once.cache_clear()
    yield
    object_cache._warn_once.cache_clear()


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "cache")


def entry(cache: ObjectCache, key: str = KEY) -> Path:
    return cache.folder / (key + SUFFIX)


def test_what_is_put_is_got(cache: ObjectCache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, CONTENT)
    assert cache.get(KEY) == CONTENT
    assert cache.get(OTHER_KEY) is None
    cache.put(KEY, b"")
    assert cache.get(KEY) == b""


@pytest.mark.skipif(not POSIX, reason="modes are POSIX")
def test_folder_and_entries_are_private(cache: ObjectCache) -> None:
    cache.put(KEY, CONTENT)
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert entry(cache).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["truncate", "flip", "append", "empty", "swap", "header"])
def test_a_damaged_entry_is_a_miss_and_is_replaced(cache: ObjectCache, damage: str) -> None:
    cache.put(KEY, CONTENT)
    cache.put(OTHER_KEY, b"other code")
    path, data = entry(cache), bytearray(entry(cache).read_bytes())
    if damage == "truncate":
        data = data[: len(data) // 2]
    elif damage == "flip":
        data[-7] ^= 1
    elif damage == "append":
        data += b"x"
    elif damage == "empty":
        data = bytearray()
    elif damage == "swap":  # a whole entry under another key
        data = bytearray(entry(cache, OTHER_KEY).read_bytes())
    else:
        data[0] ^= 1
    path.write_bytes(data)
    assert cache.get(KEY) is None
    cache.put(KEY, CONTENT)
    assert cache.get(KEY) == CONTENT


@pytest.mark.skipif(not POSIX, reason="modes are POSIX")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(cache: ObjectCache, mode: int) -> None:
    cache.put(KEY, CONTENT)
    cache.folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match=f"mode {mode:04o}"):
        assert cache.get(KEY) is None
    cache.folder.chmod(0o700)
    entry(cache).chmod(0o666)
    with pytest.warns(RuntimeWarning, match="mode 0666"):
        assert cache.get(KEY) is None


@pytest.mark.skipif(not AS_ROOT, reason="only root can give files away")
def test_what_belongs_to_somebody_else_is_not_used(cache: ObjectCache) -> None:
    cache.put(KEY, CONTENT)
    os.chown(entry(cache), 12345, 12345)
    with pytest.warns(RuntimeWarning, match="belongs to user 12345"):
        assert cache.get(KEY) is None
    object_cache._warn_once.cache_clear()
    os.chown(entry(cache), 0, 0)
    os.chown(cache.folder, 12345, 12345)
    with pytest.warns(RuntimeWarning, match="the folder belongs to user 12345"):
        assert cache.get(KEY) is None


@pytest.mark.skipif(not POSIX, reason="symbolic links")
def test_an_entry_that_is_a_link_is_not_followed(cache: ObjectCache, tmp_path: Path) -> None:
    cache.put(KEY, CONTENT)
    target = tmp_path / "elsewhere"
    entry(cache).rename(target)
    entry(cache).symlink_to(target)
    with pytest.warns(RuntimeWarning):
        assert cache.get(KEY) is None


def test_a_path_below_a_plain_file_costs_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    cache = ObjectCache(tmp_path / "file" / "cache")
    with pytest.warns(RuntimeWarning, match="is not used"):
        cache.put(KEY, CONTENT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(OTHER_KEY, CONTENT)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("step", ["write", "replace", "open"])
def test_a_full_or_failing_disk(cache: ObjectCache, monkeypatch: pytest.MonkeyPatch, error: int, step: str) -> None:
    cache.put(OTHER_KEY, CONTENT)
    real_open = os.open

    def fail(*_: object, **__: object) -> None:
        raise OSError(error, os.strerror(error))

    def fail_to_create(path: str, flags: int, *rest: int, **options: int) -> int:
        if flags & os.O_CREAT:
            fail()
        return real_open(path, flags, *rest, **options)

    if step == "replace":
        monkeypatch.setattr(os, "replace", fail)
    elif step == "open":
        monkeypatch.setattr(os, "open", fail_to_create)
    else:
        monkeypatch.setattr(object_cache, "_pack", fail)
    with pytest.warns(RuntimeWarning, match="is not used"):
        cache.put(KEY, CONTENT)
    monkeypatch.undo()
    assert sorted(path.name for path in cache.folder.iterdir()) == [OTHER_KEY + SUFFIX]
    assert cache.get(KEY) is None
    assert cache.get(OTHER_KEY) == CONTENT


@pytest.mark.skipif(not AS_ROOT or sys.platform != "linux", reason="mounts a small file system")
def test_a_really_full_file_system(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        cache = ObjectCache(tmp_path / "cache")
        cache.put(OTHER_KEY, CONTENT)
        with pytest.warns(RuntimeWarning, match="No space left"):
            cache.put(KEY, bytes(1 << 20))
        assert cache.get(KEY) is None
        assert cache.get(OTHER_KEY) == CONTENT
        assert not list(cache.folder.glob(TEMPORARY + "*"))
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


WRITER = """
import sys
from pathlib import Path
from pypto.runtime.native import native
from pypto.runtime.object_cache import ObjectCache
cache = ObjectCache(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    number += 1
    cache.put(f"{number % 7:064x}", bytes([number % 251]) * 300_000)
"""


def test_killed_writers_leave_whole_entries_only(cache: ObjectCache) -> None:
    for turn in range(6):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(cache.folder)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(turn).uniform(0.001, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for number in range(7):
                content = cache.get(f"{number:064x}")
                assert content is None or (len(content) == 300_000 and len(set(content)) == 1)


def test_abandoned_files_and_the_oldest_entries_are_removed(cache: ObjectCache) -> None:
    cache.largest_total = 25_000
    cache.put(KEY, bytes(10))
    stale, fresh = cache.folder / f"{TEMPORARY}1-stale", cache.folder / f"{TEMPORARY}2-fresh"
    for path in (stale, fresh):
        path.write_bytes(b"half")
    os.utime(stale, (1, 1))
    for number in range(object_cache.PRUNE_EVERY + 1):
        cache.put(f"{number:064x}", bytes(1000))
        os.utime(entry(cache, f"{number:064x}"), (number + 1000, number + 1000))
    assert not stale.exists()
    assert fresh.exists()
    left = sorted(cache.folder.glob("*" + SUFFIX))
    assert sum(path.stat().st_size for path in left) <= 26_000
    assert cache.get(f"{object_cache.PRUNE_EVERY:064x}") is not None
    assert cache.get(f"{0:064x}") is None


COMPILER = """
import sys
import numpy as np
from hand_kernels import add_code, launcher, read_all
from pypto.ir.base.settings import settings
with settings(cache=sys.argv[1]):
    for size in range(1, 9):
        x = np.arange(size * size, dtype=np.float32).reshape(size, size)
        out = np.empty_like(x)
        launcher(add_code(size, size)).run(read_all(x=x, y=x, out=out))
        assert (out == 2 * x).all()
print("fine")
"""


def test_processes_share_one_new_folder(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}", "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-c", COMPILER, str(tmp_path / "a" / "b" / "cache")]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for _ in range(4)
    ]
    for process in processes:
        output, error = process.communicate(timeout=60)
        assert output == "fine\n", error
    assert len(list((tmp_path / "a" / "b" / "cache").glob("*" + SUFFIX))) == 9  # eight kernels and the runtime itself


def test_a_second_compilation_reads_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = add_code(5, 7)
    native()
    with settings(cache=str(tmp_path / "cache")):
        launcher(code)
        monkeypatch.setattr(toolchain, "emit_object", None)  # would raise when called
        run = launcher(code)
        x, out = np.ones((5, 7), np.float32), np.zeros((5, 7), np.float32)
        run.run(read_all(x=x, y=x, out=out))
        assert (out == 2).all()
    with settings(cache="off"), pytest.raises(TypeError):
        launcher(code)


def test_without_a_usable_folder_kernels_still_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    x, out = np.ones((3, 3), np.float32), np.zeros((3, 3), np.float32)
    with settings(cache=str(tmp_path / "file")), pytest.warns(RuntimeWarning, match="is not used"):
        run = launcher(add_code(3, 3))
    run.run(read_all(x=x, y=x, out=out))
    assert (out == 2).all()


def test_the_key_depends_on_all_that_decides_the_code() -> None:
    machine = toolchain.host_machine()
    keys = {
        toolchain.cache_key("a", machine),
        toolchain.cache_key("b", machine),
        toolchain.cache_key("a", type(machine)("x", machine.cpu, machine.features, 256)),
        toolchain.cache_key("a", type(machine)(machine.triple, "x", machine.features, 256)),
        toolchain.cache_key("a", type(machine)(machine.triple, machine.cpu, "x", 256)),
        toolchain.cache_key("a", type(machine)(machine.triple, machine.cpu + machine.features, "", 256)),
    }
    assert len(keys) == 6
    assert all(len(key) == 64 for key in keys)

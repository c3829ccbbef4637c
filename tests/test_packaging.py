"""Wheel and sdist: complete, and good for running a kernel outside the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINKED = ("ir", "codegen", "runtime")
SUFFIXES = (".py", ".lark", ".jinja2", ".toml", ".h", ".ll")
BUILT = ("build", "dist", ".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis")

KERNEL = """
import numpy as np
import pypto

@pypto.tile
def scale(x, out):
    out[:] = pypto.exp(x) * 2.0

x = np.linspace(-1, 1, 77, dtype=np.float32)
out = np.empty_like(x)
pypto.compile(scale).execute(x, out)
np.testing.assert_allclose(out, np.exp(x.astype(np.float64)) * 2, rtol=1e-6)
print(pypto.compile(scale, shapes={"x": (77,), "out": (77,)}, target="ascendc").source())
print("from", pypto.__file__)
"""


def run(*command: object, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done


def build(source: Path, kind: str, into: Path) -> Path:
    run(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", into, source, cwd=source)
    (made,) = into.iterdir()
    return made


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of this tree, so that a build leaves nothing behind in it."""
    copy = tmp_path_factory.mktemp("packaging") / "checkout"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*BUILT, "*.egg-info"))
    return copy


@pytest.fixture(scope="module")
def sdist(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        links = [member.name for member in archive if member.issym() or member.islnk()]
        assert not links, "an sdist must hold real files"
        archive.extractall(folder)
    (root,) = folder.iterdir()
    return root


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that the sdist gives, as `pip install pypto` would build it."""
    return build(unpacked, "wheel", tmp_path_factory.mktemp("wheel"))


def package_files(package: Path) -> set[str]:
    """Return every file that an installed package needs, as path below the folder that holds `package`."""
    found = set()
    for folder in (package, *(package / name for name in LINKED)):
        for path in folder.rglob("*"):
            if path.suffix in SUFFIXES or path.name == "py.typed":
                found.add(path.relative_to(package.parent).as_posix())
    return found


def test_sdist_holds_what_make_test_needs(unpacked: Path) -> None:
    for name in ("Makefile", "README.md", "LICENSE", "tests/test_packaging.py", "examples/quickstart.py", ".ci/run"):
        assert (unpacked / name).is_file(), name
    assert package_files(unpacked / "pypto") == package_files(ROOT / "pypto")


def test_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        licences = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    assert names == package_files(ROOT / "pypto")
    assert licences


def test_wheel_of_the_checkout_is_the_wheel_of_the_sdist(checkout: Path, wheel: Path, tmp_path: Path) -> None:
    direct = build(checkout, "wheel", tmp_path)
    with zipfile.ZipFile(direct) as ours, zipfile.ZipFile(wheel) as theirs:
        assert sorted(ours.namelist()) == sorted(theirs.namelist())


def test_installed_wheel_runs_a_kernel_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    (site,) = environment.glob("lib/python*/site-packages")
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # the dependencies come from here: their wheels need not be fetched again; this project itself must not come along
    dependencies = tmp_path / "dependencies"
    dependencies.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "pypto" not in entry.name and not entry.name.endswith(".pth"):
            (dependencies / entry.name).symlink_to(entry)
    (site / "dependencies.pth").write_text(str(dependencies), encoding="utf-8")
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    done = run(python, "kernel.py", cwd=tmp_path)
    assert f"from {site}" in done.stdout
    assert "__global__" in done.stdout
    run(python, "-c", "from importlib.metadata import version; assert version('pypto')", cwd=tmp_path)
    assert (environment / "bin" / "pypto").is_file()


@pytest.mark.parametrize("name", LINKED)
def test_plain_file_in_place_of_a_link_stops_the_build(name: str, checkout: Path, tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    shutil.copytree(checkout, copy, symlinks=True)
    link = copy / "pypto" / name
    if not link.is_symlink():
        shutil.rmtree(link)
    else:
        link.unlink()
    link.write_text(f"../{name}", encoding="utf-8")
    done = run(sys.executable, "-m", "build", "--no-isolation", "--wheel", copy, cwd=copy, check=False)
    assert done.returncode != 0
    assert "core.symlinks=true" in done.stdout + done.stderr
    assert not list(copy.glob("dist/*.whl"))


def test_plain_file_in_place_of_a_link_is_named_at_import(checkout: Path, tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    shutil.copytree(checkout / "pypto", copy / "pypto", symlinks=True)
    for name in LINKED:
        link = copy / "pypto" / name
        if link.is_symlink():
            link.unlink()
        else:
            shutil.rmtree(link)
        link.write_text(f"../{name}", encoding="utf-8")
    done = run(
        sys.executable, "-c", "import sys; sys.path.insert(0, '.'); import pypto; pypto.tile", cwd=copy, check=False
    )
    assert done.returncode != 0
    assert "core.symlinks" in done.stderr

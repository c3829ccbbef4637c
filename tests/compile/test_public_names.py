"""What `import pypto` gives: every name of the table, lazily."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pypto

CORE = {
    *("tile", "fuse", "FusionTile", "compile", "CompiledKernel", "TileConfig", "BufferConfig", "BufferStrategy"),
    *("Dependency", "DependencyGraph", "UserError", "CompilerBug", "settings", "nn", "__version__"),
    *("get_block_id", "loop", "cond", "where", "block", "concat", "sqrt", "exp"),
}
PACKAGE = Path(pypto.__file__).parent


def test_every_core_name_is_public():
    assert set(pypto.__all__) >= CORE


def test_the_language_is_public_as_a_whole():
    from pypto import language

    assert set(language.__all__) <= set(pypto.__all__)


@pytest.mark.parametrize("module", ["activations", "lookups", "mathematics", "normalization", "operators", "ordering"])
def test_what_a_module_of_the_language_defines_is_public(module):
    from pypto import language
    from pypto.language import nn

    tree = ast.parse((PACKAGE / "language" / f"{module}.py").read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    assert defined
    assert defined <= {*language.__all__, *dir(nn)}


@pytest.mark.parametrize("name", pypto.__all__)
def test_every_public_name_exists_and_is_listed(name):
    assert getattr(pypto, name) is not None
    assert name in dir(pypto)


def test_editors_see_the_same_names():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    seen = {alias.asname for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen - {"language"} == set(pypto.__all__) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'pypto' has no attribute 'tilee'"):
        pypto.tilee


def test_import_is_quick_and_light():
    program = (
        "import sys, time; start = time.perf_counter(); import pypto; seconds = time.perf_counter() - start\n"
        "import json; print(json.dumps([seconds, sorted(sys.modules)]))"
    )
    runs = [json.loads(subprocess.check_output([sys.executable, "-c", program])) for _ in range(3)]
    assert min(seconds for seconds, _ in runs) < 0.25
    assert not {"numpy", "torch", "llvmlite", "networkx", "typer", "rich", "lark"} & set(runs[0][1])


def test_a_checkout_without_symbolic_links_says_so(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "pypto", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("ir", "codegen", "runtime"):
        (tmp_path / "pypto" / name).unlink()
        (tmp_path / "pypto" / name).write_text(f"../{name}")
    done = subprocess.run(
        [sys.executable, "-c", "import pypto"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "has no symbolic links" in done.stderr
    assert "core.symlinks" in done.stderr

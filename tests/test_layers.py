"""The shape of the code: who may import whom, what `import pypto` loads, how long files and functions are."""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pypto

PACKAGE = Path(pypto.__file__).parent
HEAVY = ("torch", "torch_npu", "llvmlite", "networkx", "rich", "lark", "jinja2", "typer", "matplotlib", "scipy")
LAYERS = ("pypto", "pypto.runtime", "pypto.codegen", "pypto.ir", "pypto.ir.base")
LINKED = ("ir", "codegen", "runtime")


def modules() -> Iterator[tuple[str, Path]]:
    """Return dotted name and path of every module; the linked folders are walked through their links."""
    for folder in (PACKAGE, *(PACKAGE / name for name in LINKED)):
        for path in sorted(folder.rglob("*.py")):
            if folder == PACKAGE and path.relative_to(PACKAGE).parts[0] in LINKED:
                continue
            relative = path.relative_to(PACKAGE.parent).with_suffix("").parts
            yield ".".join(part for part in relative if part != "__init__"), path


MODULES = dict(modules())
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def layer(module: str) -> int:
    """Return how deep a module lies: the longest layer name that it starts with."""
    depths = [depth for depth, name in enumerate(LAYERS) if module == name or module.startswith(name + ".")]
    return depths[-1]


def imported(name: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Return line and dotted name of each import of this package, wherever it stands in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name.split(".") if MODULES[name].name == "__init__.py" else name.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], base]).rstrip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield node.lineno, full if full in MODULES else base


def test_every_folder_is_walked() -> None:
    for name in ("pypto", "pypto.ir.nodes", "pypto.codegen.llvm.builder", "pypto.runtime", "pypto.ir.base.errors"):
        assert name in MODULES


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name: str) -> None:
    upward = [
        f"{MODULES[name]}:{line}: {name} imports {target}"
        for line, target in imported(name, TREES[name])
        if target.split(".")[0] == "pypto" and layer(target) < layer(name)
    ]
    assert not upward, "\n".join(upward)


def test_linked_folders_are_imported_through_the_package() -> None:
    bare = [
        f"{MODULES[name]}:{line}: import {target}"
        for name, tree in TREES.items()
        for line, target in imported(name, tree)
        if target.split(".")[0] in LINKED
    ]
    assert not bare, "\n".join(bare)


def test_no_module_has_the_name_of_a_public_function() -> None:
    public = {name for name in dir(pypto) if not name.startswith("_")}
    shadowed = [
        name
        for name in MODULES
        if name.count(".") == 1 and name.split(".")[1] in public and callable(getattr(pypto, name.split(".")[1]))
    ]
    assert not shadowed, "`import pypto.x` would replace the function pypto.x: " + ", ".join(shadowed)


def test_every_public_name_exists_and_is_listed_once() -> None:
    assert len(pypto.__all__) == len(set(pypto.__all__))
    missing = [name for name in pypto.__all__ if not hasattr(pypto, name)]
    assert not missing


def run_fresh(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=PACKAGE.parent
    ).stdout


def test_import_loads_nothing_heavy() -> None:
    code = "import json, sys, time; start = time.perf_counter(); import pypto; seconds = time.perf_counter() - start;"
    loaded, seconds = json.loads(run_fresh(code + "print(json.dumps([sorted(sys.modules), seconds]))"))
    print(f"import pypto: {seconds * 1000:.0f} ms")
    heavy = [name for name in HEAVY if name in loaded]
    assert not heavy, f"import pypto loads {', '.join(heavy)}"


def test_running_a_kernel_on_numpy_arrays_does_not_load_torch() -> None:
    code = (
        "import sys, numpy as np, pypto\n"
        "exec('@pypto.tile\\ndef k(x, out):\\n    out[:] = x + 1.0\\n')\n"
        "x = np.ones(5, np.float32); out = np.zeros(5, np.float32)\n"
        "pypto.compile(k, target='cpu').execute(x, out)\n"
        "assert (out == 2).all()\n"
        "print('torch' in sys.modules)\n"
    )
    assert run_fresh(code).strip() == "False"


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_files_stay_under_600_lines() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES.values()}
    long = [f"{path}: {length} lines" for path, length in lengths.items() if length >= 600]
    assert not long, "\n".join(long)


def test_functions_stay_short() -> None:
    lengths = {f"{name}.{function}": size for name, tree in TREES.items() for function, size in functions(tree)}
    long = [f"{name}: {size} lines" for name, size in lengths.items() if size > 60]
    assert not long, "\n".join(long)
    assert statistics.median(lengths.values()) < 10


def blanket(handler: ast.ExceptHandler) -> bool:
    """Return whether the handler takes every exception and can swallow it (it has no bare ``raise``)."""
    every = handler.type is None or (isinstance(handler.type, ast.Name) and handler.type.id == "Exception")
    return every and not any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))


def test_no_stubs_and_no_blanket_handlers() -> None:
    found = []
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and blanket(node):
                found.append(f"{MODULES[name]}:{node.lineno}: catches every exception")
            if isinstance(node, ast.Name) and node.id == "NotImplementedError":
                found.append(f"{MODULES[name]}:{node.lineno}: NotImplementedError")
    assert not found, "\n".join(found)

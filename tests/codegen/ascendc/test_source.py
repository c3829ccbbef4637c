"""The text of emitted sources: golden files, names, comments, a rule for every operation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ascendc.host import compile_all
from passes.corpus import CORPUS, chain
from passes.kernels import KernelBuilder
from pypto.codegen.ascendc.emitter import emit
from pypto.codegen.ascendc.names import comment, identifier
from pypto.codegen.ascendc.rules import DECOMPOSED, PLANNED_ONLY, RULES
from pypto.ir.base.errors import CompilerBug
from pypto.ir.base.locations import Location
from pypto.ir.nodes import Module, Parameter, Role
from pypto.ir.operations.table import TABLE
from pypto.ir.passes.join_phases import JOIN_PHASES
from pypto.ir.passes.manager import run_passes
from pypto.ir.passes.pipeline import NPU_PASSES
from pypto.ir.passes.refused import REFUSED

GOLDEN = ("chain", "softmax", "layer_norm_4096", "half", "masks", "accumulate", "spmd_many_blocks", "clipped")


def source(module: Module) -> str:
    return emit(run_passes(module, NPU_PASSES)[0])


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_source(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}.asc", source(CORPUS[name]()))


def test_every_operation_has_a_rule_or_is_decomposed_or_refused() -> None:
    kinds = (set(RULES), set(DECOMPOSED), set(REFUSED), set(PLANNED_ONLY))
    named = [name for kind in kinds for name in kind]
    assert len(named) == len(set(named)), "one way for each"
    assert set(TABLE) <= set(named), set(TABLE) - set(named)


HOSTILE = (
    "x); system(\"rm\"); //", "*/ int main() { /*", "while", "AscendC", "half", "Минимум", "a__b", "_A", "9lives",
    "line\nbreak", "tail\\", "??/", "GM_ADDR", "Minimum", "arg0_x", "", "core",
)  # fmt: skip
"""Names that a user may give and C++ must not see."""


def hostile_module(names: tuple[str, ...]) -> Module:
    k = KernelBuilder(names[0])
    total = k.number(1.0)
    for name in names:
        total = k.op("add", k.input(name, (16,)), total)
    k.output("out", total)
    return k.module()


def test_hostile_names_compile_and_keep_apart(tmp_path: Path) -> None:
    module, _ = run_passes(hostile_module(HOSTILE), NPU_PASSES)
    text = emit(module)
    assert "system" not in re.sub(r"//.*", "", text).replace("x_system_rm", "")
    compile_all({"hostile": module}, tmp_path, check_only=True)


@pytest.mark.parametrize("name", HOSTILE)
def test_identifiers_are_plain(name: str) -> None:
    assert re.fullmatch(r"arg3(_[A-Za-z0-9]+)*", identifier("arg", 3, name))


@pytest.mark.parametrize("text", HOSTILE)
def test_comments_stay_comments(text: str) -> None:
    shown = comment(text)
    assert "\n" not in shown
    assert not shown.endswith("\\")
    assert "*/" not in shown
    assert "??/" not in shown
    assert shown.isascii()


def test_hostile_source_lines_stay_in_their_comment(tmp_path: Path) -> None:
    """A source line that ends in a backslash, in a file with a strange name."""
    file = tmp_path / "odd\tname\\.py"
    file.write_text("x = y + \\\n  z */ # \x07\n", encoding="utf-8")
    module = chain((16,))
    body = tuple(
        replace(item, location=Location(str(file), 1 + number % 2))
        for number, item in enumerate(module.kernels[0].body)
    )
    module, _ = run_passes(replace(module, kernels=(replace(module.kernels[0], body=body),)), NPU_PASSES)
    compile_all({"odd": module}, tmp_path, check_only=True)
    assert "x = y + /" in emit(module)


def test_statements_name_their_source_lines(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("x = load()\nt = x * 2\n", encoding="utf-8")
    module = chain((16,))
    body = tuple(replace(item, location=Location(str(file), 2)) for item in module.kernels[0].body)
    text = source(replace(module, kernels=(replace(module.kernels[0], body=body),)))
    assert "// mine.py:2  t = x * 2" in text


def test_only_planned_modules_are_emitted() -> None:
    with pytest.raises(CompilerBug, match="not planned"):
        emit(chain((4,)))


def test_kernels_of_a_module_are_launched_in_order() -> None:
    first, second = chain((64,)), chain((64,))
    middle = Parameter("out", first.kernels[0].parameter("out").type, Role.OUT)
    parameters = (*first.parameters[:2], replace(middle, name="end"))
    module = Module("two", parameters, (middle,), (first.kernels[0], second.kernels[0]))
    separately = tuple(item for item in NPU_PASSES if item is not JOIN_PHASES)
    text = emit(run_passes(module, separately)[0])
    launch = text[text.index('extern "C"') :]
    assert launch.index("pypto_kernel0_chain<<<") < launch.index("pypto_kernel1_chain<<<")
    assert "void* arg3_out" in launch


def test_no_line_uses_pipe_all() -> None:
    for make in CORPUS.values():
        assert "PIPE_ALL" not in source(make())

"""Run a folder of AscendC examples on the host model and compare their results with the expected ones, byte for byte.

An example is a folder with one `.asc` file, a README that shows how it is run, and usually `scripts/gen_data.py`. Each is
built unchanged for every scenario that its README and CMakeLists offer for this chip, in a temporary folder.

    python scripts/run_ascendc_examples.py path/to/examples --only 01_memory --mode late
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pypto.ir.base.errors import UserError
from pypto.runtime.ascendc_host import toolchain
from pypto.runtime.ascendc_host.driver import RunOptions, execute
from pypto.runtime.ascendc_host.preprocess import rewrite_launches
from pypto.runtime.ascendc_host.report import Finding, read_report

DEFINITION = re.compile(r"\b(SCENARIO[A-Z_]*)=")
SHOWN = re.compile(r"`(\d+)`")
OTHER_CHIP = re.compile(r'if\s*\(\s*SCENARIO\w*\s+STREQUAL\s+"?(\d+)"?\s+AND\s+NOT\s+CMAKE_ASC_ARCHITECTURES')


PLAIN_SUMS = {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"}
"""Sums of f32 depend on the order that NumPy's BLAS picks for the machine: this picks one product after the other."""


@dataclass(frozen=True, slots=True)
class Case:
    """One example with one scenario (empty: it has none)."""

    folder: Path
    source: Path
    name: str
    variable: str
    scenario: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case. `state` is pass, close, differs, no golden, fails, does not compile or no data."""

    case: Case
    state: str
    detail: str
    findings: tuple[Finding, ...] = ()


def cases(root: Path, only: str) -> Iterator[Case]:
    for source in sorted(root.rglob("*.asc")):
        folder = source.parent
        readme = folder / "README.md"
        if only not in source.as_posix() or not readme.exists():
            continue
        text = readme.read_text(encoding="utf-8")
        build = (folder / "CMakeLists.txt").read_text(encoding="utf-8") if (folder / "CMakeLists.txt").exists() else ""
        if "dav-2201" not in text + build:
            continue
        name = folder.relative_to(root).as_posix()
        for variable, scenario in _scenarios(text, build):
            yield Case(folder, source, name, variable, scenario)


def _scenarios(readme: str, build: str) -> list[tuple[str, str]]:
    variables = [name for name in DEFINITION.findall(readme + build)]
    if not variables:
        return [("", "")]
    variable = variables[0]
    rows = [line for line in readme.splitlines() if line.strip().startswith("|") and f"`{variable}`" in line]
    numbers = [number for row in rows for number in SHOWN.findall(row.split("|")[2])]
    valid = re.search(rf"set\(VALID_\w+ ([\d ]+)\)", build)
    if valid is not None:
        numbers = valid[1].split()
    numbers = numbers or sorted(set(re.findall(rf"{variable}=(\d+)", readme))) or ["1"]
    excluded = set(OTHER_CHIP.findall(build))
    return [(variable, number) for number in dict.fromkeys(numbers) if number not in excluded]


def run(case: Case, options: RunOptions) -> Result:
    text = case.source.read_text(encoding="utf-8")
    others = "".join(path.read_text(encoding="utf-8") for path in case.folder.glob("*.h"))
    prepared = f'#line 1 "{case.source}"\n{rewrite_launches(text, others)}'
    defines = (f"{case.variable}={case.scenario}",) if case.variable else ()
    try:
        program = toolchain.build(prepared, str(case.source), (case.folder,), defines)
    except UserError as error:
        lines = [line for line in str(error).splitlines() if "error:" in line and ".asc" in line or "error: " in line]
        return Result(case, "does not compile", (lines or [str(error)])[min(1, len(lines) - 1) if lines else 0][-240:])
    with tempfile.TemporaryDirectory(prefix="pypto-examples-") as place:
        return _run_in(case, program, Path(place), options)


def _run_in(case: Case, program: Path, place: Path, options: RunOptions) -> Result:
    work = place / "example" / "build"
    (place / "example").mkdir()
    for path in case.folder.iterdir():
        (place / "example" / path.name).symlink_to(path)
    work.mkdir(exist_ok=True)
    for folder in ("input", "output"):
        (work / folder).mkdir(exist_ok=True)
    problem = _make_data(case, work)
    if problem:
        return Result(case, "no data", problem)
    report = place / "report"
    environment = {**options.environment(), "ASCENDC_HOST_REPORT": str(report)}
    code, printed = execute([str(program)], environment, options.time_limit, cwd=work)
    findings: tuple[Finding, ...] = ()
    if report.exists():
        findings, _ = read_report(report.read_text(encoding="utf-8"))
    state, detail = _judge(work, code, printed)
    if state == "differs" and _own_check(case, work):
        state = "close"
    return Result(case, state, detail, findings)


def _commands(case: Case) -> list[str]:
    text = (case.folder / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"python3 (\.\./scripts/gen_data\.py[^\n#`]*)", text)
    if not found and (case.folder / "scripts" / "gen_data.py").exists():
        found = ["../scripts/gen_data.py"]
    return [re.sub(rf"\$\{{?{case.variable or 'SCENARIO_NUM'}\}}?", case.scenario, line).strip() for line in found[:1]]


def _make_data(case: Case, work: Path) -> str:
    for line in _commands(case):
        words = re.sub(r"(-\w+[= ])\d+", rf"\g<1>{case.scenario}", line) if case.scenario else line
        environment = {**os.environ, **PLAIN_SUMS}
        done = subprocess.run(
            [sys.executable, *words.split()], cwd=work, capture_output=True, text=True, check=False, env=environment
        )
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or ["gen_data failed"])[-1]
    return ""


def _own_check(case: Case, work: Path) -> bool:
    """Whether the example's own script is content: expected results of f32 sums depend on the order of the sums."""
    text = (case.folder / "README.md").read_text(encoding="utf-8")
    for line in re.findall(r"python3 (\.\./scripts/verify_result\.py[^\n#`]*)", text)[:1]:
        words = re.sub(rf"\$\{{?{case.variable or 'SCENARIO_NUM'}\}}?", case.scenario, line)
        words = re.sub(r"(-scenario\w*[= ])\d+", rf"\g<1>{case.scenario}", words) if case.scenario else words
        done = subprocess.run([sys.executable, *words.split()], cwd=work, capture_output=True, text=True, check=False)
        return done.returncode == 0 and "pass" in done.stdout
    return False


def _judge(work: Path, code: int, printed: str) -> tuple[str, str]:
    if code != 0:
        return "fails", f"code {code}: {printed[-160:].strip()!r}"
    golden = sorted(work.glob("output/golden*.bin"))
    if not golden:
        passed = re.search(r"pass|success", printed, re.IGNORECASE) and not re.search(r"fail", printed, re.IGNORECASE)
        return ("pass", "its own check") if passed else ("no golden", printed[-100:].strip().replace("\n", " "))
    for expected in golden:
        got = expected.with_name(expected.name.replace("golden", "output"))
        if not got.exists():
            return "fails", f"no {got.name}"
        left, right = expected.read_bytes(), got.read_bytes()
        if left != right:
            different = sum(a != b for a, b in zip(left, right, strict=False)) + abs(len(left) - len(right))
            return "differs", f"{different} of {len(left)} bytes"
    return "pass", "byte for byte"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="part of the path of the examples to run")
    parser.add_argument("--mode", default="early", choices=("early", "late", "random"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--no-auto-sync", action="store_true", help="without the barriers that the device compiler inserts"
    )
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--findings", action="store_true", help="print each finding")
    chosen = parser.parse_args()
    options = RunOptions(chosen.mode, chosen.seed, not chosen.no_auto_sync, chosen.time_limit, fill=0)
    with ThreadPoolExecutor(chosen.jobs) as pool:
        results = list(pool.map(lambda case: run(case, options), cases(chosen.folder.resolve(), chosen.only)))
    for result in results:
        case = f"{result.case.name} {result.case.scenario}".strip()
        rules = ", ".join(sorted({finding.rule for finding in result.findings}))
        print(f"{result.state:17} {case:75} {result.detail}{'  found: ' + rules if rules else ''}")
        if chosen.findings:
            print("".join(f"    {finding}\n" for finding in result.findings[:6]), end="")
    passed = sum(result.state == "pass" for result in results)
    clean = sum(result.state == "pass" and not result.findings for result in results)
    close = sum(result.state == "close" for result in results)
    print(f"{passed} of {len(results)} pass, {clean} of them without a finding; {close} more are close")
    return 0 if passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())

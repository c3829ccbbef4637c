"""Run a folder of AscendC examples on the host model and compare their results with the expected ones, byte for byte.

An example is a folder with a README that shows how it is run, `.asc` files and perhaps `.cpp` files that its CMakeLists
names, and usually `scripts/gen_data.py`. Each is built unchanged, in a temporary folder, for every scenario that README
and CMakeLists offer for this chip. A table by folder comes last.

    python scripts/run_ascendc_examples.py path/to/examples --only 01_memory --mode late
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from cmake_definitions import Refused, definitions

from pypto.ir.base.errors import UserError
from pypto.runtime.ascendc_host import toolchain
from pypto.runtime.ascendc_host.driver import RunOptions, execute
from pypto.runtime.ascendc_host.preprocess import rewrite_launches
from pypto.runtime.ascendc_host.report import Finding, read_report

VARIABLE = re.compile(r"\b(SCENARIO[A-Z_]*|DISABLE_GEMV)\b")
CHIP = {"CMAKE_ASC_ARCHITECTURES": "dav-2201", "ASC_ARCH": "dav-2201", "COPY_DST": "UB"}
"""Variables of CMake and of the shell that every example gets."""

PLAIN_SUMS = {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"}
"""Sums of f32 depend on the order that NumPy's BLAS picks for the machine: this picks one product after the other."""


EXACT_CHECK = re.compile(r"std::equal\(|memcmp\(")
STATES = ("equal", "checked", "close", "differs", "no golden", "fails", "does not compile", "no data")

EXACTLY = """
import runpy, sys
import numpy

def same(left, right, *tolerances, **more):
    left, right = numpy.asarray(left), numpy.asarray(right)
    if left.dtype != right.dtype or left.tobytes() != right.tobytes():
        sys.exit("bytes differ")
    print("compared by bytes")
    return numpy.ones(left.shape, bool)

numpy.isclose = same
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs an example's own check with bytes compared instead of numbers with a tolerance: it knows which part of a result
counts and in which order fractals lie."""


@dataclass(frozen=True, slots=True)
class Case:
    """One example with one scenario (empty: it has none)."""

    folder: Path
    sources: tuple[Path, ...]
    name: str
    variable: str
    scenario: str
    macros: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case. `state` is one of STATES: equal byte for byte, content by its own output, and so on."""

    case: Case
    state: str
    detail: str
    findings: tuple[Finding, ...] = ()


def cases(root: Path, only: str) -> Iterator[Case]:
    for folder in sorted({source.parent for source in root.rglob("*.asc")}):
        readme = folder / "README.md"
        name = folder.relative_to(root).as_posix()
        if only not in folder.as_posix() or not readme.exists():
            continue
        text = readme.read_text(encoding="utf-8")
        build = (folder / "CMakeLists.txt").read_text(encoding="utf-8") if (folder / "CMakeLists.txt").exists() else ""
        if "dav-2201" not in text + build or not _is_for_chip(text):
            continue
        yield from _with_scenarios(Case(folder, _sources(folder, build), name, "", ""), text, build)


def _sources(folder: Path, build: str) -> tuple[Path, ...]:
    """The files that the build names, kernels first; without a build all kernels."""
    named = [folder / word for word in dict.fromkeys(re.findall(r"[\w.]+\.(?:asc|cpp)\b", build))]
    there = [path for path in named if path.exists()] or sorted(folder.glob("*.asc"))
    return tuple(sorted(there, key=lambda path: path.suffix))


def _is_for_chip(readme: str) -> bool:
    """Whether the table of products, if there is one, names Atlas A2 with a version."""
    products = re.findall(r"^\|\s*(?:Ascend|Atlas)[^\n]*CANN[^\n]*", readme, re.MULTILINE)
    return not products or any("Atlas A2" in line for line in products)


def _with_scenarios(case: Case, readme: str, build: str) -> Iterator[Case]:
    variables = VARIABLE.findall(build)
    variable = "SCENARIO_NUM" if "SCENARIO_NUM" in variables else (variables[0] if variables else "")
    for scenario in _scenarios(variable, readme, build) if variable else [""]:
        with contextlib.suppress(Refused):
            macros = definitions(build, {**CHIP, variable: scenario} if variable else CHIP)
            words = tuple(f"{macro}={value}" for macro, value in macros.items())
            yield replace(case, variable=variable, scenario=scenario, macros=words)


def _scenarios(variable: str, readme: str, build: str) -> list[str]:
    """All numbers that the build accepts, if it checks them at all; else those that README or build name."""
    accepted = [str(number) for number in range(25) if _accepts(build, variable, str(number))]
    if len(accepted) < 25:
        return accepted
    rows = [
        line.split("|")[2] for line in readme.splitlines() if line.strip().startswith("|") and f"`{variable}`" in line
    ]
    for text in [*rows, *re.findall(rf"set\({variable}[^\n]*", build)]:
        bounds = re.search(r"(\d+)-(\d+)", text)
        if bounds is not None:
            return [str(number) for number in range(int(bounds[1]), int(bounds[2]) + 1)]
        numbers = re.findall(r"`(\d+)`", text)
        if numbers:
            return list(dict.fromkeys(numbers))
    return sorted(set(re.findall(rf"{variable}=(\d+)", readme))) or ["1"]


def _accepts(build: str, variable: str, number: str) -> bool:
    try:
        definitions(build, {**CHIP, variable: number})
    except Refused:
        return False
    return True


def _text(case: Case) -> str:
    """All sources of an example as one."""
    headers = "".join(path.read_text(encoding="utf-8") for path in case.folder.glob("*.h"))
    texts = {path: path.read_text(encoding="utf-8") for path in case.sources}
    others = headers + "".join(texts.values())
    return "\n".join(f'#line 1 "{path}"\n{rewrite_launches(text, others)}' for path, text in texts.items())


def run(case: Case, options: RunOptions) -> Result:
    try:
        program = toolchain.build(_text(case), str(case.sources[0]), (case.folder,), case.macros)
    except UserError as error:
        lines = [line for line in str(error).splitlines() if "error: " in line]
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
        findings, _, _ = read_report(report.read_text(encoding="utf-8"))
    state, detail = _judge(work, code, printed)
    if state == "differs" and _own_check(case, work, exactly=True):
        state, detail = "equal", "byte for byte as its own check takes the result"
    elif state == "differs" and _own_check(case, work):
        state = "close"
    if state == "checked" and EXACT_CHECK.search(_text(case)):
        detail = "its own check, an exact one"
    if state == "no golden" and _shown(case, printed):
        state, detail = "checked", "prints what the README shows"
    return Result(case, state, detail, findings)


def _commands(case: Case, script: str) -> list[str]:
    """The line that the README shows for a script, with the variables put in."""
    text = (case.folder / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"python3 (\.\./scripts/{script}\.py[^\n#`]*)", text)
    if not found and (case.folder / "scripts" / f"{script}.py").exists():
        found = [f"../scripts/{script}.py"]
    values = {**CHIP, case.variable: case.scenario}
    return [re.sub(r"\$\{?(\w+)\}?", lambda match: values.get(match[1], match[0]), line).strip() for line in found[:1]]


def _run_script(line: str, work: Path, *, exactly: bool = False) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **PLAIN_SUMS}
    command = [sys.executable, *(("-c", EXACTLY) if exactly else ()), *line.split()]
    return subprocess.run(command, cwd=work, capture_output=True, text=True, check=False, env=environment)


def _make_data(case: Case, work: Path) -> str:
    for line in _commands(case, "gen_data"):
        words = re.sub(r"(-scenario\w*[= ])\d+", rf"\g<1>{case.scenario}", line) if case.scenario else line
        done = _run_script(words, work)
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or ["gen_data failed"])[-1]
    return ""


def _own_check(case: Case, work: Path, *, exactly: bool = False) -> bool:
    """Whether the example's own script is content: expected results of f32 sums depend on the order of the sums."""
    for line in _commands(case, "verify_result"):
        words = re.sub(r"(-scenario\w*[= ])\d+", rf"\g<1>{case.scenario}", line) if case.scenario else line
        done = _run_script(words, work, exactly=exactly)
        compared = not exactly or "compared by bytes" in done.stdout
        return done.returncode == 0 and "pass" in done.stdout and compared
    return False


def _shown(case: Case, printed: str) -> bool:
    """Whether each line of the output at the end of the README came out, in any order."""
    text = (case.folder / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = [line.strip() for line in blocks[-1].splitlines() if line.strip()] if blocks else []
    got = {line.strip() for line in printed.splitlines()}
    return bool(lines) and all(line in got for line in lines)


def _result(expected: Path) -> Path:
    """The file that belongs to expected bytes: the same name, or the only result that there is."""
    named = expected.with_name(expected.name.replace("golden", "output"))
    written = sorted(expected.parent.glob("output*.bin"))
    return written[0] if not named.exists() and len(written) == 1 else named


def _judge(work: Path, code: int, printed: str) -> tuple[str, str]:
    if code != 0:
        return "fails", f"code {code}: {printed[-160:].strip()!r}"
    golden = sorted(work.glob("output/golden*.bin"))
    if not golden:
        passed = re.search(r"pass|success", printed, re.IGNORECASE) and not re.search(r"fail", printed, re.IGNORECASE)
        return ("checked", "its own check") if passed else ("no golden", printed[-100:].strip().replace("\n", " "))
    for expected in golden:
        got = _result(expected)
        if not got.exists():
            return "fails", f"no {got.name}"
        left, right = expected.read_bytes(), got.read_bytes()
        if left != right:
            different = sum(a != b for a, b in zip(left, right, strict=False)) + abs(len(left) - len(right))
            return "differs", f"{different} of {len(left)} bytes"
    return "equal", "byte for byte"


def _table(results: list[Result]) -> Iterator[str]:
    """One line for each folder: its examples, how many of them have all or some scenarios equal, and the scenarios."""
    examples: dict[str, dict[str, list[str]]] = {}
    for result in results:
        parts = result.case.name.split("/")
        group = "/".join(parts[: max(1, min(2, len(parts) - 1))])
        examples.setdefault(group, {}).setdefault(result.case.name, []).append(result.state)
    rows = [(group, list(members.values())) for group, members in examples.items()]
    total = [states for _, members in rows for states in members]
    yield f"| {'folder':45} | examples | all equal | some equal | scenarios | " + " | ".join(STATES) + " |"
    for group, members in [*rows, ("together", total)]:
        every, some = sum(set(states) == {"equal"} for states in members), sum("equal" in states for states in members)
        flat = [state for states in members for state in states]
        counts = " | ".join(f"{flat.count(state):{len(state)}}" for state in STATES)
        yield f"| {group:45} | {len(members):8} | {every:9} | {some:10} | {len(flat):9} | {counts} |"


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
    print("\n".join(_table(results)))
    return 0 if all(result.state in ("equal", "checked") for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())

"""What a tuning leaves for reading and repeating, in a folder of the setting `dump`:

<kernel>-tuning/
    tiling.pto                 the tiling source: the IR that every candidate is made from
    kernel_<kernel_key>.ll     the source of each candidate that was compiled (.cpp for a device)
    wrapper.json               what each key stands for, and what became of it
    benchmark.py               runs alone: checks, times and compares the candidates again
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pypto.ir.base.files import write_text
from pypto.ir.printer import print_module
from pypto.runtime.code_cache import read_code
from pypto.runtime.tuning.artefacts import load_binary, tiling_text
from pypto.runtime.tuning.compiling import CODE, SOURCE, CompiledCandidate
from pypto.tuning_case import TuningCase
from pypto.tuning_result import TuningResult, result_to_json

_BENCHMARK = '''"""Check, time and compare the candidates of {kernel} again: python benchmark.py [ROUNDS]

Made by pypto. Each candidate runs once against the reference and then in turns with the others.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import pypto
from pypto.tuning_result import trial_from_json

FOLDER = Path(__file__).resolve().parent
TARGET = {target!r}


def main(rounds: int = 50) -> None:
    trials = [trial_from_json(item) for item in json.loads((FOLDER / "wrapper.json").read_text())["trials"]]
    seconds = {{}}
    for trial in trials:
        candidate = trial.candidate
        if not (FOLDER / f"kernel_{{candidate.key()}}{ending}").exists():
            continue
        config = {{}} if candidate.is_default else {{"schedule": candidate.schedule}}
        kernel = pypto.compile(FOLDER / "tiling.pto", config, target=TARGET)
        result = kernel.execute(verify=True)
        if not result.verification_passed:
            print(f"{{candidate.key()}}  WRONG  {{candidate.describe()}}: {{result.verification_error}}")
            continue
        seconds[candidate.key()] = (candidate.describe(), kernel, tuple(result.arguments), [])
    for _ in range(rounds):
        for _, kernel, arguments, samples in seconds.values():
            start = time.perf_counter()
            kernel.execute(*arguments)
            samples.append(time.perf_counter() - start)
    for key, (text, _, _, samples) in sorted(seconds.items(), key=lambda item: statistics.median(item[1][3])):
        print(f"{{key}}  {{statistics.median(samples) * 1e6:10.2f}} us  {{text}}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
'''


def dump_tuning(folder: Path, case: TuningCase, result: TuningResult, built: Sequence[CompiledCandidate]) -> Path:
    """Write the debug artefacts of a tuning and return their folder. Raises UserError ``cannot-write``."""
    place = folder / f"{case.name}-tuning"
    write_text(place / "tiling.pto", print_module(case.module))
    for item in built:
        write_text(place / f"kernel_{item.candidate.key()}{_ending(case)}", _source(item))
    wrapper = result_to_json(result)
    wrapper["tiling_map"] = {item.candidate.key(): tiling_text(item.candidate) for item in built}
    write_text(place / "wrapper.json", json.dumps(wrapper, indent=1))
    text = _BENCHMARK.format(kernel=case.name, target=case.target, ending=_ending(case))
    write_text(place / "benchmark.py", text)
    return place


def _ending(case: TuningCase) -> str:
    return ".ll" if case.target == "cpu" else ".cpp"


def _source(built: CompiledCandidate) -> str:
    """Return the source that a candidate was compiled from."""
    name = CODE if CODE in built.digests else SOURCE
    content = load_binary(built.folder / name, built.digests[name])
    code = read_code(content) if name == CODE else None
    return content.decode() if code is None else code.text

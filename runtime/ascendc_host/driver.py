"""Running AscendC kernels on this machine: compile once, run in a process of its own, under a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pypto.ir.base.errors import UserError
from pypto.ir.base.locations import Location
from pypto.runtime.ascendc_host import toolchain
from pypto.runtime.ascendc_host.preprocess import KernelText, Parameter, find_kernels, rewrite_launches
from pypto.runtime.ascendc_host.report import Counters, Finding, Place, Report, Sync, read_report

Mode = Literal["early", "late", "random"]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Workspace:
    """Global memory of `size` bytes that holds no values at the start."""

    size: int


Argument = Array | int | float | bytes | Workspace

SCALAR_FORMATS = {
    "float": "f", "double": "d", "half": "e", "bool": "?", "int8_t": "b", "uint8_t": "B", "int16_t": "h",
    "uint16_t": "H", "int": "i", "int32_t": "i", "unsigned": "I", "uint32_t": "I", "int64_t": "q", "uint64_t": "Q",
    "long": "q", "size_t": "Q",
}  # fmt: skip
"""How a number is passed, by the C++ type of the parameter."""


@dataclass(frozen=True, slots=True)
class Program:
    """Compiled kernels of one source; any of them can be run any number of times."""

    path: Path
    file: str
    kernels: Mapping[str, KernelText]

    def kernel(self, name: str | None) -> KernelText:
        """Return the kernel called `name`, or the only one; a function that launches all of them goes first."""
        if name is None:
            launchers = [item for item in self.kernels.values() if not item.kind]
            named = launchers or list(self.kernels.values())
            if len(named) == 1:
                return named[0]
            raise UserError("which-kernel", Location(self.file, 1, 1), kernels=", ".join(self.kernels))
        if name not in self.kernels:
            raise UserError("no-such-kernel", Location(self.file, 1, 1), kernel=name, kernels=", ".join(self.kernels))
        return self.kernels[name]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run. `threads` is the number of cores that run at the same moment (0: as many as processors);
    `fill` is the byte that unwritten memory holds (255: a NaN of every floating-point type).

    `skip` names calls by file and line that the run leaves out, among those that order things (flags, barriers, flags
    between cores, `SyncAll`): one program shows what each of them is for. `list_syncs` puts those calls into the
    report. With `strict_flags`, setting a flag is a mistake unless something orders it after the flag's last wait:
    flags are one bit. Published kernels rely on less.
    """

    mode: Mode = "early"
    seed: int = 0
    auto_sync: bool = False
    time_limit: float = 60.0
    threads: int = 0
    fill: int = 255
    skip: tuple[Place, ...] = ()
    list_syncs: bool = False
    strict_flags: bool = False

    def environment(self) -> dict[str, str]:
        """Return the variables that a program of the model reads."""
        return {
            **os.environ,
            "ASCENDC_HOST_MODE": self.mode,
            "ASCENDC_HOST_SEED": str(self.seed),
            "ASCENDC_HOST_AUTO_SYNC": str(int(self.auto_sync)),
            "ASCENDC_HOST_THREADS": str(self.threads),
            "ASCENDC_HOST_FILL": str(self.fill),
            "ASCENDC_HOST_SKIP": "\n".join(f"{file}:{line}" for file, line in self.skip),
            "ASCENDC_HOST_STRICT_FLAGS": str(int(self.strict_flags)),
            "ASCENDC_HOST_LIST_SYNCS": str(int(self.list_syncs)),
        }


def check(
    source: str,
    arrays: Mapping[str, Argument] | Sequence[Argument],
    *,
    blocks: int = 1,
    kernel: str | None = None,
    file: str = "kernel.cpp",
    include: Sequence[Path] = (),
    mode: Mode = "early",
    seed: int = 0,
    auto_sync: bool = False,
    time_limit: float = 60.0,
    threads: int = 0,
) -> Report:
    """Compile AscendC `source` and run one kernel of it (or its launch function) with `arrays`.

    Arrays are given by parameter name or in order; numbers go to parameters passed by value (bytes: a struct), a
    Workspace to a pointer that needs no values. The arrays are not changed: results are in `Report.outputs`.
    Raises UserError when the source does not compile or arguments do not match the kernel.
    """
    program = build(source, file=file, include=include, instances=(kernel,) if kernel else ())
    options = RunOptions(mode, seed, auto_sync, time_limit, threads)
    return run(program, arrays, kernel=kernel, blocks=blocks, options=options)


def build(
    source: str,
    *,
    file: str = "kernel.cpp",
    include: Sequence[Path] = (),
    defines: Sequence[str] = (),
    instances: Sequence[str] = (),
    launchers_only: bool = False,
) -> Program:
    """Compile all kernels of `source`, which is called `file` in findings.

    Of templates, `instances` says which to compile, as ``scale<float, 128>``; their scalar parameters must have types
    that do not depend on the template's. With `launchers_only`, only functions of the host that launch kernels can be
    run, not the kernels by themselves.
    """
    found = [item for item in find_kernels(source) if not item.template and not (launchers_only and item.kind)]
    kernels = {item.name: item for item in found}
    templates = {item.name: item for item in find_kernels(source) if item.template}
    for instance in instances:
        base = templates.get(instance.split("<")[0].strip())
        if base is not None:
            kernels[instance] = replace(base, name=instance)
    text = f'#line 1 "{file}"\n{rewrite_launches(source)}\n#line 1 "main"\n{_main(kernels.values())}'
    return Program(toolchain.build(text, file, tuple(include), tuple(defines)), file, kernels)


def _main(kernels: Any) -> str:
    calls = "".join(_dispatch(kernel) for kernel in kernels)
    return (
        "int main(int, char** arguments)\n{\n    ascendc_host::Job job(arguments[1]);\n"
        f"{calls}    return job.finish();\n}}\n"
    )


def _dispatch(kernel: KernelText) -> str:
    given = ", ".join(_passed(parameter, k) for k, parameter in enumerate(_given(kernel)))
    if kernel.kind:
        call = (
            f"ascendc_host::host_launch(ascendc_host::KernelKind::{kernel.kind}, job.blocks, nullptr, "
            f"[&] {{ {kernel.name}({given}); }});"
        )
    else:
        call = f"{kernel.name}(nullptr{', ' if given else ''}{given});"
    return f'    if (job.kernel == "{kernel.name}") {{ {call} }}\n'


def _given(kernel: KernelText) -> tuple[Parameter, ...]:
    return kernel.parameters if kernel.kind else kernel.parameters[1:]


def _passed(parameter: Parameter, position: int) -> str:
    if parameter.is_pointer:
        return f"job.pointer({position})"
    return f"job.scalar<{parameter.type}>({position})"


def run(
    program: Program,
    arrays: Mapping[str, Argument] | Sequence[Argument],
    *,
    kernel: str | None = None,
    blocks: int = 1,
    options: RunOptions | None = None,
) -> Report:
    """Run one kernel of a program in a process of its own. See `check`."""
    options = options or RunOptions()
    chosen = program.kernel(kernel)
    arguments = _match(chosen, arrays, program.file)
    with tempfile.TemporaryDirectory(prefix="pypto-", dir=_fast_folder()) as place:
        lines = [f"kernel {chosen.name}", f"blocks {blocks}", *_job_lines(chosen, arguments, Path(place))]
        job = Path(place) / "job"
        job.write_text("\n".join(lines) + "\n", encoding="utf-8")
        report = Path(place) / "report"
        command = [str(program.path), str(job)]
        environment = {**options.environment(), "ASCENDC_HOST_REPORT": str(report)}
        code, printed = execute(command, environment, options.time_limit)
        findings, counters, syncs = _read(report, code, options.time_limit, program.file, chosen.line)
        return Report(_outputs(chosen, arguments, Path(place)), findings, counters, printed, syncs)


def _match(kernel: KernelText, arrays: Mapping[str, Argument] | Sequence[Argument], file: str) -> tuple[Argument, ...]:
    names = [parameter.name for parameter in _given(kernel)]
    if isinstance(arrays, Mapping) and set(arrays) == set(names):
        return tuple(arrays[name] for name in names)
    values = tuple(arrays.values()) if isinstance(arrays, Mapping) else tuple(arrays)
    if len(values) != len(names):
        raise UserError(
            "kernel-arguments",
            Location(file, kernel.line, 1),
            kernel=kernel.name,
            given=len(values),
            names=", ".join(names),
            wanted=len(names),
        )
    return values


def _job_lines(kernel: KernelText, arguments: tuple[Argument, ...], place: Path) -> Iterator[str]:
    for number, (parameter, argument) in enumerate(zip(_given(kernel), arguments, strict=True)):
        if isinstance(argument, np.ndarray):
            path = place / f"array{number}"
            path.write_bytes(np.ascontiguousarray(argument).tobytes())
            yield f"array {parameter.name or number} {argument.nbytes} {path}"
        elif isinstance(argument, Workspace):
            yield f"workspace {argument.size}"
        else:
            yield f"scalar {_scalar_bytes(parameter, argument).hex()}"


def _scalar_bytes(parameter: Parameter, value: int | float | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    letter = SCALAR_FORMATS.get(parameter.type.strip(), "q")
    number = value if letter in "fde" else int(value)
    return struct.pack("<" + letter, number)


def _outputs(kernel: KernelText, arguments: tuple[Argument, ...], place: Path) -> dict[str, Array]:
    outputs = {}
    for number, (parameter, argument) in enumerate(zip(_given(kernel), arguments, strict=True)):
        if isinstance(argument, np.ndarray):
            data = (place / f"array{number}").read_bytes()
            outputs[parameter.name or str(number)] = np.frombuffer(data, argument.dtype).reshape(argument.shape).copy()
    return outputs


def _fast_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def execute(
    command: Sequence[str], environment: Mapping[str, str], time_limit: float, cwd: Path | None = None
) -> tuple[int, str]:
    """Run a program; return its exit code (-1 after `time_limit` seconds) and what it printed. Ctrl-C ends it too."""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd, start_new_session=True
    ) as process:
        try:
            printed, _ = process.communicate(timeout=time_limit)
            return process.returncode, printed.decode(errors="replace")
        except subprocess.TimeoutExpired:
            printed = _end(process)
            return -1, printed.decode(errors="replace")
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> bytes:
    """Ask a process to report and stop, then kill it."""
    process.send_signal(signal.SIGTERM)
    try:
        return process.communicate(timeout=2)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


def _read(
    path: Path, code: int, time_limit: float, file: str, line: int
) -> tuple[tuple[Finding, ...], Counters, tuple[Sync, ...]]:
    findings: tuple[Finding, ...] = ()
    counters = Counters()
    syncs: tuple[Sync, ...] = ()
    with contextlib.suppress(FileNotFoundError, ValueError):
        findings, counters, syncs = read_report(path.read_text(encoding="utf-8"))
    if code == -1:
        findings += (Finding("time-limit", f"the kernel did not end within {time_limit:g} s", file, line),)
    elif code != 0:
        findings += (
            Finding(
                "crash", f"the process ended with code {code}: memory outside every tensor was touched", file, line
            ),
        )
    return findings, counters, syncs

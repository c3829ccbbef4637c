"""A stand-in for torch and torch_npu with the names and signatures that measuring uses, over a clock of its own.

Work is enqueued on one stream; the clock runs only when the stream is waited for, so a mark noted on the host would
show. The profiler writes ``kernel_details.csv`` where its handler says, for the steps that its schedule records.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

MICROSECOND = 1e-6


@dataclass
class Machine:
    """The device: a queue of work, a clock in seconds, and the tasks that ran while a profiler recorded."""

    clock: float = 0.0
    queue: list[Callable[[], None]] = field(default_factory=list)
    tasks: list[tuple[str, str, float, float]] = field(default_factory=list)
    recording: bool = False
    log: list[str] = field(default_factory=list)
    profiled: int = 0
    lose: Callable[[list[Any]], list[Any]] = lambda rows: rows
    step_ids: bool = False
    active: bool = False

    def enqueue(self, name: str, kind: str, seconds: float) -> None:
        self.log.append(name)

        def run() -> None:
            if self.recording:
                self.tasks.append((name, kind, self.clock, seconds))
            self.clock += seconds

        self.queue.append(run)

    def drain(self) -> None:
        self.log.append("synchronize")
        for work in self.queue:
            work()
        self.queue.clear()


class Event:
    """As torch_npu.npu.Event: created for timing, recorded on the stream, read in milliseconds."""

    machine: Machine

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.timing, self.at = enable_timing, None

    def record(self, stream: Any = None) -> None:
        self.machine.log.append("record")
        self.machine.queue.append(lambda: setattr(self, "at", self.machine.clock))

    def elapsed_time(self, end_event: Event) -> float:
        assert self.timing and self.at is not None and end_event.at is not None, "not waited for"
        return (end_event.at - self.at) * 1e3


class Schedule:
    def __init__(
        self, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
    ) -> None:
        self.first, self.last = skip_first + wait + warmup, skip_first + wait + warmup + active
        assert repeat == 1 and warmup > 0


class Profile:
    """As torch_npu.profiler.profile, its keywords the same."""

    machine: Machine

    def __init__(
        self, *, activities: Any = None, schedule: Any = None, on_trace_ready: Any = None, record_shapes: bool = False,
        profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
        experimental_config: Any = None, execution_trace_observer: Any = None, custom_trace_id_callback: Any = None,
        use_cuda: Any = None,
    ) -> None:  # fmt: skip
        assert activities == ["NPU"] and use_cuda is None
        self.schedule, self.ready, self.number = schedule, on_trace_ready, 0
        self.steps: list[int] = []

    def start(self) -> None:
        assert not self.machine.active, "a profiler inside a profiler crashes"
        self.machine.active = True
        self._follow()

    def step(self) -> None:
        self.machine.drain()
        self.steps += [self.number] * (len(self.machine.tasks) - len(self.steps))
        self.number += 1
        if self.number == self.schedule.last:
            self.ready(self)
        self._follow()

    def stop(self) -> None:
        self.machine.active = self.machine.recording = False

    def _follow(self) -> None:
        self.machine.recording = self.schedule.first <= self.number < self.schedule.last


def handler(machine: Machine) -> Callable[..., Any]:
    def tensorboard_trace_handler(
        dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
    ) -> Any:
        def ready(session: Profile) -> None:
            folder = Path(str(dir_name)) / "host_1_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
            folder.mkdir(parents=True)
            machine.profiled += 1
            rows = [
                [step, name, kind, f"{1.7e15 + start * 1e6:.3f}\t", f"{seconds * 1e6:.3f}", "8", ""]
                for step, (name, kind, start, seconds) in zip(session.steps, machine.tasks, strict=True)
            ]
            head = ["Step Id", "Name", "Type", "Start Time(us)", "Duration(us)", "Block Num", ""]
            first = 0 if machine.step_ids else 1
            with open(folder / "kernel_details.csv", "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(row[first:] for row in [head, *machine.lose(rows)])

        return ready

    return tensorboard_trace_handler


class Tensor:
    """The buffer that is written or read to empty the cache."""

    def __init__(self, machine: Machine, elements: int, dtype: Any, device: str) -> None:
        assert device == "npu"
        self.machine, self.bytes = machine, elements * 4

    def zero_(self) -> None:
        self.machine.enqueue("ZerosLike", "ZerosLike", 200 * MICROSECOND)

    def sum(self) -> None:
        self.machine.enqueue("ReduceSum", "ReduceSum", 150 * MICROSECOND)


def make(machine: Machine) -> tuple[Any, Any]:
    """Return (torch, torch_npu)."""
    tensors: list[Tensor] = []

    def zeros(elements: int, *, dtype: Any, device: str) -> Tensor:
        tensors.append(Tensor(machine, elements, dtype, device))
        return tensors[-1]

    torch = SimpleNamespace(
        zeros=zeros, int32="int32", autograd=SimpleNamespace(_profiler_enabled=lambda: False), made=tensors
    )
    creator = SimpleNamespace(is_prof_inited=False)
    profiler = SimpleNamespace(
        _ExperimentalConfig=SimpleNamespace,
        ProfilerLevel=SimpleNamespace(Level1="Level1"),
        AiCMetrics=SimpleNamespace(PipeUtilization="PipeUtilization"),
        ProfilerActivity=SimpleNamespace(NPU="NPU"),
        schedule=Schedule,
        profile=type("Bound", (Profile,), {"machine": machine}),
        tensorboard_trace_handler=handler(machine),
        _profiler_path_creator=SimpleNamespace(ProfPathCreator=lambda: creator, creator=creator),
    )
    npu = SimpleNamespace(Event=type("Bound", (Event,), {"machine": machine}), synchronize=machine.drain)
    return torch, SimpleNamespace(npu=npu, profiler=profiler)

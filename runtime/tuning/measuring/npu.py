"""Measuring on an Ascend device through torch_npu: events on the current stream, and its profiler.

Written against torch_npu 2.14: `torch_npu.npu.Event(enable_timing=True)` with record and elapsed_time (milliseconds);
`torch_npu.profiler.profile` with a schedule whose first step is skipped and second warms the profiler up, one step per
round, results in a private folder through `tensorboard_trace_handler`. Nothing can be started inside an active
profiler: that is looked up first, and events are used instead.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pypto.codegen.targets.target import load_target
from pypto.runtime.tuning.candidate import Trial
from pypto.runtime.tuning.channel import Message
from pypto.runtime.tuning.compiling import CompiledCandidate
from pypto.runtime.tuning.measuring import event
from pypto.runtime.tuning.measuring.measurement import Measured, Measurement, OnTrial, item_key
from pypto.runtime.tuning.measuring.options import Launch, MeasureOptions
from pypto.runtime.tuning.measuring.profiler import ProfilerPlan, RowsMissing
from pypto.runtime.tuning.measuring.rounds import PROFILE_PREFIX, measure_alive
from pypto.runtime.tuning.measuring.runner import CandidateFailed
from pypto.runtime.tuning.profiler_files import ProfilerData, read_folder

SOURCE = "measured:npu"
CHIP = "ascend910b1"
UNRECORDED_ROUNDS = 2
"""Rounds before those that the profiler records: one it skips, one it warms up in."""
_EXTERNAL_PROFILERS = ("PROFILER_SAMPLECONFIG", "PROFILING_MODE")
"""Variables that are set in a process which the tool msprof profiles."""


class NpuDevice:
    """The current NPU. `torch_npu` is the module; its `torch` does the work on tensors."""

    source = SOURCE

    def __init__(self, torch: Any, torch_npu: Any) -> None:
        self.torch_npu = torch_npu
        self._buffer = torch.zeros(load_target(CHIP).number("memory", "l2") // 4, dtype=torch.int32, device="npu")

    def mark(self) -> Any:
        """Record an event on the current stream; nothing waits."""
        mark = self.torch_npu.npu.Event(enable_timing=True)
        mark.record()
        return mark

    def seconds(self, start: Any, end: Any) -> float:
        """Return the seconds between two events; elapsed_time is in milliseconds."""
        return float(start.elapsed_time(end)) * 1e-3

    def synchronize(self) -> None:
        self.torch_npu.npu.synchronize()

    def interruptions(self) -> int:
        """Return 0: kernels on a device are not taken off it."""
        return 0

    def overwrite_cache(self) -> None:
        """Write as many bytes as the L2 cache has."""
        self._buffer.zero_()

    def read_cache(self) -> None:
        """Read as many bytes as the L2 cache has."""
        self._buffer.sum()


@dataclass(frozen=True, slots=True)
class DeviceLaunch:
    """One candidate ready on the device.

    launch: enqueues it on the current stream. names: exact names of the kernels that a launch runs, in order. restore:
    enqueues what sets in/out arguments back. problem: returns what is wrong with the outputs of a launch, or None.
    """

    built: CompiledCandidate
    launch: Launch
    names: tuple[str, ...]
    restore: Callable[[], None]
    problem: Callable[[], str | None]


class DeviceRunner:
    """Answers the commands of a measurement in this process. A fault of the device ends the user's run as any would."""

    def __init__(self, device: NpuDevice, launches: Mapping[str, DeviceLaunch]) -> None:
        self.device, self._launches = device, launches

    def ask(self, built: CompiledCandidate, key: str, command: str, limit: float, **arguments: Any) -> Message:
        """Return the answer to a command; raises CandidateFailed when the launch itself is refused."""
        item = self._launches[key]
        try:
            answer: Message = getattr(self, f"_{command}")(item, **arguments)
        except RuntimeError as error:
            raise CandidateFailed(f"{type(error).__name__}: {error}") from error
        return answer

    def close(self) -> None:
        """Nothing: the launches belong to the caller."""

    def launch_cold(self, item: Measured, cold: bool) -> None:
        """Launch once as a round of the profiler does: overwritten caches, and a synchronisation around it."""
        launch = self._launches[item.key]
        launch.restore()
        if cold:
            self.device.read_cache()
        self.device.synchronize()
        launch.launch()
        self.device.synchronize()

    def _check(self, item: DeviceLaunch) -> Message:
        item.restore()
        start = self.device.mark()
        item.launch()
        end = self.device.mark()
        self.device.synchronize()
        problem, seconds = item.problem(), self.device.seconds(start, end)
        return {"problem": problem, "seconds": seconds, "whole": seconds, "memory": item.built.candidate.workspace}

    def _estimate(self, item: DeviceLaunch, cold: bool) -> Message:
        found = event.estimate(self.device, item.launch, item.restore, cold)
        return {"launch": found.launch, "flush": found.flush, "restore": found.restore}

    def _sample(self, item: DeviceLaunch, warmup: int, count: int, cold: bool) -> Message:
        event.sample(self.device, item.launch, item.restore, warmup, cold)
        found = event.sample(self.device, item.launch, item.restore, count, cold)
        return {"clean": found.clean, "interrupted": found.interrupted}

    def _names(self, item: DeviceLaunch) -> Message:
        return {"names": item.names}


def measure_on_device(
    device: NpuDevice, launches: Sequence[DeviceLaunch], options: MeasureOptions, on_trial: OnTrial = lambda trial: None
) -> list[Trial]:
    """Return a row for each candidate, measured on the device, in order."""
    built = [item.built for item in launches]
    runner = DeviceRunner(device, {item_key(item, number): launches[number] for number, item in enumerate(built)})
    measurement = Measurement(built, runner, options, on_trial, device.source)
    return measure_alive(measurement, lambda plan: profile(runner, measurement, plan))


def profiler_is_active(torch: Any, torch_npu: Any) -> bool:
    """Return whether some profiler runs in this process: torch's, torch_npu's, or the tool msprof around it."""
    if any(os.environ.get(name) for name in _EXTERNAL_PROFILERS) or torch.autograd._profiler_enabled():
        return True
    creator = torch_npu.profiler._profiler_path_creator.ProfPathCreator()
    return bool(creator.is_prof_inited)


def profile(runner: DeviceRunner, measurement: Measurement, plan: ProfilerPlan) -> ProfilerData:
    """Launch all rounds in one session of the profiler; return its rows. Raises RowsMissing if another is active."""
    import torch

    torch_npu = runner.device.torch_npu
    if profiler_is_active(torch, torch_npu):
        raise RowsMissing("another profiler is active in this process")
    with tempfile.TemporaryDirectory(prefix=PROFILE_PREFIX) as folder:
        session = _session(torch_npu, folder, plan)
        session.start()
        try:
            for _ in range(UNRECORDED_ROUNDS + plan.rounds + 1):
                for item in measurement.alive:
                    runner.launch_cold(item, measurement.options.cold)
                session.step()
        finally:
            session.stop()
        return read_folder(Path(folder))


def _session(torch_npu: Any, folder: str, plan: ProfilerPlan) -> Any:
    """Return a profiler that records `plan.rounds` rounds after those that are not recorded."""
    module = torch_npu.profiler
    experimental = module._ExperimentalConfig(
        profiler_level=module.ProfilerLevel.Level1,
        aic_metrics=module.AiCMetrics.PipeUtilization,
        l2_cache=False,
        data_simplification=False,
    )
    return module.profile(
        activities=[module.ProfilerActivity.NPU],
        schedule=module.schedule(wait=0, warmup=1, active=plan.rounds, repeat=1, skip_first=1),
        on_trace_ready=module.tensorboard_trace_handler(folder),
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=experimental,
    )

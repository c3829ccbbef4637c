"""The event method: time between two marks on the stream, as many launches as fit a budget, median first.

One launch and a synchronisation; an estimate over 5; warm-up for 25 ms; repeats for 100 ms, the caches overwritten
before each; P50, P20, P80. The estimate is of the launch alone: what overwriting the caches and restoring arguments
cost is measured apart, so that short kernels get as many repeats as they need. Launches during which the system ran
something else on the processor do not count.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from pypto.runtime.tuning.measuring.device import Device
from pypto.runtime.tuning.measuring.options import Estimate, Launch, MeasureOptions, Samples

ESTIMATE_RUNS = 5
_SHORTEST = 1e-7  # seconds; below a clock's resolution an estimate means nothing

Restore = Callable[[], None]


def estimate(device: Device, launch: Launch, restore: Restore, cold: bool) -> Estimate:
    """Return what a launch takes and, apart, what comes before it.

    The median of 5, not their mean: one interruption would else cost most of the repeats.
    """
    restore()
    launch()
    device.synchronize()
    flush = _span(device, device.overwrite_cache) if cold else 0.0
    before = _span(device, restore)
    found = sample(device, launch, restore, ESTIMATE_RUNS, cold)
    return Estimate(max(_SHORTEST, statistics.median(found.clean or found.interrupted)), flush, before)


def _span(device: Device, work: Callable[[], None]) -> float:
    work()  # the first time also gets memory from the system
    device.synchronize()
    start = device.mark()
    work()
    end = device.mark()
    device.synchronize()
    return device.seconds(start, end)


def sample(device: Device, launch: Launch, restore: Restore, count: int, cold: bool) -> Samples:
    """Return the times of `count` launches; they are enqueued one after the other and waited for once.

    For each that was interrupted there is another one, up to twice as many in all.
    """
    marks: list[tuple[Any, Any, bool]] = []
    missing = count
    while missing > 0 and len(marks) < 2 * count:
        restore()
        if cold:
            device.overwrite_cache()
        before = device.interruptions()
        start = device.mark()
        launch()
        end = device.mark()
        marks.append((start, end, device.interruptions() > before))
        missing -= not marks[-1][2]
    device.synchronize()
    samples = Samples()
    for start, end, interrupted in marks:
        samples.add(device.seconds(start, end), interrupted)
    return samples


def warmup_count(options: MeasureOptions, estimated: Estimate) -> int:
    """Return how many launches warm up: what fits `warmup_seconds`, at least 1."""
    if options.warmup_runs is not None:
        return max(0, options.warmup_runs)
    return _affordable(options, estimated, max(1, int(options.warmup_seconds / estimated.launch)), 0.25)


def repeat_count(options: MeasureOptions, estimated: Estimate) -> int:
    """Return how many launches are timed: what fits `measure_seconds`, at least 1, all that goes with them bounded."""
    if options.measure_runs is not None:
        return max(1, options.measure_runs)
    return _affordable(options, estimated, max(1, int(options.measure_seconds / estimated.launch)), 1.0)


def _affordable(options: MeasureOptions, estimated: Estimate, wanted: int, share: float) -> int:
    """Return `wanted`, less when overwriting caches for so many takes too long, but at least `least_samples`."""
    most = int(share * options.candidate_seconds / estimated.whole)
    return min(wanted, max(int(share * options.least_samples), most, 1))

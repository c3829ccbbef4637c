"""How many cores of a device kernels may use."""

from __future__ import annotations

from dataclasses import replace

from pypto.caller import PLACED_AT_CALLER
from pypto.ir.base.errors import UserError
from pypto.ir.base.settings import current, set_for_process
from pypto.ir.nodes import Kernel, Module, Operation, walk
from pypto.ir.passes.limits import ASCEND_910B1
from pypto.ir.schedule import Schedule, with_schedule

_CUBE_OPERATIONS = ("matmul", "convolution", "attention")


def set_device_limit(*, cube: int | None = None, vector: int | None = None) -> None:
    """Limit the cube and vector cores that kernels for a device use, in this process, until it is called again.

    cube, vector: numbers of cores; more than the chip has counts as all of them, None as no limit. Targets `cpu`,
    `reference` and `eager` have their own setting, `num_threads`. Kernels with known shapes are tuned anew for another
    limit; those with unknown ones are not.

    Raises UserError ``option-value``.
    """
    with PLACED_AT_CALLER:
        for option, value in (("cube", cube), ("vector", vector)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                wants = "a positive number of cores, or None for all"
                raise UserError("option-value", None, what="set_device_limit", option=option, value=value, wants=wants)
    cubes, vectors = ASCEND_910B1.cube_cores, ASCEND_910B1.vector_cores
    set_for_process(cube_limit=min(cube or 0, cubes), vector_limit=min(vector or 0, vectors))


def device_limit() -> tuple[int, int]:
    """Return the (cube, vector) cores that may be used: those of the chip, or fewer."""
    values = current()
    cubes, vectors = ASCEND_910B1.cube_cores, ASCEND_910B1.vector_cores
    return min(values.cube_limit or cubes, cubes), min(values.vector_limit or vectors, vectors)


def within_device_limit(module: Module) -> Module:
    """Return `module` with kernels that use no more cores than `set_device_limit` allows."""
    cube, vector = device_limit()
    if (cube, vector) == (ASCEND_910B1.cube_cores, ASCEND_910B1.vector_cores):
        return module
    kernels = [_limited(module, kernel, cube if _uses_cube(kernel) else vector) for kernel in module.kernels]
    return replace(module, kernels=tuple(kernels))


def _limited(module: Module, kernel: Kernel, most: int) -> Kernel:
    schedule = Schedule.of(kernel)
    limited = replace(schedule, aicore_num=min(schedule.aicore_num or most, most))
    return with_schedule(replace(module, kernels=(kernel,)), limited).kernels[0]


def _uses_cube(kernel: Kernel) -> bool:
    return any(isinstance(item, Operation) and item.name in _CUBE_OPERATIONS for item in walk(kernel.body))

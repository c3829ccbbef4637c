"""Running one call of a specialisation on its target, and beside it the reference when the call is verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypto.compiler import Built
from pypto.ir.dtypes import BF16
from pypto.ir.nodes import Module, Role
from pypto.runtime.arguments import Argument, ArrayArgument, ScalarArgument, read
from pypto.signature import Call
from pypto.subject import Subject, TracedSubject
from pypto.verification import compare, magnitude

Array = NDArray[Any]


def launch(subject: Subject, target: str, built: Built, call: Call) -> None:
    """Run a call: outputs are written in place. Target ascendc runs on the host model: UserError ``no-compiler``."""
    arguments = _separated(call)
    if built.launcher is not None:
        names = [item.name for item in built.module.parameters]
        built.launcher.run([arguments[name] for name in names])
    elif target == "eager" and isinstance(subject, TracedSubject):
        from pypto.eager_graph import run_graph

        run_graph(subject.graph, built.program, {name: _eager_value(item) for name, item in arguments.items()})
    elif target == "ascendc":
        from pypto.host_model import run_emitted

        run_emitted(built, *_values(built.module, arguments))
    else:
        run_reference(built.module, arguments)


def launch_verified(subject: Subject, target: str, built: Built, call: Call) -> str | None:
    """Run a call and the reference on copies of its arguments; return what differs, or None."""
    arguments = {name: call.arguments[call.same.get(name, name)] for name in call.arguments}
    copies = {name: _copied(item) for name, item in arguments.items()}
    before = {name: item.value for name, item in copies.items() if isinstance(item, ArrayArgument)}
    scale = magnitude(before)
    launch(subject, target, built, call)
    run_reference(built.module, copies)
    written = [item.name for item in built.module.parameters if item.role is not Role.IN]
    got = {name: as_numpy(item) for name in written if isinstance(item := arguments[name], ArrayArgument)}
    wanted = {name: before[name] for name in got}
    dtypes = {item.name: item.type.dtype for item in built.module.parameters}
    return compare(built.module, dtypes, got, wanted, max(scale, magnitude(wanted)))


def _separated(call: Call) -> dict[str, Argument]:
    """Return the arguments with inputs that partly share memory with an output copied."""
    shared = {source for source, _ in call.partly}
    return {name: _copied(item) if name in shared else item for name, item in call.arguments.items()}


def _copied(argument: Argument) -> Argument:
    if not isinstance(argument, ArrayArgument):
        return argument
    copy = read(argument.name, np.array(as_numpy(argument)))
    assert isinstance(copy, ArrayArgument)
    return copy


def as_numpy(argument: ArrayArgument) -> Array:
    """Return a NumPy array on the memory of an argument, of whatever framework."""
    if argument.framework == "numpy":
        return np.asarray(argument.value)
    tensor = argument.value.detach()
    if argument.dtype != BF16:
        return np.asarray(tensor.numpy())
    import torch

    return np.asarray(tensor.view(torch.int16).numpy()).view(BF16.numpy)


def run_reference(module: Module, arguments: Mapping[str, Argument]) -> None:
    from pypto.ir.interpreter import run

    run(module, *_values(module, arguments))


def _values(module: Module, arguments: Mapping[str, Argument]) -> tuple[dict[str, Array], dict[str, Any]]:
    names = [item.name for item in module.parameters]
    arrays = {name: as_numpy(item) for name in names if isinstance(item := arguments[name], ArrayArgument)}
    scalars = {name: item.value for name in names if isinstance(item := arguments[name], ScalarArgument)}
    return arrays, scalars


def _eager_value(argument: Argument) -> Any:
    return as_numpy(argument) if isinstance(argument, ArrayArgument) else argument.value

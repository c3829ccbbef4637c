"""What `CompiledKernel.execute` returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pypto.ir.base.errors import nearest


class Outputs(Mapping[str, Any]):
    """The arrays a launch wrote, by parameter name: ``outputs["out"]``, ``outputs.out``, or by position
    ``outputs[0]``.
    """

    __slots__ = ("_names", "_values")

    def __init__(self, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
        self._names, self._values = names, values

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, int):
            return self._values[key]
        if key not in self._names:
            raise KeyError(f"there is no output {key!r}: {nearest(key, self._names)}")
        return self._values[self._names.index(key)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"there is no output {name!r}: {nearest(name, self._names)}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={type(value).__name__}" for name, value in self.items())
        return f"Outputs({shown})"


class Result:
    """The result of one launch.

    `outputs`: the arrays it wrote, the caller's own ones. `verification_passed`: None unless ``verify=True``; then
    whether all outputs agree with the reference. `verification_error`: what differs and by how much, or None.
    """

    __slots__ = ("_arguments", "_names", "_positions", "verification_error", "verification_passed")

    def __init__(
        self,
        names: tuple[str, ...],
        arguments: tuple[Any, ...],
        positions: tuple[int, ...],
        verification_passed: bool | None = None,
        verification_error: str | None = None,
    ) -> None:
        """`positions` say where in `arguments` the outputs called `names` are."""
        self._names, self._arguments, self._positions = names, arguments, positions
        self.verification_passed, self.verification_error = verification_passed, verification_error

    @property
    def outputs(self) -> Outputs:
        """The arrays that were written, by name or position."""
        return Outputs(self._names, tuple(self._arguments[position] for position in self._positions))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """All arguments of the launch, in the order of the parameters; those that were made, too."""
        return self._arguments

    def __repr__(self) -> str:
        verified = "" if self.verification_passed is None else f", verification_passed={self.verification_passed}"
        return f"Result({self.outputs!r}{verified})"

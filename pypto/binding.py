"""From the arguments of a call to a signature: which value each parameter gets, by Python's rules, and what it is."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pypto.ir.base.errors import UserError, nearest

_EMPTY = inspect.Parameter.empty
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def bind(
    kernel: str,
    signature: inspect.Signature,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the value of each parameter, in order, defaults filled in.

    Raises UserError ``missing-argument``, ``extra-argument``, ``no-such-argument`` or ``repeated-argument``.
    """
    parameters = signature.parameters
    positional = [name for name, item in parameters.items() if item.kind in _POSITIONAL]
    call = f"{kernel}{signature}"
    if len(arguments) > len(positional):
        raise UserError("extra-argument", None, kernel=kernel, most=len(positional), got=len(arguments), call=call)
    given = dict(zip(positional, arguments, strict=False))
    for name, value in keywords.items():
        item = parameters.get(name)
        if item is None or item.kind is inspect.Parameter.POSITIONAL_ONLY:
            hint = nearest(name, [other for other in parameters if other not in given])
            raise UserError("no-such-argument", None, kernel=kernel, argument=name, hint=hint)
        if name in given:
            raise UserError("repeated-argument", None, kernel=kernel, argument=name, call=call)
        given[name] = value
    missing = [name for name, item in parameters.items() if name not in given and item.default is _EMPTY]
    if missing:
        raise UserError("missing-argument", None, kernel=kernel, missing=_listed(missing), call=call)
    return {name: given.get(name, item.default) for name, item in parameters.items()}


def _listed(names: Iterable[str]) -> str:
    quoted = [repr(name) for name in names]
    return f"argument {quoted[0]}" if len(quoted) == 1 else f"arguments {', '.join(quoted)}"


_CONSTANT_TYPES: dict[object, type] = {
    int: int,
    float: float,
    bool: bool,
    str: str,
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
}


def constant_type(parameter: inspect.Parameter) -> type | None:
    """Return the type of a parameter that its annotation makes a constant of the signature, else None."""
    try:
        return _CONSTANT_TYPES.get(parameter.annotation)
    except TypeError:  # an unhashable annotation
        return None


def constant(kernel: str, parameter: inspect.Parameter, value: Any) -> Any:
    """Return the constant that `value` is for a parameter annotated int, float, bool or str.

    NumPy scalars become Python's, whole floats are not ints. Raises UserError ``constant-type``.
    """
    wanted = constant_type(parameter)
    plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
    if value is parameter.default or wanted is None:
        return value
    if wanted is float and isinstance(plain, int) and not isinstance(plain, bool):
        return float(plain)
    if type(plain) is not wanted:
        raise UserError(
            "constant-type",
            None,
            argument=parameter.name,
            kernel=kernel,
            kind=type(value).__name__,
            annotation=wanted.__name__,
        )
    return plain

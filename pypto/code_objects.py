"""Looking through the code objects of a Python function."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield `code` and the code of every function, lambda and comprehension in it, in the order of the text."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)

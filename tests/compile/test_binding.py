"""Binding is Python's: the same calls are right and wrong, and right ones give the same values."""

from __future__ import annotations

import inspect

from hypothesis import given
from hypothesis import strategies as st

from pypto import UserError
from pypto.binding import bind

KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
NAMES = ("a", "b", "c", "d", "e")


@st.composite
def signatures(draw):
    parameters, defaulted = [], False
    kinds = sorted(draw(st.lists(st.sampled_from(KINDS), max_size=5)))
    for name, kind in zip(NAMES, kinds, strict=False):
        has_default = draw(st.booleans()) or (defaulted and kind is not inspect.Parameter.KEYWORD_ONLY)
        defaulted = defaulted or has_default
        default = f"default of {name}" if has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


@given(
    signatures(),
    st.lists(st.integers(0, 9), max_size=6),
    st.dictionaries(st.sampled_from((*NAMES, "z")), st.integers(10, 19), max_size=4),
)
def test_binding_is_pythons(signature, arguments, keywords):
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError:
        wanted = None
    else:
        bound.apply_defaults()
        wanted = dict(bound.arguments)
    try:
        found = bind("kernel", signature, arguments, keywords)
    except UserError:
        found = None
    assert found == wanted
    assert found is None or list(found) == list(signature.parameters)

"""Rules compiled once for all tests of this folder."""

from __future__ import annotations

import pytest

from pypto.codegen.llvm.code import Machine
from pypto.codegen.llvm.rules.single import Rules
from pypto.runtime.toolchain import host_machine


@pytest.fixture(scope="session")
def rules() -> Rules:
    return Rules(host_machine())


@pytest.fixture(scope="session")
def machines(rules: Rules) -> dict[str, Machine]:
    """This machine, and with fewer instructions as far as it has them. Other architectures run only their own."""
    found = {"host": rules.machine}
    if rules.machine.triple.startswith("x86_64"):
        found["sse2"] = rules.restricted("x86-64", "+sse2", 128)
        if "+avx2" in rules.machine.features.split(","):
            found["avx2"] = rules.restricted("haswell", "+avx2,+fma,+f16c", 256)
    return found

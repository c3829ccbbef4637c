"""What generated code reports: indices that are no elements of their axis."""

from __future__ import annotations

import numpy as np

from pypto.codegen.llvm.evaluation import extents
from pypto.codegen.llvm.lowering import SITES, checking_operations
from pypto.ir.base.errors import UserError
from pypto.ir.nodes import Module
from pypto.ir.operations.definition import IndexOutOfRange
from pypto.ir.operations.mistakes import index_error


def index_mistake(module: Module, site: int, place: int, index: int) -> UserError:
    """Return the UserError for the status words (`codegen/llvm/code.py`) that code of `module` left."""
    kernel, number = divmod(site - 1, SITES)
    operation = checking_operations(module.kernels[kernel])[number]
    x, indices = operation.operands[:2]
    axis = operation.attribute("axis")
    assert isinstance(axis, int)
    shape, extent = extents(indices.shape), extents(x.shape)[axis]
    position = tuple(map(int, np.unravel_index(place, shape)))
    wrap = operation.attribute("wrap") is True
    return index_error(operation.name, wrap, operation.location, IndexOutOfRange(index, position, shape, extent))

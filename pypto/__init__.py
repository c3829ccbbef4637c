"""pypto: write tile kernels for Ascend NPUs in Python, run them here, read every step, get AscendC.

Everything public is a name of this package. Names are imported when they are first used, so that ``import pypto`` stays
fast; the table below says where each one lives.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if not os.path.isdir(os.path.join(os.path.dirname(__file__), "ir")):
    raise ImportError(
        "this checkout of pypto has no symbolic links: pypto/ir, pypto/codegen and pypto/runtime must be links to the "
        "folders beside the package, and are plain files. On Windows turn on developer mode, run `git config "
        "core.symlinks true` and `git checkout -- pypto`; or install a wheel."
    )

if TYPE_CHECKING:
    from pypto import language as language
    from pypto.compiled_kernel import CompiledKernel as CompiledKernel
    from pypto.compiler import compile as compile
    from pypto.config import BufferConfig as BufferConfig
    from pypto.config import BufferStrategy as BufferStrategy
    from pypto.config import TileConfig as TileConfig
    from pypto.dependencies import Dependency as Dependency
    from pypto.dependencies import DependencyGraph as DependencyGraph
    from pypto.fusion_tile import FusionTile as FusionTile
    from pypto.ir.base.errors import CompilerBug as CompilerBug
    from pypto.ir.base.errors import UserError as UserError
    from pypto.ir.base.settings import settings as settings
    from pypto.language import abs as abs
    from pypto.language import block as block
    from pypto.language import broadcast_to as broadcast_to
    from pypto.language import cast as cast
    from pypto.language import clip as clip
    from pypto.language import concat as concat
    from pypto.language import cond as cond
    from pypto.language import empty as empty
    from pypto.language import erf as erf
    from pypto.language import exp as exp
    from pypto.language import full as full
    from pypto.language import get_block_id as get_block_id
    from pypto.language import log as log
    from pypto.language import loop as loop
    from pypto.language import max as max
    from pypto.language import maximum as maximum
    from pypto.language import mean as mean
    from pypto.language import min as min
    from pypto.language import minimum as minimum
    from pypto.language import neg as neg
    from pypto.language import nn as nn
    from pypto.language import ones as ones
    from pypto.language import pow as pow
    from pypto.language import reciprocal as reciprocal
    from pypto.language import reshape as reshape
    from pypto.language import rsqrt as rsqrt
    from pypto.language import sigmoid as sigmoid
    from pypto.language import sqrt as sqrt
    from pypto.language import sum as sum
    from pypto.language import tanh as tanh
    from pypto.language import transpose as transpose
    from pypto.language import where as where
    from pypto.language import zeros as zeros
    from pypto.tile_function import fuse as fuse
    from pypto.tile_function import tile as tile

_LANGUAGE = (
    "abs block broadcast_to cast clip concat cond empty erf exp full get_block_id log loop max maximum mean min "
    "minimum neg nn ones pow reciprocal reshape rsqrt sigmoid sqrt sum tanh transpose where zeros"
)

_HOMES: dict[str, str] = {
    "BufferConfig": "pypto.config",
    "BufferStrategy": "pypto.config",
    "CompiledKernel": "pypto.compiled_kernel",
    "CompilerBug": "pypto.ir.base.errors",
    "Dependency": "pypto.dependencies",
    "DependencyGraph": "pypto.dependencies",
    "FusionTile": "pypto.fusion_tile",
    "TileConfig": "pypto.config",
    "UserError": "pypto.ir.base.errors",
    "compile": "pypto.compiler",
    "fuse": "pypto.tile_function",
    "settings": "pypto.ir.base.settings",
    "tile": "pypto.tile_function",
    **dict.fromkeys(_LANGUAGE.split(), "pypto.language"),
}

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604  # every item is a string


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'pypto' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

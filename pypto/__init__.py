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
    from pypto.autotuned import AutotunedKernel as AutotunedKernel
    from pypto.autotuned import autotune as autotune
    from pypto.barriers import SYNC_MODE as SYNC_MODE
    from pypto.barriers import Barrier as Barrier
    from pypto.barriers import BarrierConfig as BarrierConfig
    from pypto.compiled_kernel import CompiledKernel as CompiledKernel
    from pypto.compiler import compile as compile
    from pypto.config import BufferConfig as BufferConfig
    from pypto.config import BufferStrategy as BufferStrategy
    from pypto.config import TileConfig as TileConfig
    from pypto.dependencies import BroadcastDep as BroadcastDep
    from pypto.dependencies import Dependency as Dependency
    from pypto.dependencies import DependencyGraph as DependencyGraph
    from pypto.dependencies import GatherDep as GatherDep
    from pypto.device_limit import set_device_limit as set_device_limit
    from pypto.fusion_tile import FusionTile as FusionTile
    from pypto.hierarchy import HierarchicalTiling as HierarchicalTiling
    from pypto.hierarchy import Scheduler as Scheduler
    from pypto.ir.base.errors import CompilerBug as CompilerBug
    from pypto.ir.base.errors import UserError as UserError
    from pypto.ir.base.settings import settings as settings
    from pypto.language import abs as abs
    from pypto.language import absolute as absolute
    from pypto.language import acos as acos
    from pypto.language import acosh as acosh
    from pypto.language import add as add
    from pypto.language import all as all
    from pypto.language import any as any
    from pypto.language import arange as arange
    from pypto.language import arccos as arccos
    from pypto.language import arccosh as arccosh
    from pypto.language import arcsin as arcsin
    from pypto.language import arcsinh as arcsinh
    from pypto.language import arctan as arctan
    from pypto.language import arctan2 as arctan2
    from pypto.language import arctanh as arctanh
    from pypto.language import argmax as argmax
    from pypto.language import argmin as argmin
    from pypto.language import argsort as argsort
    from pypto.language import asin as asin
    from pypto.language import asinh as asinh
    from pypto.language import atan as atan
    from pypto.language import atan2 as atan2
    from pypto.language import atanh as atanh
    from pypto.language import bitwise_and as bitwise_and
    from pypto.language import bitwise_invert as bitwise_invert
    from pypto.language import bitwise_left_shift as bitwise_left_shift
    from pypto.language import bitwise_not as bitwise_not
    from pypto.language import bitwise_or as bitwise_or
    from pypto.language import bitwise_right_shift as bitwise_right_shift
    from pypto.language import bitwise_xor as bitwise_xor
    from pypto.language import block as block
    from pypto.language import broadcast_to as broadcast_to
    from pypto.language import cast as cast
    from pypto.language import cbrt as cbrt
    from pypto.language import ceil as ceil
    from pypto.language import chunk as chunk
    from pypto.language import clamp as clamp
    from pypto.language import clip as clip
    from pypto.language import concat as concat
    from pypto.language import cond as cond
    from pypto.language import copysign as copysign
    from pypto.language import cos as cos
    from pypto.language import cosh as cosh
    from pypto.language import count_nonzero as count_nonzero
    from pypto.language import cumprod as cumprod
    from pypto.language import cumsum as cumsum
    from pypto.language import deg2rad as deg2rad
    from pypto.language import degrees as degrees
    from pypto.language import div as div
    from pypto.language import divide as divide
    from pypto.language import empty as empty
    from pypto.language import empty_like as empty_like
    from pypto.language import eq as eq
    from pypto.language import equal as equal
    from pypto.language import erf as erf
    from pypto.language import erfc as erfc
    from pypto.language import exp as exp
    from pypto.language import exp2 as exp2
    from pypto.language import expand_dims as expand_dims
    from pypto.language import expm1 as expm1
    from pypto.language import eye as eye
    from pypto.language import fabs as fabs
    from pypto.language import fix as fix
    from pypto.language import flip as flip
    from pypto.language import floor as floor
    from pypto.language import floor_div as floor_div
    from pypto.language import floor_divide as floor_divide
    from pypto.language import fmax as fmax
    from pypto.language import fmin as fmin
    from pypto.language import fmod as fmod
    from pypto.language import full as full
    from pypto.language import full_like as full_like
    from pypto.language import gather as gather
    from pypto.language import gcd as gcd
    from pypto.language import ge as ge
    from pypto.language import get_block_id as get_block_id
    from pypto.language import greater as greater
    from pypto.language import greater_equal as greater_equal
    from pypto.language import gt as gt
    from pypto.language import hypot as hypot
    from pypto.language import index_add as index_add
    from pypto.language import index_copy as index_copy
    from pypto.language import index_select as index_select
    from pypto.language import invert as invert
    from pypto.language import isfinite as isfinite
    from pypto.language import isinf as isinf
    from pypto.language import isnan as isnan
    from pypto.language import le as le
    from pypto.language import left_shift as left_shift
    from pypto.language import less as less
    from pypto.language import less_equal as less_equal
    from pypto.language import log as log
    from pypto.language import log1p as log1p
    from pypto.language import log2 as log2
    from pypto.language import log10 as log10
    from pypto.language import logaddexp as logaddexp
    from pypto.language import logical_and as logical_and
    from pypto.language import logical_not as logical_not
    from pypto.language import logical_or as logical_or
    from pypto.language import logical_xor as logical_xor
    from pypto.language import logsumexp as logsumexp
    from pypto.language import loop as loop
    from pypto.language import lt as lt
    from pypto.language import matmul as matmul
    from pypto.language import max as max
    from pypto.language import maximum as maximum
    from pypto.language import mean as mean
    from pypto.language import min as min
    from pypto.language import minimum as minimum
    from pypto.language import mod as mod
    from pypto.language import moveaxis as moveaxis
    from pypto.language import mul as mul
    from pypto.language import multiply as multiply
    from pypto.language import ne as ne
    from pypto.language import neg as neg
    from pypto.language import negative as negative
    from pypto.language import nn as nn
    from pypto.language import not_equal as not_equal
    from pypto.language import one_hot as one_hot
    from pypto.language import ones as ones
    from pypto.language import ones_like as ones_like
    from pypto.language import pad as pad
    from pypto.language import positive as positive
    from pypto.language import pow as pow
    from pypto.language import power as power
    from pypto.language import prod as prod
    from pypto.language import rad2deg as rad2deg
    from pypto.language import radians as radians
    from pypto.language import reciprocal as reciprocal
    from pypto.language import remainder as remainder
    from pypto.language import repeat as repeat
    from pypto.language import repeat_interleave as repeat_interleave
    from pypto.language import reshape as reshape
    from pypto.language import right_shift as right_shift
    from pypto.language import rint as rint
    from pypto.language import roll as roll
    from pypto.language import round as round
    from pypto.language import rsqrt as rsqrt
    from pypto.language import scatter as scatter
    from pypto.language import scatter_add as scatter_add
    from pypto.language import sigmoid as sigmoid
    from pypto.language import sign as sign
    from pypto.language import signbit as signbit
    from pypto.language import sin as sin
    from pypto.language import sinh as sinh
    from pypto.language import sort as sort
    from pypto.language import split as split
    from pypto.language import sqrt as sqrt
    from pypto.language import square as square
    from pypto.language import squeeze as squeeze
    from pypto.language import stack as stack
    from pypto.language import std as std
    from pypto.language import sub as sub
    from pypto.language import subtract as subtract
    from pypto.language import sum as sum
    from pypto.language import swapaxes as swapaxes
    from pypto.language import take as take
    from pypto.language import take_along_axis as take_along_axis
    from pypto.language import tan as tan
    from pypto.language import tanh as tanh
    from pypto.language import topk as topk
    from pypto.language import transpose as transpose
    from pypto.language import tril as tril
    from pypto.language import triu as triu
    from pypto.language import true_divide as true_divide
    from pypto.language import trunc as trunc
    from pypto.language import unsqueeze as unsqueeze
    from pypto.language import var as var
    from pypto.language import where as where
    from pypto.language import zeros as zeros
    from pypto.language import zeros_like as zeros_like
    from pypto.search_space import TilingSearchSpace as TilingSearchSpace
    from pypto.tile_function import fuse as fuse
    from pypto.tile_function import tile as tile
    from pypto.tiling_cache import TilingCache as TilingCache
    from pypto.tiling_level import TilingLevel as TilingLevel
    from pypto.tuning import auto_tune as auto_tune
    from pypto.tuning_result import TuningResult as TuningResult
    from pypto.validator import DependencyValidator as DependencyValidator
    from pypto.validator import RaceConditionReport as RaceConditionReport
    from pypto.validator import auto_insert_sync as auto_insert_sync

_LANGUAGE = (
    "abs absolute acos acosh add all any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin "
    "argsort asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_not bitwise_or "
    "bitwise_right_shift bitwise_xor block broadcast_to cast cbrt ceil chunk clamp clip concat cond copysign cos cosh "
    "count_nonzero cumprod cumsum deg2rad degrees div divide empty empty_like eq equal erf erfc exp exp2 expand_dims "
    "expm1 eye fabs fix flip floor floor_div floor_divide fmax fmin fmod full full_like gather gcd ge get_block_id "
    "greater greater_equal gt hypot index_add index_copy index_select invert isfinite isinf isnan le left_shift less "
    "less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor logsumexp loop lt "
    "matmul max maximum mean min minimum mod moveaxis mul multiply ne neg negative nn not_equal one_hot ones "
    "ones_like pad positive pow power prod rad2deg radians reciprocal remainder repeat repeat_interleave reshape "
    "right_shift rint roll round rsqrt scatter scatter_add sigmoid sign signbit sin sinh sort split sqrt square "
    "squeeze stack std sub subtract sum swapaxes take take_along_axis tan tanh topk transpose tril triu true_divide "
    "trunc unsqueeze var where zeros zeros_like"
)

_HOMES: dict[str, str] = {
    "AutotunedKernel": "pypto.autotuned",
    "Barrier": "pypto.barriers",
    "BarrierConfig": "pypto.barriers",
    "BroadcastDep": "pypto.dependencies",
    "BufferConfig": "pypto.config",
    "BufferStrategy": "pypto.config",
    "CompiledKernel": "pypto.compiled_kernel",
    "CompilerBug": "pypto.ir.base.errors",
    "Dependency": "pypto.dependencies",
    "DependencyGraph": "pypto.dependencies",
    "DependencyValidator": "pypto.validator",
    "FusionTile": "pypto.fusion_tile",
    "GatherDep": "pypto.dependencies",
    "HierarchicalTiling": "pypto.hierarchy",
    "RaceConditionReport": "pypto.validator",
    "SYNC_MODE": "pypto.barriers",
    "Scheduler": "pypto.hierarchy",
    "TileConfig": "pypto.config",
    "TilingCache": "pypto.tiling_cache",
    "TilingLevel": "pypto.tiling_level",
    "TilingSearchSpace": "pypto.search_space",
    "TuningResult": "pypto.tuning_result",
    "UserError": "pypto.ir.base.errors",
    "auto_insert_sync": "pypto.validator",
    "auto_tune": "pypto.tuning",
    "autotune": "pypto.autotuned",
    "compile": "pypto.compiler",
    "fuse": "pypto.tile_function",
    "set_device_limit": "pypto.device_limit",
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

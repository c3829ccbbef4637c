"""Random kernels over the Core operations, as Python source with arguments.

A kernel grows statement by statement; each statement is tried on the oracle (`shadow.py`) first and kept only if every target must agree
on it: no values near overflow, nothing ill conditioned, discontinuous operations from exact values only.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.along import ALONG, PYPTO
from fuzz.shadow import STORAGE, Refused, Shadow, compute, is_float

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 32, 33, 64)
DTYPES = ("float32",) * 8 + (
    "float64",
    "float16",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)
FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
LAYOUTS = ("plain",) * 5 + ("stepped", "reversed", "column")
TRIES = 12
REFUSALS = (Refused, ValueError, IndexError, TypeError, KeyError, AttributeError, ZeroDivisionError, OverflowError)


@dataclass(frozen=True)
class Argument:
    """How to make one argument: shape, dtype, kind of values (``exact``, ``special`` or ``real``), layout and seed."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: str
    layout: str
    seed: int

    def make(self) -> np.ndarray:
        """Return the array, laid out in memory as asked: every second element, backwards, column-major, or one element repeated."""
        values = np.asarray(self._values()).astype(STORAGE[self.dtype])
        if self.layout == "stepped" and values.ndim:
            wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1] + 1), values.dtype)
            view = wide[..., 1::2]
            view[...] = values
            return view
        if self.layout == "reversed" and values.ndim:
            return np.ascontiguousarray(values[::-1])[::-1]
        if self.layout == "column":
            return np.asfortranarray(values)
        return values

    def _values(self) -> np.ndarray:
        random = np.random.default_rng(self.seed)
        if self.dtype == "bool":
            return random.integers(0, 2, self.shape)
        if not is_float(self.dtype):
            limits = np.iinfo(STORAGE[self.dtype])
            if self.kind == "special":
                return random.choice([limits.min, limits.max, 0, 1, 3], self.shape)
            return random.integers(max(limits.min, -9), 10, self.shape)
        if self.kind == "real":
            return random.standard_normal(self.shape) * random.choice([0.25, 1.0, 3.0])
        values = random.integers(-8, 9, self.shape).astype(np.float64)
        if self.kind == "special":
            odd = random.choice([np.nan, np.inf, -np.inf, -0.0], self.shape)
            values = np.where(random.random(self.shape) < 0.1, odd, values)
        return values

    def shadow(self) -> Shadow:
        values = np.array(self.make())
        if is_float(self.dtype):
            return Shadow(values.astype(np.float64), 0.0, compute(self.dtype), self.dtype)
        return Shadow(values, 0.0, self.dtype, self.dtype)


@dataclass(frozen=True)
class Kernel:
    """A kernel: its arguments and its statements (each one or more lines)."""

    name: str
    arguments: tuple[Argument, ...]
    statements: tuple[str, ...]

    @property
    def source(self) -> str:
        head = f"def kernel({', '.join(argument.name for argument in self.arguments)}):"
        body = [line for statement in self.statements for line in statement.split("\n")]
        return "\n".join([head, *(f"    {line}" for line in body), ""])

    def expected(self) -> dict[str, Shadow]:
        """Return what every argument holds afterwards. Raises one of REFUSALS where the kernel is not fit to compare."""
        values = {argument.name: argument.shadow() for argument in self.arguments}
        namespace: dict[str, Any] = {"pypto": PYPTO}
        exec(self.source, namespace)
        namespace["kernel"](**values)
        return values

    def reproducer(self, target: str) -> str:
        """Return a script that shows a difference; run it with PYTHONPATH=tests."""
        made = "\n".join(f"    {argument!r}," for argument in self.arguments)
        return (
            "import pypto\nfrom fuzz.generator import Argument, Kernel\nfrom fuzz.compare import difference\n\n"
            f"@pypto.tile\n{self.source}\n"
            f"arguments = (\n{made}\n)\n"
            f"print(difference(kernel, Kernel('k', arguments, {self.statements!r}), {target!r}))\n"
        )

    def with_seeds(self, turn: int) -> Kernel:
        """Return the kernel with other values in the arguments that a batch has one of per item."""
        rank = max(len(argument.shape) for argument in self.arguments)
        arguments = tuple(
            dataclasses.replace(argument, seed=argument.seed + turn)
            if argument.name.startswith("out") or len(argument.shape) == rank
            else argument
            for argument in self.arguments
        )
        return dataclasses.replace(self, arguments=arguments)

    def without(self, position: int) -> Kernel:
        return dataclasses.replace(self, statements=self.statements[:position] + self.statements[position + 1 :])


class Generator:
    """Grows one kernel. All choices come from one random stream, so seed and index give the kernel."""

    def __init__(self, seed: int, index: int) -> None:
        self.random = np.random.default_rng([seed, index])
        self.name = f"fuzz_{seed}_{index}"
        self.arguments: list[Argument] = []
        self.statements: list[str] = []
        self.values: dict[str, Any] = {}
        self.fresh: list[str] = []
        self.written: list[str] = []

    # ------------------------------------------------------------ choices

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def pick(self, choices: Any) -> Any:
        choices = list(choices)
        return choices[int(self.random.integers(len(choices)))]

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return int(self.random.integers(low, high + 1))

    def constant(self, dtype: str) -> str:
        if is_float(dtype):
            return repr(self.pick([0.5, 2.0, -1.5, 0.25, 3.0, 1.0, -0.125, 1, 2, -3]))
        return repr(self.pick([1, 2, 3, 5, 7] if dtype == "uint8" else [1, 2, 3, 5, -1, -3, 7]))

    def readable(self) -> list[str]:
        return [name for name in self.values if not name.startswith("out") or name in self.written]

    def tile(self, **wanted: bool) -> str:
        """Return the name of a value; later ones are likelier. wanted: float, integer, axes (rank of one or more)."""
        names = self.readable()
        if wanted.get("float"):
            names = [name for name in names if is_float(self.values[name].dtype)]
        if wanted.get("axes"):
            names = [name for name in names if self.values[name].ndim]
        if not names:
            raise Refused("no such value")
        weights = np.arange(1, len(names) + 1, dtype=np.float64)
        return str(self.random.choice(names, p=weights / weights.sum()))

    def partner(self, name: str) -> str:
        """Return a second operand that broadcasts with the first, or a number."""
        if self.chance(0.25):
            return self.constant(self.values[name].dtype)
        fitting = [other for other in self.readable() if self.fits(name, other)]
        return self.pick(fitting) if fitting else self.constant(self.values[name].dtype)

    def fits(self, left: str, right: str) -> bool:
        try:
            shape = np.broadcast_shapes(self.values[left].shape, self.values[right].shape)
        except ValueError:
            return False
        return math.prod(shape) <= 6000

    def key(self, shape: tuple[int, ...]) -> str:
        """Return the text of an index: slices with steps, negative bounds, integers, new axes, an ellipsis."""
        parts = [self.key_part(extent) for extent in shape]
        if self.chance(0.15):
            parts.insert(self.integer(0, len(parts)), "None")
        if len(parts) > 1 and self.chance(0.15):
            parts = [parts[0], "...", *parts[2:]] if self.chance(0.5) else ["...", parts[-1]]
        return ", ".join(parts)

    def key_part(self, extent: int) -> str:
        choice = self.integer(0, 9)
        if choice < 3 or extent == 0:
            return ":"
        if choice == 3:
            return str(self.integer(-extent, extent - 1))
        low, high = sorted((self.integer(0, extent), self.integer(0, extent)))
        if choice == 4:
            return f"::{self.pick([2, 3, -1, -1, -2])}"
        if choice == 5:
            return f"{low - extent if low < extent else low}:"
        if choice == 6:
            return f"{low}:{high}:{self.pick([1, 2, 3])}"
        if choice == 7:
            return f"{high - 1 if high else 0}:{low}:-1" if low else f"{high - 1 if high else 0}::-1"
        return f"{low}:{high if high > low else extent}"

    # ------------------------------------------------------------ growing

    def add(self, statement: str) -> bool:
        """Keep the statement if the oracle accepts it."""
        before = set(self.values)
        try:
            self.execute(statement)
        except REFUSALS:
            self.restart(before)
            return False
        if any(math.prod(self.values[name].shape) > 6000 for name in set(self.values) - before):
            self.restart(before)
            return False
        self.statements.append(statement)
        return True

    def execute(self, statement: str) -> None:
        namespace = {"pypto": PYPTO, **self.values}
        exec(statement, namespace)
        kept = {name: value for name, value in namespace.items() if isinstance(value, Shadow)}
        if any(value.ndim > 5 for value in kept.values()):
            raise Refused("too many axes")
        self.values.update(kept)

    def restart(self, names: set[str]) -> None:
        """Undo a half-executed statement by running the others again."""
        self.values = {argument.name: argument.shadow() for argument in self.arguments}
        for statement in self.statements:
            self.execute(statement)
        self.values = {name: value for name, value in self.values.items() if name in names}

    def define(self, expression: str, fresh: bool = True) -> bool:
        name = f"t{sum(1 for item in self.values if item.startswith('t'))}"
        if not self.add(f"{name} = {expression}"):
            return False
        if fresh:
            self.fresh.append(name)
        return True

    def declare(self, prefix: str, shape: tuple[int, ...], dtype: str, kind: str) -> str:
        count = sum(1 for argument in self.arguments if argument.name.startswith(prefix))
        layout = self.pick(LAYOUTS)
        argument = Argument(f"{prefix}{count}", shape, dtype, kind, layout, self.integer(0, 2**31))
        self.arguments.append(argument)
        self.values[argument.name] = argument.shadow()
        return argument.name

    def kernel(self) -> Kernel:
        self.inputs()
        wanted = self.integer(1, 12)
        for _ in range(wanted):
            for _ in range(TRIES):
                try:
                    if self.pick(ACTIONS)(self):
                        break
                except REFUSALS:
                    continue
        self.outputs()
        return Kernel(self.name, tuple(self.arguments), tuple(self.statements))

    def inputs(self) -> None:
        rank = self.pick([0, 1, 1, 2, 2, 2, 2, 3, 3, 4])
        base = tuple(self.pick(EXTENTS) for _ in range(rank))
        while math.prod(base) > 3000:
            base = tuple(extent // 2 + 1 for extent in base)
        if rank and self.chance(0.04):
            base = (*base[:-1], 0) if self.chance(0.5) else (0, *base[1:])
        if rank and self.chance(0.05):
            base = (*(1 for _ in base[:-1]), self.pick([257, 521, 1031]))
        kind = self.pick(["exact", "exact", "special", "real", "real", "real"])
        for _ in range(self.integer(1, 4)):
            shape = tuple(1 if self.chance(0.12) else extent for extent in base)
            shape = shape[self.integer(0, rank) :] if self.chance(0.2) else shape
            chosen = kind if self.chance(0.8) else "exact"
            self.declare("x", shape, self.pick(DTYPES), chosen)

    # ------------------------------------------------------------ outputs

    def outputs(self) -> None:
        locals_ = [name for name in self.values if name.startswith("t")]
        chosen = locals_[-1:] + [name for name in locals_[:-1] if self.chance(0.25)][:3]
        for name in chosen:
            self.output(name)
        while not self.written:
            self.output(self.pick([name for name in self.values if name.startswith("x")]))

    def storage(self, dtype: str) -> str:
        return self.pick(FLOATS) if is_float(dtype) else dtype

    def output(self, name: str) -> None:
        value = self.values[name]
        dtype = self.storage(value.dtype)
        out = self.declare("out", value.shape, dtype, "exact")
        whole = self.pick(["...", ":" if value.ndim else "...", ", ".join([":"] * value.ndim) or "..."])
        forms = [f"{out}[{whole}] = {name}"] * 4
        if value.ndim and value.shape[0] > 1:
            cut = self.integer(1, value.shape[0] - 1)
            forms += [f"{out}[:{cut}] = {name}[:{cut}]", f"{out}[::2] = {name}[::2]"]
            forms += [f"{out}[{cut}:] = {name}[{cut}:]\n{out}[:{cut}] = {name}[:{cut}]"]
        if is_float(dtype):
            forms += [f"{out}[...] += {name}", f"{out}[...] = {out}[...] * 0.5 + {name}"]
        for form in (self.pick(forms), f"{out}[...] = {name}"):
            if self.add(form):
                self.written.append(out)
                return
        self.arguments.pop()
        del self.values[out]


# ---------------------------------------------------------------- actions: each adds one statement, or says that it could not


def binary(grow: Generator) -> bool:
    left = grow.tile()
    right = grow.partner(left)
    operator = grow.pick(["+", "+", "-", "-", "*", "*", "/", "//", "%", "&", "|", "^", "max", "min"])
    if operator == "/":
        return grow.define(f"{left} / (pypto.abs({right}) + 0.5)" if right in grow.values else f"{left} / {right}")
    if operator in ("max", "min"):
        return grow.define(f"pypto.{operator}imum({left}, {right})")
    if grow.chance(0.2) and right not in grow.values:
        left, right = right, left
    return grow.define(f"{left} {operator} {right}")


UNARY = (
    "pypto.exp(pypto.minimum({x}, 4.0))", "pypto.exp(-pypto.abs({x}))", "pypto.log(pypto.abs({x}) + 0.5)", "pypto.sqrt(pypto.abs({x}) + 0.25)",
    "pypto.rsqrt(pypto.abs({x}) + 0.25)", "pypto.reciprocal(pypto.abs({x}) + 0.5)", "pypto.tanh({x})", "pypto.erf({x})",
    "pypto.sigmoid({x})", "pypto.nn.relu({x})", "pypto.nn.gelu({x})", "pypto.nn.gelu({x}, approximate=\"tanh\")", "{x} * {x}", "{x} ** 2", "{x} ** 3",
    "pypto.abs({x}) ** 0.5", "(pypto.abs({x}) + 0.5) ** -1",
    "pypto.exp2(pypto.clip({x}, -6.0, 6.0))", "pypto.expm1(pypto.minimum({x}, 3.0))", "pypto.log1p(pypto.abs({x}))", "pypto.log2(pypto.abs({x}) + 0.5)",
    "pypto.log10(pypto.abs({x}) + 0.25)", "pypto.cbrt({x})", "pypto.sin(pypto.clip({x}, -100.0, 100.0))", "pypto.cos(pypto.clip({x}, -100.0, 100.0))",
    "pypto.atan({x})", "pypto.asin(pypto.tanh({x}) * 0.75)", "pypto.acos(pypto.tanh({x}) * 0.75)", "pypto.sinh(pypto.clip({x}, -4.0, 4.0))",
    "pypto.cosh(pypto.clip({x}, -4.0, 4.0))", "pypto.asinh({x})", "pypto.erfc({x})", "pypto.nn.leaky_relu({x}, 0.25)", "pypto.nn.elu({x})",
    "pypto.nn.silu({x})", "pypto.nn.softplus({x})", "pypto.nn.mish({x})", "pypto.nn.hardswish({x})", "pypto.floor({x})", "pypto.ceil({x})",
    "pypto.round({x})", "pypto.trunc({x} * 0.5)", "pypto.floor({x} * 0.25)",
    "pypto.exp({x})", "pypto.sqrt({x})", "pypto.log({x})", "pypto.reciprocal({x})", "pypto.rsqrt({x})",
)  # fmt: skip


def unary(grow: Generator) -> bool:
    return grow.define(grow.pick(UNARY).format(x=grow.tile(float=True)))


SIMPLE = (
    "-{x}", "pypto.abs({x})", "~{x}", "pypto.neg({x})", "abs({x})", "pypto.sign({x})", "pypto.isnan({x})", "pypto.isfinite({x})", "pypto.isinf({x})",
    "pypto.logical_not({x})", "pypto.floor({x})", "{x} << 2", "{x} >> 1", "{x} << 9", "{x} >> 40",
)  # fmt: skip
FUNCTIONS_OF_TWO = (
    "fmod",
    "hypot",
    "atan2",
    "copysign",
    "logical_and",
    "logical_or",
    "logical_xor",
    "gcd",
    "left_shift",
    "right_shift",
)


def function_of_two(grow: Generator) -> bool:
    left = grow.tile()
    return grow.define(f"pypto.{grow.pick(FUNCTIONS_OF_TWO)}({left}, {grow.partner(left)})")


def simple(grow: Generator) -> bool:
    name = grow.tile()
    if grow.chance(0.1):
        shape = grow.values[name].shape
        return grow.define(grow.pick([f"pypto.zeros({shape}, 'float32')", f"pypto.full({shape}, 2, 'int32')"]))
    return grow.define(grow.pick(SIMPLE).format(x=name))


def reduction(grow: Generator) -> bool:
    name = grow.tile(axes=True)
    rank = grow.values[name].ndim
    axes = sorted(grow.random.permutation(rank)[: grow.integer(1, rank)].tolist())
    if grow.chance(0.3):
        axes = [axis - rank for axis in axes]
    axis = repr(axes[0]) if len(axes) == 1 else repr(tuple(axes))
    if grow.chance(0.15):
        axis = "None"
    kept = ", keepdims=True" if grow.chance(0.5) else ""
    return grow.define(f"pypto.{grow.pick(['sum', 'sum', 'mean', 'max', 'min'])}({name}, axis={axis}{kept})")


PRODUCTS = (
    "{x} @ {y}",
    "{x} @ {y}.T",
    "{x}.T @ {y}",
    "pypto.matmul({x}, {y}[..., None])",
    "pypto.matmul({x}, {y}[:5].T)",
)


def product(grow: Generator) -> bool:
    """A matrix product of a value with one that fits, or with itself transposed."""
    name = grow.tile(axes=True)
    others = [other for other in grow.readable() if grow.values[other].ndim]
    wanted = grow.random.permutation([form.format(x=name, y=other) for other in others for form in PRODUCTS])
    return any(grow.define(str(expression)) for expression in wanted[:TRIES])


def along(grow: Generator) -> bool:
    """Something along one axis: truth, positions, scans, sorting, arranging, indexing."""
    name = grow.tile(axes=True)
    shape = grow.values[name].shape
    axis = grow.integer(0, len(shape) - 1)
    fields = {"x": name, "a": axis, "k": grow.integer(0, min(3, shape[axis])), "r": grow.integer(-2, 3), "n": shape[0]}
    return grow.define(grow.pick(ALONG).format(**fields, i=grow.tile(axes=True)))


def view(grow: Generator) -> bool:
    name = grow.tile(axes=True)
    value = grow.values[name]
    choice = grow.integer(0, 9)
    if choice < 5:
        return grow.define(f"{name}[{grow.key(value.shape)}]", fresh=False)
    if choice == 5:
        return grow.define(f"{name}.T", fresh=False)
    if choice == 6:
        order = tuple(grow.random.permutation(value.ndim).tolist())
        return grow.define(f"pypto.transpose({name}, {order})", fresh=False)
    if choice == 7:
        return grow.define(f"pypto.broadcast_to({name}, {(grow.integer(1, 4), *value.shape)})", fresh=False)
    return grow.define(f"pypto.reshape({name}, {other_shape(grow, value.shape)})", fresh=False)


def other_shape(grow: Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return another shape with as many elements."""
    total = math.prod(shape)
    if total == 0 or grow.chance(0.3):
        return (total,)
    divisor = grow.pick([number for number in range(1, min(total, 64) + 1) if total % number == 0])
    return grow.pick([(divisor, total // divisor), (total // divisor, divisor), (1, divisor, total // divisor)])


def choice(grow: Generator) -> bool:
    left = grow.tile()
    right = grow.partner(left)
    tested = grow.partner(left)
    number = grow.constant(grow.values[tested].dtype if tested in grow.values else "float32")
    if tested not in grow.values:
        tested = left
    operator = grow.pick(["<", "<=", ">", ">=", "==", "!="])
    if grow.chance(0.2):
        return grow.define(f"{tested} {operator} {number}")
    return grow.define(f"pypto.where({tested} {operator} {number}, {left}, {right})")


def clipping(grow: Generator) -> bool:
    name = grow.tile()
    low, high = (-2.0, 1.5) if is_float(grow.values[name].dtype) else (1, 5)
    return grow.define(f"pypto.clip({name}, {low}, {high})")


def conversion(grow: Generator) -> bool:
    return grow.define(f'pypto.cast({grow.tile()}, "{grow.pick(sorted(STORAGE))}")', fresh=False)


def joining(grow: Generator) -> bool:
    name = grow.tile(axes=True)
    if grow.chance(0.4):
        widths = tuple((grow.integer(0, 2), grow.integer(0, 3)) for _ in grow.values[name].shape)
        return grow.define(f"pypto.nn.pad({name}, {widths}, {grow.pick([0, 1, 3])})")
    axis = grow.integer(0, grow.values[name].ndim - 1)
    return grow.define(f"pypto.concat([{name}, {grow.pick([name, grow.partner(name)])}], axis={axis})")


def normalisation(grow: Generator) -> bool:
    name = grow.tile(float=True, axes=True)
    axis = grow.integer(-grow.values[name].ndim, grow.values[name].ndim - 1)
    return grow.define(grow.pick([f"pypto.nn.softmax({name}, axis={axis})", *norms(grow, name)]))


def norms(grow: Generator, name: str) -> list[str]:
    weight = grow.partner(name)
    weight = weight if weight in grow.values else name
    return [
        f"pypto.nn.layer_norm({name})",
        f"pypto.nn.layer_norm({name}, weight={weight}, bias={name})",
        f"pypto.nn.rms_norm({name}, eps=1e-5)",
        f"pypto.nn.rms_norm({name}, weight={weight}, eps=0.5)",
    ]


def update(grow: Generator) -> bool:
    """Change a local tile in place, whole or in part, directly or through an alias."""
    # NumPy's reshape may be a view or a copy, its broadcast_to is a view; a tile's are values of their own
    reshaped = any("reshape(" in statement or "broadcast_to(" in statement for statement in grow.statements)
    if not grow.fresh or reshaped:
        return False
    name = grow.pick(grow.fresh)
    value = grow.values[name]
    key = grow.key(value.shape).replace("None, ", "").replace(", None", "") if value.ndim else "..."
    new = grow.pick([grow.constant(value.dtype), grow.partner(name)])
    form = grow.pick(["{t}[{k}] = {v}", "{t}[{k}] += {v}", "{t}[{k}] *= {v}", "{t} -= {v}", "{t} += {v}", "alias = {t}[{k}]\nalias += {v}",
                      "{t}[{k}] = {t}[{k}] + {v}", "{t}[::-1] = {t}", "{t}[...] = {t}[::-1] * 1"])  # fmt: skip
    return grow.add(form.format(t=name, k=key, v=new))


LOOPS = (
    "acc = {x}[0] * 1\nfor i in pypto.loop({n}):\n    acc = acc + {x}[i]\n{t} = acc + 0",
    "{t} = {x}[0] * 1\nfor i in pypto.loop({n}):\n    {t} += {x}[i]",
    "{t} = {x}[0] * 1\nfor i in pypto.loop({n}):\n    {t}[...] = pypto.maximum({t}, {x}[{n} - 1 - i])",
    "{t} = {x} * 1\nfor i in pypto.loop(1, {n}):\n    {t}[i] = {t}[i] + {t}[i - 1] * 0.5",
    "{t} = {x} * 1\nfor i in pypto.loop(0, {n}, 2):\n    {t}[i] = {x}[i] * 2",
    "p = {x}[0] * 1\nq = {x}[0] * 0\nfor i in pypto.loop({n}):\n    p, q = q, p + {x}[i]\n{t} = p - q",
    "acc = {x}[:1] * 0\nfor i in pypto.loop({n}):\n    acc = acc * 0.5 + {x}[i : i + 1]\n{t} = acc * 2",
    "acc = {x}[0] * 1\nfor i in pypto.loop({n}):\n    for j in pypto.loop(2):\n        acc = acc + {x}[i] * 0.5\n{t} = acc + 0",
    "s = pypto.sum({x}[0] * 0)\nfor i in pypto.loop({n}):\n    s = s + pypto.sum({x}[i])\n{t} = s * 1",
)


def loop(grow: Generator) -> bool:
    form = grow.pick(LOOPS)
    name = grow.tile(axes=True, float="0.5" in form)  # carried state keeps its dtype
    extent = grow.values[name].shape[0]
    if extent == 0 or name in ("acc", "p", "q", "s"):  # the form binds these itself, in another shape
        return False
    turns = extent if grow.chance(0.7) else grow.integer(0, extent)
    target = f"t{sum(1 for item in grow.values if item.startswith('t'))}"
    if not grow.add(form.format(x=name, n=turns, t=target)):
        return False
    grow.fresh.append(target)
    return True


ACTIONS = (
    *(binary,) * 6, *(unary,) * 5, *(function_of_two,) * 2, *(simple,) * 2, *(reduction,) * 4, *(view,) * 5, *(choice,) * 2, *(along,) * 3, product, clipping, conversion, joining, normalisation,
    *(update,) * 3, *(loop,) * 2,
)  # fmt: skip


def kernels(seed: int, indices: Iterator[int] | range) -> Iterator[Kernel]:
    for index in indices:
        yield Generator(seed, index).kernel()

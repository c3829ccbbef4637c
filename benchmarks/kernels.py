"""The benchmarked kernels: each in pypto, NumPy and torch, with the float64 result that all must match."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pypto

SIZES = {text: tuple(map(int, text.split("x"))) for text in ("64x64", "64x1024", "1024x1024", "4096x4096")}
Shape = tuple[int, ...]
C0, C1 = math.sqrt(2 / math.pi), 0.044715


@dataclass(frozen=True)
class Definition:
    """One kernel. Its inputs are "matrix" (rows, columns), "row" (columns,), "square" (columns, columns), "head" (the
    size itself) or a shape; `output` maps the size to a shape. `sizes` are its own where the usual ones do not fit.
    """

    inputs: tuple[str | Shape, ...]
    kernel: Any
    numpy: Callable[..., Any]
    torch: Callable[..., Any]
    output: Callable[..., Shape] = lambda *size: size
    sizes: tuple[str, ...] = ()


@pypto.tile
def add(x, y, out):
    out[:] = x + y


@pypto.tile
def gelu_chain(x, a, b, r, out):
    out[:] = pypto.nn.gelu(x * a + b, approximate="tanh") + r


@pypto.tile
def softmax(x, out):
    out[:] = pypto.nn.softmax(x, axis=-1)


@pypto.tile
def layer_norm(x, g, b, out):
    out[:] = pypto.nn.layer_norm(x, weight=g, bias=b)


@pypto.tile
def ln_gelu_add(x, r, g, b, out):
    out[:] = pypto.nn.gelu(pypto.nn.layer_norm(x, weight=g, bias=b), approximate="tanh") + r


@pypto.tile
def row_sum(x, out):
    out[:] = pypto.sum(x, axis=1)


@pypto.tile
def column_sum(x, out):
    out[:] = pypto.sum(x, axis=0)


@pypto.tile
def matmul(x, w, out):
    out[:] = x @ w


@pypto.tile
def matmul_bias_relu(x, w, b, out):
    out[:] = pypto.nn.relu(x @ w + b)


@pypto.tile
def linear(x, w, b, out):
    out[:] = pypto.nn.linear(x, w, b)


@pypto.tile
def conv2d(x, w, out):
    out[:] = pypto.nn.conv2d(x, w, padding=1)


@pypto.tile
def attention(q, k, v, out):
    out[:] = pypto.nn.scaled_dot_product_attention(q, k, v)


@pypto.tile
def causal_attention(q, k, v, out):
    out[:] = pypto.nn.scaled_dot_product_attention(q, k, v, is_causal=True)


@pypto.tile
def argmax(x, out):
    out[:] = pypto.argmax(x, axis=1)


@pypto.tile
def running_sum(x, out):
    out[:] = pypto.cumsum(x, axis=1)


@pypto.tile
def sort(x, out):
    out[:] = pypto.sort(x, axis=1).values


@pypto.tile
def top_eight(x, out):
    out[:] = pypto.topk(x, 8).values


@pypto.tile
def gather(x, i, out):
    out[:] = pypto.gather(x, 1, pypto.cast(pypto.minimum(pypto.abs(i) * 16.0, 63.0), "int64"))


@pypto.tile
def embedding(w, i, out):
    out[:] = pypto.nn.embedding(pypto.cast(pypto.minimum(pypto.abs(i) * 16.0, 63.0), "int64"), w)


def numpy_conv2d(x: Any, w: Any) -> Any:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(2, 3))
    return np.einsum("ncyxpq,ocpq->noyx", windows, w, optimize=True)


def numpy_attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return numpy_softmax(scores) @ v


def numpy_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(x.dtype.type(C0) * (x + x.dtype.type(C1) * (x * x * x))))


def numpy_softmax(x: Any) -> Any:
    shifted = np.exp(x - x.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def numpy_layer_norm(x: Any, g: Any, b: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + x.dtype.type(1e-5)) * g + b


def numpy_places(i: Any) -> Any:
    return np.minimum(np.abs(i) * 16, 63).astype(np.int64)


def torch_places(i: Any) -> Any:
    return (i.abs() * 16).clamp(max=63).long()


def torch_functions() -> Any:
    import torch.nn.functional

    return torch.nn.functional


def torch_gelu_chain(x: Any, a: Any, b: Any, r: Any) -> Any:
    return torch_functions().gelu(x * a + b, approximate="tanh") + r


def torch_layer_norm(x: Any, g: Any, b: Any) -> Any:
    return torch_functions().layer_norm(x, (x.shape[-1],), g, b)


def torch_ln_gelu_add(x: Any, r: Any, g: Any, b: Any) -> Any:
    return torch_functions().gelu(torch_layer_norm(x, g, b), approximate="tanh") + r


def torch_attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    return torch_functions().scaled_dot_product_attention(q, k, v, is_causal=causal)


ORDERED = ("64x1024", "1024x1024")
PRODUCT_SIZES = ("512x512", "1024x1024")
HEADS = ("8x512x64",)
IMAGES = ("4x64x56x56",)
KERNELS: dict[str, Definition] = {
    "matmul": Definition(
        ("matrix", "square"), matmul, lambda x, w: x @ w, lambda x, w: x @ w, sizes=PRODUCT_SIZES
    ),
    "matmul_bias_relu": Definition(
        ("matrix", "square", "row"), matmul_bias_relu, lambda x, w, b: np.maximum(x @ w + b, 0),
        lambda x, w, b: (x @ w + b).relu(), sizes=PRODUCT_SIZES,
    ),
    "linear": Definition(
        ("matrix", "square", "row"), linear, lambda x, w, b: x @ w.T + b,
        lambda x, w, b: torch_functions().linear(x, w, b), sizes=("4x1024", *PRODUCT_SIZES),
    ),
    "conv2d": Definition(
        ("head", (64, 64, 3, 3)), conv2d, numpy_conv2d,
        lambda x, w: torch_functions().conv2d(x, w, padding=1), sizes=IMAGES,
    ),
    "attention": Definition(("head", "head", "head"), attention, numpy_attention, torch_attention, sizes=HEADS),
    "causal_attention": Definition(
        ("head", "head", "head"), causal_attention, lambda *heads: numpy_attention(*heads, True),
        lambda *heads: torch_attention(*heads, True), sizes=HEADS,
    ),
    "gelu_chain": Definition(
        ("matrix", "matrix", "row", "matrix"), gelu_chain,
        lambda x, a, b, r: numpy_gelu(x * a + b) + r, torch_gelu_chain,
    ),
    "softmax": Definition(("matrix",), softmax, numpy_softmax, lambda x: x.softmax(-1)),
    "layer_norm": Definition(("matrix", "row", "row"), layer_norm, numpy_layer_norm, torch_layer_norm),
    "ln_gelu_add": Definition(
        ("matrix", "matrix", "row", "row"), ln_gelu_add,
        lambda x, r, g, b: numpy_gelu(numpy_layer_norm(x, g, b)) + r, torch_ln_gelu_add,
    ),
    "row_sum": Definition(
        ("matrix",), row_sum, lambda x: x.sum(1), lambda x: x.sum(1), lambda rows, columns: (rows,)
    ),
    "column_sum": Definition(
        ("matrix",), column_sum, lambda x: x.sum(0), lambda x: x.sum(0), lambda rows, columns: (columns,)
    ),
    "argmax": Definition(
        ("matrix",), argmax, lambda x: x.argmax(1), lambda x: x.argmax(1).float(), lambda rows, columns: (rows,)
    ),
    "running_sum": Definition(("matrix",), running_sum, lambda x: x.cumsum(1), lambda x: x.cumsum(1)),
    "sort": Definition(("matrix",), sort, lambda x: np.sort(x, 1), lambda x: x.sort(1).values, sizes=ORDERED),
    "top_eight": Definition(
        ("matrix",), top_eight, lambda x: -np.sort(-x, 1)[:, :8], lambda x: x.topk(8).values,
        lambda rows, columns: (rows, 8), sizes=ORDERED,
    ),
    "gather": Definition(
        ("matrix", "matrix"), gather, lambda x, i: np.take_along_axis(x, numpy_places(i), 1),
        lambda x, i: x.gather(1, torch_places(i)), sizes=ORDERED,
    ),
    "embedding": Definition(
        ("matrix", (4096,)), embedding, lambda w, i: w[numpy_places(i)],
        lambda w, i: torch_functions().embedding(torch_places(i), w), lambda rows, columns: (4096, columns),
        sizes=ORDERED,
    ),
}  # fmt: skip
EXTRA = {"add": Definition(("matrix", "matrix"), add, np.add, lambda x, y: x + y)}


@dataclass
class Workload:
    """One kernel at one size, with its arrays."""

    name: str
    size: tuple[int, ...]
    arrays: list[np.ndarray] = field(init=False)
    out: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        random, columns = np.random.default_rng(0), self.size[-1]
        kinds = {"matrix": self.size, "row": (columns,), "square": (columns, columns), "head": self.size}
        shapes = [kinds[item] if isinstance(item, str) else item for item in self.definition.inputs]
        self.arrays = [random.standard_normal(shape, dtype=np.float32) for shape in shapes]
        self.out = np.zeros(self.definition.output(*self.size), np.float32)

    @property
    def definition(self) -> Definition:
        return (KERNELS | EXTRA)[self.name]

    def sides(self, names: Iterable[str], threads: int) -> dict[str, Callable[[], Any]]:
        """Return one callable per side; pypto's threads are those of `pypto.settings`; NumPy uses one."""
        makers = {"pypto": self.pypto, "numpy": self.numpy, "torch": self.torch, "inductor": self.inductor}
        return {name: makers[name](threads) for name in names}

    def pypto(self, threads: int) -> Callable[[], Any]:
        compiled = pypto.compile(self.definition.kernel, target="cpu")
        arrays, out = self.arrays, self.out

        def call() -> Any:
            compiled.execute(*arrays, out)
            return out

        return call

    def numpy(self, threads: int) -> Callable[[], Any]:
        return lambda: self.definition.numpy(*self.arrays)

    def torch(self, threads: int) -> Callable[[], Any]:
        return self._torch(self.definition.torch, threads)

    def inductor(self, threads: int) -> Callable[[], Any]:
        import torch

        torch._dynamo.reset()
        torch.set_num_threads(threads)
        return self._torch(torch.compile(self.definition.torch, dynamic=False), threads)

    def _torch(self, function: Callable[..., Any], threads: int) -> Callable[[], Any]:
        import torch

        tensors = [torch.from_numpy(array) for array in self.arrays]

        def call() -> Any:
            if torch.get_num_threads() != threads:
                torch.set_num_threads(threads)
            with torch.no_grad():
                return function(*tensors)

        return call

    def error(self, side: Callable[[], Any]) -> float:
        """Return the largest error relative to max(1, |value|); stops the benchmark when a side is wrong."""
        expected = self.definition.numpy(*(array.astype(np.float64) for array in self.arrays))
        got = np.asarray(side(), np.float64)
        scale = np.maximum(1.0, np.abs(expected))
        worst = float((np.abs(got - expected) / scale).max())
        if not worst < 1e-3:
            raise SystemExit(f"{self.name} at {self.size}: wrong by {worst}")
        return worst

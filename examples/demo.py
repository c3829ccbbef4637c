"""`make demo`: one fused kernel, all the way from Python to checked numbers, PTO IR and AscendC."""

import inspect
import textwrap

import numpy as np

import pypto


@pypto.tile
def bias_gelu_residual(x, bias, residual, out):
    """x, residual, out: (rows, columns); bias: (columns,)."""
    out[:] = pypto.nn.gelu(x + bias, approximate="tanh") + residual


def reference(x: np.ndarray, bias: np.ndarray, residual: np.ndarray) -> np.ndarray:
    t = x.astype(np.float64) + bias
    return 0.5 * t * (1 + np.tanh(np.sqrt(2 / np.pi) * (t + 0.044715 * t**3))) + residual


def heading(text: str) -> None:
    print(f"\n── {text} {'─' * max(0, 90 - len(text))}\n")


def excerpt(text: str, head: int, tail: int) -> str:
    """Return the first and last lines of a long text, and say how many were left out."""
    lines = text.rstrip().splitlines()
    if len(lines) <= head + tail + 1:
        return "\n".join(lines)
    return "\n".join([*lines[:head], f"    ... {len(lines) - head - tail} lines more ...", *lines[len(lines) - tail :]])


def main() -> None:
    random = np.random.default_rng(0)
    x, residual = (random.standard_normal((1000, 515), dtype=np.float32) for _ in range(2))
    bias = random.standard_normal(515, dtype=np.float32)
    out = np.empty_like(x)
    shapes = {"x": x.shape, "bias": bias.shape, "residual": residual.shape, "out": out.shape}

    heading("the kernel, in Python")
    print(textwrap.dedent(inspect.getsource(bias_gelu_residual.python)).rstrip())

    heading("run on this machine, checked against NumPy in float64")
    kernel = pypto.compile(bias_gelu_residual)
    kernel.execute(x, bias, residual, out)
    error = float(np.abs(out - reference(x, bias, residual)).max())
    print(f"{out.shape[0]} x {out.shape[1]} values, largest difference {error:.2e}")
    if not error < 1e-5:
        raise SystemExit("the numbers are wrong")

    heading("PTO IR, level tile: what is computed")
    print(kernel.to_text("tile").rstrip())

    npu = pypto.compile(bias_gelu_residual, target="ascendc", shapes=shapes)
    heading("PTO IR, level planned: every buffer has an address, every hazard a flag")
    print(excerpt(npu.to_text("planned"), head=60, tail=10))

    heading("AscendC for A2/A3")
    print(excerpt(npu.source(), head=90, tail=10))


if __name__ == "__main__":
    main()

"""LayerNorm + GELU + Add as one kernel: three tile functions whose intermediates never reach global memory.

Each tile function is written for one row: `shape=(None,)` says that the body sees one axis, whole, and that the axes
before it are a batch of rows. (With `shape=(128,), tile_num=16` a row of 2048 would be normalised in 16 pieces of 128,
each on its own.)
"""

import math

import numpy as np

import pypto
from pypto import fuse, tile


@tile(shape=(None,))
def layernorm_tile(x, mean_out, var_out, normalized, gamma, beta):
    eps = 1e-5
    x_mean = pypto.mean(x, axis=0, keepdims=True)
    x_var = pypto.mean((x - x_mean) ** 2, axis=0, keepdims=True)
    normalized[:] = (x - x_mean) / pypto.sqrt(x_var + eps)
    normalized[:] = normalized * gamma + beta
    mean_out[:] = x_mean
    var_out[:] = x_var


@tile(shape=(None,))
def gelu_tile(x, out):
    c0 = 0.7978845608
    c1 = 0.044715
    x_cubed = x**3
    tanh_arg = c0 * (x + c1 * x_cubed)
    out[:] = 0.5 * x * (1.0 + pypto.tanh(tanh_arg))


@tile(shape=(None,))
def add_tile(a, b, out):
    out[:] = a + b


@fuse(layernorm_tile, gelu_tile, add_tile)
def fused_ln_gelu_add(x, residual, gamma, beta, output):
    x_normalized = layernorm_tile(x, gamma=gamma, beta=beta).outputs["normalized"]
    x_gelu = gelu_tile(x_normalized)
    output[:] = add_tile(x_gelu, residual)


def reference(x: np.ndarray, residual: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    centred = x - x.mean(-1, keepdims=True)
    normalized = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta
    inner = math.sqrt(2 / math.pi) * (normalized + 0.044715 * normalized**3)
    return 0.5 * normalized * (1 + np.tanh(inner)) + residual


def main() -> None:
    random = np.random.default_rng(0)
    x, residual = (random.standard_normal((64, 2048), dtype=np.float32) for _ in range(2))
    gamma, beta = (random.standard_normal(2048, dtype=np.float32) for _ in range(2))
    output = np.empty_like(x)

    kernel = pypto.compile(fused_ln_gelu_add, config={"enable_fusion": True})
    kernel.execute(x, residual, gamma, beta, output)

    expected = reference(x, residual, gamma, beta)
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
    print(f"layernorm_gelu_add: {output.shape}, largest difference from NumPy {np.abs(output - expected).max():.1e}")


if __name__ == "__main__":
    main()

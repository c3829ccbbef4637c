"""The smallest kernel: scale, shift and clip a matrix, in one pass over memory."""

import numpy as np

import pypto


@pypto.tile(shape=(64, 64))
def scale_shift_clip(x, shift, out):
    out[:] = pypto.clip(x * 2.0 + shift, -1.0, 1.0)


def main() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((1000, 300), dtype=np.float32)
    shift = random.standard_normal(300, dtype=np.float32)
    out = np.empty_like(x)

    kernel = pypto.compile(scale_shift_clip)
    kernel.execute(x, shift, out)

    expected = np.clip(x * np.float32(2) + shift, -1, 1)
    error = np.abs(out - expected).max()
    assert error <= 1e-6, error
    print(f"quickstart: {out.shape} values, largest difference from NumPy {error:.1e}")


if __name__ == "__main__":
    main()

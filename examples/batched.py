"""A kernel for one matrix, called with many: `shape=` says that the body sees two axes, all others are a batch."""

import numpy as np

import pypto


@pypto.tile(shape=(None, None))
def centre_columns(x, weight, out):
    """x and out: (rows, columns); weight: (columns,). Axis 0 is the rows, however many batch axes come before."""
    out[:] = (x - pypto.mean(x, axis=0, keepdims=True)) * weight


def main() -> None:
    random = np.random.default_rng(0)
    weight = random.standard_normal(33, dtype=np.float32)
    kernel = pypto.compile(centre_columns)
    for batch in ((), (5,), (2, 3)):
        x = random.standard_normal((*batch, 20, 33), dtype=np.float32)
        out = np.empty_like(x)
        kernel.execute(x, weight, out)
        wide = x.astype(np.float64)
        expected = (wide - wide.mean(-2, keepdims=True)) * weight
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
        print(f"batched: x {x.shape}, largest difference from NumPy {np.abs(out - expected).max():.1e}")


if __name__ == "__main__":
    main()

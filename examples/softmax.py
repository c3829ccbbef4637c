"""Softmax over rows, written out and from the library, for widths that fill no vector too."""

import numpy as np

import pypto


@pypto.tile
def softmax(x, out):
    """Rows of x, shape (rows, columns): exp(x - max) / sum."""
    shifted = pypto.exp(x - pypto.max(x, axis=-1, keepdims=True))
    out[:] = shifted / pypto.sum(shifted, axis=-1, keepdims=True)


@pypto.tile
def library_softmax(x, out):
    out[:] = pypto.nn.softmax(x, axis=-1)


def reference(x: np.ndarray) -> np.ndarray:
    shifted = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def main() -> None:
    random = np.random.default_rng(0)
    worst = 0.0
    for shape in ((1, 1), (3, 7), (64, 1000), (17, 1031)):
        x = random.standard_normal(shape, dtype=np.float32) * np.float32(10)
        for kernel in (softmax, library_softmax):
            out = np.empty_like(x)
            pypto.compile(kernel).execute(x, out)
            expected = reference(x)
            np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-12)
            worst = max(worst, float(np.abs(out - expected).max()))
    print(f"softmax: four shapes, two spellings, largest difference from NumPy {worst:.1e}")


if __name__ == "__main__":
    main()

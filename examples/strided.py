"""Arguments are used where they lie: every second row, backwards, transposed, a window. Nothing is copied."""

import numpy as np

import pypto


@pypto.tile
def difference(x, y, out):
    out[:] = x - y * 0.5


def check(name: str, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    pypto.compile(difference).execute(x, y, out)
    np.testing.assert_array_equal(out, x - y * np.float32(0.5))
    print(f"strided: {name:<28} strides {x.strides} {y.strides} -> {out.strides}")


def main() -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((200, 300), dtype=np.float32)
    b = random.standard_normal((300, 200), dtype=np.float32)
    canvas = np.zeros((400, 640), np.float32)

    check("every second row", a[::2], a[1::2], np.empty((100, 300), np.float32))
    check("backwards", a[::-1], a[:, ::-1], np.empty((200, 300), np.float32))
    check("transposed", a, b.T, np.empty((300, 200), np.float32).T)
    check("a row for all rows", a, np.broadcast_to(a[:1], a.shape), np.empty_like(a))
    check("into a window", a, b.T, canvas[100:300, 5:605:2])

    outside = np.delete(np.delete(canvas, np.s_[100:300], 0), np.s_[5:605:2], 1)
    assert not outside.any(), "nothing outside the window may be written"


if __name__ == "__main__":
    main()

"""Operations of the table that the passes for the vector core do not lower, with what to write instead there."""

from __future__ import annotations

ELSEWHERE = "run the kernel with target='cpu', or keep this step out of the kernel for the NPU"

REFUSED: dict[str, str] = {
    "acos": ELSEWHERE,
    "acosh": "write `pypto.log(x + pypto.sqrt(x * x - 1))`",
    "argmax": ELSEWHERE,
    "argmin": ELSEWHERE,
    "argsort": ELSEWHERE,
    "asin": ELSEWHERE,
    "asinh": "write `pypto.log(x + pypto.sqrt(x * x + 1))` for x that are not near 0",
    "atan": ELSEWHERE,
    "atan2": ELSEWHERE,
    "atanh": "write `0.5 * pypto.log((1 + x) / (1 - x))` for x that are not near 0",
    "attention": "write it as matrix products and a softmax in kernels of their own",
    "cbrt": "write `pypto.exp(pypto.log(x) / 3)` for x above 0",
    "convolution": ELSEWHERE,
    "cos": ELSEWHERE,
    "cosh": "write `0.5 * (pypto.exp(x) + pypto.exp(-x))`",
    "cumprod": "carry the product through a `pypto.loop`",
    "cumsum": "carry the sum through a `pypto.loop`",
    "erfc": "write `1 - pypto.erf(x)` where its digits suffice",
    "exp2": "write `pypto.exp(x * 0.6931471805599453)`",
    "expm1": "write `pypto.exp(x) - 1` where its digits suffice",
    "fmod": "write `x - pypto.trunc(x / y) * y` for floats",
    "gather": ELSEWHERE,
    "gcd": ELSEWHERE,
    "hypot": "write `pypto.sqrt(x * x + y * y)` where the squares do not overflow",
    "iota": "pass the numbers as an argument",
    "log10": "write `pypto.log(x) * 0.4342944819032518`",
    "log1p": "write `pypto.log(1 + x)` where its digits suffice",
    "log2": "write `pypto.log(x) * 1.4426950408889634`",
    "matmul": "a matrix product runs on the cube cores: put it in a kernel of its own and run that with target='cpu'",
    "prod": "carry the product through a `pypto.loop`",
    "scatter": ELSEWHERE,
    "scatter_add": ELSEWHERE,
    "signbit": "write `x < 0` where -0 does not count",
    "sin": ELSEWHERE,
    "sinh": "write `0.5 * (pypto.exp(x) - pypto.exp(-x))` for x that are not near 0",
    "tan": ELSEWHERE,
}

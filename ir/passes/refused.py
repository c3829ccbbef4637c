"""Operations of the table that the passes for the vector core do not lower, with what to write instead there."""

from __future__ import annotations

ELSEWHERE = "run the kernel with target='cpu', or keep this step out of the kernel for the NPU"

REFUSED: dict[str, str] = {
    "argmax": ELSEWHERE,
    "argmin": ELSEWHERE,
    "argsort": ELSEWHERE,
    "attention": "write it as matrix products and a softmax in kernels of their own",
    "convolution": ELSEWHERE,
    "cumprod": "carry the product through a `pypto.loop`",
    "cumsum": "carry the sum through a `pypto.loop`",
    "gather": ELSEWHERE,
    "gcd": ELSEWHERE,
    "iota": "pass the numbers as an argument",
    "matmul": "a matrix product runs on the cube cores: put it in a kernel of its own and run that with target='cpu'",
    "prod": "carry the product through a `pypto.loop`",
    "scatter": ELSEWHERE,
    "scatter_add": ELSEWHERE,
}

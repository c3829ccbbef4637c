"""Operations of the table that the passes for the vector core do not lower, with what to write instead there."""

from __future__ import annotations

REFUSED: dict[str, str] = {
    "convolution": "it runs on the cube cores: put it in a kernel of its own and run that with target='cpu'",
}

"""Mistakes in the arrays and numbers given to a launch."""

from __future__ import annotations

from pypto.ir.base.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    "aliased-arguments": Entry(
        "output {output!r} shares memory with argument {other!r}: {how}",
        "give {output!r} an array of its own, for example `numpy.empty_like({output})`, or pass `{other}.copy()`",
    ),
    "argument-device": Entry(
        "argument {argument!r} is on device {device}, and this target runs on the CPU", "pass `{argument}.cpu()`"
    ),
    "argument-dtype": Entry(
        "argument {argument!r} has dtype {dtype}, which kernels do not compute with", "convert it to one of: {allowed}"
    ),
    "argument-dtype-differs": Entry(
        "argument {argument!r} has dtype {dtype}, and the kernel was compiled for {expected}",
        "convert it with {conversion}, or compile without dtypes= to get one specialisation per dtype",
    ),
    "argument-rank": Entry(
        "argument {argument!r} has {rank} axes (shape {shape}), "
        "and the kernel takes {expected_rank} (shape {expected})",
        "reshape it to {expected}",
    ),
    "argument-shape": Entry(
        "argument {argument!r} has shape {shape}, and the kernel takes {expected}: "
        "axis {axis} has {extent} elements, not {wanted}",
        "pass an array of shape {expected}, or compile without shapes= to get one specialisation per shape",
    ),
    "argument-storage": Entry(
        "argument {argument!r} is a tensor without memory that can be read: {why}",
        "pass a plain CPU tensor; inside torch.func transforms, call the kernel outside them",
    ),
    "argument-kind": Entry(
        "argument {argument!r} is of type {kind}, which is neither an array nor a number",
        "pass a NumPy array, a torch CPU tensor or a number; `numpy.asarray({argument})` makes an array of a list",
    ),
    "byte-order": Entry(
        "argument {argument!r} has dtype {dtype}, whose byte order is not this machine's",
        "pass `{argument}.astype({argument}.dtype.newbyteorder('='))`",
    ),
    "masked-array": Entry(
        "argument {argument!r} is a masked array, and kernels know no masks",
        "pass `{argument}.filled(value)` or `{argument}.data`",
    ),
    "misaligned-array": Entry(
        "argument {argument!r} starts at address {address:#x}, "
        "which is not a multiple of its elements' {itemsize} bytes",
        "pass an aligned copy: `{argument}.copy()`",
    ),
    "negative-bit": Entry(
        "argument {argument!r} is a lazily negated view (the imaginary part of a conjugate)",
        "pass `{argument}.resolve_neg()`",
    ),
    "output-not-array": Entry(
        "output {argument!r} is a {kind}, which cannot be written to",
        "pass an array, for example `numpy.empty(shape, dtype)`",
    ),
    "read-only-output": Entry(
        "output {argument!r} is read-only",
        "pass a writable array, for example `{argument}.copy()`, "
        "or set `{argument}.flags.writeable = True` if it owns its memory",
    ),
    "requires-grad-output": Entry(
        "output {argument!r} requires grad, and autograd cannot see what a kernel writes",
        "pass `{argument}.detach()`, which shares its memory, or a tensor that does not require grad",
    ),
    "scalar-range": Entry(
        "argument {argument!r} is {value}, which {dtype} cannot hold", "pass a number between {lowest} and {highest}"
    ),
    "self-overlapping-output": Entry(
        "several elements of output {argument!r} (shape {shape}, strides {strides}) lie at the same address",
        "pass an array of its own instead of a broadcast or strided view, for example `{argument}.copy()`",
    ),
    "sparse-tensor": Entry(
        "argument {argument!r} has layout {layout}, and kernels take dense tensors", "pass `{argument}.to_dense()`"
    ),
    "uneven-strides": Entry(
        "argument {argument!r} has strides of {strides} bytes, "
        "which are no multiples of its elements' {itemsize} bytes",
        "pass a contiguous copy: `numpy.ascontiguousarray({argument})`",
    ),
    "vector-bits": Entry(
        "PYPTO_VECTOR_BITS is {value}, and no vector register has that width", "use 128, 256, 512 or 0"
    ),
}

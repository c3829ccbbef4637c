"""Text and place of the mistakes in how a compiled kernel is called, and in what `compile` and its results are asked
for.
"""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import pypto
from pypto import tile

F32 = np.float32


@tile
def scaled(x, out, s=3.0, *, bias=0.5):
    out[:] = x * s + bias


@tile
def repeated(x, out, turns: int = 2):
    out[:] = x * turns


def error(name: str, *parts: str, call) -> pypto.UserError:
    with pytest.raises(pypto.UserError) as caught:
        call()
    assert caught.value.name == name, str(caught.value)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    return caught.value


def line_of(function) -> int:
    return inspect.getsourcelines(function)[1]


@pytest.fixture(params=("cpu", "reference"))
def kernel(request):
    return pypto.compile(scaled, target=request.param)


X, OUT = np.arange(7, dtype=F32), np.zeros(7, F32)


# -- binding; the place is the call


def test_missing_argument(kernel):
    def call():
        kernel.execute(X)

    failure = error(
        "missing-argument", "scaled() misses argument 'out'", "scaled(x, out, s=3.0, *, bias=0.5)", call=call
    )
    assert (failure.location.file, failure.location.line) == (__file__, line_of(call) + 1)
    assert "kernel.execute(X)" in str(failure)
    error("missing-argument", "misses arguments 'x', 'out'", call=lambda: kernel.execute(bias=1.0))


def test_extra_argument(kernel):
    error(
        "extra-argument",
        "takes at most 3 positional arguments and got 4",
        call=lambda: kernel.execute(X, OUT, 1.0, 2.0),
    )


def test_unknown_keyword_names_the_nearest(kernel):
    error(
        "no-such-argument",
        "has no parameter called 'bia'",
        "did you mean 'bias'?",
        call=lambda: kernel.execute(X, OUT, bia=1),
    )


def test_a_keyword_only_argument_by_position_after_a_quick_call(kernel):
    for _ in range(3):
        kernel.execute(X, OUT)
    error("extra-argument", "got 4", call=lambda: kernel.execute(X, OUT, 1.0, 2.0))


def test_argument_given_twice(kernel):
    error("repeated-argument", "got argument 'x' twice", call=lambda: kernel.execute(X, OUT, x=X))


def test_constants_have_the_annotated_type():
    kernel = pypto.compile(repeated, target="reference")
    error(
        "constant-type",
        "'turns' of repeated is of type float, but it is annotated int",
        call=lambda: kernel.execute(X, OUT, 2.5),
    )
    error("constant-type", "is of type ndarray", call=lambda: kernel.execute(X, OUT, X))


def test_a_list_is_no_argument(kernel):
    failure = error(
        "argument-kind", "argument 'x' is of type list", "numpy.asarray(x)", call=lambda: kernel.execute([1, 2], OUT)
    )
    assert failure.location.file == __file__


def test_nothing_is_written_when_an_argument_is_wrong(kernel):
    out = np.full(7, 9, F32)
    for arguments in ((X,), (X, out, "twice", 1), ([1.0], out), (X, out, X.astype(">f4"))):
        with pytest.raises(pypto.UserError):
            kernel.execute(*arguments)
    out.flags.writeable = False
    with pytest.raises(pypto.UserError, match="read-only"):
        kernel.execute(X, out)
    assert (out == 9).all()


def test_two_outputs_that_partly_are_the_same_memory():
    @tile
    def two(x, low, high):
        low[:] = x - 1.0
        high[:] = x + 1.0

    memory = np.zeros(9, F32)
    kernel = pypto.compile(two, target="reference")
    error(
        "aliased-arguments",
        "'high' shares memory with argument 'low'",
        call=lambda: kernel.execute(X, memory[:7], memory[2:]),
    )


def test_an_input_read_after_an_output_it_partly_shares_memory_with():
    @tile
    def two(x, low, high):
        low[:] = x - 1.0
        high[:] = x + 1.0

    memory = np.zeros(9, F32)
    kernel = pypto.compile(two, target="reference")
    error(
        "aliased-arguments",
        "'low' shares memory with argument 'x'",
        call=lambda: kernel.execute(memory[:7], memory[2:], np.zeros(7, F32)),
    )
    assert (memory == 0).all()


def test_one_memory_that_tiles_cut_differently():
    @tile(shape=(4,), tile_num=4)
    def weighted(x, weights, total, out):
        total[:] = pypto.sum(x * weights, axis=0, keepdims=True)
        out[:] = x - pypto.sum(x, axis=0, keepdims=True)

    x, weights = np.arange(16, dtype=F32), np.ones(4, F32)
    kernel = pypto.compile(weighted, target="reference")
    kernel.execute(x, weights, np.zeros(4, F32), x.copy())
    failure = error(
        "alias-views",
        "arguments 'weights' and 'total' of 'weighted' are the same memory",
        call=lambda: kernel.execute(x, weights, weights, x.copy()),
    )
    assert failure.location.file == __file__
    assert (weights == 1).all()


# -- compile


def test_unknown_target():
    failure = error(
        "unknown-target",
        "no target called 'cpuu'",
        "did you mean 'cpu'?",
        call=lambda: pypto.compile(scaled, target="cpuu"),
    )
    assert failure.location.file == __file__


def test_what_cannot_be_compiled():
    failure = error(
        "cannot-compile", "cannot compile function 'error'", "@pypto.tile", call=lambda: pypto.compile(error)
    )
    assert "pypto.compile(error)" in str(failure)
    error("cannot-compile", "an object of type int", call=lambda: pypto.compile([scaled, 3]))


def test_a_pto_file_that_does_not_exist(tmp_path):
    error("pto-file", "cannot read", "No such file", call=lambda: pypto.compile(str(tmp_path / "none.pto")))
    (tmp_path / "binary.pto").write_bytes(b"\xff\xfe\x00")
    error("pto-file", "it is not UTF-8 text", call=lambda: pypto.compile(tmp_path / "binary.pto"))


def test_shapes_and_dtypes_are_checked():
    def compile_(**keys):
        return lambda: pypto.compile(scaled, **keys)

    error("shape-option", "shapes: 2.5 for parameter 'x'", "a tuple of whole numbers", call=compile_(shapes={"x": 2.5}))
    error("shape-option", "shapes: (4, -1)", call=compile_(shapes={"x": (4, -1)}))
    error("shape-option", "shapes: [4]", "a dict from parameter to value", call=compile_(shapes=[4]))
    error("shape-option", "dtypes: 'float31' for parameter 'out'", "float32", call=compile_(dtypes={"out": "float31"}))
    error(
        "unknown-parameter-option",
        "shapes names a parameter 'ot' that 'scaled' does not have",
        "did you mean 'out'?",
        call=compile_(shapes={"ot": 4}),
    )


def test_shapes_are_needed():
    failure = error(
        "shapes-needed",
        "the decorator of 'scaled' gives no tile shape",
        "pass shapes={'x': (1024, 512)",
        call=lambda: pypto.compile(scaled).to_text(),
    )
    assert failure.location.file == __file__
    assert "`--shape x=1024,512`" in failure.help
    error("shapes-needed", "before the first call", call=lambda: pypto.compile(scaled).execute())

    @tile(shape=(4, None))
    def rows(x, out):
        out[:] = x

    error("shapes-needed", "its shape (4, None) is open", call=lambda: pypto.compile(rows).execute())


def test_only_missing_shapes_are_needed():
    @tile
    def normalised(x, weight, out, eps: float = 1e-6):
        out[:] = x * weight + eps

    error(
        "shapes-needed",
        "the shapes of weight, out are not known",
        "shapes={'x': (4, 8), 'weight': (1024, 512), 'out': (1024, 512)}",
        call=lambda: pypto.compile(normalised, shapes={"x": (4, 8)}).to_text(),
    )


def test_options_that_would_change_what_a_kernel_means():
    @tile(shape=(4,), tile_num=2)
    def normalised(x, out):
        out[:] = x - pypto.sum(x, axis=0, keepdims=True)

    x = np.arange(8, dtype=F32)
    for keys, text in (({"tile_num": 4}, "config tile_num=4"), ({"shape": (8,)}, "config shape=(8,)")):
        kernel = pypto.compile(normalised, config=keys, target="reference")
        error("schedule-meaning", text, "the decorator gives", call=lambda kernel=kernel: kernel.execute(x, x.copy()))
    same = pypto.compile(normalised, config={"tile_num": 2, "shape": (4,)}, target="reference")
    same.execute(x, x.copy())


# -- what a compiled kernel cannot do


def test_stages_that_do_not_exist():
    kernel = pypto.compile(scaled, target="reference", shapes={"x": 4, "out": 4})
    error(
        "unknown-stage-text",
        "no stage called 'planed'",
        "did you mean 'planned'?",
        call=lambda: kernel.to_text("planed"),
    )


def test_targets_without_source():
    error(
        "no-source",
        "target 'reference' generates no source",
        call=lambda: pypto.compile(scaled, target="reference").source(),
    )


def test_npu_needs_a_device():
    error("needs-device", "target 'npu' needs torch_npu", call=lambda: pypto.compile(scaled, target="npu"))


def test_a_slot_that_is_too_small():
    shapes = {"x": 4096, "out": 4096}
    config = pypto.BufferConfig(buffer_size_per_tile=64)
    kernel = pypto.compile(scaled, config=config, target="reference", shapes=shapes)
    error(
        "slot-too-small",
        "buffer_size_per_tile is 64 bytes",
        "bytes per slot",
        call=lambda: kernel.to_text("planned"),
    )


def test_a_path_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    kernel = pypto.compile(scaled, target="reference", shapes={"x": 4, "out": 4})
    error("cannot-write", "Not a directory", call=lambda: kernel.save(tmp_path / "file" / "inside"))


def test_a_local_kernel_cannot_be_pickled():
    @tile
    def local(x, out):
        out[:] = x

    failure = error(
        "cannot-pickle", "'local' cannot be pickled", "top level", call=lambda: pickle.dumps(pypto.compile(local))
    )
    assert failure.location.file == __file__


def test_a_module_that_was_compiled_for_other_shapes(tmp_path):
    path = tmp_path / "kernel.pto"
    path.write_text(pypto.compile(scaled, target="reference", shapes={"x": 4, "out": 4}).to_text("tile"))
    kernel = pypto.compile(str(path), target="reference")
    error(
        "argument-shape-fixed",
        "argument 'x' is f32[7]",
        "compiled for f32[4]",
        call=lambda: kernel.execute(X, OUT, 1.0, 2.0),
    )


def test_levels_that_a_target_does_not_take(tmp_path):
    path = tmp_path / "kernel.pto"
    kernel = pypto.compile(scaled, target="reference", shapes={"x": 4, "out": 4})
    path.write_text(kernel.to_text("planned"))
    failure = error(
        "level-too-low",
        "takes PTO IR at level tile, and this module is at level planned",
        call=lambda: pypto.compile(path, target="cpu").execute(X[:4], OUT[:4].copy(), 1.0, 2.0),
    )
    assert failure.location.file == str(path)
    error("eager-needs-python", "has no Python body", call=lambda: pypto.compile(path, target="eager"))


def test_command_line_mistakes(tmp_path):
    from pypto.cli import find_kernels

    file = tmp_path / "kernels.py"
    file.write_text("import pypto\n\n@pypto.tile\ndef first(x, out):\n    out[:] = x\n")
    error(
        "unknown-kernel",
        "no tile function and no graph called 'frist'",
        "did you mean 'first'?",
        call=lambda: find_kernels(f"{file}:frist"),
    )
    file.write_text("x = 3\n")
    error("no-kernel", "defines no tile function", call=lambda: find_kernels(str(file)))
    error("kernel-file", "there is no such file", "FILE.py:name", call=lambda: find_kernels(f"{tmp_path}/none.py"))
    error("kernel-file", "it is a folder", call=lambda: find_kernels(str(tmp_path)))


def test_shapes_that_a_decorator_suggests_and_the_body_does_not_fit():
    @pypto.tile(shape=(4, 4), tile_num=8)
    def load(source, item):
        row = pypto.get_block_id() * 4
        item[:] = source[row : row + 4, :4]

    for call in (pypto.compile(load).to_text, pypto.compile(load).execute):
        error("shapes-needed", "the shapes of source, item", "elements 0 to 31 are used", call=call)

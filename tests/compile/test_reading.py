"""Reading what a compilation made: text at every stage, source, saved files, explain, profile, notes, tiling."""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto import BufferConfig, BufferStrategy, FusionTile, TileConfig, fuse, tile
from pypto.ir.parser import parse_module
from pypto.ir.printer import print_module

F32 = np.float32


@tile(shape=(64, 64), tile_num=4)
def scaled(x, out):
    out[:] = pypto.exp(x) * 2.0


@tile
def plain(x, out):
    out[:] = x + 1.0


@tile(shape=(4, 4), tile_num=2)
def first(x, y):
    y[:] = x * 2.0


@tile(shape=(4, 4), tile_num=2)
def second(y, out):
    out[:] = y + 1.0


# -- text


def test_before_shapes_are_known_extents_are_symbols():
    text = pypto.compile(scaled).to_text()
    assert "level tile" in text
    assert "x: gm f32[%n0, %n1]" in text
    assert "# x: extents unknown" in text
    parse_module(text)


def test_symbols_may_be_named():
    text = pypto.compile(plain, shapes={"x": ("rows", 512), "out": ("rows", 512)}).to_text()
    assert "f32[%rows, 512]" in text


def test_decorators_give_shapes_for_lower_levels_and_a_note_says_so():
    text = pypto.compile(scaled).to_text("planned")
    assert "level planned" in text
    assert "# x: shape (256, 64) taken from the decorator of scaled: 4 tiles of (64, 64)" in text


@pytest.mark.parametrize("stage", ["tile", "buffered", "synchronised", "planned"])
def test_every_level_prints_and_parses(stage):
    kernel = pypto.compile(scaled, target="reference", shapes={"x": (100, 70), "out": (100, 70)})
    text = kernel.to_text(stage)
    assert f"level {stage}" in text
    assert "#" not in text.split("\n", 1)[0] or stage
    assert print_module(parse_module(text)) == text


def test_every_pass_can_be_printed():
    from pypto.compiler import stage_names

    kernel = pypto.compile(scaled, target="reference", shapes={"x": (100, 70), "out": (100, 70)})
    for stage in stage_names("reference"):
        assert kernel.to_text(stage).startswith("pto 1")


def test_the_text_is_that_of_the_last_call():
    kernel = pypto.compile(plain, target="reference")
    kernel.execute(np.ones((3, 5), F32), np.zeros((3, 5), F32))
    assert "f32[3, 5]" in kernel.to_text("tile")
    kernel.execute(np.ones(7), np.zeros(7))
    assert "f64[7]" in kernel.to_text("tile")


def test_written_to_a_file_as_the_config_asks(tmp_path):
    path = tmp_path / "made" / "out.pto_ir"
    kernel = pypto.compile(scaled, config={"output_pto_ir": True, "pto_ir_path": str(path)})
    assert path.read_text(encoding="utf-8") == kernel.to_text()


def test_written_at_the_first_call_when_shapes_are_unknown_before(tmp_path):
    path = tmp_path / "out.pto"
    kernel = pypto.compile(plain, config={"pto_ir_path": path}, target="reference")
    assert not path.exists()
    kernel.execute(np.ones(5, F32), np.zeros(5, F32))
    assert "f32[5]" in path.read_text(encoding="utf-8")


# -- midway


@pytest.mark.parametrize("stage", ["tile", "buffered", "planned"])
def test_a_printed_kernel_runs_again_from_its_file(tmp_path, stage):
    kernel = pypto.compile(scaled, target="reference", shapes={"x": (100, 70), "out": (100, 70)})
    path = tmp_path / "kernel.pto"
    path.write_text(kernel.to_text(stage), encoding="utf-8")
    x, out = np.random.default_rng(1).random((100, 70)).astype(F32), np.zeros((100, 70), F32)
    again = pypto.compile(path, target="reference")
    again.execute(x, out)
    np.testing.assert_allclose(out, np.exp(x) * 2, rtol=1e-6)
    assert again.to_text("planned") == kernel.to_text("planned")
    assert "read from" in again.explain()


def test_a_file_with_symbols_takes_any_shape(tmp_path):
    path = tmp_path / "kernel.pto"
    path.write_text(pypto.compile(plain, shapes={"x": ("n",), "out": ("n",)}).to_text("tile"), encoding="utf-8")
    for target in ("reference", "cpu"):
        kernel = pypto.compile(str(path), target=target)
        for extent in (1, 5, 64):
            x, out = np.arange(extent, dtype=F32), np.zeros(extent, F32)
            kernel.execute(x, out)
            np.testing.assert_array_equal(out, x + 1)


def test_a_module_is_compiled_as_it_is():
    module = pypto.compile(plain, target="reference", shapes={"x": 5, "out": 5}).module_at("tile")
    out = np.zeros(5, F32)
    pypto.compile(module, target="cpu").execute(np.arange(5, dtype=F32), out)
    np.testing.assert_array_equal(out, np.arange(5) + 1)


# -- source, files


def test_llvm_source_and_saved_files(tmp_path):
    kernel = pypto.compile(plain, target="cpu", shapes={"x": (8, 8), "out": (8, 8)})
    assert "define" in kernel.source()
    assert kernel.to_text("source") == kernel.source()
    names = [path.name for path in kernel.save(tmp_path)]
    assert names[0] == "00-tile.pto"
    assert {"source.ll", "explain.txt"} <= set(names)
    assert any(name.endswith("plan_addresses.pto") for name in names)
    assert all((tmp_path / name).stat().st_size for name in names)


def test_dumps_are_numbered_and_named_like_the_timings(tmp_path):
    with pypto.settings(dump=str(tmp_path)):
        kernel = pypto.compile(plain, target="cpu", shapes={"x": (8, 8), "out": (8, 8)})
    assert {path.name for path in tmp_path.iterdir()} == {"00-tile.pto", "02-fuse.pto", "03-source.ll"}
    assert [item.name for item in kernel.profile().stages] == ["tile", "verify", "fuse", "source", "library", "launch"]


# -- explain


def test_explain_before_and_after_the_first_call():
    kernel = pypto.compile(plain, target="reference")
    assert "not compiled yet" in kernel.explain()
    kernel.execute(np.ones(5, F32), np.zeros(5, F32))
    text = kernel.explain()
    assert "plain: WHOLE" in text
    assert "x: f32[5] in, 20 bytes" in text
    assert "specialisations in memory: 1 of at most 64" in text


def test_explain_says_what_became_of_every_option():
    config = TileConfig(
        tile_num=4,
        aicore_num=8,
        enable_pipeline=True,
        buffer=BufferConfig(strategy=BufferStrategy.TRIPLE, enable_prefetch=True, overlap_compute_ratio=0.95),
    )
    for target in ("cpu", "reference"):
        text = pypto.compile(plain, config=config, target=target).explain()
        for key in ("tile_num=4", "aicore_num=8", "enable_pipeline=True", "TRIPLE", "enable_prefetch", "0.95"):
            assert key in text
        assert ("tile_num=4: no effect" in text) == (target == "reference")


def test_explain_names_batch_axes_tiles_and_blocks():
    @tile(shape=(4,), tile_num=2)
    def centred(x, out):
        out[:] = x - pypto.mean(x, axis=0, keepdims=True)

    @tile(shape=(4,), tile_num=2)
    def blocks(x, out):
        block = pypto.get_block_id()
        out[block * 4 : block * 4 + 4] = x[block * 4 : block * 4 + 4]

    kernel = pypto.compile(centred, target="reference")
    kernel.execute(np.ones((3, 8), F32), np.zeros((3, 8), F32))
    text = kernel.explain()
    assert "TILES" in text
    assert "batch axes (not seen by the body): 3" in text
    assert "tiles along the cut axes: 2" in text
    kernel = pypto.compile(blocks, target="reference")
    kernel.execute(np.ones(8, F32), np.zeros(8, F32))
    assert "blocks: 2" in kernel.explain()


def test_explain_tells_new_code_from_cached(tmp_path):
    with pypto.settings(cache=str(tmp_path / "cache")):
        for wanted in ("code made now", "code from the disk cache"):
            kernel = pypto.compile(plain, target="cpu")
            kernel.execute(np.ones(5, F32), np.zeros(5, F32))
            assert wanted in kernel.explain()


def test_explain_lists_intermediates_with_their_size():
    kernel = pypto.compile([first, second], {"enable_fusion": False}, target="cpu")
    kernel.execute()
    text = kernel.explain()
    assert "y: f32[8, 4], 128 bytes" in text
    assert "phases" in text


def test_explain_lists_stages_that_became_one_kernel():
    kernel = pypto.compile([first, second], target="cpu")
    kernel.execute()
    assert "merged stages:\n  first, second are one kernel\n  not stored: y\n" in kernel.explain()


def test_notes_go_to_standard_error_when_asked(capsys):
    with pypto.settings(debug=2):
        pypto.compile(scaled, target="reference").execute()
    printed = capsys.readouterr().err
    assert "pypto: scaled: x: shape (256, 64) taken from the decorator" in printed
    assert "pypto: tile: " in printed


def test_notes_and_tiling():
    kernel = pypto.compile(scaled, config={"aicore_num": 4, "shape": (32, None)}, target="reference")
    assert kernel.notes == ()
    kernel.execute()
    assert "taken from the decorator" in kernel.notes[0]
    tiling = kernel.tiling["scaled"]
    assert tiling["tile_shape"] == (32, None)
    assert tiling["tile_num"] == 4
    assert tiling["aicore_num"] == 4


def test_profile_counts_launches_when_asked():
    kernel = pypto.compile(plain, config=TileConfig(enable_profiling=True), target="cpu")
    for _ in range(3):
        kernel.execute(np.ones(5, F32), np.zeros(5, F32))
    profile = kernel.profile()
    assert len(profile.launches) == 3
    assert "3 launches" in str(profile)
    assert all(seconds > 0 for seconds in profile.launches)


# -- fusion


def test_fusion_tile_lists_parts_and_where_intermediates_live():
    @tile(shape=(128,), tile_num=16)
    def gelu(x, y):
        y[:] = pypto.nn.gelu(x)

    @tile(shape=(128,), tile_num=16)
    def add(a, b, out):
        out[:] = a + b

    @fuse(gelu, add)
    def both(x, residual, out):
        out[:] = add(gelu(x), residual)

    fused = FusionTile(both)
    assert fused.parts == ("gelu", "add")
    assert fused.intermediates
    assert {item.place for item in fused.intermediates} == {"UB"}
    assert fused.unfused() == []
    assert FusionTile(pypto.compile(both, shapes={"x": 50, "residual": 50, "out": 50})).parts == ("gelu", "add")


def test_fusion_tile_of_a_pipeline_names_what_goes_through_memory():
    assert FusionTile(pypto.compile([first, second])).unfused() == []
    fused = FusionTile(pypto.compile([first, second], {"enable_fusion": False}))
    (item,) = fused.unfused()
    assert (item.name, item.place, item.bytes) == ("y", "GM", 128)


def explained(kernel, extents, **config):
    compiled = pypto.compile(kernel, config=config, shapes={"x": extents, "out": extents}, target="ascendc")
    return compiled.explain()


def test_explain_shows_the_schedule_on_the_device():
    @tile(shape=(64, 64), tile_num=8)
    def centred(x, out):
        out[:] = x - pypto.mean(x)

    assert "  centred: 8 cores, tiles of 64 x 64" in explained(centred, (128, 256))
    assert "  plain: 20 cores, tiles of 5 x 64" in explained(plain, (100, 64), tile_num=20)


def test_explain_says_that_a_kernel_is_split_because_it_is_too_large():
    @tile
    def softmax(x, out):
        out[:] = pypto.nn.softmax(x, axis=1)

    text = explained(softmax, (8, 200_000))
    assert "a tile needs more than a core has: it is computed in" in text


def test_explain_says_that_there_is_less_buffering_than_asked_for():
    @tile
    def centred(x, out):
        for i in pypto.loop(9):
            out[i] = x[i] - pypto.max(x[i])

    text = explained(centred, (9, 12_000), buffer=BufferConfig(strategy=BufferStrategy.TRIPLE))
    assert "3 slots per buffer do not fit" in text


def test_explain_says_that_tiles_asked_for_do_not_fit():
    text = explained(plain, (1000, 3000), shape=(500, 2900))
    assert "tiles of 500 elements along axis 0 do not fit" in text

"""Samples 2.3 and 8.1 of the article, as the nearest correct programs; the other samples have their own files.

2.1 and 2.2: test_barriers.py and test_links.py; 7: test_hierarchy.py and test_validator.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import pypto
from pypto import BufferConfig, BufferStrategy, Dependency, DependencyGraph, DependencyValidator, TileConfig, tile


@tile(shape=(64, 64), tile_num=4)
def scale(x, y):
    y[:] = x * 2.0


@tile(shape=(64, 64), tile_num=4)
def shift(y, out):
    out[:] = y + 1.0


@pytest.mark.parametrize("target", ["cpu", "reference", "eager", "ascendc"])
@pytest.mark.parametrize(("strategy", "more"), [("DOUBLE", {}), ("TRIPLE", {"enable_prefetch": True})])
def test_article_2_3(strategy, more, target):
    """`kernel_graph` is never defined in the article: a graph of two stages."""
    kernel_graph = DependencyGraph([Dependency(scale, shift)])
    buffer_cfg = BufferConfig(
        strategy=BufferStrategy[strategy],
        buffer_size_per_tile=(64 * 64 * 4),
        enable_async_copy=True,
        overlap_compute_ratio=0.8,
        **more,
    )
    compiled_kernel = pypto.compile(kernel_graph, config=buffer_cfg, target=target)
    assert compiled_kernel.execute(verify=True).verification_passed


@tile(shape=(128, 128), tile_num=8, name="load_tile")
def stage1_load(global_input, local_buf):
    block_id = pypto.get_block_id()
    row_start = block_id * 128
    col_start = (block_id * 73) % 512
    local_buf[:] = global_input[row_start : row_start + 128, col_start : col_start + 128]


@tile(shape=(128, 128), tile_num=8, name="compute_tile")
def stage2_compute(local_input, temp_buf):
    """The article adds a padded 132 x 132 tile to a 128 x 128 one; the window in its middle fits."""
    result = local_input * 1.0
    result += pypto.nn.pad(local_input, ((2, 2), (2, 2)))[2:-2, 2:-2] * 0.1
    temp_buf[:] = result


@tile(shape=(128, 128), tile_num=8, name="store_tile")
def stage3_store(temp_buf, global_output):
    block_id = pypto.get_block_id()
    row_start = block_id * 128
    col_start = (block_id * 73) % 512
    global_output[row_start : row_start + 128, col_start : col_start + 128] = temp_buf * 2.0


def links():
    dep_graph = DependencyGraph()
    dep_graph.add(
        Dependency(
            src_op="load_tile", dst_op="compute_tile", src_buffer="local_buf", dst_buffer="local_input",
            mapping="tile_idx",
        )
    )  # fmt: skip
    dep_graph.add(
        Dependency(
            src_op="compute_tile", dst_op="store_tile", src_buffer="temp_buf", dst_buffer="temp_buf",
            mapping="tile_idx",
        )
    )  # fmt: skip
    return dep_graph


@pytest.mark.parametrize("target", ["cpu", "reference", "eager", "ascendc"])
def test_article_8_1(target):
    config = TileConfig(
        dependency_graph=links(), enable_double_buffer=True, enable_pipeline=True, aicore_num=8, enable_profiling=True
    )
    stages = [stage1_load, stage2_compute, stage3_store]
    compiled = pypto.compile(stages, config=config, target=target)
    input_data = np.random.default_rng(0).standard_normal((1024, 1024), dtype=np.float32)
    output_data = np.zeros_like(input_data)
    assert compiled.execute(input_data, output_data, verify=True).verification_passed
    expected = np.zeros_like(input_data)
    for block in range(8):
        window = np.s_[block * 128 : block * 128 + 128, block * 73 % 512 : block * 73 % 512 + 128]
        expected[window] = input_data[window] * 2.2
    np.testing.assert_allclose(output_data, expected, rtol=1e-5)
    assert len(compiled.profile().launches) == 1
    assert "3 stages, 24 tiles on 8 cores, 1 phases" in compiled.explain()
    if target in ("cpu", "ascendc"):
        assert "load_tile, compute_tile, store_tile are one kernel" in compiled.explain()
    shapes = {"global_input": (1024, 1024), "global_output": (1024, 1024)}
    assert not DependencyValidator(stages, config=config, shapes=shapes).detect_races()


def test_article_8_1_as_printed_names_the_shapes():
    @tile(shape=(128, 128), tile_num=8, name="compute_tile")
    def as_printed(local_input, temp_buf):
        result = local_input * 1.0
        result += pypto.nn.pad(local_input, ((2, 2), (2, 2)))[:, :] * 0.1
        temp_buf[:] = result

    compiled = pypto.compile([stage1_load, as_printed, stage3_store], config=TileConfig(dependency_graph=links()))
    with pytest.raises(pypto.UserError, match="132") as caught:
        compiled.execute(np.zeros((1024, 1024), np.float32), np.zeros((1024, 1024), np.float32))
    assert "result += " in str(caught.value)

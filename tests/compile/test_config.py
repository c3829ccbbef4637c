"""The options of a schedule: what is accepted, and what the compiler gets."""

from __future__ import annotations

import pytest

import pypto
from pypto import BufferConfig, BufferStrategy, Dependency, DependencyGraph, TileConfig
from pypto.config import Options, read_config


def test_the_config_of_article_2_1():
    dependency = Dependency(
        src_op="tile_produce",
        dst_op="tile_consume",
        src_tile_idx="*",
        dst_tile_idx="*",
        src_buffer="data_output",
        dst_buffer="data_input",
    )
    config = TileConfig(enable_pipeline=True, dependency=dependency, enable_double_buffer=True, aicore_num=8)
    options, dependencies = read_config(config)
    assert dependencies == (dependency,)
    assert (options.enable_pipeline, options.buffer_depth, options.aicore_num) == (True, 2, 8)


def test_the_configs_of_article_2_3():
    double = BufferConfig(
        strategy=BufferStrategy.DOUBLE,
        buffer_size_per_tile=64 * 64 * 4,
        enable_async_copy=True,
        overlap_compute_ratio=0.8,
    )
    triple = BufferConfig(
        strategy=BufferStrategy.TRIPLE,
        buffer_size_per_tile=64 * 64 * 4,
        enable_async_copy=True,
        enable_prefetch=True,
        overlap_compute_ratio=0.95,
    )
    assert read_config(double)[0].buffer_depth == 2
    assert read_config(triple)[0].buffer_depth == 3
    assert read_config({"buffer": triple})[0].buffer == triple
    as_dict = {"strategy": BufferStrategy.TRIPLE, "enable_prefetch": True}
    assert read_config(as_dict)[0].buffer == BufferConfig(strategy=BufferStrategy.TRIPLE, enable_prefetch=True)


def test_the_dicts_of_articles_4_1_6_1_8_3_and_8_7():
    options, _ = read_config({"enable_fusion": True, "fusion_boundary": "L1", "enable_store_clean": False})
    assert options.fusion_boundary == "L1"
    options, _ = read_config({"output_pto_ir": True, "pto_ir_path": "/tmp/x.pto_ir"})
    assert options.pto_ir_path == "/tmp/x.pto_ir"
    assert read_config({"l1_workspace_mb": 16})[0].l1_workspace_mb == 16
    options, _ = read_config({"tile_m": 64, "tile_n": 32, "tile_k": 16, "tile_num": 16})
    assert (options.tile_shape, options.tile_k, options.tile_num) == ((64, 32), 16, 16)


def test_a_dependency_graph_in_the_order_added():
    graph = DependencyGraph()
    first, second = Dependency("a", "b", mapping="tile_idx"), Dependency("b", "c")
    assert graph.add(first).add(second) is graph
    assert read_config(TileConfig(dependency_graph=graph))[1] == (first, second)


def test_setters_of_tile_config():
    config = TileConfig()
    config.set_block_shape(64, 32, 16)
    config.set_num_tiles(4)
    assert (config.tile_m, config.tile_k, config.tile_n, config.tile_num) == (64, 32, 16, 4)
    other = TileConfig()
    other.set_block_shape(8, 128)
    assert other.shape == (8, 128)
    assert "tile_num=4" in repr(config)
    with pytest.raises(pypto.UserError):
        config.set_num_tiles(0)


def test_no_config_leaves_all_choices():
    assert read_config(None) == (Options(), ())
    assert read_config({})[0].tile_shape is None
    assert read_config(TileConfig())[0] == Options()


def test_options_are_hashable_and_equal_by_what_they_ask():
    assert hash(read_config({"tile_num": 8, "shape": [4, None]})[0]) == hash(
        read_config(TileConfig(shape=(4, None), tile_num=8))[0]
    )

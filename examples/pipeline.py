"""Three stages linked tile by tile: load a block, convolve it, write it back.

Stages 1 and 3 are explicit SPMD: each of the 8 blocks asks for its number and computes which part of the array is its
own. Stage 2 does not, and works on whatever tile it is handed. The links are arrays of shape (8, 128, 128), one item
per tile.
"""

import numpy as np

import pypto
from pypto import Dependency, DependencyGraph, TileConfig, tile


@tile(shape=(128, 128), tile_num=8, name="load_tile")
def stage1_load(global_input, local_buf):
    block_id = pypto.get_block_id()
    row_start = block_id * 128
    col_start = (block_id * 73) % 512
    local_buf[:] = global_input[row_start : row_start + 128, col_start : col_start + 128]


@tile(shape=(128, 128), tile_num=8, name="compute_tile")
def stage2_compute(local_input, temp_buf):
    """A 3x3 box blur of the inside, added to the tile; the rim stays as it is."""
    result = local_input * 1.0
    rows = local_input[:-2] + local_input[1:-1] + local_input[2:]
    result[1:-1, 1:-1] += (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) * 0.1
    temp_buf[:] = result


@tile(shape=(128, 128), tile_num=8, name="store_tile")
def stage3_store(temp_buf, global_output):
    block_id = pypto.get_block_id()
    row_start = block_id * 128
    col_start = (block_id * 73) % 512
    global_output[row_start : row_start + 128, col_start : col_start + 128] = temp_buf * 2.0


def links() -> DependencyGraph:
    graph = DependencyGraph()
    graph.add(
        Dependency(
            src_op="load_tile",
            dst_op="compute_tile",
            src_buffer="local_buf",
            dst_buffer="local_input",
            mapping="tile_idx",
        )
    )
    graph.add(
        Dependency(
            src_op="compute_tile", dst_op="store_tile", src_buffer="temp_buf", dst_buffer="temp_buf", mapping="tile_idx"
        )
    )
    return graph


def reference(data: np.ndarray) -> np.ndarray:
    output = np.zeros_like(data)
    for block in range(8):
        rows, columns = np.s_[block * 128 : block * 128 + 128], np.s_[(block * 73) % 512 : (block * 73) % 512 + 128]
        x = data[rows, columns].astype(np.float64)
        result = x.copy()
        result[1:-1, 1:-1] += sum(x[i : 126 + i, j : 126 + j] for i in range(3) for j in range(3)) * 0.1
        output[rows, columns] = result * 2
    return output


def main() -> None:
    config = TileConfig(dependency_graph=links(), enable_double_buffer=True, enable_pipeline=True, aicore_num=8)
    compiled = pypto.compile([stage1_load, stage2_compute, stage3_store], config=config)

    input_data = np.random.default_rng(0).standard_normal((1024, 1024), dtype=np.float32)
    output_data = np.zeros_like(input_data)
    compiled.execute(input_data, output_data)

    expected = reference(input_data)
    np.testing.assert_allclose(output_data, expected, rtol=1e-5, atol=1e-5)
    written = int((output_data != 0).any(axis=1).sum())
    print(f"pipeline: {written} rows written, largest difference from NumPy {np.abs(output_data - expected).max():.1e}")


if __name__ == "__main__":
    main()

// Kernels of the cube core, of several cores and of the advanced interface that are right although they look wrong.
// The comment beside the name gives the result.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

using Floats = GlobalTensor<float>;
using Tile = LocalTensor<float>;

__aicore__ inline Floats global(GM_ADDR address)
{
    Floats tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(address), 1024);
    return tensor;
}

template <HardEvent event>
__aicore__ inline void order(int32_t id)
{
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

// Left and right matrix in L1, L0A and L0B; the result in L0C.
struct Matrices {
    Tile a1{TPosition::A1, 0, 2048};
    Tile b1{TPosition::B1, 16384, 2048};
    Tile a2{TPosition::A2, 0, 2048};
    Tile b2{TPosition::B2, 0, 2048};
    Tile c{TPosition::CO1, 0, 4096};
};

// Both matrices are 16 rows of 16 columns; the product is x times y transposed.
__aicore__ inline void fetch(Matrices& m, GM_ADDR x, GM_ADDR y)
{
    DataCopy(m.a1, global(x), Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
    DataCopy(m.b1, global(y), Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
}

__aicore__ inline void spread(Matrices& m)
{
    LoadData(m.a2, m.a1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
    LoadData(m.b2, m.b1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
}

__aicore__ inline void prepare(Matrices& m, GM_ADDR x, GM_ADDR y)
{
    fetch(m, x, y);
    order<HardEvent::MTE2_MTE1>(0);
    spread(m);
    order<HardEvent::MTE1_M>(0);
}

__aicore__ inline void finish(Matrices& m, GM_ADDR z, int64_t rows = 16, int64_t columns = 16)
{
    order<HardEvent::M_FIX>(0);
    Fixpipe(global(z), m.c, FixpipeParamsV220(columns, rows, 16, columns, false));
}

__aicore__ inline Tile tile(uint32_t number) { return Tile(TPosition::VECCALC, number * 4096, 1024); }

__aicore__ inline void load(const Tile& to, GM_ADDR from)
{
    DataCopy(to, global(from), 1024);
    order<HardEvent::MTE2_V>(0);
}

__aicore__ inline void store(GM_ADDR to, const Tile& from, uint32_t count = 1024)
{
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(to), from, count);
}

__aicore__ inline LocalTensor<uint8_t> scratch(uint32_t bytes) { return LocalTensor<uint8_t>(TPosition::VECCALC, 65536, bytes); }

}  // namespace

__global__ __cube__ void product(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(square(x) @ square(y).T)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    finish(m, z);
}

__global__ __cube__ void small_products_with_barrier(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(2 * (square(x) @ square(y).T))
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    PipeBarrier<PIPE_M>();
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, false));
    finish(m, z);
}

__global__ __cube__ void large_products_without_barrier(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: 2 * (x[:512].reshape(64, 8) @ y[:512].reshape(64, 8).T)[:16].ravel()
{
    Matrices m;
    DataCopy(m.a1, global(x), Nd2NzParams(1, 64, 8, 0, 8, 64, 1, 0));
    DataCopy(m.b1, global(y), Nd2NzParams(1, 64, 8, 0, 8, 64, 1, 0));
    order<HardEvent::MTE2_MTE1>(0);
    LoadData(m.a2, m.a1, LoadData2DParams(0, 4, 1, 0, 0, false, 0));
    LoadData(m.b2, m.b1, LoadData2DParams(0, 4, 1, 0, 0, false, 0));
    order<HardEvent::MTE1_M>(0);
    Mmad(m.c, m.a2, m.b2, MmadParams(64, 64, 8, 0, false, true));
    Mmad(m.c, m.a2, m.b2, MmadParams(64, 64, 8, 0, false, false));
    order<HardEvent::M_FIX>(0);
    Fixpipe(global(z), m.c, FixpipeParamsV220(64, 16, 64, 64, false));
}

__global__ __cube__ void bias_of_columns(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(square(x) @ square(y).T + y[:16])
{
    Matrices m;
    Tile bias1(TPosition::C1, 65536, 16), bias2(TPosition::C2, 0, 16);
    DataCopy(bias1, global(y), 16);
    prepare(m, x, y);
    DataCopy(bias2, bias1, DataCopyParams(1, 1, 0, 0));
    order<HardEvent::MTE1_M>(1);
    Mmad(m.c, m.a2, m.b2, bias2, MmadParams(16, 16, 16, 0, false, false));
    finish(m, z);
}

__global__ __cube__ void unit_flag_orders(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(square(x) @ square(y).T)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 3, false, true));
    Fixpipe(global(z), m.c, FixpipeParamsV220(16, 16, 16, 16, false, NoQuant, 0, 1, 0, 0, 3));
}

__global__ __cube__ void unit_flag_orders_the_next(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.tile((square(x) @ square(y).T).ravel(), 4)
{
    Matrices m;
    prepare(m, x, y);
    for (int k = 0; k < 4; ++k) {
        Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 8, 2, false, true));
        PipeBarrier<PIPE_M>();
        Mmad(m.c, m.a2[128], m.b2[128], MmadParams(16, 16, 8, 3, false, false));
        Fixpipe(global(z)[256 * k], m.c, FixpipeParamsV220(16, 16, 16, 16, false, NoQuant, 0, 1, 0, 0, 3));
    }
}

__global__ __cube__ void unit_flag_of_halves(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(x[:128].reshape(16, 8) @ y[:256].reshape(32, 8).T)
{
    Matrices m;
    DataCopy(m.a1, global(x), Nd2NzParams(1, 16, 8, 0, 8, 16, 1, 0));
    DataCopy(m.b1, global(y), Nd2NzParams(1, 32, 8, 0, 8, 32, 1, 0));
    order<HardEvent::MTE2_MTE1>(0);
    LoadData(m.a2, m.a1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    LoadData(m.b2, m.b1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
    order<HardEvent::MTE1_M>(0);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 32, 8, 3, false, true));
    Fixpipe(global(z), m.c, FixpipeParamsV220(16, 16, 16, 32, false, NoQuant, 0, 1, 0, 0, 3));
    Fixpipe(global(z)[16], m.c[256], FixpipeParamsV220(16, 16, 16, 32, false, NoQuant, 0, 1, 0, 0, 3));
}

__global__ __cube__ void split_channels(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad((square(x) @ square(y).T).reshape(16, 2, 8).transpose(1, 0, 2))
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    order<HardEvent::M_FIX>(0);
    Fixpipe<float, float, CFG_NZ>(global(z), m.c, FixpipeParamsV220(16, 16, 16, 16, false, NoQuant, 0, 1, 0, 0, 0, true));
}

__global__ __cube__ void row_times_matrix(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(x[:16] @ square(y).T)
{
    Matrices m;
    DataCopy(m.a1, global(x), Nd2NzParams(1, 1, 16, 0, 16, 1, 1, 0));
    DataCopy(m.b1, global(y), Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
    order<HardEvent::MTE2_MTE1>(0);
    LoadData(m.a2, m.a1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    LoadData(m.b2, m.b1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
    order<HardEvent::MTE1_M>(0);
    Mmad(m.c, m.a2, m.b2, MmadParams(1, 16, 16, 0, false, true));
    finish(m, z, 1);
}

__global__ __cube__ void ragged_product(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(x[:117].reshape(13, 9) @ y[:99].reshape(11, 9).T)
{
    Matrices m;
    DataCopy(m.a1, global(x), Nd2NzParams(1, 13, 9, 0, 9, 16, 1, 0));
    DataCopy(m.b1, global(y), Nd2NzParams(1, 11, 9, 0, 9, 16, 1, 0));
    order<HardEvent::MTE2_MTE1>(0);
    spread(m);
    order<HardEvent::MTE1_M>(0);
    Mmad(m.c, m.a2, m.b2, MmadParams(13, 11, 9, 0, false, true));
    finish(m, z, 13, 11);
}

__global__ __cube__ void transposed_squares(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(square(x).T @ square(y).T)
{
    Matrices m;
    fetch(m, x, y);
    order<HardEvent::MTE2_MTE1>(0);
    LoadDataWithTranspose(m.a2, m.a1, LoadData2dTransposeParams(0, 1, 1, 0, 0));
    LoadData(m.b2, m.b1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
    order<HardEvent::MTE1_M>(0);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    finish(m, z);
}

__global__ __cube__ void image_as_matrix(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(square(x) @ square(y))
{
    Matrices m;
    fetch(m, x, y);
    order<HardEvent::MTE2_MTE1>(0);
    LoadData3DParamsV2<float> params;
    params.l1H = 1;
    params.l1W = 16;
    params.channelSize = 16;
    params.kExtension = 16;
    params.mExtension = 16;
    LoadData(m.a2, m.a1, params);
    LoadData(m.b2, m.b1, params);
    order<HardEvent::MTE1_M>(0);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    finish(m, z);
}

__global__ __cube__ void window_over_image(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(np.stack([np.convolve(np.pad(x[:16 * 8].reshape(16, 8)[:, c], 1), np.ones(3), 'valid') for c in range(8)], 1) @ y[:128].reshape(16, 8).T)
{
    Matrices m;
    DataCopy(m.a1, global(x), Nd2NzParams(1, 16, 8, 0, 8, 16, 1, 0));
    DataCopy(m.b1, global(y), Nd2NzParams(1, 16, 8, 0, 8, 16, 1, 0));
    order<HardEvent::MTE2_MTE1>(0);
    LoadData3DParamsV2<float> params;
    params.l1H = 1;
    params.l1W = 16;
    params.channelSize = 8;
    params.filterW = 3;
    params.padList[0] = params.padList[1] = 1;
    params.kExtension = 24;
    params.mExtension = 16;
    LoadData(m.a2, m.a1, params);
    LoadData(m.b2, m.b1, LoadData2DParams(0, 3, 0, 0, 0, false, 0));
    order<HardEvent::MTE1_M>(0);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 24, 0, false, true));
    finish(m, z);
}

__global__ __cube__ void constant_operand(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(np.ones((16, 16)) @ square(y).T)
{
    Matrices m;
    fetch(m, x, y);
    order<HardEvent::MTE2_MTE1>(0);
    Fill(m.a2, InitConstValueParams<float>(1, 2, 0, 1.0f));
    LoadData(m.b2, m.b1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));
    order<HardEvent::MTE1_M>(0);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    finish(m, z);
}

__global__ __cube__ void products_of_blocks(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 3  z: pad(sum([square(x) @ square(y).T] * 3))
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    SetAtomicAdd<float>();
    finish(m, z);
    SetAtomicNone();
}

__global__ __mix__(1, 2) void product_then_vectors(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(square(x) @ square(y).T + 1)
{
    Floats between = global(x)[512];
    if ASCEND_IS_AIC {
        Matrices m;
        prepare(m, x, y);
        Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
        order<HardEvent::M_FIX>(0);
        Fixpipe(between, m.c, FixpipeParamsV220(16, 16, 16, 16, false));
        CrossCoreSetFlag<2, PIPE_FIX>(3);
    }
    if ASCEND_IS_AIV {
        CrossCoreWaitFlag(3);
        const int64_t mine = GetSubBlockIdx() * 128;
        DataCopy(tile(0), between[mine], 128);
        order<HardEvent::MTE2_V>(0);
        Adds(tile(1), tile(0), 1.0f, 128);
        order<HardEvent::V_MTE3>(0);
        DataCopy(global(z)[mine], tile(1), 128);
    }
}

__global__ __mix__(1, 2) void vectors_then_product(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad((square(x) + 1) @ square(y).T)
{
    Floats between = global(x)[512];
    if ASCEND_IS_AIV {
        const int64_t mine = GetSubBlockIdx() * 128;
        DataCopy(tile(0), global(x)[mine], 128);
        order<HardEvent::MTE2_V>(0);
        Adds(tile(1), tile(0), 1.0f, 128);
        order<HardEvent::V_MTE3>(0);
        DataCopy(between[mine], tile(1), 128);
        CrossCoreSetFlag<2, PIPE_MTE3>(4);
    }
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(4);
        Matrices m;
        prepare(m, x + 2048, y);
        Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
        finish(m, z);
    }
}

__global__ __mix__(1, 2) void both_kinds_wait(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2  z: pad(square(x) @ square(y).T)
{
    Floats between = global(x)[512];
    if ASCEND_IS_AIC {
        Matrices m;
        if (GetBlockIdx() == 1) {
            prepare(m, x, y);
            Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
            order<HardEvent::M_FIX>(0);
            Fixpipe(between, m.c, FixpipeParamsV220(16, 16, 16, 16, false));
        }
    }
    SyncAll<false>();
    if ASCEND_IS_AIV {
        const int64_t mine = GetBlockIdx() * 64;
        DataCopy(tile(0), between[mine], 64);
        order<HardEvent::MTE2_MTE3>(0);
        DataCopy(global(z)[mine], tile(0), 64);
    }
}

__global__ __mix__(1, 2) void pair_exchange(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(np.concatenate([x[64:128], x[:64]]))
{
    Floats between = global(y);
    if ASCEND_IS_AIV {
        const int64_t mine = GetSubBlockIdx() * 64;
        DataCopy(tile(0), global(x)[mine], 64);
        order<HardEvent::MTE2_MTE3>(0);
        DataCopy(between[mine], tile(0), 64);
        CrossCoreSetFlag<1, PIPE_MTE3>(5);
        CrossCoreWaitFlag<1>(5);
        DataCopy(tile(1), between[64 - mine], 64);
        order<HardEvent::MTE2_MTE3>(1);
        DataCopy(global(z)[mine], tile(1), 64);
    }
}

__global__ __mix__(0, 1) void all_vectors_exchange(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 4  z: pad(x[:256].reshape(4, 64)[[1, 2, 3, 0]])
{
    Floats between = global(y);
    const int64_t mine = GetBlockIdx() * 64;
    DataCopy(tile(0), global(x)[mine], 64);
    order<HardEvent::MTE2_MTE3>(0);
    DataCopy(between[mine], tile(0), 64);
    CrossCoreSetFlag<0, PIPE_MTE3>(6);
    CrossCoreWaitFlag(6);
    DataCopy(tile(1), between[(mine + 64) % 256], 64);
    order<HardEvent::MTE2_MTE3>(1);
    DataCopy(global(z)[mine], tile(1), 64);
}

__global__ __mix__(1, 1) void flag_fifteen_times(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.zeros(1024)
{
    if ASCEND_IS_AIC {
        for (int k = 0; k < 15; ++k) {
            CrossCoreSetFlag<2, PIPE_FIX>(1);
        }
    }
    if ASCEND_IS_AIV {
        for (int k = 0; k < 15; ++k) {
            CrossCoreWaitFlag(1);
        }
    }
}

__global__ __vector__ void one_after_the_other(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2  z: pad(np.concatenate([x[:64], x[:64] * 2]))
{
    GlobalTensor<int32_t> global_space;
    global_space.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y), 1024);
    LocalTensor<int32_t> local_space(TPosition::VECCALC, 32768, 64);
    if (GetBlockIdx() == 0) {
        DataCopy(tile(0), global(x), 64);
        order<HardEvent::MTE2_MTE3>(0);
        DataCopy(global(z), tile(0), 64);
        IBSet(global_space, local_space, 0, 0);
    } else {
        IBWait(global_space, local_space, 0, 0);
        DataCopy(tile(0), global(z), 64);
        order<HardEvent::MTE2_V>(0);
        Muls(tile(1), tile(0), 2.0f, 64);
        order<HardEvent::V_MTE3>(0);
        DataCopy(global(z)[64], tile(1), 64);
    }
}

__global__ __vector__ void turns(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 4  z: pad(((x[:64] * 2 + 1) * 2 + 1) * 2 + 1)
{
    GlobalTensor<int32_t> global_space;
    global_space.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y), 1024);
    LocalTensor<int32_t> local_space(TPosition::VECCALC, 32768, 64);
    InitDetermineComputeWorkspace(global_space, local_space);
    WaitPreBlock(global_space, local_space);
    const bool first = GetBlockIdx() == 0;
    DataCopy(tile(0), first ? global(x) : global(z), 64);
    order<HardEvent::MTE2_V>(0);
    Muls(tile(1), tile(0), first ? 1.0f : 2.0f, 64);
    PipeBarrier<PIPE_V>();
    Adds(tile(1), tile(1), first ? 0.0f : 1.0f, 64);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z), tile(1), 64);
    NotifyNextBlock(global_space, local_space);
}

__global__ __vector__ void group_of_waiters(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 5  z: pad(np.tile(x[:8] + x[8:16], 3))
{
    GroupBarrier<PipeMode::MTE3_MODE> barrier(y, 2, 3);
    const int64_t block = GetBlockIdx();
    if (block < 2) {
        DataCopy(tile(0), global(x)[block * 8], 8);
        order<HardEvent::MTE2_MTE3>(0);
        DataCopy(global(x)[512 + block * 8], tile(0), 8);
        barrier.Arrive(block);
    } else {
        barrier.Wait(block - 2);
        DataCopy(tile(0), global(x)[512], 16);
        order<HardEvent::MTE2_V>(0);
        Add(tile(1), tile(0), tile(0)[8], 8);
        order<HardEvent::V_MTE3>(0);
        DataCopy(global(z)[(block - 2) * 8], tile(1), 8);
    }
}

__global__ __vector__ void word_past_the_cache(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2  z: pad(x[:8])
{
    int32_t* word = reinterpret_cast<__gm__ int32_t*>(y);
    if (GetBlockIdx() == 0) {
        DataCopy(tile(0), global(x), 8);
        order<HardEvent::MTE2_MTE3>(0);
        DataCopy(global(x)[512], tile(0), 8);
        PipeBarrier<PIPE_ALL>();
        WriteGmByPassDCache(word, int32_t(77));
    } else {
        while (ReadGmByPassDCache(word) != 77) {
        }
        DataCopy(tile(0), global(x)[512], 8);
        order<HardEvent::MTE2_MTE3>(0);
        DataCopy(global(z), tile(0), 8);
    }
}

__global__ __vector__ void least_scratch(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.tanh((x / 256).astype(np.float64)).astype(np.float32)
{
    load(tile(0), x);
    Muls(tile(1), tile(0), 1.0f / 256, 1024);
    PipeBarrier<PIPE_V>();
    Tanh(tile(2), tile(1), scratch(256), 1024);
    store(z, tile(2));
}

__global__ __vector__ void scratch_from_pipe(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.floor(x / 8)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> first, second;
    pipe.InitBuffer(first, 4096);
    pipe.InitBuffer(second, 4096);
    Tile a = first.Get<float>(), b = second.Get<float>();
    DataCopy(a, global(x), 1024);
    order<HardEvent::MTE2_V>(0);
    Muls(a, a, 0.125f, 1024);
    PipeBarrier<PIPE_V>();
    Floor(b, a, 1024);
    store(z, b);
}

__global__ __vector__ void power_of_numbers(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.minimum(x, 512) ** 2
{
    load(tile(0), x);
    Mins(tile(1), tile(0), 512.0f, 1024);
    PipeBarrier<PIPE_V>();
    Power<float, false>(tile(2), tile(1), 2.0f, scratch(1536), 1024);
    store(z, tile(2));
}

__global__ __vector__ void column_for_rows(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.repeat(x[:16], 64)
{
    load(tile(0), x);
    LocalTensor<uint8_t> memory = scratch(256);
    const uint32_t to[2] = {16, 64}, from[2] = {16, 1};
    Broadcast<float, 2, 1>(tile(1), tile(0), to, from, memory);
    store(z, tile(1));
}

__global__ __vector__ void row_for_columns(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.tile(x[:64], 16)
{
    load(tile(0), x);
    LocalTensor<uint8_t> memory = scratch(256);
    const uint32_t to[2] = {16, 64}, from[2] = {1, 64};
    Broadcast<float, 2, 0>(tile(1), tile(0), to, from, memory);
    store(z, tile(1));
}

__global__ __vector__ void largest_of_rows(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(y.reshape(16, 64).max(1))
{
    load(tile(0), y);
    const uint32_t shape[2] = {16, 64};
    ReduceMax<float, Pattern::Reduce::AR>(tile(1), tile(0), scratch(4096), shape, true);
    store(z, tile(1), 16);
}

__global__ __vector__ void sum_of_columns(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(x.reshape(16, 64).sum(0))
{
    load(tile(0), x);
    const uint32_t shape[2] = {16, 64};
    ReduceSum<float, Pattern::Reduce::RA>(tile(1), tile(0), scratch(2048), shape, true);
    store(z, tile(1), 64);
}

__global__ __vector__ void padded_reduction(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(x.reshape(16, 64)[:, :60].sum(1))
{
    for (int32_t row = 0; row < 16; ++row) {
        DataCopyPad(tile(0)[row * 64], global(x)[row * 64], DataCopyExtParams(1, 240, 0, 0, 0), DataCopyPadExtParams<float>());
    }
    order<HardEvent::MTE2_V>(0);
    const uint32_t shape[2] = {16, 60};
    ReduceSum<float, Pattern::Reduce::AR>(tile(1), tile(0), scratch(4096), shape, true);
    Adds(tile(2), tile(0), 0.0f, 64);
    store(z, tile(1), 16);
}

__global__ __vector__ void softmax_in_place(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.full(1024, 1 / 64)
{
    Duplicate(tile(0), 3.0f, 1024);
    PipeBarrier<PIPE_V>();
    SoftMax<float>(tile(0), tile(0), scratch(544), SoftMaxTiling(), SoftMaxShapeInfo{16, 64, 16, 64});
    store(z, tile(0));
}

__global__ __vector__ void softmax_of_padded_rows(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: pad(np.tile(np.full(5, 0.2), 1))
{
    DataCopyPad(tile(0), global(x), DataCopyExtParams(1, 20, 0, 0, 0), DataCopyPadExtParams<float>());
    order<HardEvent::MTE2_V>(0);
    Muls(tile(0), tile(0), 0.0f, 5);
    PipeBarrier<PIPE_V>();
    SoftMax<float>(tile(1), tile(0), scratch(320), SoftMaxTiling(), SoftMaxShapeInfo{1, 8, 1, 5});
    order<HardEvent::V_MTE3>(0);
    DataCopyPad(global(z), tile(1), DataCopyExtParams(1, 20, 0, 0, 0));
}

// Kernels of the cube core, of flags between cores and of the advanced interface with one mistake each.
// A comment names the rule that must be reported for that line; nothing else may be.
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

__aicore__ inline LocalTensor<uint8_t> scratch(uint32_t bytes) { return LocalTensor<uint8_t>(TPosition::VECCALC, 65536, bytes); }

}  // namespace

__global__ __cube__ void race_fetch_spread(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    DataCopy(m.a1, global(x), Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
    LoadData(m.a2, m.a1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));  // rule: race
}

__global__ __cube__ void race_spread_product(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    fetch(m, x, y);
    order<HardEvent::MTE2_MTE1>(0);
    spread(m);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));  // rule: race
}

__global__ __cube__ void race_product_out(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    Fixpipe(global(z), m.c, FixpipeParamsV220(16, 16, 16, 16, false));  // rule: race
}

__global__ __cube__ void race_small_products(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, false));  // rule: race
    finish(m, z);
}

__global__ __cube__ void race_product_spread(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    LoadData(m.a2, m.b1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));  // rule: race
    finish(m, z);
}

__global__ __cube__ void race_out_product(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    finish(m, z);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));  // rule: race
}

__global__ __cube__ void unit_flag_never_set(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 2, false, true));
    Fixpipe(global(z), m.c, FixpipeParamsV220(16, 16, 16, 16, false, NoQuant, 0, 1, 0, 0, 3));  // rule: deadlock
}

__global__ __cube__ void unit_flag_value(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 1, false, true));  // rule: unit-flag
}

__global__ __cube__ void spread_to_l0c(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    fetch(m, x, y);
    order<HardEvent::MTE2_MTE1>(0);
    LoadData(m.c, m.a1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));  // rule: position
}

__global__ __cube__ void operands_exchanged(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.b2, m.b2, MmadParams(16, 16, 16, 0, false, true));  // rule: position
}

__global__ __cube__ void out_to_ub(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    LocalTensor<half> u(TPosition::VECIN, 0, 256);
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    order<HardEvent::M_FIX>(0);
    Fixpipe<half, float, CFG_NZ>(u, m.c, FixpipeParamsV220(16, 16, 16, 16, false, F322F16));  // rule: position
}

__global__ __cube__ void fractal_alignment(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    fetch(m, x, y);
    order<HardEvent::MTE2_MTE1>(0);
    LoadData(m.a2[64], m.a1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));  // rule: alignment
}

__global__ __cube__ void result_alignment(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c[128], m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));  // rule: alignment
}

__global__ __cube__ void too_many_repeats(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    const int repeats = 256;
    LoadData(m.a2, m.a1, LoadData2DParams(0, repeats, 0, 0, 0, false, 0));  // rule: copy-limit
}

__global__ __cube__ void transposed_floats(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    LoadData(m.a2, m.a1, LoadData2DParams(0, 1, 1, 0, 0, true, 0));  // rule: dtype
}

__global__ __cube__ void product_of_mixed_types(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    Mmad(m.c.ReinterpretCast<int32_t>(), m.a2.ReinterpretCast<half>(), m.b2.ReinterpretCast<half>(), MmadParams(16, 16, 16, 0, false, true));  // rule: dtype
}

__global__ __cube__ void product_of_uint8(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    Mmad(m.c.ReinterpretCast<int32_t>(), m.a2.ReinterpretCast<uint8_t>(), m.b2.ReinterpretCast<uint8_t>(), MmadParams(16, 16, 32, 0, false, true));  // rule: dtype
}

__global__ __cube__ void product_too_large(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    const int rows = 4096;
    Mmad(m.c, m.a2, m.b2, MmadParams(rows, 16, 16, 0, false, true));  // rule: copy-limit
}

__global__ __cube__ void pitch_of_16_bits(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    const int pitch = 65536;
    DataCopy(m.a1, global(x), Nd2NzParams(1, 1, 16, 0, pitch, 16, 1, 0));  // rule: copy-limit
}

__global__ __cube__ void fetch_beyond_global(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    DataCopy(m.a1, global(x)[1000], Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));  // rule: gm-out-of-bounds
}

__global__ __cube__ void fetch_beyond_tensor(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a(TPosition::A1, 0, 128);
    DataCopy(a, global(x), Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));  // rule: tensor-too-small
}

__global__ __cube__ void beyond_l0a(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a(TPosition::A2, 0, 16385);  // rule: capacity
}

__global__ __cube__ void out_without_mode(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    GlobalTensor<half> h;
    h.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z));
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    order<HardEvent::M_FIX>(0);
    Fixpipe(h, m.c, FixpipeParamsV220(16, 16, 16, 16, false));  // rule: quantisation
}

__global__ __cube__ void scales_missing(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    GlobalTensor<int8_t> h;
    h.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(z));
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    order<HardEvent::M_FIX>(0);
    Fixpipe(h, m.c, FixpipeParamsV220(16, 16, 16, 16, false, VQF322B8_PRE));  // rule: quantisation
}

__global__ __cube__ void channels_of_fractals(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
    order<HardEvent::M_FIX>(0);
    Fixpipe<float, float, CFG_NZ>(global(z), m.c, FixpipeParamsV220(12, 16, 16, 32, false));  // rule: channels
}

__global__ __cube__ void channels_of_image(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    fetch(m, x, y);
    order<HardEvent::MTE2_MTE1>(0);
    LoadData3DParamsV2<float> params;
    params.l1H = 1;
    params.l1W = 16;
    params.channelSize = 13;
    params.kExtension = 16;
    params.mExtension = 16;
    LoadData(m.a2, m.a1, params);  // rule: channels
}

__global__ __cube__ void rows_never_loaded(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 24, 0, false, true));
    order<HardEvent::M_FIX>(0);
    Fixpipe(global(z), m.c, FixpipeParamsV220(16, 16, 16, 16, false));  // rule: uninitialised
}

__global__ __cube__ void start_never_computed(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, false));
    order<HardEvent::M_FIX>(0);
    Fixpipe(global(z), m.c, FixpipeParamsV220(16, 16, 16, 16, false));  // rule: uninitialised
}

__global__ __cube__ void more_columns_than_computed(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    prepare(m, x, y);
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 15, 16, 0, false, true));
    order<HardEvent::M_FIX>(0);
    Fixpipe(global(z), m.c, FixpipeParamsV220(16, 16, 16, 16, false));  // rule: uninitialised
}

__global__ __vector__ void product_on_vector_core(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));  // rule: wrong-core
}

__global__ __cube__ void flag_in_cube_kernel(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    CrossCoreSetFlag<2, PIPE_FIX>(1);  // rule: cross-core-kernel
}

__global__ __mix__(1, 2) void flag_of_one_half(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    if ASCEND_IS_AIV {
        if (GetSubBlockIdx() == 0) {
            CrossCoreSetFlag<2, PIPE_MTE3>(1);
        }
    }
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(1);  // rule: deadlock
    }
}

__global__ __mix__(1, 2) void flag_number(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    if ASCEND_IS_AIC {
        CrossCoreSetFlag<2, PIPE_FIX>(16);  // rule: cross-core-flag
    }
}

__global__ __mix__(1, 2) void flag_mode(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    if ASCEND_IS_AIC {
        CrossCoreSetFlag<3, PIPE_FIX>(1);  // rule: cross-core-flag
    }
}

__global__ __mix__(1, 1) void flag_sixteen_times(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    if ASCEND_IS_AIC {
        for (int k = 0; k < 16; ++k) {
            CrossCoreSetFlag<2, PIPE_FIX>(1);  // rule: cross-core-flag
        }
    }
}

__global__ __mix__(1, 1) void race_between_kinds(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Matrices m;
    if ASCEND_IS_AIC {
        prepare(m, x, y);
        Mmad(m.c, m.a2, m.b2, MmadParams(16, 16, 16, 0, false, true));
        order<HardEvent::M_FIX>(0);
        Fixpipe(global(z), m.c, FixpipeParamsV220(16, 16, 16, 16, false));  // rule: race?
    }
    if ASCEND_IS_AIV {
        DataCopy(tile(0), global(x), 256);
        order<HardEvent::MTE2_MTE3>(0);
        DataCopy(global(z), tile(0), 256);  // rule: race?
    }
}

__global__ __vector__ void more_blocks_than_cores(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 49
{
    SyncAll();  // rule: deadlock
}

__global__ __vector__ void turn_never_comes(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2
{
    GlobalTensor<int32_t> global_space;
    global_space.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x), 1024);
    LocalTensor<int32_t> local_space(TPosition::VECCALC, 0, 64);
    if (GetBlockIdx() == 1) {
        WaitPreBlock(global_space, local_space);  // rule: deadlock
    }
}

__global__ __vector__ void wait_for_nobody(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2
{
    GlobalTensor<int32_t> global_space;
    global_space.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(x), 1024);
    LocalTensor<int32_t> local_space(TPosition::VECCALC, 0, 64);
    if (GetBlockIdx() == 1) {
        IBWait(global_space, local_space, 0, 1);  // rule: deadlock
    } else {
        IBSet(global_space, local_space, 0, 0);
    }
}

__global__ __vector__ void scratch_too_small(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    Tanh(tile(1), tile(0), scratch(224), 1024);  // rule: tmp-too-small
}

__global__ __vector__ void scratch_of_rows_too_small(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    SoftMax<float>(tile(1), tile(0), scratch(512), SoftMaxTiling(), SoftMaxShapeInfo{16, 64, 16, 64});  // rule: tmp-too-small
}

__global__ __vector__ void scratch_left_too_small(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 184 * 1024 - 256);
    Tile a = buffer.Get<float>();
    Duplicate(a, 1.0f, 64);
    PipeBarrier<PIPE_V>();
    Erf(a[1024], a, 64);  // rule: tmp-too-small
}

__global__ __vector__ void scratch_from_no_pipe(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    Sigmoid(tile(1), tile(0), 1024);  // rule: no-pipe
}

__global__ __vector__ void scratch_on_source(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    Gelu(tile(1), tile(0), tile(0)[512].ReinterpretCast<uint8_t>(), 1024);  // rule: overlap
}

__global__ __vector__ void function_in_place(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    Sin(tile(0), tile(0), scratch(4096), 1024);  // rule: overlap
}

__global__ __vector__ void function_of_integers(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<int32_t> a(TPosition::VECCALC, 0, 64), b(TPosition::VECCALC, 4096, 64);
    Duplicate(a, 1, 64);
    PipeBarrier<PIPE_V>();
    Log(b, a, 64);  // rule: dtype
}

__global__ __vector__ void race_with_function(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    Tanh(tile(1), tile(0), scratch(4096), 1024);
    Adds(tile(2), tile(1), 1.0f, 1024);  // rule: race
}

__global__ __vector__ void rows_of_softmax(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    SoftMax<float>(tile(1), tile(0), scratch(4096), SoftMaxTiling(), SoftMaxShapeInfo{8, 12, 8, 12});  // rule: alignment
}

__global__ __vector__ void softmax_of_nothing(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Duplicate(tile(0), 1.0f, 60);
    PipeBarrier<PIPE_V>();
    SoftMax<float>(tile(1), tile(0), scratch(4096), SoftMaxTiling(), SoftMaxShapeInfo{1, 64, 1, 64});  // rule: uninitialised
}

__global__ __vector__ void broadcast_shape(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    LocalTensor<uint8_t> memory = scratch(8192);
    const uint32_t to[2] = {16, 64}, from[2] = {8, 1};
    Broadcast<float, 2, 1>(tile(1), tile(0), to, from, memory);  // rule: shape
}

__global__ __vector__ void reduction_without_padding(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    load(tile(0), x);
    const uint32_t shape[2] = {16, 60};
    ReduceSum<float, Pattern::Reduce::AR>(tile(1), tile(0), scratch(8192), shape, false);  // rule: alignment
}

__global__ __vector__ void reduction_of_halves(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<half> a(TPosition::VECCALC, 0, 64), b(TPosition::VECCALC, 4096, 64);
    Duplicate(a, half(1.0f), 64);
    PipeBarrier<PIPE_V>();
    const uint32_t shape[2] = {4, 16};
    ReduceSum<half, Pattern::Reduce::AR>(b, a, scratch(8192), shape, true);  // rule: dtype
}

__global__ __cube__ void vectors_on_a_cube_core(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    Adds(a, a, 1.0f, 64);       // rule: wrong-core
    DataCopy(a, global(x), 8);  // rule: wrong-core
}

__global__ __mix__(1, 2) void cross_flag_left(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    if ASCEND_IS_AIV {
        CrossCoreSetFlag<2, PIPE_MTE3>(1);  // rule: cross-core-flag
    }
}

__global__ __mix__(1, 2) void cross_flag_of_one_of_two(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    if (ASCEND_IS_AIV && GetSubBlockIdx() == 1) {
        CrossCoreSetFlag<2, PIPE_MTE3>(1);  // rule: cross-core-flag
    }
}

__global__ __vector__ void all_without_cube_cores(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    SyncAll<false>();  // rule: deadlock
}

__global__ __vector__ void pool_in_a_smaller_pool(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC> first, second;
    pipe.InitBufPool(first, 4096);
    pipe.InitBufPool(second, 8192, first);  // rule: capacity
}

__global__ __vector__ void pool_of_five_buffers(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC> pool;
    TBuf<TPosition::VECCALC> buffers[5];
    pipe.InitBufPool(pool, 4096);
    for (auto& buffer : buffers) {
        pool.InitBuffer(buffer, 32);  // rule: buffer-count
    }
}

__global__ __vector__ void scale_never_set(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<int32_t> a(TPosition::VECCALC, 0, 64);
    LocalTensor<half> b(TPosition::VECCALC, 4096, 64);
    Duplicate(a, 1, 64);
    PipeBarrier<PIPE_V>();
    Cast(b, a, RoundMode::CAST_NONE, 64);  // rule: uninitialised
}

__global__ __vector__ void products_to_a_narrow_sum(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    LocalTensor<half> sum(TPosition::VECCALC, 65536, 64);
    load(a, x);
    Duplicate(sum, half(1), 64);
    PipeBarrier<PIPE_V>();
    Axpy(sum, a, 1.0f, 64);  // rule: dtype
}

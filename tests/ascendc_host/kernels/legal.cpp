// Kernels that come close to a mistake and are right: nothing may be reported, and z holds what the comment says.
// Inputs: x and y, 1024 floats each (x[i] = i, y[i] = 1024 - i); z, 1024 floats, is the output.
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

__aicore__ inline Tile tile(uint32_t number)
{
    return Tile(TPosition::VECCALC, number * 4096, 1024);
}

template <HardEvent event>
__aicore__ inline void order(int32_t id)
{
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

__aicore__ inline void load(const Tile& to, GM_ADDR from)
{
    DataCopy(to, global(from), 1024);
    order<HardEvent::MTE2_V>(0);
}

__aicore__ inline void store(GM_ADDR to, const Tile& from)
{
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(to), from, 1024);
}

// Hands out two buffers of the pool, wherever it lies.
class OwnPool {
public:
    OwnPool() { Init(); }
    template <typename Queue>
    void InitBuffer(Queue& queue, uint8_t number, uint32_t bytes)
    {
        const TBufHandle first = GetBufHandle(GetCurBufSize());
        queue.InitStartBufHandle(first, number, bytes);
        for (uint32_t k = 0; k < number; ++k) {
            queue.InitBufHandle(this, k, first, GetCurAddr() + k * bytes, bytes);
        }
        SetCurAddr(GetCurAddr() + number * bytes);
        SetCurBufSize(GetCurBufSize() + number);
    }
    EXTERN_IMPL_BUFPOOL(OwnPool, TPosition::VECCALC, 8)
};

}  // namespace

__global__ __vector__ void in_place(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x + 1
{
    Tile a = tile(0);
    load(a, x);
    Adds(a, a, 1.0f, 1024);
    store(z, a);
}

__global__ __vector__ void in_place_by_repeats(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x + 1
{
    Tile a = tile(0);
    load(a, x);
    Adds(a, a, 1.0f, uint64_t{64}, 16, {1, 1, 8, 8});
    store(z, a);
}

__global__ __vector__ void halves_of_one_tensor(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.concatenate([x[:512], x[:512] + 1])
{
    Tile a = tile(0);
    load(a, x);
    Adds(a[512], a, 1.0f, 512);
    store(z, a);
}

__global__ __vector__ void accumulate(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.tile(x.reshape(16, 64).sum(0), 16)
{
    Tile a = tile(0), b = tile(1), c = tile(2);
    load(a, x);
    Duplicate(b, 0.0f, 64);
    PipeBarrier<PIPE_V>();
    Add(b, a, b, uint64_t{64}, 16, {1, 1, 1, 0, 8, 0});
    PipeBarrier<PIPE_V>();
    Adds(c, b, 0.0f, uint64_t{64}, 16, {1, 1, 8, 0});
    store(z, c);
}

__global__ __vector__ void broadcast_a_block(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x + np.tile(y[:8], 128)
{
    Tile a = tile(0), b = tile(1), c = tile(2);
    load(a, x);
    load(b, y);
    Add(c, a, b, uint64_t{64}, 16, {1, 1, 0, 8, 8, 0});
    store(z, c);
}

__global__ __vector__ void most_repeats(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.full(1024, 2)
{
    LocalTensor<float> a(TPosition::VECCALC, 0, 64 * 255), b(TPosition::VECCALC, 65536, 64 * 255);
    Duplicate(a, 1.0f, 64 * 255);
    PipeBarrier<PIPE_V>();
    Adds(b, a, 1.0f, uint64_t{64}, 255, {1, 1, 8, 8});
    store(z, b);
}

__global__ __vector__ void no_repeats(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x
{
    Tile a = tile(0);
    load(a, x);
    Adds(a, a, 1.0f, uint64_t{64}, 0, {1, 1, 8, 8});
    store(z, a);
}

__global__ __vector__ void nothing_to_copy(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x
{
    Tile a = tile(0);
    load(a, x);
    DataCopy(a[3], global(x), DataCopyParams(0, 1, 0, 0));
    store(z, a);
}

__global__ __vector__ void ragged_count(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) < 1021, x + 1, x)
{
    Tile a = tile(0);
    load(a, x);
    Adds(a, a, 1.0f, 1021);
    store(z, a);
}

__global__ __vector__ void dummy_lanes(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) < 20, x + x, 0)
{
    Tile a = tile(0), b = tile(1);
    DataCopyPad(a, global(x), DataCopyExtParams(4, 20, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0));
    order<HardEvent::MTE2_V>(0);
    Add(b, a, a, 32);
    order<HardEvent::V_MTE3>(0);
    DataCopyPad(global(z), b, DataCopyExtParams(4, 20, 0, 0, 0));
}

__global__ __vector__ void padded_rows(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.concatenate([np.pad(x[:20].reshape(4, 5), ((0, 0), (1, 2)), constant_values=9).ravel() if False else np.array([v for r in x[:20].reshape(4, 5) for v in (9, *r, 9, 9)]), np.zeros(992)])
{
    Tile a = tile(0);
    DataCopyPad(a, global(x), DataCopyExtParams(4, 20, 0, 0, 0), DataCopyPadExtParams<float>(true, 1, 2, 9.0f));
    order<HardEvent::MTE2_MTE3>(0);
    DataCopy(global(z), a, 32);
}

__global__ __vector__ void compare_rounded_up(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) < 40, np.where(x < 10, x, 7), 0)
{
    Tile a = tile(0), b = tile(1);
    LocalTensor<uint8_t> bits(TPosition::VECCALC, 8192, 32);
    DataCopyPad(a, global(x), DataCopyExtParams(1, 160, 0, 0, 0), DataCopyPadExtParams<float>());
    order<HardEvent::MTE2_V>(0);
    CompareScalar(bits, a, 10.0f, CMPMODE::LT, 64);
    PipeBarrier<PIPE_V>();
    Select(b, bits, a, 7.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 40);
    order<HardEvent::V_MTE3>(0);
    DataCopyPad(global(z), b, DataCopyExtParams(1, 160, 0, 0, 0));
}

__global__ __vector__ void bits_in_part(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) < 12, np.where((x < 10) & (x > 3), x, 0), 0)
{
    Tile a = tile(0), b = tile(1);
    LocalTensor<uint8_t> low(TPosition::VECCALC, 8192, 32), high(TPosition::VECCALC, 8224, 32);
    DataCopyPad(a, global(x), DataCopyExtParams(1, 48, 0, 0, 0), DataCopyPadExtParams<float>());
    order<HardEvent::MTE2_V>(0);
    CompareScalar(low, a, 10.0f, CMPMODE::LT, 64);
    CompareScalar(high, a, 3.0f, CMPMODE::GT, 64);
    PipeBarrier<PIPE_V>();
    And(low.ReinterpretCast<uint16_t>(), low.ReinterpretCast<uint16_t>(), high.ReinterpretCast<uint16_t>(), 4);
    PipeBarrier<PIPE_V>();
    Select(b, low, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 12);
    order<HardEvent::V_MTE3>(0);
    DataCopyPad(global(z), b, DataCopyExtParams(1, 48, 0, 0, 0));
}

__global__ __vector__ void reduce_valid_lanes(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) < 1, x[:60].sum(), 0)
{
    Tile a = tile(0), b = tile(1);
    DataCopyPad(a, global(x), DataCopyExtParams(1, 240, 0, 0, 0), DataCopyPadExtParams<float>());
    order<HardEvent::MTE2_V>(0);
    WholeReduceSum(b, a, 60, 1, 1, 1, 8);
    order<HardEvent::V_MTE3>(0);
    DataCopyPad(global(z), b, DataCopyExtParams(1, 4, 0, 0, 0));
}

__global__ __vector__ void odd_lanes(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) % 2 == 1, x + 1, x)
{
    Tile a = tile(0);
    load(a, x);
    const uint64_t mask[2] = {0xaaaaaaaaaaaaaaaaull, 0};
    Adds(a, a, 1.0f, mask, 16, {1, 1, 8, 8});
    store(z, a);
}

__global__ __vector__ void disjoint_lanes(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) % 64 < 32, 1, 2)
{
    Tile a = tile(0);
    const uint64_t first[2] = {0x00000000ffffffffull, 0}, second[2] = {0xffffffff00000000ull, 0};
    Duplicate(a, 1.0f, first, 16, 1, 8);
    Duplicate(a, 2.0f, second, 16, 1, 8);
    store(z, a);
}

__global__ __vector__ void two_readers(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: (x + 1) * (x + 2)
{
    Tile a = tile(0), b = tile(1), c = tile(2);
    load(a, x);
    Adds(b, a, 1.0f, 1024);
    Adds(c, a, 2.0f, 1024);
    PipeBarrier<PIPE_V>();
    Mul(b, b, c, 1024);
    store(z, b);
}

__global__ __vector__ void double_buffer(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x * 2
{
    SetFlag<HardEvent::MTE3_MTE2>(0);
    SetFlag<HardEvent::MTE3_MTE2>(1);
    for (int32_t i = 0; i < 8; ++i) {
        const int32_t id = i % 2;
        Tile a(TPosition::VECCALC, id * 512, 128);
        WaitFlag<HardEvent::MTE3_MTE2>(id);
        DataCopy(a, global(x)[i * 128], 128);
        order<HardEvent::MTE2_V>(id);
        Muls(a, a, 2.0f, 128);
        order<HardEvent::V_MTE3>(id);
        DataCopy(global(z)[i * 128], a, 128);
        SetFlag<HardEvent::MTE3_MTE2>(id);
    }
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(1);
}

__global__ __vector__ void order_through_third(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: y
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a, 0.0f, 1024);
    order<HardEvent::V_MTE3>(1);
    order<HardEvent::MTE3_MTE2>(1);
    DataCopy(a, global(y), 1024);  // the vector pipe is done with it, by way of MTE3
    order<HardEvent::MTE2_MTE3>(1);
    DataCopy(global(z), a, 1024);
}

__global__ __vector__ void queues(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x + y
{
    TPipe pipe;
    TQue<TPosition::VECIN, 2> first, second;
    TQue<TPosition::VECOUT, 2> out;
    pipe.InitBuffer(first, 2, 512);
    pipe.InitBuffer(second, 2, 512);
    pipe.InitBuffer(out, 2, 512);
    for (int32_t i = 0; i < 8; ++i) {
        Tile a = first.AllocTensor<float>();
        Tile b = second.AllocTensor<float>();
        DataCopy(a, global(x)[i * 128], 128);
        DataCopy(b, global(y)[i * 128], 128);
        first.EnQue(a);
        second.EnQue(b);
        a = first.DeQue<float>();
        b = second.DeQue<float>();
        Tile c = out.AllocTensor<float>();
        Add(c, a, b, 128);
        out.EnQue(c);
        first.FreeTensor(a);
        second.FreeTensor(b);
        c = out.DeQue<float>();
        DataCopy(global(z)[i * 128], c, 128);
        out.FreeTensor(c);
    }
}

__global__ __vector__ void queue_ahead(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> through;
    pipe.InitBuffer(through, 2, 2048);
    for (int32_t i = 0; i < 2; ++i) {
        Tile a = through.AllocTensor<float>();
        DataCopy(a, global(x)[i * 512], 512);
        through.EnQue(a);
    }
    for (int32_t i = 0; i < 2; ++i) {
        Tile a = through.DeQue<float>();
        DataCopy(global(z)[i * 512], a, 512);
        through.FreeTensor(a);
    }
}

__global__ __vector__ void temporary_buffer(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x * 3
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<TPosition::VECCALC> temporary;
    pipe.InitBuffer(in, 1, 4096);
    pipe.InitBuffer(out, 1, 4096);
    pipe.InitBuffer(temporary, 4096);
    Tile a = in.AllocTensor<float>();
    DataCopy(a, global(x), 1024);
    in.EnQue(a);
    a = in.DeQue<float>();
    Tile t = temporary.Get<float>();
    Tile b = out.AllocTensor<float>();
    Muls(t, a, 2.0f, 1024);
    PipeBarrier<PIPE_V>();
    Add(b, t, a, 1024);
    in.FreeTensor(a);
    out.EnQue(b);
    b = out.DeQue<float>();
    DataCopy(global(z), b, 1024);
    out.FreeTensor(b);
}

__global__ __vector__ void atomic_cores(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 5  z: 5 * x
{
    Tile a = tile(0);
    load(a, x);
    order<HardEvent::V_MTE3>(0);
    SetAtomicAdd<float>();
    DataCopy(global(z), a, 1024);
    SetAtomicNone();
}

__global__ __vector__ void same_input(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 4  z: x
{
    Tile a = tile(0);
    load(a, x);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z)[GetBlockIdx() * 256], a[GetBlockIdx() * 256], 256);
}

__global__ __vector__ void neighbours(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 3  z: np.where(np.arange(1024) < 21, x, 0)
{
    Tile a = tile(0);
    const int64_t first = GetBlockIdx() * 7;
    DataCopyPad(a, global(x)[first], DataCopyExtParams(1, 28, 0, 0, 0), DataCopyPadExtParams<float>());
    order<HardEvent::MTE2_MTE3>(0);
    DataCopyPad(global(z)[first], a, DataCopyExtParams(1, 28, 0, 0, 0));
}

__global__ __vector__ void wait_for_all(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2  z: np.concatenate([np.full(512, 2), np.full(512, 1)])
{
    Tile a = tile(0), b = tile(1);
    const int64_t mine = GetBlockIdx(), other = 1 - mine;
    Duplicate(a, static_cast<float>(mine + 1), 512);
    order<HardEvent::V_MTE3>(0);
    Floats scratch = global(x);
    DataCopy(scratch[mine * 512], a, 512);
    SyncAll();
    DataCopy(b, scratch[other * 512], 512);
    order<HardEvent::MTE2_MTE3>(0);
    DataCopy(global(z)[mine * 512], b, 512);
}

__global__ __mix__(1, 2) void flags_between_cores(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.full(1024, 3)
{
    Tile a = tile(0);
    if ASCEND_IS_AIV {
        Floats scratch = global(x);
        Duplicate(a, 3.0f, 512);
        order<HardEvent::V_MTE3>(0);
        DataCopy(scratch[GetSubBlockIdx() * 512], a, 512);
        CrossCoreSetFlag<2, PIPE_MTE3>(1);
        CrossCoreWaitFlag(2);
        const int64_t other = 1 - GetSubBlockIdx();
        DataCopy(a[512], scratch[other * 512], 512);
        order<HardEvent::MTE2_MTE3>(1);
        DataCopy(global(z)[other * 512], a[512], 512);
    }
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(1);
        CrossCoreSetFlag<2, PIPE_FIX>(2);
    }
}

__global__ __vector__ void scalar_with_flags(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x + x[5] + 1
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a, 1.0f, 1024);
    order<HardEvent::V_S>(0);
    const float value = b.GetValue(5);
    b.SetValue(1000, 0.0f);
    order<HardEvent::S_V>(0);
    Adds(b, a, value, 1024);
    store(z, b);
}

__global__ __vector__ void scalar_lines_apart(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 4  z: np.where(np.arange(1024) % 16 == 0, np.where(np.arange(1024) < 64, 1, 0), 0)
{
    global(z).SetValue(GetBlockIdx() * 16, 1.0f);
}

__global__ __vector__ void whole_memory(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.full(1024, 4)
{
    LocalTensor<float> all(TPosition::VECCALC, 0, 49152);
    Duplicate(all, 4.0f, 49152);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z), all[48128], 1024);
}

__global__ __vector__ void unwritten_but_unused(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x
{
    Tile a = tile(0), b = tile(1), c = tile(2);
    load(a, x);
    DataCopy(b, c, 1024);
    PipeBarrier<PIPE_V>();
    Add(c, b, b, 1024);
    PipeBarrier<PIPE_V>();
    Adds(c, a, 0.0f, 1024);
    store(z, c);
}

__global__ __vector__ void barrier_of_all(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x * 2
{
    Tile a = tile(0);
    DataCopy(a, global(x), 1024);
    PipeBarrier<PIPE_ALL>();
    Muls(a, a, 2.0f, 1024);
    PipeBarrier<PIPE_ALL>();
    DataCopy(global(z), a, 1024);
}

__global__ __vector__ void narrow_in_place(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x.astype(np.float16).astype(np.float32)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Cast(a.ReinterpretCast<half>(), a, RoundMode::CAST_RINT, 1024);
    PipeBarrier<PIPE_V>();
    Cast(b, a.ReinterpretCast<half>(), RoundMode::CAST_NONE, 1024);
    store(z, b);
}

__global__ __vector__ void widen_in_place(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) < 64, x, 0)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Cast(b.ReinterpretCast<half>(), a, RoundMode::CAST_RINT, 64);
    PipeBarrier<PIPE_V>();
    Cast(b, b.ReinterpretCast<half>(), RoundMode::CAST_NONE, 64);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z), b, 64);
}

__global__ __vector__ void counter_mode(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) < 1000, x + y, x)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    load(b, y);
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(1000);
    Add<float, false>(a, a, b, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8});
    SetMaskNorm();
    ResetMask();
    store(z, a);
}

__global__ __vector__ void rows_with_gaps(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.where(np.arange(1024) % 64 < 16, x, 0)
{
    Tile a = tile(0);
    DataCopy(a, global(x), DataCopyParams(16, 2, 6, 0));
    order<HardEvent::MTE2_MTE3>(0);
    DataCopy(global(z), a, DataCopyParams(16, 2, 0, 6));
}

__global__ __vector__ void every_event_id(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x
{
    Tile a = tile(0);
    for (int32_t id = 0; id < 8; ++id) {
        DataCopy(a[id * 128], global(x)[id * 128], 128);
        SetFlag<HardEvent::MTE2_MTE3>(id);
    }
    for (int32_t id = 7; id >= 0; --id) {
        WaitFlag<HardEvent::MTE2_MTE3>(id);
        DataCopy(global(z)[id * 128], a[id * 128], 128);
    }
}

__global__ __vector__ void block_broadcast(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.repeat(x[:128], 8)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Brcb(b, a, 16, {1, 8});
    store(z, b);
}

__global__ __vector__ void kept_elements(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.concatenate([x[1::2], np.zeros(512)])
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    uint64_t kept = 0;
    GatherMask(b, a, 2, false, 0, {1, 16, 8, 0}, kept);
    order<HardEvent::V_MTE3>(0);
    DataCopyPad(global(z), b, DataCopyExtParams(1, static_cast<uint32_t>(kept * 4), 0, 0, 0));
}

__global__ __vector__ void pools_of_one_memory(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.concatenate([x[:512], y[512:]])
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC> first, second;
    pipe.InitBufPool(first, 4096);
    pipe.InitBufPool(second, 4096, first);
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> one, other;
    first.InitBuffer(one, 1, 2048);
    Tile a = one.AllocTensor<float>();
    DataCopy(a, global(x), 512);
    one.EnQue(a);
    a = one.DeQue<float>();
    DataCopy(global(z), a, 512);
    one.FreeTensor(a);
    first.Reset();
    second.InitBuffer(other, 1, 2048);
    a = other.AllocTensor<float>();
    DataCopy(a, global(y)[512], 512);
    other.EnQue(a);
    a = other.DeQue<float>();
    DataCopy(global(z)[512], a, 512);
    other.FreeTensor(a);
}

__global__ __vector__ void pool_of_the_kernel(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: x
{
    TPipe pipe;
    OwnPool pool;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> through;
    pipe.InitBufPool(pool, 8192);
    pool.InitBuffer(through, 2, 2048);
    for (int32_t i = 0; i < 2; ++i) {
        Tile a = through.AllocTensor<float>();
        DataCopy(a, global(x)[i * 512], 512);
        through.EnQue(a);
        a = through.DeQue<float>();
        DataCopy(global(z)[i * 512], a, 512);
        through.FreeTensor(a);
    }
    pool.Reset();
}

__global__ __mix__(1, 2) void vectors_alone_in_a_mixed_kernel(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // z: np.full(1024, 5)
{
    Tile a = tile(0);
    Duplicate(a, 5.0f, 1024);
    if ASCEND_IS_AIV {
        order<HardEvent::V_MTE3>(0);
    }
    DataCopy(global(z)[GetSubBlockIdx() * 512], a, 512);
}

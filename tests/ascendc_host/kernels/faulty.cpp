// Kernels with one mistake each. A comment names the rule that must be reported for that line; nothing else may be.
// Inputs: x and y, 1024 floats each; z, 1024 floats, is the output.
#include "kernel_operator.h"

#include <cassert>

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

}  // namespace

__global__ __vector__ void race_load_compute(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    DataCopy(a, global(x), 1024);
    Adds(b, a, 1.0f, 1024);  // rule: race
    store(z, b);
}

__global__ __vector__ void race_compute_reload(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a, 1.0f, 1024);
    DataCopy(a, global(y), 1024);  // rule: race
    store(z, b);
}

__global__ __vector__ void race_compute_store(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a, 1.0f, 1024);
    DataCopy(global(z), b, 1024);  // rule: race
}

__global__ __vector__ void race_vector_vector(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a, 1.0f, 1024);
    Muls(b, b, 2.0f, 1024);  // rule: race
    store(z, b);
}

__global__ __vector__ void race_half_of_a_block(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a, 1.0f, 1024);
    Duplicate(b, 0.0f, uint64_t{1}, 1, 1, 8);  // rule: race
    store(z, b);
}

__global__ __vector__ void race_cores(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2
{
    Tile a = tile(0);
    load(a, x);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z), a, 1024);  // rule: race
}

__global__ __vector__ void race_cores_read(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2
{
    Tile a = tile(0);
    if (GetBlockIdx() == 0) {
        Duplicate(a, 1.0f, 1024);
        order<HardEvent::V_MTE3>(0);
        DataCopy(global(z), a, 1024);  // rule: race?
    } else {
        DataCopy(a, global(z), 1024);  // rule: race?
    }
}

__global__ __vector__ void race_scalar_store(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Duplicate(b, 0.0f, 1024);
    order<HardEvent::V_S>(0);
    b.SetValue(3, 1.0f);
    Adds(b, b, 1.0f, 1024);  // rule: race
    store(z, b);
}

__global__ __vector__ void race_scalar_load(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a, 1.0f, 1024);
    float value = b.GetValue(5);  // rule: race
    PipeBarrier<PIPE_ALL>();
    Adds(b, a, 0.0f * value, 1024);
    store(z, b);
}

__global__ __vector__ void race_through_memory(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    order<HardEvent::V_MTE3>(1);
    DataCopy(global(z), a, 1024);
    DataCopy(b, global(z), 1024);  // rule: race
}

__global__ __vector__ void race_wrong_flag(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    SetFlag<HardEvent::MTE2_V>(0);
    DataCopy(a, global(x), 1024);
    WaitFlag<HardEvent::MTE2_V>(0);
    Adds(b, a, 1.0f, 1024);  // rule: race
    store(z, b);
}

__global__ __vector__ void copy_size(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopy(a, global(x), 1021);  // rule: copy-size
}

__global__ __vector__ void copy_alignment(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopy(a[3], global(x), 512);  // rule: alignment
}

__global__ __vector__ void tensor_alignment(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a(TPosition::VECCALC, 36, 64);  // rule: alignment
}

__global__ __vector__ void vector_alignment(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a[1], 1.0f, 64);  // rule: alignment
}

__global__ __vector__ void mask_too_wide(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Adds(b, a, 1.0f, uint64_t{128}, 1, {1, 1, 8, 8});  // rule: mask
}

__global__ __vector__ void repeat_wraps(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<float> a(TPosition::VECCALC, 0, 64 * 256), b(TPosition::VECCALC, 65536, 64 * 256);
    Duplicate(a, 1.0f, 64 * 256);
    PipeBarrier<PIPE_V>();
    const int repeats = 256;
    Adds(b, a, 1.0f, uint64_t{64}, repeats, {1, 1, 8, 8});  // rule: repeat
}

__global__ __vector__ void stride_wraps(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    const int stride = 256;
    Adds(b, a, 1.0f, uint64_t{64}, 1, {1, 1, 8, stride});  // rule: stride
}

__global__ __vector__ void target_block_stride(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Add(b, a, a, uint64_t{64}, 1, {0, 1, 1, 8, 8, 8});  // rule: stride
}

__global__ __vector__ void beyond_memory(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a(TPosition::VECCALC, 196608 - 4096, 2048);  // rule: capacity
}

__global__ __vector__ void beyond_tensor(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b(TPosition::VECCALC, 8192, 512);
    load(a, x);
    Adds(b, a, 1.0f, 513);  // rule: tensor-too-small
}

__global__ __vector__ void beyond_global(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopy(a, global(x)[512], 1024);  // rule: gm-out-of-bounds
}

__global__ __vector__ void before_global(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopy(a, global(x - 64), 8);  // rule: gm-out-of-bounds
}

__global__ __vector__ void scalar_beyond_global(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    global(z).SetValue(1024, 1.0f);  // rule: gm-out-of-bounds
}

__global__ __vector__ void queue_exhausted(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 1, 4096);
    Tile a = queue.AllocTensor<float>();
    Tile b = queue.AllocTensor<float>();  // rule: queue-alloc
}

__global__ __vector__ void queue_leak(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 4096);
    Tile a = queue.AllocTensor<float>();  // rule: leaked-buffer
    DataCopy(a, global(x), 1024);
}

__global__ __vector__ void queue_empty(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 1, 4096);
    Tile a = queue.DeQue<float>();  // rule: queue-empty
}

__global__ __vector__ void queue_freed_twice(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 1, 4096);
    Tile a = queue.AllocTensor<float>();
    queue.FreeTensor(a);
    queue.FreeTensor(a);  // rule: queue-free
}

__global__ __vector__ void queue_stranger(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 1, 4096);
    Tile a = tile(8);
    queue.EnQue(a);  // rule: queue-tensor
}

__global__ __vector__ void buffers_overflow(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 98336);  // rule: capacity
}

__global__ __vector__ void flag_twice(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    DataCopy(a, global(x), 1024);
    SetFlag<HardEvent::MTE2_V>(2);
    DataCopy(b, global(y), 1024);
    SetFlag<HardEvent::MTE2_V>(2);  // rule: flag-set-twice
    WaitFlag<HardEvent::MTE2_V>(2);
    WaitFlag<HardEvent::MTE2_V>(2);
}

__global__ __vector__ void flag_never_set(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopy(a, global(x), 1024);
    SetFlag<HardEvent::MTE2_V>(1);
    WaitFlag<HardEvent::MTE2_V>(1);
    WaitFlag<HardEvent::MTE3_V>(1);  // rule: deadlock
}

__global__ __vector__ void flag_never_set_scalar(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    WaitFlag<HardEvent::V_S>(1);  // rule: deadlock
}

__global__ __vector__ void flag_left(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopy(a, global(x), 1024);
    SetFlag<HardEvent::MTE2_V>(1);  // rule: flag-left-set
}

__global__ __vector__ void flag_id(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    SetFlag<HardEvent::MTE2_V>(8);  // rule: event-id
}

__global__ __vector__ void flag_of_other_core(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    SetFlag<HardEvent::MTE1_M>(0);  // rule: flag-pipe
}

__global__ __vector__ void unwritten_store(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    Duplicate(a, 1.0f, 1023);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z), a, 1024);  // rule: uninitialised
}

__global__ __vector__ void unwritten_computed(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    Add(b, a, tile(2), 1024);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z), b, 1024);  // rule: uninitialised
}

__global__ __vector__ void unwritten_scalar(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    float value = tile(0).GetValue(7);  // rule: uninitialised
    global(z).SetValue(0, value > 0 ? 1.0f : 0.0f);
}

__global__ __vector__ void unwritten_lane(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    Duplicate(a, 1.0f, 60);
    PipeBarrier<PIPE_V>();
    WholeReduceSum(b, a, 61, 1, 1, 1, 8);  // rule: uninitialised
}

__global__ __vector__ void unwritten_padding(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopyPad(a, global(x), DataCopyExtParams(4, 20, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0));
    order<HardEvent::MTE2_MTE3>(0);
    DataCopy(global(z), a, 32);  // rule: uninitialised
}

__global__ __vector__ void unwritten_choice(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    LocalTensor<uint8_t> bits(TPosition::VECCALC, 65536, 256);
    Select(b, bits, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 1024);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z), b, 1024);  // rule: uninitialised
}

__global__ __vector__ void dtype_bfloat(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<bfloat16_t> a(TPosition::VECCALC, 0, 64);
    Duplicate(a, bfloat16_t(1.0f), 64);
    PipeBarrier<PIPE_V>();
    Add(a, a, a, 64);  // rule: dtype
}

__global__ __vector__ void dtype_exp(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<int32_t> a(TPosition::VECCALC, 0, 64);
    Duplicate(a, 1, 64);
    PipeBarrier<PIPE_V>();
    Exp(a, a, 64);  // rule: dtype
}

__global__ __vector__ void dtype_cast(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<int8_t> a(TPosition::VECCALC, 0, 64);
    Tile b = tile(1);
    Cast(b, a, RoundMode::CAST_NONE, 64);  // rule: dtype
}

__global__ __vector__ void dtype_compare(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<int32_t> a(TPosition::VECCALC, 0, 64);
    LocalTensor<uint8_t> bits(TPosition::VECCALC, 4096, 32);
    Duplicate(a, 1, 64);
    PipeBarrier<PIPE_V>();
    Compare(bits, a, a, CMPMODE::LT, 64);  // rule: dtype
}

__global__ __vector__ void round_mode(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    load(a, x);
    LocalTensor<int32_t> b(TPosition::VECCALC, 4096, 64);
    Cast(b, a, RoundMode::CAST_NONE, 64);  // rule: round-mode
}

__global__ __vector__ void compare_size(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    load(a, x);
    LocalTensor<uint8_t> bits(TPosition::VECCALC, 4096, 32);
    CompareScalar(bits, a, 0.5f, CMPMODE::LT, 72);  // rule: compare-size
}

__global__ __vector__ void workspace(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1), t(TPosition::VECCALC, 8192, 24);
    load(a, x);
    ReduceMax(b, a, t, 1024, false);  // rule: workspace-too-small
}

__global__ __vector__ void copy_blocks_limit(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopyPad(a, global(x), DataCopyExtParams(4096, 0, 0, 0, 0), DataCopyPadExtParams<float>());  // rule: copy-limit
}

__global__ __vector__ void copy_gap_limit(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    const uint32_t gap = 65536;
    DataCopy(a, global(x), DataCopyParams(1, 1, gap, 0));  // rule: copy-limit
}

__global__ __vector__ void copy_padding_limit(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopyPad(a, global(x), DataCopyExtParams(1, 32, 0, 0, 0), DataCopyPadExtParams<float>(true, 0, 9, 0));  // rule: copy-limit
}

__global__ __vector__ void copy_element_parts(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    DataCopyPad(a, global(x), DataCopyExtParams(1, 30, 0, 0, 0), DataCopyPadExtParams<float>());  // rule: copy-size
}

__global__ __vector__ void overlap_in_part(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    load(a, x);
    Adds(a[8], a, 1.0f, 512);  // rule: overlap
}

__global__ __vector__ void overlap_next_repeat(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    load(a, x);
    Adds(a[64], a, 1.0f, uint64_t{64}, 4, {1, 1, 8, 8});  // rule: overlap
}

__global__ __vector__ void cross_flag_alone(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    CrossCoreSetFlag<0, PIPE_MTE3>(0);  // rule: cross-core-kernel
}

__global__ __mix__(1, 2) void cross_flag_missing(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(3);  // rule: deadlock
    }
}

__global__ __mix__(1, 2) void cross_flag_number(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    CrossCoreSetFlag<0, PIPE_MTE3>(16);  // rule: cross-core-flag
}

__global__ __vector__ void all_but_one(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 3
{
    if (GetBlockIdx() != 1) {
        SyncAll();  // rule: deadlock
    }
}

__global__ __vector__ void more_blocks_than_cores(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 49
{
    SyncAll();  // rule: deadlock
}

__global__ __vector__ void wrong_memory(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b(TPosition::A1, 0, 1024);
    load(a, x);
    Adds(b, a, 1.0f, 1024);  // rule: position
}

__global__ __vector__ void no_such_path(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b(TPosition::A1, 0, 1024);
    load(a, x);
    DataCopy(b, a, 1024);  // rule: position
}

__global__ __vector__ void shared_line(GM_ADDR x, GM_ADDR y, GM_ADDR z)  // blocks: 2
{
    global(z).SetValue(GetBlockIdx(), 1.0f);  // rule: cache-line-shared
}

__global__ __vector__ void gather_beyond(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0), b = tile(1);
    load(a, x);
    LocalTensor<uint32_t> offsets(TPosition::VECCALC, 8192, 64);
    Duplicate(offsets, uint32_t{4096}, 64);
    PipeBarrier<PIPE_V>();
    Gather(b, a, offsets, 0, 64);  // rule: gather-offset
}

__global__ __vector__ void failed_assertion(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    assert(GetBlockNum() == 7);  // rule: assertion
}

__global__ __vector__ void reserved_bytes(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> all;
    pipe.InitBuffer(all, 190000);
    Tile a = all.GetWithOffset<float>(64, 0), b = all.GetWithOffset<float>(64, 4096);
    LocalTensor<uint8_t> bits = all.GetWithOffset<uint8_t>(32, 8192);
    Duplicate(a, 1.0f, 64);
    PipeBarrier<PIPE_V>();
    CompareScalar(bits, a, 0.5f, CMPMODE::LT, 64);
    PipeBarrier<PIPE_V>();
    Select(b, bits, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);  // rule: reserved-buffer
}

__global__ __vector__ void wrong_atomic(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    SetAtomicAdd<uint32_t>();  // rule: dtype
}

__global__ __vector__ void negative_count(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile a = tile(0);
    Duplicate(a, 1.0f, -1);  // rule: count
}

__global__ __vector__ void queue_beyond_its_depth(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 4096);
    Tile a = queue.AllocTensor<float>(), b = queue.AllocTensor<float>();
    queue.EnQue(a);
    queue.EnQue(b);  // rule: queue-depth
    queue.FreeTensor(queue.DeQue<float>());
    queue.FreeTensor(queue.DeQue<float>());
}

__global__ __vector__ void queued_twice(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 2> queue;
    pipe.InitBuffer(queue, 2, 4096);
    Tile a = queue.AllocTensor<float>();
    queue.EnQue(a);
    queue.EnQue(a);  // rule: queue-tensor
    queue.FreeTensor(queue.DeQue<float>());
}

__global__ __vector__ void lost_by_select(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    Tile kept(TPosition::VECCALC, 190 * 1024, 64), a = tile(0), b = tile(1);
    load(a, x);
    LocalTensor<uint8_t> bits(TPosition::VECCALC, 65536, 32);
    Duplicate(kept, 1.0f, 64);
    CompareScalar(bits, a, 0.5f, CMPMODE::LT, 64);
    PipeBarrier<PIPE_V>();
    Select(b, bits, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
    order<HardEvent::V_MTE3>(0);
    DataCopy(global(z), kept, 64);  // rule: uninitialised
}

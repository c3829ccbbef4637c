// Kernels with one mistake each, of instructions that compute and convert. Inputs: x and y, 1024 floats each.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

template <typename T>
__aicore__ inline LocalTensor<T> tile(uint32_t number)
{
    return LocalTensor<T>(TPosition::VECCALC, number * 4096, 4096 / sizeof(T));
}

template <typename T>
__aicore__ inline LocalTensor<T> filled(uint32_t number)
{
    LocalTensor<T> tensor = tile<T>(number);
    Duplicate(tensor.template ReinterpretCast<int16_t>(), int16_t(0), 2048);
    PipeBarrier<PIPE_V>();
    return tensor;
}

}  // namespace

__global__ __vector__ void no_such_sum(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    AddReluCast(tile<uint8_t>(2), filled<half>(0), filled<half>(1), 128);  // rule: dtype
}

__global__ __vector__ void no_such_product(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    MulCast(tile<int8_t>(2), filled<int16_t>(0), filled<int16_t>(1), 128);  // rule: dtype
}

__global__ __vector__ void fused_on_whole_numbers(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    MulAddRelu(filled<int32_t>(2), filled<int32_t>(0), filled<int32_t>(1), 128);  // rule: dtype
}

__global__ __vector__ void mask_of_the_narrow_type(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<float> a = filled<float>(0), b = filled<float>(1);
    AddReluCast<half, float>(tile<half>(2), a, b, uint64_t(128), 1, BinaryRepeatParams(1, 1, 1, 4, 8, 8));  // rule: mask
}

__global__ __vector__ void no_scale(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<int32_t> a = filled<int32_t>(0), b = filled<int32_t>(1);
    AddDeqRelu(tile<half>(2), a, b, 128);  // rule: uninitialised
}

__global__ __vector__ void scale_of_another_kind(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    SetDeqScale(half(1));
    CastDequant<int8_t, int16_t, false>(tile<int8_t>(2), filled<int16_t>(0), 128);  // rule: quantisation
}

__global__ __vector__ void cast_by_scale_with_offset(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    SetDeqScale(1.0f, int16_t(0), true);
    Cast(tile<half>(2), filled<int32_t>(0), RoundMode::CAST_NONE, 128);  // rule: quantisation
}

__global__ __vector__ void sign_of_the_scale(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    SetDeqScale(1.0f, int16_t(0), true);
    CastDequant<uint8_t, int16_t, false>(tile<uint8_t>(2), filled<int16_t>(0), 128);  // rule: quantisation
}

__global__ __vector__ void scales_without_a_flag(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<int16_t> a = filled<int16_t>(0);
    VdeqInfo info;
    SetDeqScale(tile<uint64_t>(3), info);
    CastDequant<uint8_t, int16_t>(tile<uint8_t>(2), a, 128);  // rule: race
}

__global__ __vector__ void half_a_block_too_small(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    SetDeqScale(1.0f, int16_t(0), true);
    LocalTensor<int8_t> result(TPosition::VECCALC, 8192, 240);
    CastDequant<int8_t, int16_t, false>(result, filled<int16_t>(0), 128);  // rule: tensor-too-small
}

__global__ __vector__ void sources_are_lost(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    GlobalTensor<int32_t> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(z), 1024);
    LocalTensor<int32_t> a = filled<int32_t>(0), b = filled<int32_t>(1);
    SetDeqScale(half(1));
    AddDeqRelu(tile<half>(2), a, b, 128);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, 128);  // rule: uninitialised
}

__global__ __vector__ void rest_without_a_pipe(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<float> rest;
    PopStackBuffer<float, TPosition::LCM>(rest);  // rule: no-pipe
}

__global__ __vector__ void interpolation_scratch(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<half> source = filled<half>(0)[1536], weights = filled<half>(1)[2016];
    LocalTensor<uint32_t> offsets = filled<uint32_t>(2);
    LocalTensor<uint8_t> scratch(TPosition::VECCALC, 32768, 544 * 32 - 32);
    BilinearInterpolation(tile<half>(3), source, offsets, weights, uint64_t(128), 2, false, 1, 128, 2, scratch);  // rule: tmp-too-small
}

__global__ __vector__ void interpolation_rows_too_close(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<half> source = filled<half>(0)[1536], weights = filled<half>(1)[2016];
    LocalTensor<uint8_t> scratch(TPosition::VECCALC, 32768, 544 * 32);
    BilinearInterpolation(tile<half>(3), source, filled<uint32_t>(2), weights, uint64_t(128), 2, false, 1, 64, 2, scratch);  // rule: stride
}

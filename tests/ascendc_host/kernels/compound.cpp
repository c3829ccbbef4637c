// Instructions that compute and convert in one go, and scalar code that counts bits. The test computes the same with NumPy.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t COUNT = 512;

template <typename T>
__aicore__ inline GlobalTensor<T> global(GM_ADDR address)
{
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address), COUNT);
    return tensor;
}

// Loads two tensors and fills the result with sevens; `body(result, first, second)` runs between that and the store.
template <typename To, typename From, typename Body>
__aicore__ inline void between(GM_ADDR x, GM_ADDR y, GM_ADDR z, Body body)
{
    LocalTensor<From> first(TPosition::VECIN, 0, COUNT), second(TPosition::VECIN, 4096, COUNT);
    LocalTensor<To> result(TPosition::VECOUT, 8192, COUNT);
    DataCopy(first, global<From>(x), COUNT);
    DataCopy(second, global<From>(y), COUNT);
    Duplicate(result.template ReinterpretCast<int16_t>(), int16_t(0x0707), COUNT * sizeof(To) / 2);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    PipeBarrier<PIPE_V>();
    body(result, first, second);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(global<To>(z), result, COUNT);
}

// Scales 0.5, 0.75, ... with offsets -8, -7, ... for the sixteen numbers of a block.
__aicore__ inline VdeqInfo scales(bool is_signed)
{
    VdeqInfo info;
    for (int k = 0; k < 16; ++k) {
        info.vdeqScale[k] = 0.5f + 0.25f * k;
        info.vdeqOffset[k] = k - 8;
        info.vdeqSignMode[k] = is_signed;
    }
    return info;
}

template <typename To, bool high>
__aicore__ inline void dequantise(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    LocalTensor<int16_t> first(TPosition::VECIN, 0, COUNT / 2);
    LocalTensor<To> result(TPosition::VECOUT, 8192, COUNT);
    LocalTensor<uint64_t> tensor(TPosition::VECCALC, 12288, 16);
    DataCopy(first, global<int16_t>(x), COUNT / 2);
    Duplicate(result.template ReinterpretCast<int16_t>(), int16_t(0x0707), COUNT / 2);
    SetDeqScale(tensor, scales(std::is_signed_v<To>));
    SetFlag<HardEvent::S_V>(1);
    WaitFlag<HardEvent::S_V>(1);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    PipeBarrier<PIPE_V>();
    CastDequant<To, int16_t, true, high>(result, first, COUNT / 2);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(global<To>(z), result, COUNT);
}

}  // namespace

__global__ __vector__ void add_relu_cast_f16_s8(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<int8_t, half>(x, y, z, [](auto& r, auto& a, auto& b) { AddReluCast(r, a, b, COUNT); });
}
__global__ __vector__ void add_relu_cast_s16_s8(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<int8_t, int16_t>(x, y, z, [](auto& r, auto& a, auto& b) {
        AddReluCast<int8_t, int16_t>(r, a, b, uint64_t(100), 4, BinaryRepeatParams(1, 1, 1, 4, 8, 8));
    });
}
__global__ __vector__ void add_relu_cast_f32_f16(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<half, float>(x, y, z, [](auto& r, auto& a, auto& b) { AddReluCast(r, a, b, COUNT - 3); });
}
__global__ __vector__ void sub_relu_cast_f16_s8(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<int8_t, half>(x, y, z, [](auto& r, auto& a, auto& b) { SubReluCast(r, a, b, COUNT); });
}
__global__ __vector__ void sub_relu_cast_s16_s8(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<int8_t, int16_t>(x, y, z, [](auto& r, auto& a, auto& b) { SubReluCast(r, a, b, COUNT); });
}
__global__ __vector__ void sub_relu_cast_f32_f16(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<half, float>(x, y, z, [](auto& r, auto& a, auto& b) {
        uint64_t mask[2] = {0x5555555555555555u, 0};
        SubReluCast<half, float>(r, a, b, mask, 8, BinaryRepeatParams(1, 1, 1, 4, 8, 8));
    });
}
__global__ __vector__ void mul_cast_f16_s8(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<int8_t, half>(x, y, z, [](auto& r, auto& a, auto& b) { MulCast(r, a, b, COUNT); });
}
__global__ __vector__ void mul_cast_f16_u8(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<uint8_t, half>(x, y, z, [](auto& r, auto& a, auto& b) {
        uint64_t mask[2] = {~uint64_t(0), 1};
        MulCast<uint8_t, half>(r, a, b, mask, 4, BinaryRepeatParams(1, 1, 1, 4, 8, 8));
    });
}
__global__ __vector__ void add_deq_relu(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<half, int32_t>(x, y, z, [](auto& r, auto& a, auto& b) {
        SetDeqScale(half(0.1f));
        AddDeqRelu(r, a, b, COUNT);
    });
}
__global__ __vector__ void add_deq_relu_masked(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<half, int32_t>(x, y, z, [](auto& r, auto& a, auto& b) {
        SetDeqScale(half(0.1f));
        AddDeqRelu<half, int32_t>(r, a, b, uint64_t(40), 8, BinaryRepeatParams(1, 1, 1, 4, 8, 8));
    });
}
__global__ __vector__ void mul_add_relu(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<half, half>(x, y, z, [](auto& r, auto& a, auto& b) {
        MulAddRelu<half, true>(r, a, b, uint64_t(120), 4, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
    });
}
__global__ __vector__ void mul_add_relu_f32(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<float, float>(x, y, z, [](auto& r, auto& a, auto& b) {
        Duplicate(r, 1.5f, COUNT);
        PipeBarrier<PIPE_V>();
        MulAddRelu(r, a, b, COUNT);
    });
}
__global__ __vector__ void cast_dequant_s8(GM_ADDR x, GM_ADDR y, GM_ADDR z) { dequantise<int8_t, false>(x, y, z); }
__global__ __vector__ void cast_dequant_u8(GM_ADDR x, GM_ADDR y, GM_ADDR z) { dequantise<uint8_t, true>(x, y, z); }
__global__ __vector__ void cast_dequant_number(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<int8_t, int16_t>(x, y, z, [](auto& r, auto& a, auto&) {
        SetDeqScale(1.0009f, int16_t(-20), true);
        CastDequant<int8_t, int16_t, true, false, true>(r, a, uint64_t(20), 2, UnaryRepeatParams(2, 1, 8, 8));
    });
}
__global__ __vector__ void cast_dequant_half(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<half, int32_t>(x, y, z, [](auto& r, auto& a, auto&) {
        SetDeqScale(half(0.1f));
        CastDequant<half, int32_t>(r, a, COUNT);
    });
}
__global__ __vector__ void repeat_reduce_sum(GM_ADDR x, GM_ADDR y, GM_ADDR z)
{
    between<float, float>(x, y, z, [](auto& r, auto& a, auto&) { RepeatReduceSum(r, a, 8, 60, 1, 1, 2, 8); });
}

__global__ __vector__ void bilinear(GM_ADDR x, GM_ADDR offsets, GM_ADDR weights, GM_ADDR z)
{
    LocalTensor<half> source(TPosition::VECIN, 0, 512), weight(TPosition::VECIN, 2048, 32), result(TPosition::VECOUT, 4096, 512);
    LocalTensor<uint32_t> offset(TPosition::VECIN, 8192, 32);
    LocalTensor<uint8_t> scratch(TPosition::VECCALC, 32768, 544 * 32);
    DataCopy(source, global<half>(x), 512);
    DataCopy(weight, global<half>(weights), 32);
    DataCopy(offset, global<uint32_t>(offsets), 32);
    Duplicate(result, half(7), 512);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    PipeBarrier<PIPE_V>();
    BilinearInterpolation(result, source, offset, weight, uint64_t(128), 2, true, 1, 128, 2, scratch);
    PipeBarrier<PIPE_V>();
    BilinearInterpolation(result[256], source, offset, weight, uint64_t(40), 4, false, 1, 128, 1, scratch);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(global<half>(z), result, 512);
}

__global__ __vector__ void bits(GM_ADDR z)
{
    const int64_t found[] = {
        GetBitCount<1>(0xffff), GetBitCount<0>(0xffff), ScalarGetCountOfValue<1>(5),
        CountLeadingZero(0), CountLeadingZero(0xffff), CountLeadingZero(0x0100000000000020), ScalarCountLeadingZero(~0ull),
        CountBitsCntSameAsSignBit(0), CountBitsCntSameAsSignBit(-1), CountBitsCntSameAsSignBit(1), CountBitsCntSameAsSignBit(INT64_MIN),
        CountBitsCntSameAsSignBit(0x00f0000000000000), CountBitsCntSameAsSignBit(0x0100000000000020),
        GetSFFValue<0>(~0ull), GetSFFValue<1>(0), GetSFFValue<0>(0xff00), GetSFFValue<1>(0xff00), GetSFFValue<0>(0xff), ScalarGetSFFValue<1>(0xff),
        Cast<float, int32_t, RoundMode::CAST_ROUND>(2.5f), Cast<float, int32_t, RoundMode::CAST_RINT>(2.5f),
        ScalarCast<float, int32_t, RoundMode::CAST_CEIL>(1.5f), ScalarCast<float, int32_t, RoundMode::CAST_FLOOR>(-1.5f),
        Cast<float, half, RoundMode::CAST_ODD>(3.14159f).bits, Cast(1.00390625f).bits,
    };
    for (uint32_t k = 0; k < sizeof(found) / sizeof(found[0]); ++k) {
        global<int64_t>(z).SetValue(k, found[k]);
    }
}

__global__ __vector__ void rest_of_memory(GM_ADDR z)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> kept;
    pipe.InitBuffer(kept, 1024);
    LocalTensor<float> rest;
    const bool found = PopStackBuffer<float, TPosition::LCM>(rest);
    global<int64_t>(z).SetValue(0, found);
    global<int64_t>(z).SetValue(1, rest.GetSize());
    Duplicate(kept.Get<float>(), 1.0f, 256);
    Duplicate(rest, 2.0f, rest.GetSize());
}

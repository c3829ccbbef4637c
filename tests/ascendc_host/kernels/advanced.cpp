// The advanced interface on 16 rows of 64 numbers; the test adds a kernel for each function of elements.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

// Runs `body(result, source, scratch)` between a load and a store.
template <typename T, typename Body>
__aicore__ inline void through(GM_ADDR x, GM_ADDR z, Body body)
{
    GlobalTensor<T> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(x), 1024);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(z), 1024);
    LocalTensor<T> source(TPosition::VECIN, 0, 1024), result(TPosition::VECOUT, 4096, 1024);
    LocalTensor<uint8_t> scratch(TPosition::VECCALC, 32768, 65536);
    DataCopy(source, from, 1024);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    body(result, source, scratch);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(to, result, 1024);
}

template <typename T>
__aicore__ inline void softmax(GM_ADDR x, GM_ADDR z)
{
    through<T>(x, z, [](auto& result, auto& source, auto& scratch) {
        LocalTensor<T> sum(TPosition::VECCALC, 8192, 16 * 32 / sizeof(T)), largest(TPosition::VECCALC, 16384, 16 * 32 / sizeof(T));
        SoftMax<T>(result, sum, largest, source, scratch, SoftMaxTiling(), SoftMaxShapeInfo{16, 64, 16, 64});
    });
}

template <typename T>
__aicore__ inline void layer_norm(GM_ADDR x, GM_ADDR z)
{
    through<T>(x, z, [](auto& result, auto& source, auto& scratch) {
        LocalTensor<T> gamma(TPosition::VECCALC, 8192, 64), beta(TPosition::VECCALC, 12288, 64);
        LocalTensor<T> mean(TPosition::VECCALC, 16384, 16), variance(TPosition::VECCALC, 20480, 16);
        Duplicate(gamma, T(2.0f), 64);
        Duplicate(beta, T(1.0f), 64);
        PipeBarrier<PIPE_V>();
        LayerNormTiling tiling;
        tiling.bLength = 1;
        tiling.sLength = 16;
        tiling.hLength = tiling.originalHLength = 64;
        LayerNorm<T, false>(result, mean, variance, source, gamma, beta, scratch, T(1e-3f), tiling);
    });
}

}  // namespace

extern "C" __global__ __vector__ void log_f32(GM_ADDR x, GM_ADDR z)
{
    through<float>(x, z, [](auto& result, auto& source, auto&) { Log(result, source, 1024); });
}
extern "C" __global__ __vector__ void log_f16(GM_ADDR x, GM_ADDR z)
{
    through<half>(x, z, [](auto& result, auto& source, auto&) { Log(result, source, 1024); });
}
extern "C" __global__ __vector__ void power_f32(GM_ADDR x, GM_ADDR z)
{
    through<float>(x, z, [](auto& result, auto& source, auto& scratch) { Power<float>(result, 1.5f, source, scratch, 1024); });
}
extern "C" __global__ __vector__ void power_f16(GM_ADDR x, GM_ADDR z)
{
    through<half>(x, z, [](auto& result, auto& source, auto& scratch) { Power<half>(result, half(1.5f), source, scratch, 1024); });
}
extern "C" __global__ __vector__ void softmax_f32(GM_ADDR x, GM_ADDR z) { softmax<float>(x, z); }
extern "C" __global__ __vector__ void softmax_f16(GM_ADDR x, GM_ADDR z) { softmax<half>(x, z); }
extern "C" __global__ __vector__ void layer_norm_f32(GM_ADDR x, GM_ADDR z) { layer_norm<float>(x, z); }
extern "C" __global__ __vector__ void layer_norm_f16(GM_ADDR x, GM_ADDR z) { layer_norm<half>(x, z); }

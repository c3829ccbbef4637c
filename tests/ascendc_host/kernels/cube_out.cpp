// Ways out of L0C for one product of 32 x 64 and 64 x 48: to rows and to fractals, scaled by a number or by column. The test
// gives the scale and computes the same with NumPy.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t M = 32, N = 48, K = 64;

template <typename T>
__aicore__ inline GlobalTensor<T> global(GM_ADDR address)
{
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
    return tensor;
}

// A and B (given as columns) times each other; S holds the sums. With `bias`, the sums begin with it.
template <typename T, typename S>
__aicore__ inline LocalTensor<S> product(GM_ADDR a, GM_ADDR b, GM_ADDR bias)
{
    constexpr uint32_t length = 32 / sizeof(T);
    LocalTensor<T> a1(TPosition::A1, 0, M * K), b1(TPosition::B1, 65536, N * K), a2(TPosition::A2, 0, M * K), b2(TPosition::B2, 0, N * K);
    LocalTensor<S> c(TPosition::CO1, 0, M * N), bias1(TPosition::C1, 131072, N), table(TPosition::C2, 0, N);
    DataCopy(a1, global<T>(a), Nd2NzParams(1, M, K, 0, K, M, 1, 0));
    DataCopy(b1, global<T>(b), Nd2NzParams(1, N, K, 0, K, N, 1, 0));
    DataCopy(bias1, global<S>(bias), N);
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    for (uint32_t row = 0; row < M / 16; ++row) {
        LoadData(a2[row * 16 * K], a1[row * 16 * length], LoadData2DParams(0, K / length, M / 16, 0, 0, false, 0));
    }
    LoadData(b2, b1, LoadData2DParams(0, K / length * N / 16, 1, 0, 0, false, 0));
    DataCopy(table, bias1, DataCopyParams(1, N * 4 / 64, 0, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams params(M, N, K, 0, false, true);
    Mmad(c, a2, b2, table, params);
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    return c;
}

template <typename To, typename S>
__aicore__ inline void rows(GM_ADDR z, const LocalTensor<S>& c, QuantMode_t mode, uint64_t scale, bool relu)
{
    FixpipeParamsV220 params(N, M, M, N, relu, mode, scale, 1, 0, 0, 0);
    Fixpipe(global<To>(z), c, params);
}

template <typename To, typename S>
__aicore__ inline void fractals(GM_ADDR z, const LocalTensor<S>& c, QuantMode_t mode, uint64_t scale, bool relu)
{
    FixpipeParamsV220 params(N, M, M, M * 16 * sizeof(To) / 32, relu, mode, scale, 1, 0, 0, 0);
    Fixpipe<To, S, CFG_NZ>(global<To>(z), c, params);
}

// By column: the scales come from global memory through L1.
template <typename To, typename S>
__aicore__ inline void columns(GM_ADDR z, const LocalTensor<S>& c, QuantMode_t mode, GM_ADDR scales, bool relu)
{
    LocalTensor<uint64_t> table(TPosition::A1, 262144, N);
    DataCopy(table, global<uint64_t>(scales), N);
    SetFlag<HardEvent::MTE2_FIX>(0);
    WaitFlag<HardEvent::MTE2_FIX>(0);
    FixpipeParamsV220 params(N, M, M, N, relu, mode, 0, 1, 0, 0, 0);
    Fixpipe(global<To>(z), c, table, params);
}

}  // namespace

__global__ __cube__ void f16_f32(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    rows<float, float>(z, product<half, float>(a, b, bias), NoQuant, scale, relu != 0);
}
__global__ __cube__ void f16_f16(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    rows<half, float>(z, product<half, float>(a, b, bias), F322F16, scale, relu != 0);
}
__global__ __cube__ void bf16_bf16(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    rows<bfloat16_t, float>(z, product<bfloat16_t, float>(a, b, bias), F322BF16, scale, relu != 0);
}
__global__ __cube__ void f32_s8(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    rows<int8_t, float>(z, product<float, float>(a, b, bias), QF322B8_PRE, scale, relu != 0);
}
__global__ __cube__ void f16_u8(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    columns<uint8_t, float>(z, product<half, float>(a, b, bias), VQF322B8_PRE, scales, relu != 0);
}
__global__ __cube__ void s8_s32(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    fractals<int32_t, int32_t>(z, product<int8_t, int32_t>(a, b, bias), NoQuant, scale, relu != 0);
}
__global__ __cube__ void s8_s8(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    rows<int8_t, int32_t>(z, product<int8_t, int32_t>(a, b, bias), REQ8, scale, relu != 0);
}
__global__ __cube__ void s8_u8(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    columns<uint8_t, int32_t>(z, product<int8_t, int32_t>(a, b, bias), VREQ8, scales, relu != 0);
}
__global__ __cube__ void s8_f16(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    fractals<half, int32_t>(z, product<int8_t, int32_t>(a, b, bias), DEQF16, scale, relu != 0);
}
__global__ __cube__ void s8_f16_columns(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR scales, GM_ADDR z, uint64_t scale, uint32_t relu)
{
    columns<half, int32_t>(z, product<int8_t, int32_t>(a, b, bias), VDEQF16, scales, relu != 0);
}

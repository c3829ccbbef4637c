// Sort32 and MrgSort of pairs of a score and a number; the test gives the lengths of the lists.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t COUNT = 256;

template <typename T>
__aicore__ inline GlobalTensor<T> global(GM_ADDR address)
{
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(address));
    return tensor;
}

// Records of 8 bytes as elements of T.
template <typename T>
constexpr uint32_t RECORD = 8 / sizeof(T);

template <typename T>
__aicore__ inline void sort(GM_ADDR scores, GM_ADDR numbers, GM_ADDR z)
{
    LocalTensor<T> score(TPosition::VECIN, 0, COUNT), result(TPosition::VECOUT, 4096, COUNT * RECORD<T>);
    LocalTensor<uint32_t> number(TPosition::VECIN, 2048, COUNT);
    DataCopy(score, global<T>(scores), COUNT);
    DataCopy(number, global<uint32_t>(numbers), COUNT);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Sort32(result, score, number, COUNT / 32);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(global<T>(z), result, COUNT * RECORD<T>);
}

// Four lists of sorted records one behind the other, `lengths` of each.
template <typename T>
__aicore__ inline void merge(GM_ADDR x, GM_ADDR z, GM_ADDR counts, GM_ADDR lengths, uint32_t valid, uint32_t stops, uint32_t repeats)
{
    LocalTensor<T> source(TPosition::VECIN, 0, COUNT * RECORD<T>), result(TPosition::VECOUT, 8192, COUNT * RECORD<T>);
    DataCopy(source, global<T>(x), COUNT * RECORD<T>);
    Duplicate(result.template ReinterpretCast<int16_t>(), int16_t(0), COUNT * 4);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    PipeBarrier<PIPE_V>();
    MrgSort4Info info;
    MrgSortSrcList<T> lists;
    uint32_t start = 0;
    LocalTensor<T>* places[4] = {&lists.src1, &lists.src2, &lists.src3, &lists.src4};
    for (int k = 0; k < 4; ++k) {
        info.elementLengths[k] = global<uint16_t>(lengths).GetValue(k);
        *places[k] = source[start * RECORD<T>];
        start += info.elementLengths[k];
    }
    info.validBit = valid;
    info.ifExhaustedSuspension = stops != 0;
    info.repeatTimes = repeats;
    MrgSort(result, lists, info);
    uint16_t taken[4];
    GetMrgSortResult(taken[0], taken[1], taken[2], taken[3]);
    for (int k = 0; k < 4; ++k) {
        global<uint16_t>(counts).SetValue(k, taken[k]);
    }
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(global<T>(z), result, COUNT * RECORD<T>);
}

}  // namespace

__global__ __vector__ void sort_f32(GM_ADDR scores, GM_ADDR numbers, GM_ADDR z) { sort<float>(scores, numbers, z); }
__global__ __vector__ void sort_f16(GM_ADDR scores, GM_ADDR numbers, GM_ADDR z) { sort<half>(scores, numbers, z); }
__global__ __vector__ void merge_f32(GM_ADDR x, GM_ADDR z, GM_ADDR counts, GM_ADDR lengths, uint32_t valid, uint32_t stops, uint32_t repeats)
{
    merge<float>(x, z, counts, lengths, valid, stops, repeats);
}
__global__ __vector__ void merge_f16(GM_ADDR x, GM_ADDR z, GM_ADDR counts, GM_ADDR lengths, uint32_t valid, uint32_t stops, uint32_t repeats)
{
    merge<half>(x, z, counts, lengths, valid, stops, repeats);
}

// Scalar code: counting bits, and conversions with a rounding mode.
#pragma once

#include "vector_move.h"

namespace ascendc_host {

// The scalar unit rounds float to half to odd, and to int32_t in four ways; the other modes do not exist.
template <typename From, typename To>
constexpr bool scalar_rounds(AscendC::RoundMode mode)
{
    using Mode = AscendC::RoundMode;
    if constexpr (std::is_same_v<To, half>) {
        return std::is_same_v<From, float> && mode == Mode::CAST_ODD;
    } else {
        return std::is_same_v<From, float> && std::is_same_v<To, int32_t> &&
               (mode == Mode::CAST_ROUND || mode == Mode::CAST_CEIL || mode == Mode::CAST_FLOOR || mode == Mode::CAST_RINT);
    }
}

}  // namespace ascendc_host

namespace AscendC {

template <int countValue>
int64_t GetBitCount(uint64_t valueIn)
{
    static_assert(countValue == 0 || countValue == 1, "bits are 0 or 1");
    const int64_t ones = __builtin_popcountll(valueIn);
    return countValue == 1 ? ones : 64 - ones;
}
inline int64_t CountLeadingZero(uint64_t valueIn) { return valueIn == 0 ? 64 : __builtin_clzll(valueIn); }

// How many bits below the sign equal it; -1 when all do.
inline int64_t CountBitsCntSameAsSignBit(int64_t valueIn) { return valueIn == 0 || valueIn == -1 ? -1 : __builtin_clrsbll(valueIn); }

// Where the lowest bit of that value is; -1 when there is none.
template <int countValue>
int64_t GetSFFValue(uint64_t valueIn)
{
    static_assert(countValue == 0 || countValue == 1, "bits are 0 or 1");
    const uint64_t wanted = countValue == 1 ? valueIn : ~valueIn;
    return wanted == 0 ? -1 : __builtin_ctzll(wanted);
}

template <typename T, typename U, RoundMode roundMode>
U Cast(T valueIn)
{
    static_assert(ascendc_host::scalar_rounds<T, U>(roundMode), "the scalar unit has no such conversion");
    return ascendc_host::Convert<U, T>{roundMode, 1.0f}(valueIn);
}
inline float ToFloat(const bfloat16_t& value) { return static_cast<float>(value); }
inline bfloat16_t ToBfloat16(const float& value) { return static_cast<bfloat16_t>(value); }
inline bfloat16_t Cast(const float& value) { return static_cast<bfloat16_t>(value); }
inline float Cast(const bfloat16_t& value) { return static_cast<float>(value); }

// The old names.
template <int countValue>
int64_t ScalarGetCountOfValue(uint64_t valueIn) { return GetBitCount<countValue>(valueIn); }
inline int64_t ScalarCountLeadingZero(uint64_t valueIn) { return CountLeadingZero(valueIn); }
template <int countValue>
int64_t ScalarGetSFFValue(uint64_t valueIn) { return GetSFFValue<countValue>(valueIn); }
template <typename T, typename U, RoundMode roundMode>
U ScalarCast(T valueIn) { return Cast<T, U, roundMode>(valueIn); }

}  // namespace AscendC

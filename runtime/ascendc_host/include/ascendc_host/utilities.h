// Small helpers of the interface: types and arithmetic at compile time.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "types.h"

namespace AscendC {

template <typename A, typename B>
struct IsSameType {
    static constexpr bool value = std::is_same_v<A, B>;
};
template <bool condition, typename A, typename B>
struct Conditional {
    using type = std::conditional_t<condition, A, B>;
};
template <bool condition, typename A, typename B>
using Conditional_t = std::conditional_t<condition, A, B>;
template <typename T, typename... Others>
constexpr bool SupportType() { return (std::is_same_v<T, Others> || ...); }
template <typename A, typename B>
constexpr bool IsSame = std::is_same_v<A, B>;

constexpr int64_t DivCeil(int64_t a, int64_t b) { return b == 0 ? 0 : (a + b - 1) / b; }
constexpr int64_t CeilDivision(int64_t a, int64_t b) { return DivCeil(a, b); }
constexpr int64_t AlignUp(int64_t a, int64_t b) { return DivCeil(a, b) * b; }
constexpr int64_t Ceil(int64_t a, int64_t b) { return DivCeil(a, b); }

namespace Std {
using namespace std;
}

// The number of leading or set bits of 64.
inline int64_t ScalarGetCountOfValue0(uint64_t value) { return 64 - __builtin_popcountll(value); }
template <int value = 1>
int64_t ScalarGetCountOfValue(uint64_t number)
{
    return value == 1 ? __builtin_popcountll(number) : 64 - __builtin_popcountll(number);
}
inline int64_t ScalarCountLeadingZero(uint64_t number) { return number == 0 ? 64 : __builtin_clzll(number); }
inline int64_t CountBitsCntSameAsSignBit(int64_t number) { return number == 0 || number == -1 ? 63 : __builtin_clrsbll(number); }
template <int value>
int64_t ScalarGetSFFValue(uint64_t number)
{
    const uint64_t wanted = value == 1 ? number : ~number;
    return wanted == 0 ? -1 : __builtin_ctzll(wanted);
}
inline float ToFloat(const bfloat16_t& value) { return static_cast<float>(value); }
inline bfloat16_t ToBfloat16(const float& value) { return static_cast<bfloat16_t>(value); }
template <typename From, typename To>
To Cast(const From& value) { return static_cast<To>(value); }

}  // namespace AscendC

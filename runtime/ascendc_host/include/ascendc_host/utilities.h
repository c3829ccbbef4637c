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

}  // namespace AscendC

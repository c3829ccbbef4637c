// Vector instructions of one tensor, and of a tensor and a number.
#pragma once

#include "vector_binary.h"

namespace ascendc_host {

struct ExpLanes { template <typename T> T operator()(T a) const { return static_cast<T>(std::exp(float(a))); } };
struct LnLanes { template <typename T> T operator()(T a) const { return static_cast<T>(std::log(float(a))); } };
struct AbsLanes { template <typename T> T operator()(T a) const { return static_cast<T>(std::fabs(float(a))); } };
struct SqrtLanes { template <typename T> T operator()(T a) const { return static_cast<T>(std::sqrt(float(a))); } };
struct RsqrtLanes { template <typename T> T operator()(T a) const { return static_cast<T>(1.0f / std::sqrt(float(a))); } };
struct ReciprocalLanes { template <typename T> T operator()(T a) const { return static_cast<T>(1.0f / float(a)); } };
struct ReluLanes { template <typename T> T operator()(T a) const { return positive_part(a); } };
struct NegLanes { template <typename T> T operator()(T a) const { return MulLanes()(a, T(-1)); } };
struct NotLanes { template <typename T> T operator()(T a) const { if constexpr (std::is_integral_v<T>) return static_cast<T>(~a); else return a; } };

// With a number: the bound value is the second operand.
template <typename T, typename Function>
struct Bound {
    T number;
    T operator()(T a) const { return Function()(a, number); }
};
struct LeakyReluLanes {
    template <typename T>
    T operator()(T a, T slope) const
    {
        return float(a) >= 0 ? a : static_cast<T>(float(a) * float(slope));
    }
};
struct ShiftLeftLanes {
    template <typename T>
    T operator()(T a, T distance) const
    {
        if constexpr (std::is_integral_v<T>) {
            using U = std::make_unsigned_t<T>;
            return static_cast<uint64_t>(distance) >= sizeof(T) * 8 ? T(0) : static_cast<T>(static_cast<U>(a) << distance);
        } else {
            return a;
        }
    }
};
struct ShiftRightLanes {
    template <typename T>
    T operator()(T a, T distance) const
    {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(a >> std::min<int>(static_cast<int>(distance), static_cast<int>(sizeof(T)) * 8 - 1));
        } else {
            return a;
        }
    }
};
struct ShiftRightRoundLanes {
    template <typename T>
    T operator()(T a, T distance) const
    {
        if constexpr (std::is_integral_v<T>) {
            if (distance == 0) return a;
            return static_cast<T>((static_cast<int64_t>(a) + (int64_t{1} << (distance - 1))) >> distance);
        } else {
            return a;
        }
    }
};
struct DivideLanes { template <typename T> T operator()(T a, T b) const { return DivLanes()(a, b); } };

template <Shadow kind, typename T, typename Function>
void unary(VectorCall& call, const Lanes& lanes, uint32_t allowed, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
           const AscendC::UnaryRepeatParams& strides, Function function)
{
    call.dtype(dtype_of<T>(), allowed, "operand");
    lanewise<kind, T, T>(call, lanes,
                         {operand(dst, strides.dstBlkStride, strides.dstRepStride), operand(src, strides.srcBlkStride, strides.srcRepStride)},
                         function);
}

}  // namespace ascendc_host

#define ASCENDC_HOST_UNARY(NAME, ALLOWED, SHADOW, FUNCTION)                                                                     \
    template <typename T, bool isSetMask = true>                                                                                \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, int64_t repeatTime,                          \
              const UnaryRepeatParams& repeatParams, Location at = Location::here())                                            \
    {                                                                                                                           \
        ascendc_host::VectorCall call(#NAME, at);                                                                               \
        const auto lanes = call.masked(mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);                               \
        ascendc_host::unary<ascendc_host::Shadow::SHADOW>(call, lanes, ALLOWED, dst, src, repeatParams, FUNCTION());            \
    }                                                                                                                           \
    template <typename T, bool isSetMask = true>                                                                                \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], int64_t repeatTime,                  \
              const UnaryRepeatParams& repeatParams, Location at = Location::here())                                            \
    {                                                                                                                           \
        ascendc_host::VectorCall call(#NAME, at);                                                                               \
        const auto lanes = call.masked(mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);                               \
        ascendc_host::unary<ascendc_host::Shadow::SHADOW>(call, lanes, ALLOWED, dst, src, repeatParams, FUNCTION());            \
    }                                                                                                                           \
    template <typename T>                                                                                                       \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t count, Location at = Location::here())              \
    {                                                                                                                           \
        ascendc_host::VectorCall call(#NAME, at);                                                                               \
        const auto lanes = call.count(count);                                                                                   \
        ascendc_host::unary<ascendc_host::Shadow::SHADOW>(call, lanes, ALLOWED, dst, src, UnaryRepeatParams(), FUNCTION());     \
    }

// The number may have another type than the tensor: it is converted.
#define ASCENDC_HOST_SCALAR(NAME, ALLOWED, FUNCTION)                                                                            \
    template <typename T, bool isSetMask = true, typename U = T>                                                                \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, uint64_t mask, int64_t repeatTime,    \
              const UnaryRepeatParams& repeatParams, Location at = Location::here())                                            \
    {                                                                                                                           \
        ascendc_host::VectorCall call(#NAME, at);                                                                               \
        const auto lanes = call.masked(mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);                               \
        ascendc_host::unary<ascendc_host::Shadow::LANES>(call, lanes, ALLOWED, dst, src, repeatParams,                          \
            ascendc_host::Bound<T, FUNCTION>{static_cast<T>(scalarValue)});                                                     \
    }                                                                                                                           \
    template <typename T, bool isSetMask = true, typename U = T>                                                                \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, const uint64_t mask[],                \
              int64_t repeatTime, const UnaryRepeatParams& repeatParams, Location at = Location::here())                        \
    {                                                                                                                           \
        ascendc_host::VectorCall call(#NAME, at);                                                                               \
        const auto lanes = call.masked(mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);                               \
        ascendc_host::unary<ascendc_host::Shadow::LANES>(call, lanes, ALLOWED, dst, src, repeatParams,                          \
            ascendc_host::Bound<T, FUNCTION>{static_cast<T>(scalarValue)});                                                     \
    }                                                                                                                           \
    template <typename T, bool isSetMask = true, typename U = T>                                                                \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, int64_t count,                        \
              Location at = Location::here())                                                                                   \
    {                                                                                                                           \
        ascendc_host::VectorCall call(#NAME, at);                                                                               \
        const auto lanes = call.count(count);                                                                                   \
        ascendc_host::unary<ascendc_host::Shadow::LANES>(call, lanes, ALLOWED, dst, src, UnaryRepeatParams(),                   \
            ascendc_host::Bound<T, FUNCTION>{static_cast<T>(scalarValue)});                                                     \
    }

namespace AscendC {

constexpr uint32_t HOST_SHIFTS = ascendc_host::WORDS | ascendc_host::bit(ascendc_host::DType::I32) | ascendc_host::bit(ascendc_host::DType::U32);

ASCENDC_HOST_UNARY(Exp, ascendc_host::FLOATS, LANES, ascendc_host::ExpLanes)
ASCENDC_HOST_UNARY(Ln, ascendc_host::FLOATS, LANES, ascendc_host::LnLanes)
ASCENDC_HOST_UNARY(Abs, ascendc_host::FLOATS, LANES, ascendc_host::AbsLanes)
ASCENDC_HOST_UNARY(Sqrt, ascendc_host::FLOATS, LANES, ascendc_host::SqrtLanes)
ASCENDC_HOST_UNARY(Rsqrt, ascendc_host::FLOATS, LANES, ascendc_host::RsqrtLanes)
ASCENDC_HOST_UNARY(Reciprocal, ascendc_host::FLOATS, LANES, ascendc_host::ReciprocalLanes)
ASCENDC_HOST_UNARY(Relu, ascendc_host::FLOATS | ascendc_host::bit(ascendc_host::DType::I32), LANES, ascendc_host::ReluLanes)
ASCENDC_HOST_UNARY(Not, ascendc_host::WORDS, BITS, ascendc_host::NotLanes)

ASCENDC_HOST_SCALAR(Adds, ascendc_host::ARITHMETIC, ascendc_host::AddLanes)
ASCENDC_HOST_SCALAR(Muls, ascendc_host::ARITHMETIC, ascendc_host::MulLanes)
ASCENDC_HOST_SCALAR(Maxs, ascendc_host::ARITHMETIC, ascendc_host::MaxLanes)
ASCENDC_HOST_SCALAR(Mins, ascendc_host::ARITHMETIC, ascendc_host::MinLanes)
ASCENDC_HOST_SCALAR(LeakyRelu, ascendc_host::FLOATS, ascendc_host::LeakyReluLanes)
ASCENDC_HOST_SCALAR(ShiftLeft, HOST_SHIFTS, ascendc_host::ShiftLeftLanes)
ASCENDC_HOST_SCALAR(ShiftRight, HOST_SHIFTS, ascendc_host::ShiftRightLanes)

// These compile for this chip, but it has no such instructions.
ASCENDC_HOST_SCALAR(Subs, 0u, ascendc_host::SubLanes)
ASCENDC_HOST_SCALAR(Divs, 0u, ascendc_host::DivideLanes)

template <typename T, bool isSetMask = true, typename U = T>
void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalarValue, uint64_t mask, int64_t repeatTime,
                const UnaryRepeatParams& repeatParams, bool roundEn, Location at = Location::here())
{
    ascendc_host::VectorCall call("ShiftRight", at);
    const auto lanes = call.masked(mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);
    const T distance = static_cast<T>(scalarValue);
    if (roundEn) {
        ascendc_host::unary<ascendc_host::Shadow::LANES>(call, lanes, HOST_SHIFTS, dst, src, repeatParams,
                                                         ascendc_host::Bound<T, ascendc_host::ShiftRightRoundLanes>{distance});
    } else {
        ascendc_host::unary<ascendc_host::Shadow::LANES>(call, lanes, HOST_SHIFTS, dst, src, repeatParams,
                                                         ascendc_host::Bound<T, ascendc_host::ShiftRightLanes>{distance});
    }
}

}  // namespace AscendC

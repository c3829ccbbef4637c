// Vector instructions of two tensors, lane by lane.
#pragma once

#include "vector_engine.h"

namespace ascendc_host {

constexpr uint32_t FLOATS = bit(DType::F16) | bit(DType::F32);
constexpr uint32_t ARITHMETIC = FLOATS | bit(DType::I16) | bit(DType::I32);
constexpr uint32_t WORDS = bit(DType::I16) | bit(DType::U16);

template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>, float>;

// Maximum and minimum give NaN when an operand is one.
template <typename T>
T larger(T a, T b)
{
    if constexpr (std::is_integral_v<T>) {
        return a > b ? a : b;
    } else {
        const float x = static_cast<float>(a), y = static_cast<float>(b);
        if (x != x) return a;
        if (y != y) return b;
        return x > y || (x == y && !std::signbit(x)) ? a : b;
    }
}

template <typename T>
T smaller(T a, T b)
{
    if constexpr (std::is_integral_v<T>) {
        return a < b ? a : b;
    } else {
        const float x = static_cast<float>(a), y = static_cast<float>(b);
        if (x != x) return a;
        if (y != y) return b;
        return x < y || (x == y && std::signbit(x)) ? a : b;
    }
}

// Integers wrap; a NaN stays one.
template <typename T>
T positive_part(T a)
{
    if constexpr (std::is_integral_v<T>) {
        return a > 0 ? a : T(0);
    } else {
        const float x = static_cast<float>(a);
        return x > 0 || x != x ? a : T(0);
    }
}

struct AddLanes { template <typename T> T operator()(T a, T b) const { return static_cast<T>(Wide<T>(a) + Wide<T>(b)); } };
struct SubLanes { template <typename T> T operator()(T a, T b) const { return static_cast<T>(Wide<T>(a) - Wide<T>(b)); } };
struct MulLanes {
    template <typename T>
    T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
        } else {
            return static_cast<T>(float(a) * float(b));
        }
    }
};
struct DivLanes {
    template <typename T>
    T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) {
            return b == 0 ? T(0) : static_cast<T>(a / b);
        } else {
            return static_cast<T>(float(a) / float(b));
        }
    }
};
struct MaxLanes { template <typename T> T operator()(T a, T b) const { return larger(a, b); } };
struct MinLanes { template <typename T> T operator()(T a, T b) const { return smaller(a, b); } };
struct AndLanes { template <typename T> T operator()(T a, T b) const { return bits(a, b); }
    template <typename T> static T bits(T a, T b) { if constexpr (std::is_integral_v<T>) return static_cast<T>(a & b); else return a; } };
struct OrLanes { template <typename T> T operator()(T a, T b) const { return bits(a, b); }
    template <typename T> static T bits(T a, T b) { if constexpr (std::is_integral_v<T>) return static_cast<T>(a | b); else return a; } };
struct AddReluLanes { template <typename T> T operator()(T a, T b) const { return positive_part(AddLanes()(a, b)); } };
struct SubReluLanes { template <typename T> T operator()(T a, T b) const { return positive_part(SubLanes()(a, b)); } };

template <Shadow kind, typename T, typename Function>
void binary(VectorCall& call, const Lanes& lanes, uint32_t allowed, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src0,
            const AscendC::LocalTensor<T>& src1, const AscendC::BinaryRepeatParams& strides, Function function)
{
    call.dtype(dtype_of<T>(), allowed, "operand");
    for (const int64_t stride : {strides.dstBlkStride, strides.src0BlkStride, strides.src1BlkStride}) {
        if (stride > 255) {
            call.fail("stride", format("a block stride of %lld does not fit into 8 bits", static_cast<long long>(stride)));
        }
    }
    if (strides.dstBlkStride == 0 && lanes.repeats > 0) {
        call.fail("stride", "a block stride of 0 for the result is undefined");
    }
    lanewise<kind, T, T, T>(call, lanes,
                            {operand(dst, strides.dstBlkStride, strides.dstRepStride), operand(src0, strides.src0BlkStride, strides.src0RepStride),
                             operand(src1, strides.src1BlkStride, strides.src1RepStride)},
                            function);
}

}  // namespace ascendc_host

// The three forms of an instruction of two tensors: a number of lanes, a bit mask, a count.
#define ASCENDC_HOST_BINARY(NAME, ALLOWED, SHADOW, FUNCTION)                                                                          \
    template <typename T, bool isSetMask = true>                                                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask, int64_t repeatTime,   \
              const BinaryRepeatParams& repeatParams, Location at = Location::here())                                                 \
    {                                                                                                                                 \
        ascendc_host::VectorCall call(#NAME, at);                                                                                     \
        const auto lanes = call.masked(mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);                                     \
        ascendc_host::binary<ascendc_host::Shadow::SHADOW>(call, lanes, ALLOWED, dst, src0, src1, repeatParams, FUNCTION());          \
    }                                                                                                                                 \
    template <typename T, bool isSetMask = true>                                                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint64_t mask[],               \
              int64_t repeatTime, const BinaryRepeatParams& repeatParams, Location at = Location::here())                             \
    {                                                                                                                                 \
        ascendc_host::VectorCall call(#NAME, at);                                                                                     \
        const auto lanes = call.masked(mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);                                     \
        ascendc_host::binary<ascendc_host::Shadow::SHADOW>(call, lanes, ALLOWED, dst, src0, src1, repeatParams, FUNCTION());          \
    }                                                                                                                                 \
    template <typename T>                                                                                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int64_t count,                       \
              Location at = Location::here())                                                                                         \
    {                                                                                                                                 \
        ascendc_host::VectorCall call(#NAME, at);                                                                                     \
        const auto lanes = call.count(count);                                                                                         \
        ascendc_host::binary<ascendc_host::Shadow::SHADOW>(call, lanes, ALLOWED, dst, src0, src1, BinaryRepeatParams(), FUNCTION());  \
    }

namespace AscendC {

ASCENDC_HOST_BINARY(Add, ascendc_host::ARITHMETIC, LANES, ascendc_host::AddLanes)
ASCENDC_HOST_BINARY(Sub, ascendc_host::ARITHMETIC, LANES, ascendc_host::SubLanes)
ASCENDC_HOST_BINARY(Mul, ascendc_host::ARITHMETIC, LANES, ascendc_host::MulLanes)
ASCENDC_HOST_BINARY(Div, ascendc_host::FLOATS, LANES, ascendc_host::DivLanes)
ASCENDC_HOST_BINARY(Max, ascendc_host::ARITHMETIC, LANES, ascendc_host::MaxLanes)
ASCENDC_HOST_BINARY(Min, ascendc_host::ARITHMETIC, LANES, ascendc_host::MinLanes)
ASCENDC_HOST_BINARY(And, ascendc_host::WORDS, BITS, ascendc_host::AndLanes)
ASCENDC_HOST_BINARY(Or, ascendc_host::WORDS, BITS, ascendc_host::OrLanes)
ASCENDC_HOST_BINARY(AddRelu, ascendc_host::FLOATS | ascendc_host::bit(ascendc_host::DType::I16), LANES, ascendc_host::AddReluLanes)
ASCENDC_HOST_BINARY(SubRelu, ascendc_host::FLOATS | ascendc_host::bit(ascendc_host::DType::I16), LANES, ascendc_host::SubReluLanes)

}  // namespace AscendC

// Vector instructions that compute and convert in one go: AddReluCast, SubReluCast, MulCast, AddDeqRelu, MulAddRelu.
#pragma once

#include "vector_dequant.h"

namespace ascendc_host {

// Of an exact result: whole numbers to the nearest even and saturated, half rounded once.
template <typename To>
To narrowed(double exact)
{
    if constexpr (std::is_same_v<To, half>) {
        return static_cast<To>(exact);
    } else {
        return to_integer<To>(exact, AscendC::RoundMode::CAST_RINT);
    }
}

template <typename To>
struct AddReluCastLanes { template <typename T> To operator()(T a, T b) const { return narrowed<To>(positive_part(double(a) + double(b))); } };
template <typename To>
struct SubReluCastLanes { template <typename T> To operator()(T a, T b) const { return narrowed<To>(positive_part(double(a) - double(b))); } };
template <typename To>
struct MulCastLanes { template <typename T> To operator()(T a, T b) const { return narrowed<To>(double(a) * double(b)); } };

constexpr bool sums_convert(DType from, DType to)
{
    return ((from == DType::F16 || from == DType::I16) && to == DType::I8) || (from == DType::F32 && to == DType::F16);
}
constexpr bool products_convert(DType from, DType to) { return from == DType::F16 && (to == DType::I8 || to == DType::U8); }

template <typename To, typename From, typename Function>
void convert_pair(VectorCall& call, const Lanes& lanes, bool exists, const AscendC::LocalTensor<To>& dst, const AscendC::LocalTensor<From>& src0,
                  const AscendC::LocalTensor<From>& src1, const AscendC::BinaryRepeatParams& strides, Function function)
{
    if (!exists) {
        call.fail("dtype", format("no instruction takes %s and gives %s", dtype_name(dtype_of<From>()), dtype_name(dtype_of<To>())));
    }
    lanewise<Shadow::LANES, To, From, From>(call, lanes,
                                            {operand(dst, strides.dstBlkStride, strides.dstRepStride),
                                             operand(src0, strides.src0BlkStride, strides.src0RepStride),
                                             operand(src1, strides.src1BlkStride, strides.src1RepStride)},
                                            function);
}

template <typename A, typename B>
AscendC::BinaryRepeatParams dense_pair_strides()
{
    const AscendC::UnaryRepeatParams dense = dense_strides<A, B>();
    return AscendC::BinaryRepeatParams(1, 1, 1, dense.dstRepStride, dense.srcRepStride, dense.srcRepStride);
}

// What a sum of whole numbers becomes: times the scale as float, then rounded to half; no less than zero.
struct ScaledSum {
    float scale;
    half operator()(int32_t a, int32_t b) const
    {
        const auto sum = static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
        return positive_part(static_cast<half>(static_cast<float>(sum) * scale));
    }
};

// On this chip several instructions do this, in the memory of the sources and in what is reserved of UB: both are lost.
inline void add_scale(VectorCall& call, const Lanes& lanes, const std::array<Operand, 3>& operands)
{
    const float scale = half_scale(call);
    Accesses accesses;
    static const char* const names[] = {"the result", "the first source", "the second source"};
    for (size_t k = 0; k < operands.size(); ++k) {
        accesses.push_back(VectorCall::writes(call.place(operands[k], lanes, names[k])));
    }
    if (!call.legal() || lanes.repeats == 0) {
        return;
    }
    call.uses_reserved();
    call.issue(std::move(accesses), [lanes, operands, scale] {
        Memory& memory = core().memory(Space::UB);
        std::vector<half> results;
        std::vector<uint8_t> shadows;
        const auto lose = [&](uint64_t start) { std::memset(memory.shadow.data() + start, 0, 4); };
        for_each_run(lanes, 8, [&](uint32_t repeat, uint32_t lane, uint32_t count) {
            for (uint32_t k = lane; k < lane + count; ++k) {
                const uint64_t left = operands[1].offset(repeat, k), right = operands[2].offset(repeat, k);
                results.push_back(ScaledSum{scale}(load_as<int32_t>(memory, left), load_as<int32_t>(memory, right)));
                shadows.push_back(all_set(memory.shadow.data() + left, 4) && all_set(memory.shadow.data() + right, 4) ? 0xff : 0);
            }
        });
        size_t number = 0;
        for_each_run(lanes, 8, [&](uint32_t repeat, uint32_t lane, uint32_t count) {
            for (uint32_t k = lane; k < lane + count; ++k) {
                lose(operands[1].offset(repeat, k));
                lose(operands[2].offset(repeat, k));
            }
        });
        for_each_run(lanes, 8, [&](uint32_t repeat, uint32_t lane, uint32_t count) {
            for (uint32_t k = lane; k < lane + count; ++k, ++number) {
                const uint64_t to = operands[0].offset(repeat, k);
                std::memcpy(memory.data.data() + to, &results[number], sizeof(half));
                std::memset(memory.shadow.data() + to, shadows[number], sizeof(half));
            }
        });
    });
}

template <typename T, typename U>
std::array<Operand, 3> scaled_operands(VectorCall& call, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& src0,
                                       const AscendC::LocalTensor<U>& src1, const AscendC::BinaryRepeatParams& strides)
{
    if (!std::is_same_v<T, half> || !std::is_same_v<U, int32_t>) {
        call.fail("dtype", format("no instruction takes %s and gives %s", dtype_name(dtype_of<U>()), dtype_name(dtype_of<T>())));
    }
    return {operand(dst, strides.dstBlkStride, strides.dstRepStride), operand(src0, strides.src0BlkStride, strides.src0RepStride),
            operand(src1, strides.src1BlkStride, strides.src1RepStride)};
}

}  // namespace ascendc_host

#define ASCENDC_HOST_CONVERT_PAIR(NAME, EXISTS, FUNCTION)                                                                               \
    template <typename T, typename U, bool isSetMask = true, typename Mask, typename = std::enable_if_t<!std::is_same_v<Mask, Location>>> \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const Mask& mask, int64_t repeatTime,  \
              const BinaryRepeatParams& params, Location at = Location::here())                                                         \
    {                                                                                                                                   \
        ascendc_host::VectorCall call(#NAME, at);                                                                                       \
        const auto lanes = ascendc_host::lanes_by_mask<T, U>(call, mask, repeatTime, isSetMask);                                        \
        ascendc_host::convert_pair(call, lanes, EXISTS(ascendc_host::dtype_of<U>(), ascendc_host::dtype_of<T>()), dst, src0, src1,      \
                                   params, FUNCTION<T>());                                                                              \
    }                                                                                                                                   \
    template <typename T, typename U>                                                                                                   \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, int64_t count,                         \
              Location at = Location::here())                                                                                           \
    {                                                                                                                                   \
        ascendc_host::VectorCall call(#NAME, at);                                                                                       \
        const auto lanes = call.count(count);                                                                                           \
        ascendc_host::convert_pair(call, lanes, EXISTS(ascendc_host::dtype_of<U>(), ascendc_host::dtype_of<T>()), dst, src0, src1,      \
                                   ascendc_host::dense_pair_strides<T, U>(), FUNCTION<T>());                                            \
    }

// Operands of one type throughout.
#define ASCENDC_HOST_FUSED_MULTIPLY_ADD(NAME, FUNCTION)                                                                             \
    template <typename T, bool isSetMask = true, typename Mask>                                                                     \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const Mask& mask,                  \
              int64_t repeatTime, const BinaryRepeatParams& params, Location at = Location::here())                                 \
    {                                                                                                                               \
        ascendc_host::VectorCall call(#NAME, at);                                                                                   \
        const auto lanes = ascendc_host::lanes_by_mask<T, T>(call, mask, repeatTime, isSetMask);                                    \
        ascendc_host::multiply_add(call, lanes, dst, src0, src1, params, FUNCTION());                                               \
    }                                                                                                                               \
    template <typename T>                                                                                                           \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int64_t count,                     \
              Location at = Location::here())                                                                                       \
    {                                                                                                                               \
        ascendc_host::VectorCall call(#NAME, at);                                                                                   \
        ascendc_host::multiply_add(call, call.count(count), dst, src0, src1, BinaryRepeatParams(), FUNCTION());                     \
    }

namespace AscendC {

ASCENDC_HOST_CONVERT_PAIR(AddReluCast, ascendc_host::sums_convert, ascendc_host::AddReluCastLanes)
ASCENDC_HOST_CONVERT_PAIR(SubReluCast, ascendc_host::sums_convert, ascendc_host::SubReluCastLanes)
ASCENDC_HOST_CONVERT_PAIR(MulCast, ascendc_host::products_convert, ascendc_host::MulCastLanes)
ASCENDC_HOST_FUSED_MULTIPLY_ADD(FusedMulAdd, ascendc_host::FusedMulAddLanes)
ASCENDC_HOST_FUSED_MULTIPLY_ADD(FusedMulAddRelu, ascendc_host::FusedMulAddReluLanes)
ASCENDC_HOST_FUSED_MULTIPLY_ADD(MulAddRelu, ascendc_host::FusedMulAddReluLanes)

template <typename T, typename U, bool isSetMask = true, typename Mask>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const Mask& mask, int64_t repeatTime,
                const BinaryRepeatParams& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("AddDeqRelu", at);
    const auto lanes = ascendc_host::lanes_by_mask<T, U>(call, mask, repeatTime, isSetMask);
    ascendc_host::add_scale(call, lanes, ascendc_host::scaled_operands(call, dst, src0, src1, params));
}
template <bool isSetMask, typename Mask>
void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1, const Mask& mask,
                int64_t repeatTime, const BinaryRepeatParams& params, Location at = Location::here())
{
    AddDeqRelu<half, int32_t, isSetMask>(dst, src0, src1, mask, repeatTime, params, at);
}
template <typename T, typename U>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, int64_t count, Location at = Location::here())
{
    ascendc_host::VectorCall call("AddDeqRelu", at);
    const auto lanes = call.count(count);
    ascendc_host::add_scale(call, lanes, ascendc_host::scaled_operands(call, dst, src0, src1, ascendc_host::dense_pair_strides<T, U>()));
}

}  // namespace AscendC

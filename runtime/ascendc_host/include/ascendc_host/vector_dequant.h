// Numbers that are scaled as they are converted: the register of SetDeqScale, CastDequant, and Cast of int32_t to half.
#pragma once

#include "vector_move.h"

namespace AscendC {

constexpr uint32_t VDEQ_TENSOR_SIZE = 16;

// The scales, offsets and signs of the 16 numbers of a block.
struct VdeqInfo {
    VdeqInfo() = default;
    VdeqInfo(const float scales[VDEQ_TENSOR_SIZE], const int16_t offsets[VDEQ_TENSOR_SIZE], const bool signs[VDEQ_TENSOR_SIZE])
    {
        std::copy(scales, scales + VDEQ_TENSOR_SIZE, vdeqScale);
        std::copy(offsets, offsets + VDEQ_TENSOR_SIZE, vdeqOffset);
        std::copy(signs, signs + VDEQ_TENSOR_SIZE, vdeqSignMode);
    }
    float vdeqScale[VDEQ_TENSOR_SIZE] = {};
    int16_t vdeqOffset[VDEQ_TENSOR_SIZE] = {};
    bool vdeqSignMode[VDEQ_TENSOR_SIZE] = {};
};

}  // namespace AscendC

namespace ascendc_host {

// One scale as the register holds it: a float of which ten bits of fraction count, nine bits of offset, a sign.
struct PackedScale {
    uint64_t bits;

    static PackedScale pack(float scale, int16_t offset, bool is_signed)
    {
        return {static_cast<uint64_t>(bit_cast<uint32_t>(scale)) | static_cast<uint64_t>(offset & 0x1ff) << 37 | static_cast<uint64_t>(is_signed) << 46};
    }
    double scale() const { return static_cast<double>(bit_cast<float>(static_cast<uint32_t>(bits) & ~0x1fffu)); }
    int32_t offset() const { return static_cast<int32_t>(static_cast<uint32_t>(bits >> 37) << 23) >> 23; }
    bool is_signed() const { return (bits >> 46 & 1) != 0; }
};

// CastDequant of int16_t: each block of 16 numbers becomes 16 bytes, in the upper or the lower half of a block of the result.
struct Dequantised {
    Operand target;  // as if its elements had 16 bits
    Operand source;
    bool high;
    bool by_tensor;
    PackedScale packed;
    uint32_t scales;  // where the tensor of scales starts

    uint64_t place(uint32_t repeat, uint32_t lane) const
    {
        return target.offset(repeat, lane / 16 * 16) + (high ? 16 : 0) + lane % 16;
    }
};

inline Ranges dequantised_ranges(const Dequantised& how, const Lanes& lanes)
{
    Ranges ranges;
    for_each_run(lanes, 16, [&](uint32_t repeat, uint32_t lane, uint32_t count) {
        for (uint32_t first = lane; first < lane + count; first = first / 16 * 16 + 16) {
            append(ranges, how.place(repeat, first), std::min(first / 16 * 16 + 16, lane + count) - first);
        }
    });
    return ranges;
}

template <typename To>
void dequantise_lanes(const Dequantised& how, const Lanes& lanes, Location at)
{
    Memory& memory = core().memory(Space::UB);
    std::vector<uint8_t> values, shadows;
    bool wrong_sign = false;
    for_each_run(lanes, 16, [&](uint32_t repeat, uint32_t first, uint32_t count) {
        for (uint32_t lane = first; lane < first + count; ++lane) {
            const uint64_t from = how.source.offset(repeat, lane), slot = how.scales + lane % 16 * 8;
            const PackedScale packed = how.by_tensor ? PackedScale{load_as<uint64_t>(memory, slot)} : how.packed;
            const bool has_scale = !how.by_tensor || all_set(memory.shadow.data() + slot, 8);
            wrong_sign = wrong_sign || (has_scale && packed.is_signed() != std::is_signed_v<To>);
            const double scaled = static_cast<double>(load_as<int16_t>(memory, from)) * packed.scale() + packed.offset();
            values.push_back(static_cast<uint8_t>(to_integer<To>(scaled, AscendC::RoundMode::CAST_RINT)));
            shadows.push_back(has_scale && all_set(memory.shadow.data() + from, 2) ? 0xff : 0);
        }
    });
    if (wrong_sign) {
        core().report("quantisation", at, format("CastDequant: the result is %s and the sign of its scale says otherwise", dtype_name(dtype_of<To>())));
    }
    size_t number = 0;
    for_each_run(lanes, 16, [&](uint32_t repeat, uint32_t first, uint32_t count) {
        for (uint32_t lane = first; lane < first + count; ++lane, ++number) {
            memory.data[how.place(repeat, lane)] = values[number];
            memory.shadow[how.place(repeat, lane)] = shadows[number];
        }
    });
}

template <typename To>
void dequantise(VectorCall& call, const Lanes& lanes, const AscendC::LocalTensor<To>& dst, const AscendC::LocalTensor<int16_t>& src, bool by_tensor,
                bool high, const AscendC::UnaryRepeatParams& strides)
{
    const uint64_t set = deq_register(call, by_tensor ? DeqKind::TENSOR : DeqKind::NUMBER);
    Operand target = operand(dst, strides.dstBlkStride, strides.dstRepStride);
    target.bits = 16;
    const Operand source = operand(src, strides.srcBlkStride, strides.srcRepStride);
    const Dequantised how{target, source, high, by_tensor, PackedScale{set}, by_tensor ? static_cast<uint32_t>(set) : 0};
    call.place(target, lanes, "the result");
    Accesses accesses{VectorCall::reads(call.place(source, lanes, "the source"))};
    if (!call.legal() || lanes.repeats == 0) {
        return;
    }
    Ranges writes = dequantised_ranges(how, lanes);
    if (!within_local(target.view, end_of(writes), "CastDequant", call.at())) {
        return;
    }
    accesses.push_back(VectorCall::writes(std::move(writes)));
    if (by_tensor) {
        accesses.push_back(VectorCall::reads({{how.scales, how.scales + uint64_t{AscendC::VDEQ_TENSOR_SIZE} * 8}}));
    }
    const Location at = call.at();
    call.issue(std::move(accesses), [how, lanes, at] { dequantise_lanes<To>(how, lanes, at); });
}

// Lanes of an instruction on two widths, by a number of leading lanes or by bits.
template <typename A, typename B, typename Mask>
Lanes lanes_by_mask(VectorCall& call, const Mask& mask, int64_t repeats, bool set_mask)
{
    const uint32_t most = std::min(128u, mixed_lanes<A, B>());
    if constexpr (std::is_convertible_v<Mask, uint64_t>) {
        return call.masked(static_cast<uint64_t>(mask), repeats, most, set_mask);
    } else {
        return call.masked(static_cast<const uint64_t*>(mask), repeats, most, set_mask);
    }
}

template <bool by_tensor, bool high, typename T, typename U>
void cast_dequant(VectorCall& call, const Lanes& lanes, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& src,
                  const AscendC::UnaryRepeatParams& strides)
{
    if constexpr (std::is_same_v<U, int16_t> && (std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>)) {
        dequantise(call, lanes, dst, src, by_tensor, high, strides);
    } else if constexpr (std::is_same_v<U, int32_t> && std::is_same_v<T, half>) {
        cast(call, lanes, dst, src, AscendC::RoundMode::CAST_NONE, strides);
    } else {
        call.fail("dtype", format("no instruction scales %s to %s", dtype_name(dtype_of<U>()), dtype_name(dtype_of<T>())));
    }
}

}  // namespace ascendc_host

#define ASCENDC_HOST_CAST_DEQUANT(NAME)                                                                                               \
    template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true, typename Mask>              \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask, int64_t repeatTime,                             \
              const UnaryRepeatParams& params, Location at = Location::here())                                                        \
    {                                                                                                                                 \
        ascendc_host::VectorCall call(#NAME, at);                                                                                     \
        const auto lanes = ascendc_host::lanes_by_mask<U, U>(call, mask, repeatTime, isSetMask);                                      \
        ascendc_host::cast_dequant<isVecDeq, halfBlock>(call, lanes, dst, src, params);                                               \
    }                                                                                                                                 \
    template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>                                                    \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src, uint32_t count, Location at = Location::here())                   \
    {                                                                                                                                 \
        ascendc_host::VectorCall call(#NAME, at);                                                                                     \
        const auto strides = sizeof(U) == 4 ? ascendc_host::dense_strides<T, U>() : UnaryRepeatParams();                              \
        ascendc_host::cast_dequant<isVecDeq, halfBlock>(call, call.count(count), dst, src, strides);                                  \
    }

namespace AscendC {

ASCENDC_HOST_CAST_DEQUANT(CastDequant)
ASCENDC_HOST_CAST_DEQUANT(CastDeq)

inline void SetDeqScale(half scale) { ascendc_host::set_deq_register(ascendc_host::DeqKind::HALF, scale.bits); }
inline void SetDeqScale(float scale, int16_t offset, bool signMode)
{
    ascendc_host::set_deq_register(ascendc_host::DeqKind::NUMBER, ascendc_host::PackedScale::pack(scale, offset, signMode).bits);
}
// The scales go into `vdeq` by scalar code, which the instructions that use them have to be ordered after.
template <typename T>
void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& info, Location at = Location::here())
{
    static_assert(sizeof(T) == 8, "a scale takes 64 bits");
    if (vdeq.space != ascendc_host::Space::UB) {
        ascendc_host::core().report("position", at, ascendc_host::format("SetDeqScale: scales in %s, they have to be in UB", space_name(vdeq.space)));
        return;
    }
    for (uint32_t k = 0; k < VDEQ_TENSOR_SIZE; ++k) {
        vdeq.SetValue(k, ascendc_host::PackedScale::pack(info.vdeqScale[k], info.vdeqOffset[k], info.vdeqSignMode[k]).bits, at);
    }
    ascendc_host::set_deq_register(ascendc_host::DeqKind::TENSOR, vdeq.address);
}

}  // namespace AscendC

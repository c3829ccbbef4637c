// BilinearInterpolation: blocks gathered by offsets, times weights, summed over horizontal steps.
#pragma once

#include "advanced_engine.h"

namespace ascendc_host {

struct Interpolation {
    LocalView target, source, offsets, weights;
    Lanes lanes;
    uint32_t across;  // horizontal steps, which are summed
    uint32_t down;    // vertical steps, each a repeat of the result
    bool by_block;    // a weight for each block, else one for each step
    uint32_t block_stride;
    uint32_t step_stride;  // bytes

    uint32_t steps() const { return across * down; }
    uint32_t needed_weights() const { return steps() * (by_block ? 8 : 1); }
    uint64_t place(uint32_t row, uint32_t lane) const
    {
        return target.address + static_cast<uint64_t>(row) * step_stride + lane / 16 * block_stride * 32 + lane % 16 * 2;
    }
};

// A lane of one step: the product, rounded; `valid` tells whether all that it comes from has a value.
inline half weighted(const Interpolation& how, uint32_t step, uint32_t lane, bool& valid, Location at)
{
    const uint32_t block = step * 8 + lane / 16, weight = how.by_block ? block : step;
    const uint32_t offset = load<uint32_t>(how.offsets, block);
    if (offset % 32 != 0 || how.source.address + uint64_t{offset} + 32 > how.source.limit) {
        core().report("gather-offset", at, format("BilinearInterpolation: offset %u of block %u leaves the source or splits a block", offset, block));
        valid = false;
        return half(0);
    }
    const uint64_t element = offset / 2 + lane % 16;
    valid = valid && is_set<uint32_t>(how.offsets, block) && is_set<half>(how.source, element) && is_set<half>(how.weights, weight);
    return MulLanes()(load<half>(how.weights, weight), load<half>(how.source, element));
}

inline void interpolate(const Interpolation& how, Location at)
{
    for (uint32_t row = 0; row < how.down; ++row) {
        for (uint32_t lane = 0; lane < how.lanes.per_repeat; ++lane) {
            if (!how.lanes.is_active(lane)) {
                continue;
            }
            bool valid = true;
            half sum = weighted(how, row * how.across, lane, valid, at);
            for (uint32_t step = 1; step < how.across; ++step) {
                sum = AddLanes()(weighted(how, row * how.across + step, lane, valid, at), sum);
            }
            LocalView target = how.target;
            target.address = static_cast<uint32_t>(how.place(row, lane));
            store<half>(target, 0, AddLanes()(sum, half(0)), valid);
        }
    }
}

inline void interpolation_limits(AdvancedCall& call, const Interpolation& how, int64_t row_offset)
{
    if (how.across < 1 || how.across > 255 || how.down < 1 || how.down > 255 || how.steps() > 255) {
        call.fail("repeat", format("%u times %u steps: each has to be 1 to 255, and so has their product", how.across, how.down));
    }
    if (row_offset < 128 || row_offset >= 65535 || row_offset % 16 != 0) {
        call.fail("stride", format("%lld elements between vertical steps: 128 to 65534, in multiples of 16", static_cast<long long>(row_offset)));
    }
}

template <typename Mask>
void bilinear_interpolation(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src0, const AscendC::LocalTensor<uint32_t>& offsets,
                            const AscendC::LocalTensor<half>& src1, const Mask& mask, Interpolation how, int64_t row_offset,
                            const AscendC::LocalTensor<uint8_t>& scratch, Location at)
{
    VectorCall masks("BilinearInterpolation", at);
    how.lanes = lanes_by_mask<half, half>(masks, mask, 1, true);
    AdvancedCall call("BilinearInterpolation", at);
    how.target = dst, how.source = src0, how.offsets = offsets, how.weights = src1;
    interpolation_limits(call, how, row_offset);
    if (!call.legal() || !masks.legal()) {
        return;
    }
    call.reads(src0, src0.limit - src0.address, "the source");
    call.reads(offsets, uint64_t{how.steps()} * 32, "the offsets");
    call.reads(src1, uint64_t{how.needed_weights()} * 2, "the weights");
    uint32_t last = 0;
    for (uint32_t lane = 0; lane < how.lanes.per_repeat; ++lane) {
        last = how.lanes.is_active(lane) ? lane : last;
    }
    call.writes(dst, how.place(how.down - 1, last) + 2 - dst.address, "the result");
    call.scratch(temporary(scratch), (uint64_t{src0.GetSize()} + src1.GetSize()) * 32);
    call.apart();
    call.issue([how, at] { interpolate(how, at); });
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T, typename Mask>
void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1,
                           const Mask& mask, uint32_t hRepeat, bool repeatMode, uint32_t dstBlkStride, int64_t vROffset, uint32_t vRepeat,
                           const LocalTensor<uint8_t>& sharedTmpBuffer, Location at = Location::here())
{
    if constexpr (std::is_same_v<T, half>) {
        ascendc_host::Interpolation how{};
        how.across = hRepeat, how.down = vRepeat, how.by_block = repeatMode, how.block_stride = dstBlkStride;
        how.step_stride = static_cast<uint32_t>(vROffset * 2);
        ascendc_host::bilinear_interpolation(dst, src0, src0Offset, src1, mask, how, vROffset, sharedTmpBuffer, at);
    } else {
        ascendc_host::VectorCall("BilinearInterpolation", at).fail("dtype", ascendc_host::format("%s is not half", dtype_name(ascendc_host::dtype_of<T>())));
    }
}

}  // namespace AscendC

// Copies of slices of several axes: DataCopy with SliceInfo.
#pragma once

#include "copy.h"

namespace AscendC {
constexpr int32_t K_MAX_DIM = 8;
}

namespace ascendc_host {

// The slices of one operand: pieces of the innermost axis in rows, and positions of the outer axes.
struct Slices {
    const AscendC::SliceInfo* axes;
    uint32_t count;
    int64_t width;

    int64_t piece() const { return axes[0].burstLen * 32; }
    int64_t pitch() const { return piece() + axes[0].stride * width; }
    int64_t pieces() const
    {
        const int64_t extent = (static_cast<int64_t>(axes[0].endIndex) - axes[0].startIndex + 1) * width;
        return (extent + axes[0].stride * width) / pitch();
    }
    int64_t steps(uint32_t axis) const
    {
        return (static_cast<int64_t>(axes[axis].endIndex) - axes[axis].startIndex + 1 + axes[axis].stride) / (1 + axes[axis].stride);
    }
    int64_t outer() const
    {
        int64_t product = 1;
        for (uint32_t axis = 1; axis < count; ++axis) {
            product *= steps(axis);
        }
        return product;
    }
    // Bytes from the operand's start to the first piece at the outer position `number`.
    int64_t start(int64_t number) const
    {
        int64_t offset = axes[0].startIndex;
        int64_t rows = axes[0].shapeValue;
        for (uint32_t axis = 1; axis < count; ++axis) {
            offset += (axes[axis].startIndex + number % steps(axis) * (1 + axes[axis].stride)) * rows;
            number /= steps(axis);
            rows *= axes[axis].shapeValue;
        }
        return offset * width;
    }
};

inline End shifted(End end, int64_t bytes, int64_t pitch)
{
    end.start = end.global ? end.start + bytes : end.start;
    end.view.address += end.global ? 0 : static_cast<uint32_t>(bytes);
    end.pitch = pitch;
    return end;
}

inline void copy_slices(Location at, const End& target, const Slices& to, const End& source, const Slices& from)
{
    CopyCall call("DataCopy (slices)", at);
    if (to.axes[0].burstLen != from.axes[0].burstLen || to.pieces() != from.pieces() || to.outer() != from.outer()) {
        call.fail("copy-size", format("%lld slices of %lld pieces do not go to %lld of %lld", static_cast<long long>(from.outer()),
                                      static_cast<long long>(from.pieces()), static_cast<long long>(to.outer()), static_cast<long long>(to.pieces())));
        return;
    }
    for (int64_t number = 0; number < to.outer() && call.legal(); ++number) {
        call.rows(shifted(target, to.start(number), to.pitch()), shifted(source, from.start(number), from.pitch()), to.pieces(), to.piece());
    }
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dst_slices[], const SliceInfo src_slices[], uint32_t axes = 1,
              Location at = Location::here())
{
    ascendc_host::copy_slices(at, ascendc_host::end_of(dst, 0), {dst_slices, axes, sizeof(T)}, ascendc_host::end_of(src, 0), {src_slices, axes, sizeof(T)});
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dst_slices[], const SliceInfo src_slices[], uint32_t axes = 1,
              Location at = Location::here())
{
    ascendc_host::copy_slices(at, ascendc_host::end_of(dst, 0), {dst_slices, axes, sizeof(T)}, ascendc_host::end_of(src, 0), {src_slices, axes, sizeof(T)});
}

}  // namespace AscendC

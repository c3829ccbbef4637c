// Global memory to L1 with the change of layout from rows to fractals: DataCopy with Nd2NzParams.
#pragma once

#include "cube_engine.h"

namespace ascendc_host {

struct Nd2Nz {
    AscendC::Nd2NzParams params;
    int64_t width = 2;  // bytes of an element

    int64_t blocks() const { return ceiling(params.dValue * width, 32); }
    int64_t target(int64_t matrix, int64_t row, int64_t block) const
    {
        return matrix * params.dstNzMatrixStride * width + (block * params.dstNzC0Stride + row * params.dstNzNStride) * 32;
    }
    int64_t source(int64_t matrix, int64_t row) const { return (matrix * params.srcNdMatrixStride + row * params.srcDValue) * width; }

    Ranges writes(int64_t start) const
    {
        Ranges ranges;
        for (int64_t matrix = 0; matrix < params.ndNum; ++matrix) {
            for (int64_t block = 0; block < blocks(); ++block) {
                if (params.dstNzNStride == 1) {
                    append(ranges, static_cast<uint64_t>(start + target(matrix, 0, block)), static_cast<uint64_t>(params.nValue * 32));
                    continue;
                }
                for (int64_t row = 0; row < params.nValue; ++row) {
                    append(ranges, static_cast<uint64_t>(start + target(matrix, row, block)), 32);
                }
            }
        }
        return ranges;
    }

    Ranges reads(int64_t start) const
    {
        Ranges ranges;
        for (int64_t matrix = 0; matrix < params.ndNum; ++matrix) {
            for (int64_t row = 0; row < params.nValue; ++row) {
                append(ranges, static_cast<uint64_t>(start + source(matrix, row)), static_cast<uint64_t>(params.dValue * width));
            }
        }
        return ranges;
    }

    // Rows end with zeros up to 32 bytes; no rows are added. What lies beyond `readable` bytes of the source has no value.
    void run(Bytes to, Bytes from, int64_t readable) const
    {
        const int64_t bytes = params.dValue * width;
        for (int64_t matrix = 0; matrix < params.ndNum; ++matrix) {
            for (int64_t row = 0; row < params.nValue; ++row) {
                const Bytes line = advance(from, source(matrix, row));
                for (int64_t block = 0; block < blocks(); ++block) {
                    const Bytes place = advance(to, target(matrix, row, block));
                    const int64_t count = std::min<int64_t>(32, bytes - block * 32);
                    if (source(matrix, row) + block * 32 + count > readable) {
                        fill_bytes(place, 32, false);
                        continue;
                    }
                    move_bytes(place, advance(line, block * 32), count);
                    fill_bytes(advance(place, count), 32 - count, true);
                }
            }
        }
    }
};

template <typename T>
void copy_nd2nz(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src, const AscendC::Nd2NzParams& params)
{
    CubeCall call("DataCopy (ND to NZ)", at);
    if (dst.space != Space::UB && !call.starts()) {
        return;
    }
    call.place(dst, {Space::L1, Space::UB}, 32, "the result");
    call.limit(params.ndNum, 0, 4095, "ndNum");
    call.limit(params.nValue, 0, 16384, "nValue (rows)");
    call.limit(params.dValue, 0, 65535, "dValue (columns)");
    call.limit(params.srcNdMatrixStride, 0, 65535, "srcNdMatrixStride");
    call.limit(params.srcDValue, 1, 65535, "srcDValue (pitch of the rows)");
    call.limit(params.dstNzC0Stride, 1, 16384, "dstNzC0Stride");
    call.limit(params.dstNzNStride, 1, 16384, "dstNzNStride");
    call.limit(params.dstNzMatrixStride, 0, 65535, "dstNzMatrixStride");
    if (!call.legal() || params.ndNum == 0 || params.nValue == 0 || params.dValue == 0) {
        return;
    }
    const Nd2Nz plan{params, static_cast<int64_t>(sizeof(T))};
    Ranges writes = plan.writes(dst.address);
    call.within(dst, static_cast<int64_t>(last_byte(writes)), "the result");
    const uint64_t last = last_byte(plan.reads(0));
    const bool inside = within_global(src.address, last, "DataCopy (ND to NZ)", at) != nullptr;
    GlobalBuffer* buffer = global_memory().find(reinterpret_cast<uint64_t>(src.address), true);
    if (!call.legal() || buffer == nullptr || src.address >= buffer->base + buffer->bytes) {
        return;
    }
    const int64_t readable = buffer->base + buffer->bytes - src.address;
    Access from;
    from.buffer = buffer;
    from.ranges = plan.reads(src.address - buffer->base);
    if (!inside) {
        from.ranges = {{static_cast<uint64_t>(src.address - buffer->base), buffer->bytes}};
    }
    core().moved[static_cast<int>(Space::GM)][static_cast<int>(dst.space)] += static_cast<uint64_t>(params.ndNum * params.nValue * params.dValue) * sizeof(T);
    const int64_t to = dst.address;
    const Space space = dst.space;
    uint8_t* start = src.address;
    call.issue(PIPE_MTE2, {access_of(dst, std::move(writes), true), std::move(from)}, [=] {
        plan.run(bytes_at(space, to), {start, buffer->shadow.empty() ? nullptr : buffer->shadow.data() + (start - buffer->base)}, readable);
    });
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T, bool enableSmallC0 = false>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params, Location at = Location::here())
{
    ascendc_host::copy_nd2nz(at, dst, src, params);
}

}  // namespace AscendC

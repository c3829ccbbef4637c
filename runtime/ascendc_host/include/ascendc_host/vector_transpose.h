// Transposition of blocks, and interleaving.
#pragma once

#include "vector_arrange.h"

namespace ascendc_host {

// 16 blocks in, 16 blocks out. Each element of the sources' columns becomes part of a row of the result.
template <typename T>
void transpose_blocks(VectorCall& call, const std::array<uint64_t, 16>& targets, const std::array<uint64_t, 16>& sources,
                      const AscendC::TransDataTo5HDParams& params)
{
    call.repeat(params.repeatTimes);
    const uint64_t repeats = static_cast<uint64_t>(params.repeatTimes & 255);
    Ranges writes, reads;
    const uint32_t capacity = space_bytes(Space::UB);
    for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
        const uint64_t step = repeats == 1 ? 1 : repeat;  // a single repeat starts one stride on
        for (uint32_t k = 0; k < 16; ++k) {
            append(writes, targets[k] + step * static_cast<uint64_t>(params.dstRepStride) * 32, 32);
            append(reads, sources[k] + step * static_cast<uint64_t>(params.srcRepStride) * 32, 32);
        }
    }
    for (uint32_t k = 0; k < 16; ++k) {
        if (targets[k] % 32 != 0 || sources[k] % 32 != 0) {
            call.fail("alignment", format("block %u starts at byte %llu of UB: not a multiple of 32", k,
                                          static_cast<unsigned long long>(targets[k] % 32 != 0 ? targets[k] : sources[k])));
            return;
        }
    }
    if (end_of(writes) > capacity || end_of(reads) > capacity) {
        call.fail("capacity", "a block lies outside UB");
    }
    if (!call.legal() || repeats == 0) {
        return;
    }
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(reads))}, [=] {
        Memory& memory = core().memory(Space::UB);
        for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
            const Snapshot all(memory, 0, memory.capacity);
            const uint64_t step = repeats == 1 ? 1 : repeat;
            const uint64_t to = step * static_cast<uint64_t>(params.dstRepStride) * 32;
            const uint64_t from = step * static_cast<uint64_t>(params.srcRepStride) * 32;
            constexpr uint32_t columns = sizeof(T) == 1 ? 16 : 32 / sizeof(T);
            for (uint32_t row = 0; row < 16; ++row) {
                for (uint32_t column = 0; column < columns; ++column) {
                    uint64_t source = sources[row] + from + column * sizeof(T), target;
                    if constexpr (sizeof(T) == 1) {
                        source += params.srcHighHalf ? 16 : 0;
                        target = targets[column] + to + (params.dstHighHalf ? 16 : 0) + row;
                    } else if constexpr (sizeof(T) == 2) {
                        target = targets[column] + to + row * 2;
                    } else {
                        target = targets[column * 2 + row / 8] + to + (row % 8) * 4;
                    }
                    move_element(memory, target, all, source, sizeof(T));
                }
            }
        }
    });
}

template <typename T>
void transpose_16x16(VectorCall& call, const LocalView& dst, const LocalView& src)
{
    call.dtype(dtype_of<T>(), B16, "operand");
    Ranges writes = dense(call, "Transpose", dst, 512, "the result");
    Ranges reads = dense(call, "Transpose", src, 512, "the source");
    if (!call.legal()) {
        return;
    }
    const uint64_t to = dst.address, from = src.address;
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(reads))}, [=] {
        Memory& memory = core().memory(Space::UB);
        const Snapshot source(memory, from, 512);
        for (uint64_t k = 0; k < 256; ++k) {
            move_element(memory, to + (k % 16 * 16 + k / 16) * 2, source, from + k * 2, 2);
        }
    });
}

// (n, c, h*w) to (n, h*w, c) or back.
template <typename T>
void transpose_channels(VectorCall& call, const LocalView& dst, const LocalView& src, const AscendC::TransposeParamsExt& params)
{
    const uint64_t batches = params.nSize, channels = params.cSize, plane = static_cast<uint64_t>(params.hSize) * params.wSize;
    const uint64_t bytes = batches * channels * plane * sizeof(T);
    Ranges writes = dense(call, "Transpose", dst, bytes, "the result");
    Ranges reads = dense(call, "Transpose", src, bytes, "the source");
    no_overlap(call, writes, reads);
    if (!call.legal() || bytes == 0) {
        return;
    }
    const bool channels_last = params.transposeType == AscendC::TransposeType::TRANSPOSE_NCHW2NHWC;
    const uint64_t rows = channels_last ? channels : plane, columns = channels_last ? plane : channels;
    const uint64_t to = dst.address, from = src.address;
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(reads))}, [=] {
        Memory& memory = core().memory(Space::UB);
        const Snapshot source(memory, from, bytes);
        for (uint64_t k = 0; k < batches * rows * columns; ++k) {
            const uint64_t batch = k / (rows * columns), row = k / columns % rows, column = k % columns;
            move_element(memory, to + ((batch * columns + column) * rows + row) * sizeof(T), source, from + k * sizeof(T), sizeof(T));
        }
    });
}

template <typename T>
void interleave(VectorCall& call, const std::array<LocalView, 2>& dst, const std::array<LocalView, 2>& src, int64_t count, bool apart)
{
    if (count < 0 || count % 2 != 0) {
        call.fail("count", format("a count of %lld: it must be even", static_cast<long long>(count)));
        return;
    }
    const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
    Accesses accesses;
    for (uint32_t k = 0; k < 2; ++k) {
        accesses.push_back(VectorCall::writes(dense(call, "Interleave", dst[k], bytes, "a result")));
        accesses.push_back(VectorCall::reads(dense(call, "Interleave", src[k], bytes, "a source")));
    }
    if (!call.legal() || bytes == 0) {
        return;
    }
    const std::array<uint64_t, 2> to{dst[0].address, dst[1].address}, from{src[0].address, src[1].address};
    call.issue(std::move(accesses), [=] {
        Memory& memory = core().memory(Space::UB);
        const Snapshot all(memory, 0, memory.capacity);
        const uint64_t length = static_cast<uint64_t>(count);
        for (uint64_t k = 0; k < 2 * length; ++k) {
            // `k` counts the interleaved order, (k % 2, k / 2) the other.
            const uint64_t mixed = k / length, mixed_at = k % length * sizeof(T), split = k % 2, split_at = k / 2 * sizeof(T);
            if (apart) {
                move_element(memory, to[split] + split_at, all, from[mixed] + mixed_at, sizeof(T));
            } else {
                move_element(memory, to[mixed] + mixed_at, all, from[split] + split_at, sizeof(T));
            }
        }
    });
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, Location at = Location::here())
{
    ascendc_host::VectorCall call("Transpose", at);
    ascendc_host::transpose_16x16<T>(call, dst, src);
}
template <typename T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&, const TransposeParamsExt& params,
               Location at = Location::here())
{
    ascendc_host::VectorCall call("Transpose", at);
    if (params.transposeType == TransposeType::TRANSPOSE_ND2ND_B16) {
        ascendc_host::transpose_16x16<T>(call, dst, src);
    } else {
        ascendc_host::transpose_channels<T>(call, dst, src, params);
    }
}

template <typename T>
void TransDataTo5HD(uint64_t dstList[16], uint64_t srcList[16], const TransDataTo5HDParams& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("TransDataTo5HD", at);
    const uint64_t base = reinterpret_cast<uint64_t>(ascendc_host::core().memory(ascendc_host::Space::UB).data.data());
    std::array<uint64_t, 16> targets, sources;
    for (uint32_t k = 0; k < 16; ++k) {
        targets[k] = dstList[k] - base;
        sources[k] = srcList[k] - base;
    }
    ascendc_host::transpose_blocks<T>(call, targets, sources, params);
}
template <typename T>
void TransDataTo5HD(const LocalTensor<T> (&dstList)[16], const LocalTensor<T> (&srcList)[16], const TransDataTo5HDParams& params,
                    Location at = Location::here())
{
    ascendc_host::VectorCall call("TransDataTo5HD", at);
    std::array<uint64_t, 16> targets, sources;
    for (uint32_t k = 0; k < 16; ++k) {
        targets[k] = dstList[k].address;
        sources[k] = srcList[k].address;
    }
    ascendc_host::transpose_blocks<T>(call, targets, sources, params);
}

template <typename T>
void Interleave(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                int64_t count, Location at = Location::here())
{
    ascendc_host::VectorCall call("Interleave", at);
    ascendc_host::interleave<T>(call, {dst0, dst1}, {src0, src1}, count, false);
}
template <typename T>
void DeInterleave(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                  int64_t count, Location at = Location::here())
{
    ascendc_host::VectorCall call("DeInterleave", at);
    ascendc_host::interleave<T>(call, {dst0, dst1}, {src0, src1}, count, true);
}

}  // namespace AscendC

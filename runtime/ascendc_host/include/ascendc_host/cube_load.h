// L1 to L0A and L0B by fractals: LoadData 2D, LoadDataWithTranspose, and filling with a constant.
#pragma once

#include "cube_engine.h"

namespace ascendc_host {

// Fractals in a row of a transfer: the source's first one, and the steps of both sides.
struct FractalWalk {
    int64_t repeats = 0;
    int64_t bytes = FRACTAL_BYTES;  // of one step
    int64_t source = 0;
    int64_t source_step = 0;
    int64_t target = 0;
    int64_t target_step = 0;

    int64_t from(int64_t k) const { return source + k * source_step; }
    int64_t to(int64_t k) const { return target + k * target_step; }

    Ranges reads() const { return walk(source, source_step); }
    Ranges writes() const { return walk(target, target_step); }

private:
    Ranges walk(int64_t start, int64_t step) const
    {
        Ranges ranges;
        for (int64_t k = 0; k < repeats; ++k) {
            append(ranges, static_cast<uint64_t>(start + k * step), static_cast<uint64_t>(bytes));
        }
        return ranges;
    }
};

// A square of `size` times `size` elements of `width` bytes is turned over its diagonal.
inline void transpose_square(Bytes target, Bytes source, int64_t size, int64_t width)
{
    for (int64_t row = 0; row < size; ++row) {
        for (int64_t column = 0; column < size; ++column) {
            move_bytes(advance(target, (column * size + row) * width), advance(source, (row * size + column) * width), width);
        }
    }
}

inline uint32_t load_pipe(Space from, Space to) { return from == Space::L1 && to != Space::L1 ? PIPE_MTE1 : PIPE_MTE2; }

template <typename T>
void check_load2d(CubeCall& call, const AscendC::LocalTensor<T>& dst, const AscendC::LoadData2DParams& params)
{
    call.place(dst, {Space::L0A, Space::L0B, Space::L1}, dst.space == Space::L1 ? 32 : 512, "the result");
    call.limit(params.startIndex, 0, 65535, "startIndex");
    call.limit(params.repeatTimes, 0, 255, "repeatTimes");
    call.limit(params.srcStride, 0, 65535, "srcStride");
    call.limit(params.dstGap, 0, 65535, "dstGap");
    if (params.ifTranspose && (sizeof(T) != 2 || dst.space == Space::L1)) {
        call.fail("dtype", format("a fractal of %s is not transposed on this way: use LoadDataWithTranspose", dtype_name(dtype_of<T>())));
    }
}

inline FractalWalk walk_of(const AscendC::LoadData2DParams& params, int64_t source, int64_t target)
{
    FractalWalk walk;
    walk.repeats = params.repeatTimes;
    walk.source = source + params.startIndex * FRACTAL_BYTES;
    walk.source_step = (params.addrMode != 0 ? -params.srcStride : params.srcStride) * FRACTAL_BYTES;
    walk.target = target;
    walk.target_step = (1 + params.dstGap) * FRACTAL_BYTES;
    return walk;
}

inline void run_load2d(const FractalWalk& walk, Space to, Bytes source, bool transpose)
{
    for (int64_t k = 0; k < walk.repeats; ++k) {
        const Bytes target = bytes_at(to, walk.to(k));
        if (transpose) {
            transpose_square(target, advance(source, walk.from(k)), 16, 2);
        } else {
            move_bytes(target, advance(source, walk.from(k)), FRACTAL_BYTES);
        }
    }
}

template <typename T>
void load2d(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AscendC::LoadData2DParams& params)
{
    CubeCall call("LoadData", at);
    if (!call.starts()) {
        return;
    }
    check_load2d(call, dst, params);
    call.place(src, {Space::L1}, 32, "the source");
    if (dst.space == Space::L1) {
        call.fail("position", "the chip has no path from L1 to L1");
    }
    if (!call.legal() || params.repeatTimes == 0) {
        return;
    }
    const FractalWalk walk = walk_of(params, src.address, dst.address);
    call.within(dst, walk.to(walk.repeats - 1) + FRACTAL_BYTES, "the result");
    call.within(src, std::max(walk.from(0), walk.from(walk.repeats - 1)) + FRACTAL_BYTES, "the source");
    call.within(src, std::min(walk.from(0), walk.from(walk.repeats - 1)), "the source");
    if (!call.legal()) {
        return;
    }
    core().moved[static_cast<int>(Space::L1)][static_cast<int>(dst.space)] += static_cast<uint64_t>(walk.repeats * FRACTAL_BYTES);
    const Space to = dst.space;
    const bool transpose = params.ifTranspose;
    call.issue(PIPE_MTE1, {access_of(dst, walk.writes(), true), access_of(src, walk.reads(), false)},
               [=] { run_load2d(walk, to, bytes_at(Space::L1, 0), transpose); });
}

template <typename T>
void load2d(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src, const AscendC::LoadData2DParams& params)
{
    CubeCall call("LoadData", at);
    if (!call.starts()) {
        return;
    }
    check_load2d(call, dst, params);
    if (!call.legal() || params.repeatTimes == 0) {
        return;
    }
    const FractalWalk walk = walk_of(params, 0, dst.address);
    call.within(dst, walk.to(walk.repeats - 1) + FRACTAL_BYTES, "the result");
    const int64_t end = std::max(walk.from(0), walk.from(walk.repeats - 1)) + FRACTAL_BYTES;
    GlobalBuffer* buffer = within_global(src.address, static_cast<uint64_t>(end), "LoadData", at);
    if (!call.legal() || buffer == nullptr) {
        return;
    }
    core().moved[static_cast<int>(Space::GM)][static_cast<int>(dst.space)] += static_cast<uint64_t>(walk.repeats * FRACTAL_BYTES);
    Access from;
    from.buffer = buffer;
    from.ranges = walk_of(params, src.address - buffer->base, 0).reads();
    uint8_t* start = src.address;
    const Space to = dst.space;
    const bool transpose = params.ifTranspose;
    call.issue(PIPE_MTE2, {access_of(dst, walk.writes(), true), std::move(from)}, [=] {
        run_load2d(walk, to, {start, buffer->shadow.empty() ? nullptr : buffer->shadow.data() + (start - buffer->base)}, transpose);
    });
}

// Squares of 64 (4 bits), 32 (8 bits) or 16 elements: 4, 2, 1 or (32 bits) 2 fractals that follow each other.
struct SquareLoad {
    uint32_t bits = 16;
    FractalWalk walk;
    int64_t fractal_step = FRACTAL_BYTES;

    int64_t size() const { return bits == 4 ? 64 : (bits == 8 ? 32 : 16); }
    int64_t fractals() const { return size() * size() * bits / 8 / FRACTAL_BYTES; }

    Ranges writes() const
    {
        Ranges ranges;
        for (int64_t k = 0; k < walk.repeats; ++k) {
            for (int64_t fractal = 0; fractal < fractals(); ++fractal) {
                append(ranges, static_cast<uint64_t>(walk.to(k) + fractal * fractal_step), FRACTAL_BYTES);
            }
        }
        return ranges;
    }

    void run(Space to) const
    {
        for (int64_t k = 0; k < walk.repeats; ++k) {
            const Bytes source = bytes_at(Space::L1, walk.from(k));
            for (int64_t fractal = 0; fractal < fractals(); ++fractal) {
                const Bytes target = bytes_at(to, walk.to(k) + fractal * fractal_step);
                if (bits == 4) {
                    run_fractal4(target, source, fractal);
                } else {
                    run_fractal(target, source, fractal);
                }
            }
        }
    }

private:
    // Rows of a fractal are columns of the source's square.
    void run_fractal(Bytes target, Bytes source, int64_t fractal) const
    {
        const int64_t width = bits / 8;
        const int64_t length = 32 / width;
        for (int64_t row = 0; row < FRACTAL_ROWS; ++row) {
            for (int64_t column = 0; column < length; ++column) {
                const int64_t from_row = bits == 32 ? fractal * length + column : column;
                const int64_t from_column = bits == 32 ? row : fractal * FRACTAL_ROWS + row;
                move_bytes(advance(target, (row * length + column) * width), advance(source, square_offset(from_row, from_column) * width), width);
            }
        }
    }

    // The square of 32-bit numbers lies as two fractals side by side, the others as fractals below each other.
    int64_t square_offset(int64_t row, int64_t column) const
    {
        return bits == 32 ? column / 8 * 128 + row * 8 + column % 8 : row * size() + column;
    }

    void run_fractal4(Bytes target, Bytes source, int64_t fractal) const
    {
        for (int64_t row = 0; row < FRACTAL_ROWS; ++row) {
            const int64_t from_column = fractal * FRACTAL_ROWS + row;
            for (int64_t column = 0; column < 64; ++column) {
                const int64_t to = row * 32 + column / 2;
                const int64_t from = column * 32 + from_column / 2;
                move_nibble(target.data + to, column % 2, source.data[from], from_column % 2);
                move_nibble(target.shadow + to, column % 2, source.shadow[from], from_column % 2);
            }
        }
    }

    static void move_nibble(uint8_t* target, int64_t to, uint8_t source, int64_t from)
    {
        const uint8_t nibble = static_cast<uint8_t>(source >> (from * 4) & 15);
        *target = static_cast<uint8_t>((*target & (to == 0 ? 0xf0 : 0x0f)) | nibble << (to * 4));
    }
};

template <typename T>
void load_transposed(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                     const AscendC::LoadData2dTransposeParams& params)
{
    CubeCall call("LoadDataWithTranspose", at);
    if (!call.starts()) {
        return;
    }
    call.place(dst, {Space::L0A, Space::L0B}, 512, "the result");
    call.place(src, {Space::L1}, 32, "the source");
    call.limit(params.startIndex, 0, 65535, "startIndex");
    call.limit(params.repeatTimes, 0, 255, "repeatTimes");
    call.limit(params.srcStride, 0, 65535, "srcStride");
    call.limit(params.dstGap, 0, 65535, "dstGap");
    call.limit(params.dstFracGap, 0, 65535, "dstFracGap");
    if (std::is_same_v<T, AscendC::int4b_t> && dst.space == Space::L0A) {
        call.fail("dtype", "int4b_t is transposed on the way to L0B alone");
    }
    if (!call.legal() || params.repeatTimes == 0) {
        return;
    }
    SquareLoad load;
    load.bits = std::is_same_v<T, AscendC::int4b_t> ? 4 : static_cast<uint32_t>(sizeof(T)) * 8;
    load.walk.bytes = load.fractals() * FRACTAL_BYTES;
    load.walk.repeats = params.repeatTimes;
    load.walk.source = src.address + params.startIndex * load.walk.bytes;
    load.walk.source_step = (params.addrMode != 0 ? -params.srcStride : params.srcStride) * load.walk.bytes;
    load.walk.target = dst.address;
    load.walk.target_step = (1 + params.dstGap) * FRACTAL_BYTES;
    load.fractal_step = (1 + (load.bits == 16 ? 0 : params.dstFracGap)) * FRACTAL_BYTES;
    Ranges writes = load.writes();
    call.within(dst, static_cast<int64_t>(last_byte(writes)), "the result");
    call.within(src, std::max(load.walk.from(0), load.walk.from(load.walk.repeats - 1)) + load.walk.bytes, "the source");
    if (!call.legal()) {
        return;
    }
    core().moved[static_cast<int>(Space::L1)][static_cast<int>(dst.space)] += static_cast<uint64_t>(load.walk.repeats * load.walk.bytes);
    const Space to = dst.space;
    call.issue(PIPE_MTE1, {access_of(dst, std::move(writes), true), access_of(src, load.walk.reads(), false)}, [=] { load.run(to); });
}

// Repeats of blocks of 32 bytes (L1) or fractals (L0A, L0B) with gaps get one value.
template <typename T>
void fill_constant(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::InitConstValueParams<T>& params)
{
    CubeCall call("Fill", at);
    if (!call.starts()) {
        return;
    }
    call.place(dst, {Space::L1, Space::L0A, Space::L0B}, dst.space == Space::L1 ? 32 : 512, "the result");
    call.dtype(dtype_of<T>(), bit(DType::F16) | bit(DType::BF16) | bit(DType::I16) | bit(DType::U16) | bit(DType::F32) | bit(DType::I32) | bit(DType::U32),
               "a constant");
    call.limit(params.repeatTimes, 0, 32767, "repeatTimes");
    call.limit(params.blockNum, 0, 32767, "blockNum");
    call.limit(params.dstGap, 0, 32767, "dstGap");
    const int64_t unit = dst.space == Space::L1 ? 32 : FRACTAL_BYTES;
    FractalWalk walk;
    walk.repeats = params.repeatTimes;
    walk.bytes = params.blockNum * unit;
    walk.target = dst.address;
    walk.target_step = (params.blockNum + params.dstGap) * unit;
    if (!call.legal() || walk.repeats == 0 || walk.bytes == 0) {
        return;
    }
    call.within(dst, walk.to(walk.repeats - 1) + walk.bytes, "the result");
    if (!call.legal()) {
        return;
    }
    const T value = params.initValue;
    const Space to = dst.space;
    call.issue(to == Space::L1 ? PIPE_MTE2 : PIPE_MTE1, {access_of(dst, walk.writes(), true)}, [=] {
        for (int64_t k = 0; k < walk.repeats; ++k) {
            const Bytes place = bytes_at(to, walk.to(k));
            for (int64_t offset = 0; offset < walk.bytes; offset += sizeof(T)) {
                std::memcpy(place.data + offset, &value, sizeof(T));
            }
            std::memset(place.shadow, 0xff, static_cast<size_t>(walk.bytes));
        }
    });
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params, Location at = Location::here())
{
    ascendc_host::load2d(at, dst, src, params);
}
template <typename T>
void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& params, Location at = Location::here())
{
    ascendc_host::load2d(at, dst, src, params);
}
template <typename T>
void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2dTransposeParams& params,
                           Location at = Location::here())
{
    ascendc_host::load_transposed(at, dst, src, params);
}
template <typename T>
void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& params, Location at = Location::here())
{
    ascendc_host::fill_constant(at, dst, params);
}
template <typename T>
void Fill(const LocalTensor<T>& dst, const InitConstValueParams<T>& params, Location at = Location::here())
{
    ascendc_host::fill_constant(at, dst, params);
}

}  // namespace AscendC

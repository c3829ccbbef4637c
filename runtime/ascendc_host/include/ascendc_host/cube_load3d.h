// L1 to L0A and L0B with the unfolding of an image (channels outermost, in rows of 32 bytes): LoadData 3D v2.
#pragma once

#include "cube_load.h"

namespace ascendc_host {

// What SetFmatrix, SetLoadDataPaddingValue, SetLoadDataRepeat and SetLoadDataBoundary leave behind.
struct FeatureMap {
    int64_t height = 0;
    int64_t width = 0;
    uint8_t pads[4] = {0, 0, 0, 0};  // left, right, top, bottom
};

struct Load3dRegisters {
    FeatureMap map;
    uint64_t padding = 0;
    AscendC::LoadDataRepeatParam repeat;
    int64_t boundary = 0;
};

inline Load3dRegisters& load3d_registers()
{
    static thread_local Load3dRegisters registers;
    static thread_local const Core* owner = nullptr;
    if (owner != current_core()) {
        owner = current_core();
        registers = Load3dRegisters();
    }
    return registers;
}

struct Window {
    int64_t width = 1;
    int64_t height = 1;
    int64_t stride_w = 1;
    int64_t stride_h = 1;
    int64_t dilation_w = 1;
    int64_t dilation_h = 1;
};

// The unfolded matrix: a row for each place of the window, columns by (block of channels, row and column of the window, channel).
struct Unfolding {
    FeatureMap map;
    Window window;
    int64_t row_bytes = 32;
    int64_t channels = 0;
    int64_t source = 0;
    int64_t boundary = 0;

    int64_t places(int64_t extent, int64_t low, int64_t high, int64_t filter, int64_t dilation, int64_t stride) const
    {
        const int64_t free = extent + low + high - ((filter - 1) * dilation + 1);
        return free < 0 || stride == 0 ? 0 : free / stride + 1;
    }
    int64_t columns_out() const { return places(map.width, map.pads[0], map.pads[1], window.width, window.dilation_w, window.stride_w); }
    int64_t rows_out() const { return places(map.height, map.pads[2], map.pads[3], window.height, window.dilation_h, window.stride_h); }
    int64_t rows() const { return columns_out() * rows_out(); }

    // Where 32 bytes of the matrix lie in L1: `block` counts blocks of columns. -1: padding; -2: no such place.
    int64_t address(int64_t row, int64_t block) const
    {
        if (row >= rows()) {
            return -2;
        }
        const int64_t taps = window.width * window.height;
        const int64_t tap = block % taps;
        const int64_t y = row / columns_out() * window.stride_h + tap / window.width * window.dilation_h - map.pads[2];
        const int64_t x = row % columns_out() * window.stride_w + tap % window.width * window.dilation_w - map.pads[0];
        if (y < 0 || y >= map.height || x < 0 || x >= map.width) {
            return -1;
        }
        const int64_t found = source + ((block / taps * map.height + y) * map.width + x) * row_bytes;
        return boundary > 0 && found >= boundary ? found - boundary : found;
    }
};

// The part of the matrix that is loaded, and how it lies in L0.
struct Load3d {
    Unfolding unfolding;
    uint64_t padding = 0;
    uint32_t bits = 16;
    int64_t row_start = 0;
    int64_t row_count = 0;
    int64_t block_start = 0;
    int64_t column_count = 0;
    AscendC::LoadDataRepeatParam repeat;
    bool to_b = false;
    bool transposed = false;
    int64_t target = 0;

    int64_t row_length() const { return 256 / bits; }
    bool repeats_rows() const { return repeat.repeatMode == 0; }
    int64_t blocks_once() const { return ceiling(column_count, row_length()); }
    int64_t rows() const { return repeats_rows() ? (repeat.repeatTime > 1 ? ceiling(row_count, 16) * 16 * repeat.repeatTime : row_count) : row_count; }
    int64_t blocks() const { return repeats_rows() ? blocks_once() : blocks_once() * repeat.repeatTime; }
    int64_t row_fractals() const { return ceiling(rows(), FRACTAL_ROWS); }

    int64_t source_row(int64_t row) const
    {
        if (!repeats_rows() || repeat.repeatTime <= 1) {
            return row_start + row;
        }
        const int64_t once = ceiling(row_count, 16) * 16;
        return row_start + row / once * repeat.repeatStride * 16 + row % once;
    }
    int64_t source_block(int64_t block) const
    {
        if (repeats_rows()) {
            return block_start + block;
        }
        return block_start + block / blocks_once() * repeat.repeatStride + block % blocks_once();
    }

    // Byte of an element of the matrix in L0: in rows (A), or with K along the matrix's rows (B, and A transposed).
    int64_t place(int64_t row, int64_t column) const
    {
        const int64_t length = row_length();
        if (to_b) {
            const int64_t fractals = ceiling(blocks() * length, FRACTAL_ROWS);
            return fractal(row / length * fractals + column / FRACTAL_ROWS, column % FRACTAL_ROWS, row % length);
        }
        if (transposed) {
            const int64_t fractals = row_fractals() * (FRACTAL_ROWS / length);
            return fractal(column / FRACTAL_ROWS * fractals + row / length, column % FRACTAL_ROWS, row % length);
        }
        return fractal(row / FRACTAL_ROWS * blocks() + column / length, row % FRACTAL_ROWS, column % length);
    }

    int64_t bytes() const
    {
        if (!to_b && !transposed) {
            return row_fractals() * blocks() * FRACTAL_BYTES;
        }
        return ceiling(blocks() * row_length(), FRACTAL_ROWS) * row_fractals() * (FRACTAL_ROWS / row_length()) * FRACTAL_BYTES;
    }

    void run(Space to) const
    {
        for (int64_t row = 0; row < row_fractals() * FRACTAL_ROWS; ++row) {
            for (int64_t block = 0; block < blocks(); ++block) {
                const int64_t from = row < rows() ? unfolding.address(source_row(row), source_block(block)) : -2;
                write(to, row, block, from);
            }
        }
    }

    Ranges reads() const
    {
        Ranges ranges;
        for (int64_t block = 0; block < blocks(); ++block) {
            for (int64_t row = 0; row < rows(); ++row) {
                const int64_t from = unfolding.address(source_row(row), source_block(block));
                if (from >= 0) {
                    append(ranges, static_cast<uint64_t>(from), 32);
                }
            }
        }
        return ranges;
    }

private:
    int64_t fractal(int64_t number, int64_t row, int64_t column) const { return target + number * FRACTAL_BYTES + row * 32 + column * bits / 8; }

    void write(Space to, int64_t row, int64_t block, int64_t from) const
    {
        uint8_t constant[32];
        uint8_t shadow[32];
        Bytes source{constant, shadow};
        if (from >= 0) {
            source = bytes_at(Space::L1, from);
        } else {
            std::memset(shadow, from == -1 ? 0xff : 0, 32);
            for (uint32_t k = 0; k < 32; k += std::max(1u, bits / 8)) {
                std::memcpy(constant + k, &padding, std::max(1u, bits / 8));
            }
        }
        if (!to_b && !transposed) {
            move_bytes(bytes_at(to, place(row, block * row_length())), source, 32);
            return;
        }
        for (int64_t column = 0; column < row_length(); ++column) {
            move_bytes(bytes_at(to, place(row, block * row_length() + column)), advance(source, column * bits / 8), bits / 8);
        }
    }
};

inline void check_channels(CubeCall& call, int64_t channels, uint32_t bits)
{
    const int64_t length = 256 / bits;
    const int64_t rest = channels % length;
    const bool small = bits == 4 ? rest == 8 || rest == 16 || rest == 32 : rest == 4 || rest == 8 || (bits == 8 && rest == 16);
    if (channels < 0 || channels > 65535 || (rest != 0 && !small) || (bits == 32 && rest == 8)) {
        call.fail("channels", format("channelSize is %lld: for numbers of %u bits the rest modulo %lld has to be 0%s", static_cast<long long>(channels),
                                     bits, static_cast<long long>(length), bits == 4 ? ", 8, 16 or 32" : (bits == 8 ? ", 4, 8 or 16" : (bits == 16 ? ", 4 or 8" : " or 4"))));
    }
}

template <typename T>
void check_load3d(CubeCall& call, const AscendC::LocalTensor<T>& dst, const AscendC::LoadData3DParamsV2<T>& params, uint32_t bits)
{
    check_channels(call, params.channelSize, bits);
    call.limit(params.l1H, 0, 32767, "l1H");
    call.limit(params.l1W, 0, 32767, "l1W");
    call.limit(params.kExtension, 0, 65535, "kExtension");
    call.limit(params.mExtension, 0, 65535, "mExtension");
    call.limit(params.mStartPt, 0, 32767, "mStartPt");
    call.limit(params.strideW, 0, 63, "strideW");
    call.limit(params.strideH, 0, 63, "strideH");
    call.limit(params.filterW, 0, 255, "filterW");
    call.limit(params.filterH, 0, 255, "filterH");
    if (params.kStartPt < 0 || params.kStartPt % (256 / bits) != 0) {
        call.fail("alignment", format("kStartPt is %lld: not a multiple of %u", static_cast<long long>(params.kStartPt), 256 / bits));
    }
    const bool narrow = bits < 16;
    if (narrow && (dst.space == Space::L0B || params.enTranspose)) {
        call.fail("dtype", format("%s is not transposed on this way: use LoadDataWithTranspose", dtype_name(dtype_of<T>())));
    }
}

template <typename T>
Load3d plan_load3d(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AscendC::LoadData3DParamsV2<T>& params,
                   const Load3dRegisters& registers, uint32_t bits)
{
    Load3d load;
    load.unfolding.map = registers.map;
    load.unfolding.window = {params.filterW + (params.filterSizeW ? 256 : 0), params.filterH + (params.filterSizeH ? 256 : 0), params.strideW,
                             params.strideH, params.dilationFilterW, params.dilationFilterH};
    load.unfolding.channels = params.channelSize;
    load.unfolding.source = src.address;
    load.unfolding.boundary = registers.boundary;
    load.padding = registers.padding;
    load.bits = bits;
    load.row_start = params.mStartPt;
    load.row_count = params.mExtension;
    load.block_start = params.kStartPt * bits / 256;
    load.column_count = params.kExtension;
    load.repeat = registers.repeat;
    load.to_b = dst.space == Space::L0B;
    load.transposed = params.enTranspose && !load.to_b;
    load.target = dst.address;
    return load;
}

template <typename T>
void load3d(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AscendC::LoadData3DParamsV2<T>& params,
            const AscendC::IsResetLoad3dConfig& reset)
{
    CubeCall call("LoadData (3D)", at);
    if (!call.starts()) {
        return;
    }
    const uint32_t bits = std::is_same_v<T, AscendC::int4b_t> ? 4 : static_cast<uint32_t>(sizeof(T)) * 8;
    Load3dRegisters& registers = load3d_registers();
    if (reset.isSetFMatrix) {
        registers.map = FeatureMap{params.l1H, params.l1W, {params.padList[0], params.padList[1], params.padList[2], params.padList[3]}};
    }
    if (reset.isSetPadding) {
        registers.padding = 0;
        std::memcpy(&registers.padding, &params.padValue, sizeof(T));
    }
    call.place(dst, {Space::L0A, Space::L0B}, 512, "the result");
    call.place(src, {Space::L1}, 32, "the source");
    check_load3d(call, dst, params, bits);
    const Load3d load = plan_load3d(dst, src, params, registers, bits);
    const bool empty = registers.map.height == 0 || registers.map.width == 0 || params.channelSize == 0 || load.rows() == 0 || load.blocks() == 0 ||
                       load.unfolding.window.width == 0 || load.unfolding.window.height == 0;
    if (!call.legal() || empty) {
        return;
    }
    Ranges reads = load.reads();
    call.within(dst, load.target + load.bytes(), "the result");
    call.within(src, static_cast<int64_t>(last_byte(reads)), "the source");
    if (!call.legal()) {
        return;
    }
    core().moved[static_cast<int>(Space::L1)][static_cast<int>(dst.space)] += static_cast<uint64_t>(load.bytes());
    const Space to = dst.space;
    Ranges writes;
    append(writes, static_cast<uint64_t>(load.target), static_cast<uint64_t>(load.bytes()));
    call.issue(PIPE_MTE1, {access_of(dst, std::move(writes), true), access_of(src, std::move(reads), false)}, [=] { load.run(to); });
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<T>& params, Location at = Location::here())
{
    ascendc_host::load3d(at, dst, src, params, config);
}

// The image's size comes from SetFmatrix, the padding from SetLoadDataPaddingValue.
template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& packed, Location at = Location::here())
{
    LoadData3DParamsV2<T> params;
    params.channelSize = packed.channelSize;
    params.enTranspose = packed.enTranspose;
    params.filterSizeW = packed.filterSizeW;
    params.filterSizeH = packed.filterSizeH;
    params.kExtension = static_cast<int64_t>(packed.extConfig & 0xffff);
    params.mExtension = static_cast<int64_t>(packed.extConfig >> 16 & 0xffff);
    params.kStartPt = static_cast<int64_t>(packed.extConfig >> 32 & 0xffff);
    params.mStartPt = static_cast<int64_t>(packed.extConfig >> 48 & 0xffff);
    params.strideW = static_cast<int64_t>(packed.filterConfig & 0xff);
    params.strideH = static_cast<int64_t>(packed.filterConfig >> 8 & 0xff);
    params.filterW = static_cast<int64_t>(packed.filterConfig >> 16 & 0xff);
    params.filterH = static_cast<int64_t>(packed.filterConfig >> 24 & 0xff);
    params.dilationFilterW = static_cast<int64_t>(packed.filterConfig >> 32 & 0xff);
    params.dilationFilterH = static_cast<int64_t>(packed.filterConfig >> 40 & 0xff);
    ascendc_host::load3d(at, dst, src, params, IsResetLoad3dConfig{false, false});
}

inline void SetFmatrix(uint16_t height, uint16_t width, const uint8_t pads[4], const FmatrixMode&)
{
    ascendc_host::load3d_registers().map = ascendc_host::FeatureMap{height, width, {pads[0], pads[1], pads[2], pads[3]}};
}
template <typename T>
void SetLoadDataPaddingValue(const T value)
{
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    ascendc_host::load3d_registers().padding = bits;
}
inline void SetLoadDataRepeat(const LoadDataRepeatParam& params) { ascendc_host::load3d_registers().repeat = params; }
inline void SetLoadDataBoundary(uint32_t bytes) { ascendc_host::load3d_registers().boundary = bytes; }

}  // namespace AscendC

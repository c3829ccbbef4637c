// Parameters of the cube core's instructions. Numbers are kept wider than the hardware's fields, so that what does not fit is found.
#pragma once

#include "parameters.h"

namespace AscendC {

constexpr int32_t PAD_SIZE = 4;
constexpr uint32_t BLOCK_CUBE = 16;
constexpr uint32_t CUBE_MAX_SIZE = 256;

struct LoadData2DParams {
    LoadData2DParams() = default;
    LoadData2DParams(int64_t start, int64_t repeats, int64_t src_stride, int64_t unused, int64_t dst_gap, bool transpose, int64_t address_mode)
        : startIndex(start), dstGap(dst_gap), srcStride(src_stride), ifTranspose(transpose), repeatTimes(repeats), sid(unused),
          addrMode(address_mode)
    {}
    int64_t startIndex = 0;
    int64_t dstGap = 0;
    int64_t srcStride = 0;
    bool ifTranspose = false;
    int64_t repeatTimes = 0;
    int64_t sid = 0;
    int64_t addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

struct LoadData2DParamsV2 {
    LoadData2DParamsV2() = default;
    LoadData2DParamsV2(int64_t m_start, int64_t k_start, int64_t m_step, int64_t k_step, int64_t src_stride, int64_t dst_stride, bool transpose,
                       int64_t unused)
        : mStartPosition(m_start), kStartPosition(k_start), mStep(m_step), kStep(k_step), srcStride(src_stride), dstStride(dst_stride),
          ifTranspose(transpose), sid(unused)
    {}
    int64_t mStartPosition = 0;
    int64_t kStartPosition = 0;
    int64_t mStep = 0;
    int64_t kStep = 0;
    int64_t srcStride = 0;
    int64_t dstStride = 0;
    bool ifTranspose = false;
    int64_t sid = 0;
};

struct LoadData2dTransposeParams {
    LoadData2dTransposeParams() = default;
    LoadData2dTransposeParams(int64_t start, int64_t repeats, int64_t src_stride, int64_t dst_gap, int64_t dst_fractal_gap, int64_t address_mode = 0)
        : startIndex(start), repeatTimes(repeats), srcStride(src_stride), dstGap(dst_gap), dstFracGap(dst_fractal_gap), addrMode(address_mode)
    {}
    int64_t startIndex = 0;
    int64_t repeatTimes = 0;
    int64_t srcStride = 0;
    int64_t dstGap = 0;
    int64_t dstFracGap = 0;
    int64_t addrMode = 0;
};

template <typename T>
struct LoadData3DParamsV2 {
    LoadData3DParamsV2() = default;
    LoadData3DParamsV2(const uint8_t pads[PAD_SIZE], int64_t height, int64_t width, int64_t channels, int64_t k_extension, int64_t m_extension,
                       int64_t k_start, int64_t m_start, int64_t stride_w, int64_t stride_h, int64_t filter_w, int64_t filter_h,
                       int64_t dilation_w, int64_t dilation_h, bool transpose, bool small_k, T pad, bool large_w = false, bool large_h = false,
                       bool right = false)
        : l1H(height), l1W(width), channelSize(channels), kExtension(k_extension), mExtension(m_extension), kStartPt(k_start),
          mStartPt(m_start), strideW(stride_w), strideH(stride_h), filterW(filter_w), filterH(filter_h), dilationFilterW(dilation_w),
          dilationFilterH(dilation_h), enTranspose(transpose), enSmallK(small_k), padValue(pad), filterSizeW(large_w), filterSizeH(large_h),
          fMatrixCtrl(right)
    {
        std::memcpy(padList, pads, sizeof(padList));
    }
    uint8_t padList[PAD_SIZE] = {0, 0, 0, 0};
    int64_t l1H = 0;
    int64_t l1W = 0;
    int64_t channelSize = 0;
    int64_t kExtension = 0;
    int64_t mExtension = 0;
    int64_t kStartPt = 0;
    int64_t mStartPt = 0;
    int64_t strideW = 1;
    int64_t strideH = 1;
    int64_t filterW = 1;
    int64_t filterH = 1;
    int64_t dilationFilterW = 1;
    int64_t dilationFilterH = 1;
    bool enTranspose = false;
    bool enSmallK = false;
    T padValue = T(0);
    bool filterSizeW = false;
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
};

struct LoadData3DParamsV2Pro {
    LoadData3DParamsV2Pro() = default;
    LoadData3DParamsV2Pro(int64_t channels, bool transpose, bool small_k, bool large_w, bool large_h, bool right, uint64_t extension, uint64_t filter)
        : channelSize(channels), enTranspose(transpose), enSmallK(small_k), filterSizeW(large_w), filterSizeH(large_h), fMatrixCtrl(right),
          extConfig(extension), filterConfig(filter)
    {}
    int64_t channelSize = 0;
    bool enTranspose = false;
    bool enSmallK = false;
    bool filterSizeW = false;
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
    uint64_t extConfig = 0;
    uint64_t filterConfig = 0x10101010101;
};

struct LoadDataRepeatParam {
    LoadDataRepeatParam() = default;
    LoadDataRepeatParam(int64_t stride, int64_t times, int64_t mode) : repeatStride(stride), repeatTime(times), repeatMode(mode) {}
    int64_t repeatStride = 0;
    int64_t repeatTime = 1;
    int64_t repeatMode = 0;
    int64_t reserved = 0;
};

enum class FmatrixMode : uint8_t { FMATRIX_LEFT, FMATRIX_RIGHT };
enum class HF32Mode { ENABLE, DISABLE };
enum class HF32TransMode { NEAREST_ZERO, NEAREST_EVEN };

struct IsResetLoad3dConfig {
    bool isSetFMatrix = true;
    bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

template <typename T>
struct InitConstValueParams {
    InitConstValueParams() = default;
    InitConstValueParams(int64_t repeats, int64_t blocks, int64_t gap, T value)
        : repeatTimes(repeats), blockNum(blocks), dstGap(gap), initValue(value)
    {}
    InitConstValueParams(int64_t repeats, T value) : repeatTimes(repeats), initValue(value) {}
    int64_t repeatTimes = 0;
    int64_t blockNum = 0;
    int64_t dstGap = 0;
    T initValue = T(0);
};

struct MmadParams {
    MmadParams() = default;
    MmadParams(int64_t rows, int64_t columns, int64_t depth, bool bias, int32_t offset, bool sparse, bool winograd_a, bool winograd_b)
        : m(rows), n(columns), k(depth), isBias(bias), fmOffset(offset), enSsparse(sparse), enWinogradA(winograd_a), enWinogradB(winograd_b)
    {}
    MmadParams(int64_t rows, int64_t columns, int64_t depth, int64_t unit_flag, bool from_bias, bool zero)
        : m(rows), n(columns), k(depth), unitFlag(unit_flag), cmatrixSource(from_bias), cmatrixInitVal(zero)
    {}
    int64_t m = 0;
    int64_t n = 0;
    int64_t k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false;
    bool enWinogradA = false;
    bool enWinogradB = false;
    int64_t unitFlag = 0;
    bool kDirectionAlign = false;
    bool cmatrixSource = false;
    bool cmatrixInitVal = true;
};

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR, COLUMN_MAJOR };

struct FixpipeConfig {
    constexpr FixpipeConfig(CO2Layout layout, bool to_ub = false) : format(layout), isToUB(to_ub) {}
    CO2Layout format;
    bool isToUB;  // no path of this chip
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};

struct FixpipeParamsV220 {
    FixpipeParamsV220() = default;
    FixpipeParamsV220(int64_t columns, int64_t rows, int64_t src_stride, int64_t dst_stride, bool relu, QuantMode_t quant = NoQuant,
                      uint64_t scale = 0, int64_t matrices = 1, int64_t src_matrix = 0, int64_t dst_matrix = 0, int64_t unit_flag = 0,
                      bool channel_split = false)
        : nSize(columns), mSize(rows), srcStride(src_stride), dstStride(dst_stride), quantPre(quant), deqScalar(scale), ndNum(matrices),
          srcNdStride(src_matrix), dstNdStride(dst_matrix), reluEn(relu), unitFlag(unit_flag), isChannelSplit(channel_split)
    {}
    int64_t nSize = 0;
    int64_t mSize = 0;
    int64_t srcStride = 0;
    int64_t dstStride = 0;
    QuantMode_t quantPre = NoQuant;
    uint64_t deqScalar = 0;
    int64_t ndNum = 1;
    int64_t srcNdStride = 0;
    int64_t dstNdStride = 0;
    bool reluEn = false;
    int64_t unitFlag = 0;
    bool isChannelSplit = false;
};

struct DataCopyCO12DstParams {
    DataCopyCO12DstParams() = default;
    DataCopyCO12DstParams(int64_t columns, int64_t rows, int64_t dst_stride, int64_t src_stride, QuantMode_t quant, int64_t relu, bool channel_split,
                          bool to_nd)
        : nSize(columns), mSize(rows), dstStride(dst_stride), srcStride(src_stride), quantPre(quant), reluPre(relu), channelSplit(channel_split),
          nz2ndEn(to_nd)
    {}
    int64_t sid = 0;
    int64_t nSize = 0;
    int64_t mSize = 0;
    int64_t dstStride = 0;
    int64_t srcStride = 0;
    int64_t unitFlag = 0;
    int64_t clipReluPre = 0;
    int64_t eltWiseOp = 0;
    QuantMode_t quantPre = NoQuant;
    int64_t reluPre = 0;
    bool channelSplit = false;
    bool nz2ndEn = false;
};

}  // namespace AscendC

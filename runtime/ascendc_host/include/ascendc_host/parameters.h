// Parameters of instructions. Numbers are kept wider than the hardware's fields, so that what does not fit is found.
#pragma once

#include "enums.h"
#include "types.h"

namespace AscendC {

struct UnaryRepeatParams {
    UnaryRepeatParams() = default;
    UnaryRepeatParams(int64_t dst_block, int64_t src_block, int64_t dst_repeat, int64_t src_repeat, bool half_block = false)
        : dstBlkStride(dst_block), srcBlkStride(src_block), dstRepStride(dst_repeat), srcRepStride(src_repeat), halfBlock(half_block)
    {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    int64_t dstBlkStride = 1;
    int64_t srcBlkStride = 1;
    int64_t dstRepStride = 8;
    int64_t srcRepStride = 8;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
    bool halfBlock = false;
};

struct BinaryRepeatParams {
    BinaryRepeatParams() = default;
    BinaryRepeatParams(int64_t dst_block, int64_t src0_block, int64_t src1_block, int64_t dst_repeat, int64_t src0_repeat,
                       int64_t src1_repeat)
        : dstBlkStride(dst_block), src0BlkStride(src0_block), src1BlkStride(src1_block), dstRepStride(dst_repeat),
          src0RepStride(src0_repeat), src1RepStride(src1_repeat)
    {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    int64_t dstBlkStride = 1;
    int64_t src0BlkStride = 1;
    int64_t src1BlkStride = 1;
    int64_t dstRepStride = 8;
    int64_t src0RepStride = 8;
    int64_t src1RepStride = 8;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct CopyRepeatParams {
    CopyRepeatParams() = default;
    CopyRepeatParams(int64_t dst_block, int64_t src_block, int64_t dst_repeat, int64_t src_repeat)
        : dstStride(dst_block), srcStride(src_block), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat)
    {}
    int64_t dstStride = 1;
    int64_t srcStride = 1;
    int64_t dstRepeatSize = 8;
    int64_t srcRepeatSize = 8;
};

struct BrcbRepeatParams {
    BrcbRepeatParams() = default;
    BrcbRepeatParams(int64_t dst_block, int64_t dst_repeat) : dstRepStride(dst_repeat), dstBlkStride(dst_block) {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    int64_t dstRepStride = 8;
    int64_t dstBlkStride = 1;
};

struct GatherRepeatParams {
    GatherRepeatParams() = default;
    GatherRepeatParams(int64_t dst_block, int64_t dst_repeat) : dstRepStride(dst_repeat), dstBlkStride(dst_block) {}
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    int64_t dstRepStride = 8;
    int64_t dstBlkStride = 1;
};

struct GatherMaskParams {
    GatherMaskParams() = default;
    GatherMaskParams(int64_t src0_block, int64_t repeats, int64_t src0_repeat, int64_t src1_repeat)
        : src0BlockStride(src0_block), repeatTimes(repeats), src0RepeatStride(src0_repeat), src1RepeatStride(src1_repeat)
    {}
    int64_t src0BlockStride = 1;
    int64_t repeatTimes = 0;
    int64_t src0RepeatStride = 8;
    int64_t src1RepeatStride = 8;
};

struct DataCopyParams {
    DataCopyParams() = default;
    DataCopyParams(int64_t count, int64_t length, int64_t src_gap, int64_t dst_gap)
        : blockCount(count), blockLen(length), srcStride(src_gap), dstStride(dst_gap)
    {}
    int64_t blockCount = 1;
    int64_t blockLen = 0;
    union {
        int64_t srcGap;
        int64_t srcStride = 0;
    };
    union {
        int64_t dstGap;
        int64_t dstStride = 0;
    };
};

struct DataCopyExtParams {
    DataCopyExtParams() = default;
    DataCopyExtParams(int64_t count, int64_t length, int64_t src_gap, int64_t dst_gap, int64_t reserved)
        : blockCount(count), blockLen(length), srcStride(src_gap), dstStride(dst_gap), rsv(reserved)
    {}
    int64_t blockCount = 1;
    int64_t blockLen = 0;
    int64_t srcStride = 0;
    int64_t dstStride = 0;
    int64_t rsv = 0;
};

struct DataCopyPadParams {
    DataCopyPadParams() = default;
    DataCopyPadParams(bool pad, int64_t left, int64_t right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {}
    bool isPad = false;
    int64_t leftPadding = 0;
    int64_t rightPadding = 0;
    uint64_t paddingValue = 0;
};

template <typename T>
struct DataCopyPadExtParams {
    DataCopyPadExtParams() = default;
    DataCopyPadExtParams(bool pad, int64_t left, int64_t right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {}
    bool isPad = false;
    int64_t leftPadding = 0;
    int64_t rightPadding = 0;
    T paddingValue = T(0);
};

struct SliceInfo {
    SliceInfo() = default;
    SliceInfo(uint32_t start, uint32_t end, uint32_t stride_, uint32_t burst, uint32_t shape = 0)
        : startIndex(start), endIndex(end), stride(stride_), burstLen(burst), shapeValue(shape)
    {}
    uint32_t startIndex = 0;
    uint32_t endIndex = 31;
    uint32_t stride = 0;
    uint32_t burstLen = 32;
    uint32_t shapeValue = 0;
};

struct Nd2NzParams {
    Nd2NzParams() = default;
    Nd2NzParams(int64_t matrices, int64_t rows, int64_t columns, int64_t src_matrix, int64_t src_pitch, int64_t dst_column_block,
                int64_t dst_row, int64_t dst_matrix)
        : ndNum(matrices), nValue(rows), dValue(columns), srcNdMatrixStride(src_matrix), srcDValue(src_pitch),
          dstNzC0Stride(dst_column_block), dstNzNStride(dst_row), dstNzMatrixStride(dst_matrix)
    {}
    int64_t ndNum = 0;
    int64_t nValue = 0;
    int64_t dValue = 0;
    int64_t srcNdMatrixStride = 0;
    int64_t srcDValue = 0;
    int64_t dstNzC0Stride = 0;
    int64_t dstNzNStride = 0;
    int64_t dstNzMatrixStride = 0;
};

struct Nz2NdParamsFull {
    Nz2NdParamsFull() = default;
    Nz2NdParamsFull(int64_t matrices, int64_t rows, int64_t columns, int64_t src_matrix, int64_t src_pitch, int64_t dst_pitch,
                    int64_t dst_matrix)
        : ndNum(matrices), nValue(rows), dValue(columns), srcNdMatrixStride(src_matrix), srcNStride(src_pitch),
          dstDStride(dst_pitch), dstNdMatrixStride(dst_matrix)
    {}
    int64_t ndNum = 1;
    int64_t nValue = 0;
    int64_t dValue = 0;
    int64_t srcNdMatrixStride = 1;
    int64_t srcNStride = 0;
    int64_t dstDStride = 0;
    int64_t dstNdMatrixStride = 1;
};

struct DataCopyEnhancedParams {
    DataCopyEnhancedParams() = default;
    DataCopyEnhancedParams(BlockMode mode, DeqScale scale, uint64_t value, uint8_t sid, bool relu, pad_t pad, uint64_t pad_value)
        : blockMode(mode), deqScale(scale), deqValue(value), sidStoreMode(sid), isRelu(relu), padMode(pad), padValue(pad_value)
    {}
    BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
    DeqScale deqScale = DeqScale::DEQ_NONE;
    uint64_t deqValue = 0;
    uint8_t sidStoreMode = 0;
    bool isRelu = false;
    pad_t padMode = PAD_NONE;
    uint64_t padValue = 0;
    uint64_t deqTensorAddr = 0;
};

struct TransDataTo5HDParams {
    TransDataTo5HDParams() = default;
    TransDataTo5HDParams(bool dst_high, bool src_high, int64_t repeats, int64_t dst_repeat, int64_t src_repeat)
        : dstHighHalf(dst_high), srcHighHalf(src_high), repeatTimes(repeats), dstRepStride(dst_repeat), srcRepStride(src_repeat)
    {}
    bool dstHighHalf = false;
    bool srcHighHalf = false;
    int64_t repeatTimes = 1;
    int64_t dstRepStride = 0;
    int64_t srcRepStride = 0;
};

struct TransposeParamsExt {
    TransposeParamsExt() = default;
    TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w, TransposeType type)
        : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type)
    {}
    uint16_t nSize = 0;
    uint16_t cSize = 0;
    uint16_t hSize = 0;
    uint16_t wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

template <typename T>
struct MrgSortSrcListOf;

struct MrgSort4Info {
    MrgSort4Info() = default;
    MrgSort4Info(const uint16_t lengths[4], bool exhausted_suspension, uint16_t valid, uint16_t repeats)
        : ifExhaustedSuspension(exhausted_suspension), validBit(valid), repeatTimes(repeats)
    {
        for (int k = 0; k < 4; ++k) {
            elementLengths[k] = lengths[k];
        }
    }
    uint16_t elementLengths[4] = {};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint16_t repeatTimes = 1;
};

struct BinaryConfig {
    int8_t scalarTensorIndex = 1;
};
constexpr BinaryConfig DEFAULT_BINARY_CONFIG = {1};
struct BinaryDefaultType {};

}  // namespace AscendC

// The advanced interface's functions of rows: SoftMax, LayerNorm, reductions by pattern, Broadcast.
#pragma once

#include "advanced_engine.h"

namespace AscendC {

// What host code computes for a shape; the model reads shapes alone.
namespace tiling {
struct SoftMaxTiling {
    uint32_t srcM = 0, srcK = 0, srcSize = 0, outMaxM = 0, outMaxK = 0, outMaxSize = 0, splitM = 0, splitK = 0, splitSize = 0;
    uint32_t reduceM = 0, reduceK = 0, reduceSize = 0, rangeM = 0, tailM = 0, tailSplitSize = 0, tailReduceSize = 0;
};
struct LayerNormTiling {
    uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0, inputXSize = 0, meanVarSize = 0, numberOfTmpBuf = 0;
    uint32_t meanTmpTensorPos = 0, meanTmpTensorSize = 0, varianceTmpTensorPos = 0, varianceTmpTensorSize = 0, tmpBufSize = 0, oneTmpSize = 0;
    uint32_t firstTmpStartPos = 0, secondTmpStartPos = 0, thirdTmpStartPos = 0, loopRound = 0, inputRoundSize = 0, inputTailSize = 0;
    uint32_t inputTailPos = 0, meanVarRoundSize = 0, meanVarTailSize = 0, meanVarTailPos = 0, bshCurLength = 0, bsCurLength = 0;
    float lastDimValueBack = 0;
};
struct LayerNormSeparateTiling {
    uint32_t aLength = 0, rLength = 0, halfAddRepeatTimes = 0, rHeadLength = 0;
    float k2Rec = 0, k2RRec = 0;
    uint32_t inputXSize = 0, meanVarSize = 0, numberOfTmpBuf = 0, varianceTmpTensorPos = 0, varianceTmpTensorSize = 0, tmpBufSize = 0;
    uint32_t oneTmpSize = 0, firstTmpStartPos = 0, secondTmpStartPos = 0, thirdTmpStartPos = 0, loopRound = 0, inputRoundSize = 0;
    uint32_t inputTailSize = 0, inputTailPos = 0, meanVarRoundSize = 0, meanVarTailSize = 0, meanVarTailPos = 0, arCurLength = 0, aCurLength = 0;
    float rValueBack = 0;
};
}  // namespace tiling
using tiling::LayerNormSeparateTiling;
using tiling::LayerNormTiling;
using tiling::SoftMaxTiling;

struct SoftMaxShapeInfo {
    uint32_t srcM = 0;
    uint32_t srcK = 0;
    uint32_t oriSrcM = 0;
    uint32_t oriSrcK = 0;
};

struct LayerNormPara {
    uint32_t aLength = 0;
    uint32_t rLength = 0;
    uint32_t rLengthWithPadding = 0;
};

// R: an axis that is reduced; A: one that stays.
namespace Pattern {
namespace Reduce {
struct AR {};
struct RA {};
}  // namespace Reduce
}  // namespace Pattern

}  // namespace AscendC
using AscendC::tiling::LayerNormSeparateTiling;
using AscendC::tiling::LayerNormTiling;
using AscendC::tiling::SoftMaxTiling;

namespace ascendc_host {

inline AscendC::SoftMaxShapeInfo softmax_shape(const AscendC::SoftMaxTiling& tiling, const AscendC::SoftMaxShapeInfo& info)
{
    if (info.srcM != 0 && info.srcK != 0) {
        return info;
    }
    return {tiling.srcM, tiling.srcK, tiling.srcM, tiling.srcK};
}

// A row's number fills a block of 32 bytes of the tensors of sums and of largest values.
template <typename S>
void store_block(const LocalView& view, uint64_t row, double value, bool valid)
{
    constexpr uint64_t length = 32 / sizeof(S);
    for (uint64_t k = 0; k < length; ++k) {
        store<S>(view, row * length + k, static_cast<S>(value), valid);
    }
}

template <typename T, typename S>
void softmax_row(const LocalView& dst, const LocalView& src, const LocalView* sum, const LocalView* largest, const AscendC::SoftMaxShapeInfo& shape,
                 uint64_t row, const char* name, Location at)
{
    const uint64_t first = row * shape.srcK;
    if (row < shape.oriSrcM) {
        expect_set<T>(src, first, shape.oriSrcK, name, at);
    }
    const bool valid = is_set<T>(src, first, shape.oriSrcK);
    double most = -INFINITY;
    for (uint64_t k = 0; k < shape.oriSrcK; ++k) {
        const double value = static_cast<float>(load<T>(src, first + k));
        most = value > most || value != value ? value : most;
    }
    std::vector<double> powers(shape.srcK);
    double total = 0;
    for (uint64_t k = 0; k < shape.srcK; ++k) {
        powers[k] = std::exp(static_cast<double>(static_cast<float>(load<T>(src, first + k))) - most);
        total += k < shape.oriSrcK ? powers[k] : 0;
    }
    for (uint64_t k = 0; k < shape.srcK; ++k) {
        store<T>(dst, first + k, static_cast<T>(powers[k] / total), valid && k < shape.oriSrcK);
    }
    if (sum != nullptr) {
        store_block<S>(*sum, row, total, valid);
        store_block<S>(*largest, row, most, valid);
    }
}

template <typename T, typename S>
void softmax(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<S>* sum, const AscendC::LocalTensor<S>* largest,
             const AscendC::LocalTensor<T>& src, const Temporary& memory, const AscendC::SoftMaxTiling& tiling, const AscendC::SoftMaxShapeInfo& info)
{
    AdvancedCall call("SoftMax", at);
    const AscendC::SoftMaxShapeInfo shape = softmax_shape(tiling, info);
    call.dtype(dtype_of<T>(), HALF_OR_FLOAT);
    call.dtype(dtype_of<S>(), HALF_OR_FLOAT);
    if (shape.srcK * sizeof(T) % 32 != 0) {
        call.fail("alignment", format("rows of %u elements are no multiple of 32 bytes: pad them", shape.srcK));
    }
    const uint64_t bytes = static_cast<uint64_t>(shape.srcM) * shape.srcK * sizeof(T);
    call.reads(src, bytes, "the source");
    call.writes(dst, bytes, "the result");
    if (sum != nullptr) {
        call.writes(*sum, shape.srcM * 32ull, "the tensor of sums");
        call.writes(*largest, shape.srcM * 32ull, "the tensor of largest values");
    }
    if (call.legal()) {
        call.scratch(memory, (32 / sizeof(T) + shape.srcK + 64) * 4);
    }
    const LocalView to = dst;
    const LocalView from = src;
    const bool with_sums = sum != nullptr;
    const LocalView sums = with_sums ? LocalView(*sum) : LocalView();
    const LocalView most = with_sums ? LocalView(*largest) : LocalView();
    call.issue([=] {
        for (uint64_t row = 0; row < shape.srcM; ++row) {
            softmax_row<T, S>(to, from, with_sums ? &sums : nullptr, with_sums ? &most : nullptr, shape, row, "SoftMax", at);
        }
    });
}

// Rows of `pitch` elements of which `length` count.
struct NormShape {
    uint64_t rows = 0;
    uint64_t pitch = 0;
    uint64_t length = 0;
    double epsilon = 0;
    bool reciprocal = false;  // gives 1/sqrt(variance + epsilon) instead of the variance
};

template <typename T, typename M, typename U>
void normalise_row(const LocalView& dst, const LocalView& mean, const LocalView& spread, const LocalView& src, const LocalView& gamma,
                   const LocalView& beta, const NormShape& shape, uint64_t row, Location at)
{
    const uint64_t first = row * shape.pitch;
    expect_set<T>(src, first, shape.length, "LayerNorm", at);
    const bool valid = is_set<T>(src, first, shape.length);
    double average = 0;
    for (uint64_t k = 0; k < shape.length; ++k) {
        average += static_cast<double>(static_cast<float>(load<T>(src, first + k))) / static_cast<double>(shape.length);
    }
    double variance = 0;
    for (uint64_t k = 0; k < shape.length; ++k) {
        const double distance = static_cast<double>(static_cast<float>(load<T>(src, first + k))) - average;
        variance += distance * distance / static_cast<double>(shape.length);
    }
    const double scale = 1 / std::sqrt(variance + shape.epsilon);
    for (uint64_t k = 0; k < shape.pitch; ++k) {
        const bool counts = k < shape.length && is_set<U>(gamma, k) && is_set<U>(beta, k);
        const double value = (static_cast<double>(static_cast<float>(load<T>(src, first + k))) - average) * scale;
        const double result = value * static_cast<double>(static_cast<float>(load<U>(gamma, k))) + static_cast<double>(static_cast<float>(load<U>(beta, k)));
        store<T>(dst, first + k, static_cast<T>(result), valid && counts);
    }
    store<M>(mean, row, static_cast<M>(average), valid);
    store<M>(spread, row, static_cast<M>(shape.reciprocal ? scale : variance), valid);
}

template <typename T, typename M, typename U>
void layer_norm(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<M>& mean, const AscendC::LocalTensor<M>& spread,
                const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<U>& gamma, const AscendC::LocalTensor<U>& beta,
                const Temporary& memory, const NormShape& shape, bool reuse)
{
    AdvancedCall call("LayerNorm", at);
    call.dtype(dtype_of<T>(), HALF_OR_FLOAT);
    call.dtype(dtype_of<U>(), HALF_OR_FLOAT);
    if (shape.pitch * sizeof(T) % 32 != 0) {
        call.fail("alignment", format("rows of %llu elements are no multiple of 32 bytes: pad them", static_cast<unsigned long long>(shape.pitch)));
    }
    call.reads(src, shape.rows * shape.pitch * sizeof(T), "the source");
    call.reads(gamma, shape.length * sizeof(U), "gamma");
    call.reads(beta, shape.length * sizeof(U), "beta");
    call.writes(dst, shape.rows * shape.pitch * sizeof(T), "the result");
    call.writes(mean, shape.rows * sizeof(M), "the tensor of means");
    call.writes(spread, shape.rows * sizeof(M), "the tensor of variances");
    const uint64_t block = (shape.rows * 4 + 31) / 32 * 32;
    if (call.legal()) {
        call.scratch(memory, (reuse && sizeof(T) == 4 ? 2 : 3) * ((shape.pitch * 4 + 31) / 32 * 32) + 2 * block);
    }
    const LocalView to = dst, means = mean, spreads = spread, from = src, factors = gamma, offsets = beta;
    call.issue([=] {
        for (uint64_t row = 0; row < shape.rows; ++row) {
            normalise_row<T, M, U>(to, means, spreads, from, factors, offsets, shape, row, at);
        }
    });
}

constexpr uint64_t power_of_two_below(uint64_t number)
{
    uint64_t power = 1;
    while (power * 2 <= number) {
        power *= 2;
    }
    return power;
}

template <typename T>
struct RowReduction {
    uint64_t first = 0;
    uint64_t last = 0;
    bool along_last = true;
    AscendC::ReduceType type = AscendC::ReduceType::SUM;

    uint64_t pitch() const { return (last * sizeof(T) + 31) / 32 * 32 / sizeof(T); }
    uint64_t results() const { return along_last ? first : last; }

    uint64_t scratch_bytes() const
    {
        const uint64_t extent = along_last ? last : first;
        uint64_t half = power_of_two_below(extent);
        half = half == extent && extent > 1 ? half / 2 : half;
        if (!along_last) {
            return half * pitch() * sizeof(T);
        }
        if (type == AscendC::ReduceType::SUM || type == AscendC::ReduceType::MEAN) {
            return last <= 64 ? 0 : first * half * 4;
        }
        const uint64_t block = 32 / sizeof(T);
        const uint64_t repeat = 256 / sizeof(T);
        return last <= block ? 0 : first * (last < repeat ? block : repeat) * sizeof(T);
    }

    uint64_t element(uint64_t result, uint64_t k) const { return along_last ? result * pitch() + k : k * pitch() + result; }

    void run(const LocalView& dst, const LocalView& src, const char* name, Location at) const
    {
        for (uint64_t result = 0; result < results(); ++result) {
            double value = type == AscendC::ReduceType::MAX ? -INFINITY : (type == AscendC::ReduceType::MIN ? INFINITY : 0);
            bool valid = true;
            const uint64_t extent = along_last ? last : first;
            for (uint64_t k = 0; k < extent; ++k) {
                const double next = static_cast<double>(static_cast<float>(load<T>(src, element(result, k))));
                valid = valid && is_set<T>(src, element(result, k));
                value = combine(value, next);
            }
            if (!valid) {
                core().report("uninitialised", at, format("%s: a lane of a reduction was never written", name));
            }
            store<T>(dst, result, static_cast<T>(type == AscendC::ReduceType::MEAN ? value / static_cast<double>(extent) : value), valid);
        }
    }

private:
    double combine(double value, double next) const
    {
        switch (type) {
            case AscendC::ReduceType::MAX: return next > value || next != next ? next : value;
            case AscendC::ReduceType::MIN: return next < value || next != next ? next : value;
            default: return value + next;
        }
    }
};

template <typename T, typename P>
void reduce_pattern(const char* name, Location at, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const Temporary& memory,
                    const uint32_t* shape, bool padded, AscendC::ReduceType type, bool reuse)
{
    constexpr bool along_last = std::is_same_v<P, AscendC::Pattern::Reduce::AR>;
    static_assert(along_last || std::is_same_v<P, AscendC::Pattern::Reduce::RA>, "patterns are AR and RA");
    AdvancedCall call(name, at);
    const bool sums = type == AscendC::ReduceType::SUM || type == AscendC::ReduceType::MEAN;
    call.dtype(dtype_of<T>(), sums ? bit(DType::F32) : HALF_OR_FLOAT);
    if (!padded) {
        call.fail("alignment", "srcInnerPad has to be true on this chip: rows end at multiples of 32 bytes");
    }
    const RowReduction<T> reduction{shape[0], shape[1], along_last, type};
    call.reads(src, (reduction.first - 1) * reduction.pitch() * sizeof(T) + reduction.last * sizeof(T), "the source");
    call.writes(dst, reduction.results() * sizeof(T), "the result");
    call.apart();
    if (call.legal()) {
        call.scratch(memory, reuse ? 0 : reduction.scratch_bytes());
    }
    const LocalView to = dst, from = src;
    call.issue([=] { reduction.run(to, from, name, at); });
}

// Bytes of temporary memory of Broadcast for a result of two axes.
template <typename T>
uint64_t broadcast_bytes(uint64_t columns)
{
    constexpr uint64_t width = sizeof(T) == 1 ? 2 : sizeof(T);
    constexpr uint64_t block = 32 / width;
    return block * block * width + (columns % block == 0 ? 0 : block * ((columns + block - 1) / block * block) * width);
}

template <typename T, int32_t dim, int32_t axis>
void broadcast(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const uint32_t* to_shape, const uint32_t* from_shape,
               const Temporary& memory)
{
    static_assert(dim == 1 || dim == 2, "one or two axes");
    AdvancedCall call("Broadcast", at);
    call.dtype(dtype_of<T>(), HALF_OR_FLOAT | bit(DType::I8) | bit(DType::U8));
    const uint64_t rows = dim == 2 ? to_shape[0] : 1;
    const uint64_t columns = to_shape[dim - 1];
    const uint64_t from_rows = dim == 2 ? from_shape[0] : 1;
    const uint64_t from_columns = from_shape[dim - 1];
    const bool fits = (from_rows == rows || from_rows == 1) && (from_columns == columns || from_columns == 1) && from_shape[axis] == 1;
    if (!fits) {
        call.fail("shape", format("a source of %llu times %llu does not fill %llu times %llu along axis %d", static_cast<unsigned long long>(from_rows),
                                  static_cast<unsigned long long>(from_columns), static_cast<unsigned long long>(rows),
                                  static_cast<unsigned long long>(columns), axis));
    }
    if (dim == 2 && axis == 0 && columns * sizeof(T) % 32 != 0) {
        call.fail("alignment", format("rows of %llu elements are no multiple of 32 bytes: axis 0 needs that", static_cast<unsigned long long>(columns)));
    }
    call.reads(src, from_rows * from_columns * sizeof(T), "the source");
    call.writes(dst, rows * columns * sizeof(T), "the result");
    call.apart();
    if (call.legal()) {
        call.scratch(memory, dim == 1 ? 0 : broadcast_bytes<T>(columns));
    }
    const LocalView to = dst, from = src;
    call.issue([=] {
        for (uint64_t k = 0; k < rows * columns; ++k) {
            const uint64_t element = (from_rows == 1 ? 0 : k / columns) * from_columns + (from_columns == 1 ? 0 : k % columns);
            store<T>(to, k, load<T>(from, element), is_set<T>(from, element));
        }
    });
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, typename S = T>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
             const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}, Location at = Location::here())
{
    static_assert(!isDataFormatNZ, "rows in fractals are not modelled");
    ascendc_host::softmax<T, S>(at, dst, &sum, &max, src, ascendc_host::temporary(tmp), tiling, shape);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, typename S = T>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max, const LocalTensor<T>& src, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, Location at = Location::here())
{
    static_assert(!isDataFormatNZ, "rows in fractals are not modelled");
    ascendc_host::softmax<T, S>(at, dst, &sum, &max, src, ascendc_host::Temporary(), tiling, shape);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, Location at = Location::here())
{
    ascendc_host::softmax<T, T>(at, dst, nullptr, nullptr, src, ascendc_host::temporary(tmp), tiling, shape);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
             Location at = Location::here())
{
    ascendc_host::softmax<T, T>(at, dst, nullptr, nullptr, src, ascendc_host::Temporary(), tiling, shape);
}

template <typename T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean, const LocalTensor<T>& variance, const LocalTensor<T>& src,
               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const LocalTensor<uint8_t>& tmp, const std::common_type_t<T> epsilon,
               LayerNormTiling& tiling, Location at = Location::here())
{
    const ascendc_host::NormShape shape{static_cast<uint64_t>(tiling.bLength) * tiling.sLength, tiling.hLength, tiling.originalHLength,
                                        static_cast<double>(static_cast<float>(epsilon)), false};
    ascendc_host::layer_norm(at, dst, mean, variance, src, gamma, beta, ascendc_host::temporary(tmp), shape, isReuseSource);
}
template <typename T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& dst, const LocalTensor<T>& mean, const LocalTensor<T>& variance, const LocalTensor<T>& src,
               const LocalTensor<T>& gamma, const LocalTensor<T>& beta, const std::common_type_t<T> epsilon, LayerNormTiling& tiling,
               Location at = Location::here())
{
    const ascendc_host::NormShape shape{static_cast<uint64_t>(tiling.bLength) * tiling.sLength, tiling.hLength, tiling.originalHLength,
                                        static_cast<double>(static_cast<float>(epsilon)), false};
    ascendc_host::layer_norm(at, dst, mean, variance, src, gamma, beta, ascendc_host::Temporary(), shape, isReuseSource);
}
template <typename U, typename T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& dst, const LocalTensor<float>& mean, const LocalTensor<float>& scale, const LocalTensor<T>& src,
               const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon, const LocalTensor<uint8_t>& tmp, const LayerNormPara& para,
               const LayerNormSeparateTiling&, Location at = Location::here())
{
    const ascendc_host::NormShape shape{para.aLength, para.rLengthWithPadding, para.rLength, epsilon, true};
    ascendc_host::layer_norm(at, dst, mean, scale, src, gamma, beta, ascendc_host::temporary(tmp), shape, isReuseSource);
}

template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t to_shape[dim], const uint32_t from_shape[dim],
               LocalTensor<uint8_t>& tmp, Location at = Location::here())
{
    ascendc_host::broadcast<T, dim, axis>(at, dst, src, to_shape, from_shape, ascendc_host::temporary(tmp));
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t to_shape[dim], const uint32_t from_shape[dim],
               Location at = Location::here())
{
    ascendc_host::broadcast<T, dim, axis>(at, dst, src, to_shape, from_shape, ascendc_host::Temporary());
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t to_shape[dim], const uint32_t from_shape[dim],
               LocalTensor<uint8_t>& tmp, Location at = Location::here())
{
    ascendc_host::broadcast<T, dim, axis>(at, dst, src, to_shape, from_shape, ascendc_host::temporary(tmp));
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t to_shape[dim], const uint32_t from_shape[dim],
               Location at = Location::here())
{
    ascendc_host::broadcast<T, dim, axis>(at, dst, src, to_shape, from_shape, ascendc_host::Temporary());
}

}  // namespace AscendC

#define ASCENDC_HOST_PATTERN(NAME, TYPE)                                                                                               \
    template <class T, class P, bool isReuseSource = false>                                                                            \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, const uint32_t shape[],           \
              bool padded, Location at = Location::here())                                                                             \
    {                                                                                                                                  \
        ascendc_host::reduce_pattern<T, P>(#NAME, at, dst, src, ascendc_host::temporary(tmp), shape, padded, ReduceType::TYPE,         \
                                           isReuseSource);                                                                             \
    }                                                                                                                                  \
    template <class T, class P, bool isReuseSource = false>                                                                            \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t shape[], bool padded,                               \
              Location at = Location::here())                                                                                          \
    {                                                                                                                                  \
        ascendc_host::reduce_pattern<T, P>(#NAME, at, dst, src, ascendc_host::Temporary(), shape, padded, ReduceType::TYPE,            \
                                           isReuseSource);                                                                             \
    }

namespace AscendC {
ASCENDC_HOST_PATTERN(ReduceSum, SUM)
ASCENDC_HOST_PATTERN(ReduceMean, MEAN)
ASCENDC_HOST_PATTERN(ReduceMax, MAX)
ASCENDC_HOST_PATTERN(ReduceMin, MIN)
}  // namespace AscendC

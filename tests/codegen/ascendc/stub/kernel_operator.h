// The part of the AscendC interface that emitted kernels use, for tests on a machine without CANN: one core, every
// instruction at once and in program order. Element types, counts, masks, repeats, alignment and bounds are checked
// as documented for Atlas A2; flags must be set before they are waited for. Memory starts as 0xFF (NaN).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#define ASCENDC_CPU_DEBUG 1
#define __aicore__
#define __global__
#define __vector__
#define __gm__
using GM_ADDR = uint8_t*;
using half = _Float16;

struct bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    explicit bfloat16_t(float value)
    {
        uint32_t word;
        std::memcpy(&word, &value, 4);
        bits = std::isnan(value) ? 0x7fc0 : static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
    }
    explicit operator float() const
    {
        const uint32_t word = static_cast<uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &word, 4);
        return value;
    }
};

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };

namespace AscendC {

enum class HardEvent { MTE2_V, V_MTE2, MTE3_V, V_MTE3, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2, MTE2_S, S_MTE3, MTE3_S };
enum class TPosition { VECIN, VECOUT, VECCALC };
enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class RoundMode { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class ReduceOrder { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };

constexpr int64_t UB_BYTES = 192 * 1024;
constexpr int64_t RESERVED_FROM = 184 * 1024;

struct Core {
    alignas(32) uint8_t ub[UB_BYTES];
    int64_t block = 0;
    int64_t highest = 0;
    std::map<std::pair<HardEvent, int>, bool> flags;
    void Start(int64_t number)
    {
        std::memset(ub, 0xff, sizeof(ub));
        block = number;
        highest = 0;
        flags.clear();
    }
    void Finish() const
    {
        for (const auto& flag : flags) {
            if (flag.second) {
                throw std::runtime_error("a flag is still set at the end");
            }
        }
    }
};

inline Core core;

inline void Require(bool condition, const char* what)
{
    if (!condition) {
        throw std::runtime_error(what);
    }
}

inline void InitSocState() {}
inline int64_t GetBlockIdx() { return core.block; }
template <pipe_t pipe> void PipeBarrier() {}
template <HardEvent event> void SetFlag(int id)
{
    Require(id <= 5, "flag ids 6 and 7 are reserved");
    bool& flag = core.flags[{event, id}];
    Require(!flag, "a flag is set twice");
    flag = true;
}
template <HardEvent event> void WaitFlag(int id)
{
    bool& flag = core.flags[{event, id}];
    Require(flag, "a wait for a flag that nobody set hangs");
    flag = false;
}

template <typename T> class GlobalTensor {
public:
    void SetGlobalBuffer(T* data, uint64_t elements)
    {
        data_ = data;
        elements_ = elements;
    }
    GlobalTensor operator[](uint64_t offset) const
    {
        Require(offset < elements_ || (offset == 0 && elements_ == 0), "an offset outside a global tensor");
        GlobalTensor part;
        part.SetGlobalBuffer(data_ + offset, elements_ - offset);
        return part;
    }
    T GetValue(uint64_t offset) const
    {
        Require(offset < elements_, "a value outside a global tensor");
        return data_[offset];
    }
    T* Bytes(uint64_t offset, uint64_t bytes) const
    {
        Require(offset + bytes <= elements_ * sizeof(T), "a copy leaves a global tensor");
        return reinterpret_cast<T*>(reinterpret_cast<uint8_t*>(data_) + offset);
    }

private:
    T* data_ = nullptr;
    uint64_t elements_ = 0;
};

template <typename T> class LocalTensor {
public:
    LocalTensor(TPosition, uint32_t address, uint32_t elements) : address_(address), elements_(elements)
    {
        Require(address % 32 == 0, "a local tensor is not aligned to 32 bytes");
        Require(address + static_cast<int64_t>(elements) * sizeof(T) <= UB_BYTES, "the unified buffer is full");
        core.highest = std::max<int64_t>(core.highest, address + static_cast<int64_t>(elements) * sizeof(T));
    }
    LocalTensor operator[](uint32_t offset) const
    {
        Require(offset < elements_, "an offset outside a local tensor");
        LocalTensor part = *this;
        part.address_ += offset * sizeof(T);
        part.elements_ -= offset;
        return part;
    }
    template <typename U> LocalTensor<U> ReinterpretCast() const
    {
        return LocalTensor<U>::Raw(address_, elements_ * sizeof(T) / sizeof(U));
    }
    static LocalTensor Raw(uint32_t address, uint32_t elements)
    {
        LocalTensor made(TPosition::VECCALC, 0, 0);
        made.address_ = address;
        made.elements_ = elements;
        return made;
    }
    T GetValue(uint32_t offset) const { return *At(offset); }
    void SetValue(uint32_t offset, T value) const { *At(offset) = value; }
    T* At(int64_t offset) const
    {
        Require(offset >= 0 && offset < elements_, "an element outside a local tensor");
        return reinterpret_cast<T*>(core.ub + address_) + offset;
    }
    void Aligned(int64_t bytes = 32) const { Require(address_ % bytes == 0, "an operand is not aligned"); }
    uint32_t GetSize() const { return elements_; }
    uint32_t Address() const { return address_; }

private:
    uint32_t address_;
    uint32_t elements_;
};

template <typename T, typename... Options> constexpr bool OneOf = (std::is_same_v<T, Options> || ...);
template <typename T> constexpr bool Arithmetic = OneOf<T, half, float, int16_t, int32_t>;
template <typename T> constexpr bool Floating = OneOf<T, half, float>;

struct BinaryRepeatParams {
    uint8_t dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep;
};
struct UnaryRepeatParams {
    uint16_t dstBlk, srcBlk;
    uint8_t dstRep, srcRep;
};
struct CopyRepeatParams {
    uint16_t dstBlk, srcBlk, dstRep, srcRep;
};
struct BrcbRepeatParams {
    uint16_t dstBlk, dstRep;
};

template <typename T, typename Function>
void ByCount(const LocalTensor<T>& dst, const LocalTensor<T>& left, const LocalTensor<T>& right, int32_t count, Function function)
{
    dst.Aligned();
    left.Aligned();
    right.Aligned();
    for (int32_t k = 0; k < count; ++k) {
        *dst.At(k) = function(*left.At(k), *right.At(k));
    }
}

template <typename T, typename Function>
void ByMask(const LocalTensor<T>& dst, const LocalTensor<T>& left, const LocalTensor<T>& right, uint64_t mask, uint8_t repeats,
    const BinaryRepeatParams& p, Function function)
{
    constexpr int64_t block = 32 / sizeof(T);
    Require(mask >= 1 && mask <= 256 / sizeof(T), "a mask outside its range");
    Require(p.dstBlk != 0, "a destination block stride of 0");
    dst.Aligned();
    left.Aligned();
    right.Aligned();
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        std::vector<T> values(mask);
        for (int64_t k = 0; k < static_cast<int64_t>(mask); ++k) {
            const int64_t row = k / block, lane = k % block;
            values[k] = function(*left.At((repeat * p.src0Rep + row * p.src0Blk) * block + lane),
                *right.At((repeat * p.src1Rep + row * p.src1Blk) * block + lane));
        }
        for (int64_t k = 0; k < static_cast<int64_t>(mask); ++k) {
            *dst.At((repeat * p.dstRep + k / block * p.dstBlk) * block + k % block) = values[k];
        }
    }
}

#define BINARY(NAME, TYPES, EXPRESSION)                                                                                  \
    template <typename T>                                                                                                \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& left, const LocalTensor<T>& right, int32_t count)         \
    {                                                                                                                    \
        static_assert(TYPES<T>, #NAME " does not take this element type");                                              \
        ByCount(dst, left, right, count, [](T x, T y) -> T { return EXPRESSION; });                                      \
    }                                                                                                                    \
    template <typename T>                                                                                                \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& left, const LocalTensor<T>& right, uint64_t mask,         \
        uint8_t repeats, const BinaryRepeatParams& parameters)                                                           \
    {                                                                                                                    \
        static_assert(TYPES<T>, #NAME " does not take this element type");                                              \
        ByMask(dst, left, right, mask, repeats, parameters, [](T x, T y) -> T { return EXPRESSION; });                   \
    }

template <typename T> T Wrapped(double exact, int64_t whole)
{
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, float>) {
        return static_cast<T>(exact);
    } else {
        return static_cast<T>(whole);
    }
}
template <typename T> int64_t Whole(T value)
{
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, float>) {
        return 0;
    } else {
        return static_cast<int64_t>(value);
    }
}
template <typename T> bool IsNan(T value)
{
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, float>) {
        return std::isnan(static_cast<float>(value));
    } else {
        return false;
    }
}
template <typename T> constexpr bool Words = OneOf<T, int16_t, uint16_t>;

BINARY(Add, Arithmetic, Wrapped<T>(static_cast<double>(x) + static_cast<double>(y), Whole(x) + Whole(y)))
BINARY(Sub, Arithmetic, Wrapped<T>(static_cast<double>(x) - static_cast<double>(y), Whole(x) - Whole(y)))
BINARY(Mul, Arithmetic, Wrapped<T>(static_cast<double>(x) * static_cast<double>(y), Whole(x) * Whole(y)))
BINARY(Div, Floating, static_cast<T>(static_cast<double>(x) / static_cast<double>(y)))
BINARY(Max, Arithmetic, IsNan(x) || x > y ? x : y)
BINARY(Min, Arithmetic, IsNan(x) || x < y ? x : y)
BINARY(And, Words, static_cast<T>(x & y))
BINARY(Or, Words, static_cast<T>(x | y))

#define UNARY(NAME, TYPES, EXPRESSION)                                                                                   \
    template <typename T> void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count)                 \
    {                                                                                                                    \
        static_assert(TYPES<T>, #NAME " does not take this element type");                                              \
        ByCount(dst, src, src, count, [](T x, T) -> T { return EXPRESSION; });                                           \
    }

UNARY(Exp, Floating, static_cast<T>(std::exp(static_cast<double>(x))))
UNARY(Ln, Floating, static_cast<T>(std::log(static_cast<double>(x))))
UNARY(Sqrt, Floating, static_cast<T>(std::sqrt(static_cast<double>(x))))
UNARY(Abs, Floating, static_cast<T>(std::fabs(static_cast<double>(x))))
UNARY(Not, Words, static_cast<T>(~x))

#define WITH_NUMBER(NAME, BINARY_NAME, EXPRESSION)                                                                       \
    template <typename T> void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& y, int32_t count)     \
    {                                                                                                                    \
        static_assert(Arithmetic<T>, #NAME " does not take this element type");                                         \
        ByCount(dst, src, src, count, [y](T x, T) -> T { return EXPRESSION; });                                          \
    }

WITH_NUMBER(Adds, Add, Wrapped<T>(static_cast<double>(x) + static_cast<double>(y), Whole(x) + Whole(y)))
WITH_NUMBER(Muls, Mul, Wrapped<T>(static_cast<double>(x) * static_cast<double>(y), Whole(x) * Whole(y)))
WITH_NUMBER(Maxs, Max, IsNan(x) || x > y ? x : y)
WITH_NUMBER(Mins, Min, IsNan(x) || x < y ? x : y)

template <typename T> void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& amount, int32_t count)
{
    static_assert(OneOf<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftRight does not take this element type");
    ByCount(dst, src, src, count, [amount](T x, T) -> T { return x >> amount; });
}

template <typename T> void Duplicate(const LocalTensor<T>& dst, const T& value, int32_t count)
{
    static_assert(OneOf<T, half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t>, "Duplicate does not take this element type");
    dst.Aligned();
    for (int32_t k = 0; k < count; ++k) {
        *dst.At(k) = value;
    }
}

template <typename T> void CreateVecIndex(const LocalTensor<T>& dst, const T& first, uint32_t count)
{
    static_assert(OneOf<T, half, float, int16_t, int32_t>, "CreateVecIndex does not take this element type");
    dst.Aligned();
    for (uint32_t k = 0; k < count; ++k) {
        *dst.At(k) = static_cast<T>(first + static_cast<T>(k));
    }
}

inline double Rounded(double x, RoundMode mode)
{
    switch (mode) {
        case RoundMode::CAST_FLOOR: return std::floor(x);
        case RoundMode::CAST_CEIL: return std::ceil(x);
        case RoundMode::CAST_TRUNC: return std::trunc(x);
        case RoundMode::CAST_ROUND: return std::round(x);
        default: return std::nearbyint(x);
    }
}

template <typename D, typename S> constexpr bool Converts()
{
    using P = std::pair<D, S>;
    return OneOf<P, std::pair<half, int8_t>, std::pair<half, uint8_t>, std::pair<half, int16_t>, std::pair<float, int16_t>,
        std::pair<int8_t, half>, std::pair<uint8_t, half>, std::pair<int16_t, half>, std::pair<int32_t, half>,
        std::pair<float, half>, std::pair<int32_t, bfloat16_t>, std::pair<float, bfloat16_t>, std::pair<int16_t, int32_t>,
        std::pair<float, int32_t>, std::pair<int64_t, int32_t>, std::pair<int16_t, float>, std::pair<bfloat16_t, float>,
        std::pair<int32_t, float>, std::pair<int64_t, float>, std::pair<float, float>, std::pair<half, float>,
        std::pair<int32_t, int64_t>, std::pair<float, int64_t>>;
}

template <typename D, typename S> bool ModeFits(RoundMode mode)
{
    const bool none = mode == RoundMode::CAST_NONE, odd = mode == RoundMode::CAST_ODD;
    constexpr bool widens = (std::is_same_v<D, float> && !OneOf<S, int32_t, int64_t, float>) ||
        (std::is_same_v<D, half> && OneOf<S, int8_t, uint8_t>) || (OneOf<S, int32_t, int64_t> && OneOf<D, int16_t, int32_t, int64_t>);
    if (widens) {
        return none;
    }
    if (std::is_same_v<D, half> && std::is_same_v<S, float>) {
        return true;
    }
    const bool may_be_none = OneOf<D, int8_t, uint8_t> || (std::is_same_v<D, float> && std::is_same_v<S, int32_t>);
    return !odd && (!none || may_be_none);
}

template <typename D, typename S> void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, uint32_t count)
{
    static_assert(Converts<D, S>(), "Cast does not convert between these element types");
    Require((ModeFits<D, S>(mode)), "Cast has no such rounding mode for these element types");
    dst.Aligned();
    src.Aligned();
    std::vector<D> values(count);
    for (uint32_t k = 0; k < count; ++k) {
        const S raw = *src.At(k);
        if constexpr (OneOf<D, half, bfloat16_t, float>) {
            const float value = static_cast<float>(raw);
            values[k] = static_cast<D>(std::is_same_v<D, S> ? static_cast<float>(Rounded(value, mode)) : value);
        } else {
            double exact;
            if constexpr (std::is_integral_v<S>) {
                exact = static_cast<double>(raw);
            } else {
                exact = static_cast<float>(raw);
            }
            const double value = Rounded(exact, mode);
            const double low = static_cast<double>(std::numeric_limits<D>::min());
            const double high = static_cast<double>(std::numeric_limits<D>::max());
            values[k] = std::isnan(value) ? D(0)
                : value <= low ? std::numeric_limits<D>::min()
                : value >= high ? std::numeric_limits<D>::max()
                                : static_cast<D>(value);
        }
    }
    for (uint32_t k = 0; k < count; ++k) {
        *dst.At(k) = values[k];
    }
}

template <typename T> bool Compares(T x, T y, CMPMODE mode)
{
    switch (mode) {
        case CMPMODE::LT: return x < y;
        case CMPMODE::GT: return x > y;
        case CMPMODE::EQ: return x == y;
        case CMPMODE::LE: return x <= y;
        case CMPMODE::GE: return x >= y;
        default: return x != y;
    }
}

template <typename T>
void Compare(const LocalTensor<uint8_t>& dst, const LocalTensor<T>& left, const LocalTensor<T>& right, CMPMODE mode, uint32_t count)
{
    static_assert(OneOf<T, half, float, int32_t>, "Compare does not take this element type");
    Require(!std::is_same_v<T, int32_t> || mode == CMPMODE::EQ, "Compare of int32_t is for equality only");
    Require(count * sizeof(T) % 256 == 0, "a count of Compare that is not a multiple of 256 bytes");
    dst.Aligned();
    left.Aligned();
    right.Aligned();
    for (uint32_t k = 0; k < count; ++k) {
        const uint8_t bit = static_cast<uint8_t>(1u << (k % 8));
        const bool holds = Compares(*left.At(k), *right.At(k), mode);
        *dst.At(k / 8) = static_cast<uint8_t>(holds ? *dst.At(k / 8) | bit : *dst.At(k / 8) & ~bit);
    }
}

template <typename T>
void CompareScalar(const LocalTensor<uint8_t>& dst, const LocalTensor<T>& src, const T y, CMPMODE mode, uint32_t count)
{
    static_assert(Floating<T>, "CompareScalar does not take this element type");
    Require(count * sizeof(T) % 256 == 0, "a count of CompareScalar that is not a multiple of 256 bytes");
    dst.Aligned();
    src.Aligned();
    for (uint32_t k = 0; k < count; ++k) {
        const uint8_t bit = static_cast<uint8_t>(1u << (k % 8));
        *dst.At(k / 8) = static_cast<uint8_t>(Compares(*src.At(k), y, mode) ? *dst.At(k / 8) | bit : *dst.At(k / 8) & ~bit);
    }
}

inline bool Bit(const LocalTensor<uint8_t>& bits, uint32_t k) { return (*bits.At(k / 8) >> (k % 8)) & 1; }

template <typename T>
void Select(const LocalTensor<T>& dst, const LocalTensor<uint8_t>& bits, const LocalTensor<T>& left, const LocalTensor<T>& right,
    SELMODE mode, uint32_t count)
{
    static_assert(Floating<T>, "Select does not take this element type");
    Require(mode == SELMODE::VSEL_TENSOR_TENSOR_MODE, "Select of two tensors needs VSEL_TENSOR_TENSOR_MODE");
    Require(core.highest <= RESERVED_FROM, "Select uses the last 8 KiB of the unified buffer");
    bits.Aligned();
    left.Aligned();
    right.Aligned();
    for (uint32_t k = 0; k < count; ++k) {
        std::memcpy(dst.At(k), Bit(bits, k) ? left.At(k) : right.At(k), sizeof(T));
    }
}

template <typename T>
void Select(const LocalTensor<T>& dst, const LocalTensor<uint8_t>& bits, const LocalTensor<T>& left, T right, SELMODE mode, uint32_t count)
{
    static_assert(Floating<T>, "Select does not take this element type");
    Require(mode == SELMODE::VSEL_TENSOR_SCALAR_MODE, "Select of a tensor and a number needs VSEL_TENSOR_SCALAR_MODE");
    Require(core.highest <= RESERVED_FROM, "Select uses the last 8 KiB of the unified buffer");
    bits.Aligned();
    left.Aligned();
    for (uint32_t k = 0; k < count; ++k) {
        std::memcpy(dst.At(k), Bit(bits, k) ? left.At(k) : &right, sizeof(T));
    }
}

template <typename T> void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint8_t repeats, const BrcbRepeatParams& p)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb does not take this element type");
    constexpr int64_t block = 32 / sizeof(T);
    dst.Aligned();
    src.Aligned();
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        for (int64_t k = 0; k < 8; ++k) {
            for (int64_t lane = 0; lane < block; ++lane) {
                *dst.At((repeat * p.dstRep + k * p.dstBlk) * block + lane) = *src.At(repeat * 8 + k);
            }
        }
    }
}

template <typename T>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, uint8_t repeats, const CopyRepeatParams& p)
{
    constexpr int64_t block = 32 / sizeof(T);
    Require(mask >= 1 && mask <= 256 / sizeof(T), "a mask outside its range");
    dst.Aligned();
    src.Aligned();
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        for (int64_t k = 0; k < static_cast<int64_t>(mask); ++k) {
            *dst.At((repeat * p.dstRep + k / block * p.dstBlk) * block + k % block) =
                *src.At((repeat * p.srcRep + k / block * p.srcBlk) * block + k % block);
        }
    }
}

template <typename Function>
void WholeReduce(const LocalTensor<float>& dst, const LocalTensor<float>& src, int32_t mask, int32_t repeats, int32_t dstRep,
    int32_t srcBlk, int32_t srcRep, Function function)
{
    Require(mask >= 1 && mask <= 64, "a mask outside its range");
    Require(repeats >= 0 && repeats <= 255, "more than 255 repeats");
    Require(srcBlk >= 0 && srcBlk < 65536 && srcRep >= 0 && srcRep < 65536, "a stride outside its range");
    dst.Aligned(4);
    src.Aligned();
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        float total = *src.At(repeat * srcRep * 8);
        for (int64_t k = 1; k < mask; ++k) {
            total = function(total, *src.At((repeat * srcRep + k / 8 * srcBlk) * 8 + k % 8));
        }
        *dst.At(repeat * dstRep) = total;
    }
}

template <typename T>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask, int32_t repeats, int32_t dstRep,
    int32_t srcBlk, int32_t srcRep)
{
    WholeReduce(dst, src, mask, repeats, dstRep, srcBlk, srcRep, [](float x, float y) { return x + y; });
}

template <typename T>
void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask, int32_t repeats, int32_t dstRep,
    int32_t srcBlk, int32_t srcRep, ReduceOrder order)
{
    Require(order == ReduceOrder::ORDER_ONLY_VALUE, "an order other than ORDER_ONLY_VALUE");
    WholeReduce(dst, src, mask, repeats, dstRep, srcBlk, srcRep, [](float x, float y) { return std::isnan(x) || x > y ? x : y; });
}

template <typename T>
void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask, int32_t repeats, int32_t dstRep,
    int32_t srcBlk, int32_t srcRep, ReduceOrder order)
{
    Require(order == ReduceOrder::ORDER_ONLY_VALUE, "an order other than ORDER_ONLY_VALUE");
    WholeReduce(dst, src, mask, repeats, dstRep, srcBlk, srcRep, [](float x, float y) { return std::isnan(x) || x < y ? x : y; });
}

template <typename T> void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count)
{
    Require(count * sizeof(T) % 32 == 0, "a count of DataCopy that is not a multiple of 32 bytes");
    dst.Aligned();
    if (count > 0) {
        dst.At(count - 1);
        std::memcpy(dst.At(0), src.Bytes(0, count * sizeof(T)), count * sizeof(T));
    }
}

template <typename T> void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count)
{
    Require(count * sizeof(T) % 32 == 0, "a count of DataCopy that is not a multiple of 32 bytes");
    src.Aligned();
    if (count > 0) {
        src.At(count - 1);
        std::memcpy(dst.Bytes(0, count * sizeof(T)), src.At(0), count * sizeof(T));
    }
}

template <typename T> void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count)
{
    Require(count * sizeof(T) % 32 == 0, "a count of DataCopy that is not a multiple of 32 bytes");
    dst.Aligned();
    src.Aligned();
    if (count > 0) {
        dst.At(count - 1);
        src.At(count - 1);
        std::memmove(dst.At(0), src.At(0), count * sizeof(T));
    }
}

struct DataCopyExtParams {
    uint16_t blockCount;
    uint32_t blockLen, srcStride, dstStride, rsv;
};
template <typename T> struct DataCopyPadExtParams {
    bool isPad;
    uint8_t leftPadding, rightPadding;
    T paddingValue;
};
template <> struct DataCopyPadExtParams<bfloat16_t> {
    bool isPad;
    uint8_t leftPadding, rightPadding;
    uint16_t paddingValue;
};

inline void CheckCopy(const DataCopyExtParams& p)
{
    Require(p.blockCount <= 4095, "more than 4095 blocks in one DataCopyPad");
    Require(p.blockLen <= 2097151, "a block of DataCopyPad that is too long");
}

// Each row starts at a 32-byte block; what follows a row up to the next block is left undefined (0xAA here).
template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p, const DataCopyPadExtParams<T>&)
{
    CheckCopy(p);
    Require(p.blockLen % sizeof(T) == 0, "a block of DataCopyPad that is no whole number of elements");
    dst.Aligned();
    const int64_t padded = (p.blockLen + 31) / 32 * 32;
    for (int64_t row = 0; row < p.blockCount; ++row) {
        const int64_t offset = row * (padded + p.dstStride * 32LL) / sizeof(T);
        dst.At(offset + padded / sizeof(T) - 1);
        std::memset(dst.At(offset), 0xaa, padded);
        std::memcpy(dst.At(offset), src.Bytes(row * (p.blockLen + static_cast<int64_t>(p.srcStride)), p.blockLen), p.blockLen);
    }
}

template <typename T> void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p)
{
    CheckCopy(p);
    Require(p.blockLen % sizeof(T) == 0, "a block of DataCopyPad that is no whole number of elements");
    src.Aligned();
    const int64_t padded = (p.blockLen + 31) / 32 * 32;
    for (int64_t row = 0; row < p.blockCount; ++row) {
        const int64_t offset = row * (padded + p.srcStride * 32LL) / sizeof(T);
        src.At(offset + (p.blockLen / sizeof(T)) - 1);
        std::memcpy(dst.Bytes(row * (p.blockLen + static_cast<int64_t>(p.dstStride)), p.blockLen), src.At(offset), p.blockLen);
    }
}

}  // namespace AscendC

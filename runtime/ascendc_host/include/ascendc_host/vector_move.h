// Vector instructions that fill, copy and convert: Duplicate, Copy, Cast, Brcb, CreateVecIndex, Axpy, MulAddDst.
#pragma once

#include "vector_unary.h"

namespace ascendc_host {

constexpr uint32_t B16 = bit(DType::F16) | bit(DType::BF16) | bit(DType::I16) | bit(DType::U16);
constexpr uint32_t B32 = bit(DType::F32) | bit(DType::I32) | bit(DType::U32);

// A function of the lane's number: the only operand is the result.
template <typename T, typename Function>
void generate(VectorCall& call, const Lanes& lanes, const Operand& target, Function function)
{
    Ranges ranges = call.place(target, lanes, "the result");
    if (!call.legal() || lanes.repeats == 0) {
        return;
    }
    call.issue({VectorCall::writes(std::move(ranges))}, [lanes, target, function] {
        Memory& memory = core().memory(Space::UB);
        const uint32_t chunk = target.block_stride == 1 ? ~0u / 2 : 256 / target.bits;
        for_each_run(lanes, chunk, [&](uint32_t repeat, uint32_t lane, uint32_t count) {
            const uint64_t start = target.offset(repeat, lane);
            T* values = reinterpret_cast<T*>(memory.data.data() + start);
            for (uint32_t k = 0; k < count; ++k) {
                values[k] = function(repeat * lanes.per_repeat + lane + k);
            }
            std::memset(memory.shadow.data() + start, 0xff, static_cast<uint64_t>(count) * sizeof(T));
        });
    });
}

template <typename T>
struct Constant {
    T value;
    T operator()(uint32_t) const { return value; }
};

template <typename T>
struct Counting {
    T first;
    T operator()(uint32_t lane) const
    {
        if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(first + static_cast<T>(lane));
        } else {
            return static_cast<T>(static_cast<float>(first) + static_cast<float>(lane));
        }
    }
};

struct Identity { template <typename T> T operator()(T a) const { return a; } };

// Rounds to a whole number in the given mode.
inline double rounded(double value, AscendC::RoundMode mode)
{
    using Mode = AscendC::RoundMode;
    switch (mode) {
        case Mode::CAST_FLOOR: return std::floor(value);
        case Mode::CAST_CEIL: return std::ceil(value);
        case Mode::CAST_ROUND: return std::round(value);
        case Mode::CAST_TRUNC: return std::trunc(value);
        default: return std::nearbyint(value);
    }
}

template <typename T>
struct IntegerLimits {
    static constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
    static constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
};
template <>
struct IntegerLimits<AscendC::int4b_t> {
    static constexpr double low = -8;
    static constexpr double high = 7;
};

// Conversion to whole numbers saturates; NaN gives 0.
template <typename To>
To to_integer(double value, AscendC::RoundMode mode)
{
    if (value != value) {
        return To(0);
    }
    const double whole = rounded(value, mode);
    if (whole <= IntegerLimits<To>::low) {
        return static_cast<To>(static_cast<int64_t>(IntegerLimits<To>::low));
    }
    if (whole >= IntegerLimits<To>::high) {
        if constexpr (std::is_integral_v<To>) {
            return std::numeric_limits<To>::max();
        } else {
            return To(static_cast<int>(IntegerLimits<To>::high));
        }
    }
    return static_cast<To>(static_cast<int64_t>(whole));
}

// To a number of 16 bits: the neighbours are one step of the bit pattern apart.
template <typename To>
To to_small(double value, AscendC::RoundMode mode)
{
    using Mode = AscendC::RoundMode;
    const To nearest = static_cast<To>(value);
    const double found = static_cast<double>(static_cast<float>(nearest));
    if (mode == Mode::CAST_NONE || mode == Mode::CAST_RINT || found == value || value != value || std::isinf(value)) {
        return nearest;
    }
    const bool away = std::fabs(found) > std::fabs(value);
    const To inner = away ? To::from_bits(static_cast<uint16_t>(nearest.bits - 1)) : nearest;
    const To outer = away ? nearest : To::from_bits(static_cast<uint16_t>(nearest.bits + 1));
    const bool negative = value < 0;
    switch (mode) {
        case Mode::CAST_FLOOR: return negative ? outer : inner;
        case Mode::CAST_CEIL: return negative ? inner : outer;
        case Mode::CAST_TRUNC: return inner;
        case Mode::CAST_ODD: return (inner.bits & 1) != 0 ? inner : outer;
        default: break;
    }
    const double low = std::fabs(static_cast<double>(static_cast<float>(inner)));
    const double high = std::fabs(static_cast<double>(static_cast<float>(outer)));
    return std::fabs(value) - low >= high - std::fabs(value) ? outer : inner;  // CAST_ROUND: ties away from zero
}

inline float to_float(double value, AscendC::RoundMode mode)
{
    using Mode = AscendC::RoundMode;
    const float nearest = static_cast<float>(value);
    const double found = nearest;
    if (mode == Mode::CAST_NONE || mode == Mode::CAST_RINT || found == value || value != value) {
        return nearest;
    }
    const float inner = std::fabs(found) > std::fabs(value) ? std::nextafter(nearest, 0.0f) : nearest;
    const float outer = std::fabs(found) > std::fabs(value) ? nearest : std::nextafter(nearest, value < 0 ? -INFINITY : INFINITY);
    switch (mode) {
        case Mode::CAST_FLOOR: return value < 0 ? outer : inner;
        case Mode::CAST_CEIL: return value < 0 ? inner : outer;
        case Mode::CAST_TRUNC: return inner;
        default: return std::fabs(value) - std::fabs(static_cast<double>(inner)) >= std::fabs(static_cast<double>(outer)) - std::fabs(value) ? outer : inner;
    }
}

template <typename To, typename From>
struct Convert {
    AscendC::RoundMode mode;
    float scale;  // of integers that become half
    To operator()(From value) const
    {
        if constexpr (std::is_same_v<To, From>) {
            if constexpr (std::is_same_v<To, float>) {
                return static_cast<float>(rounded(value, mode));
            } else {
                return value;
            }
        } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
            if constexpr (sizeof(To) < sizeof(From)) {
                const From low = static_cast<From>(std::numeric_limits<To>::min());
                const From high = static_cast<From>(std::numeric_limits<To>::max());
                return static_cast<To>(value < low ? low : (value > high ? high : value));
            } else {
                return static_cast<To>(value);
            }
        } else if constexpr (std::is_integral_v<To> || std::is_same_v<To, AscendC::int4b_t>) {
            return to_integer<To>(static_cast<double>(static_cast<float>(value)), mode);
        } else if constexpr (std::is_same_v<To, float>) {
            return to_float(static_cast<double>(value), mode);
        } else if constexpr (std::is_same_v<From, int32_t>) {
            return static_cast<To>(static_cast<float>(value) * scale);
        } else {
            return to_small<To>(static_cast<double>(value), mode);
        }
    }
};

// Which rounding modes the chip has for a pair of types, as bits; 0 when it has no such conversion.
inline uint32_t cast_modes(DType from, DType to)
{
    constexpr uint32_t NONE = 1, RINT = 2, FLOOR = 4, CEIL = 8, ROUND = 16, TRUNC = 32, ODD = 64;
    constexpr uint32_t FIVE = RINT | FLOOR | CEIL | ROUND | TRUNC;
    using D = DType;
    switch (from) {
        case D::I4: case D::I8: case D::U8: return to == D::F16 ? NONE : 0;
        case D::I16: return to == D::F16 ? FIVE | NONE : (to == D::F32 ? NONE : 0);
        case D::F16:
            if (to == D::I4 || to == D::I8 || to == D::U8) return FIVE | NONE;
            if (to == D::I16 || to == D::I32) return FIVE;
            return to == D::F32 ? NONE : 0;
        case D::BF16: return to == D::I32 ? FIVE : (to == D::F32 ? NONE : 0);
        case D::I32:
            if (to == D::I16 || to == D::I64) return NONE;
            return to == D::F32 ? FIVE | NONE : (to == D::F16 ? NONE : 0);
        case D::F32:
            if (to == D::F16) return FIVE | ODD | NONE;
            return to == D::I16 || to == D::BF16 || to == D::I32 || to == D::I64 || to == D::F32 ? FIVE : 0;
        case D::I64: return to == D::I32 ? NONE : (to == D::F32 ? FIVE : 0);
        default: return 0;
    }
}

// What SetDeqScale put into its register last: one half, one number with offset and sign, or where a tensor of them lies.
enum class DeqKind : uint64_t { NOTHING, HALF, NUMBER, TENSOR };

inline void set_deq_register(DeqKind kind, uint64_t value)
{
    core().registers['D'] = static_cast<uint64_t>(kind);
    core().registers['d'] = value;
}

// The register, for an instruction that takes it as `wanted`.
inline uint64_t deq_register(VectorCall& call, DeqKind wanted)
{
    static const char* const names[] = {"nothing", "one half", "a scale with offset and sign", "a tensor of scales"};
    const auto found = core().registers.find('D');
    if (found == core().registers.end()) {
        call.fail("uninitialised", "the instruction multiplies by the scale of SetDeqScale, which nothing has set");
        return 0;
    }
    if (found->second != static_cast<uint64_t>(wanted)) {
        call.fail("quantisation", format("the instruction takes %s and SetDeqScale has set %s", names[static_cast<int>(wanted)], names[found->second]));
    }
    return core().registers['d'];
}

inline float half_scale(VectorCall& call) { return half_to_float(static_cast<uint16_t>(deq_register(call, DeqKind::HALF))); }

template <typename T>
T load_as(const Memory& memory, uint64_t address)
{
    T value;
    std::memcpy(&value, memory.data.data() + address, sizeof(T));
    return value;
}

// Numbers of four bits lie in pairs, so that lanes are computed one by one.
template <typename To, typename From>
void convert_packed(const Lanes& lanes, const std::array<Operand, 2>& operands, const Convert<To, From>& convert)
{
    Memory& memory = core().memory(Space::UB);
    for_each_run(lanes, chunk_of(operands), [&](uint32_t repeat, uint32_t lane, uint32_t count) {
        for (uint32_t k = lane; k < lane + count; ++k) {
            const uint64_t to = operands[0].offset(repeat, k), from = operands[1].offset(repeat, k);
            const uint32_t shift = (k % 2) * 4;
            if constexpr (std::is_same_v<To, AscendC::int4b_t>) {
                From value;
                std::memcpy(&value, memory.data.data() + from, sizeof(From));
                const uint32_t number = static_cast<uint32_t>(static_cast<int>(convert(value))) & 15;
                uint8_t& byte = memory.data[to];
                byte = static_cast<uint8_t>((byte & ~(15u << shift)) | (number << shift));
                uint8_t& shadow = memory.shadow[to];
                const uint32_t set = all_set(memory.shadow.data() + from, sizeof(From)) ? 15u : 0u;
                shadow = static_cast<uint8_t>((shadow & ~(15u << shift)) | (set << shift));
            } else {
                const AscendC::int4b_t number(memory.data[from] >> shift & 15);
                const To value = static_cast<To>(static_cast<int>(number));
                std::memcpy(memory.data.data() + to, &value, sizeof(To));
                const bool set = (memory.shadow[from] >> shift & 15) == 15;
                std::memset(memory.shadow.data() + to, set ? 0xff : 0, sizeof(To));
            }
        }
    });
}

template <typename To, typename From>
void cast(VectorCall& call, const Lanes& lanes, const AscendC::LocalTensor<To>& dst, const AscendC::LocalTensor<From>& src,
          AscendC::RoundMode mode, const AscendC::UnaryRepeatParams& strides)
{
    const uint32_t modes = cast_modes(dtype_of<From>(), dtype_of<To>());
    if (modes == 0) {
        call.fail("dtype", format("no instruction converts %s to %s", dtype_name(dtype_of<From>()), dtype_name(dtype_of<To>())));
    } else if ((modes >> static_cast<uint32_t>(mode) & 1) == 0) {
        call.fail("round-mode", format("%s to %s has no rounding mode %u", dtype_name(dtype_of<From>()), dtype_name(dtype_of<To>()),
                                       static_cast<uint32_t>(mode)));
    }
    const bool scales = std::is_same_v<From, int32_t> && std::is_same_v<To, half>;
    const Convert<To, From> convert{mode, scales ? half_scale(call) : 1.0f};
    const std::array<Operand, 2> operands{operand(dst, strides.dstBlkStride, strides.dstRepStride), operand(src, strides.srcBlkStride, strides.srcRepStride)};
    if constexpr (std::is_same_v<To, AscendC::int4b_t> || std::is_same_v<From, AscendC::int4b_t>) {
        Accesses accesses{VectorCall::writes(call.place(operands[0], lanes, "the result")), VectorCall::reads(call.place(operands[1], lanes, "the source"))};
        if (call.legal() && lanes.repeats > 0) {
            call.issue(std::move(accesses), [=] { convert_packed<To, From>(lanes, operands, convert); });
        }
    } else {
        lanewise<Shadow::LANES, To, From>(call, lanes, operands, convert);
    }
}

// Lanes of a repeat of an instruction on two widths: those of the wider.
template <typename A, typename B>
constexpr uint32_t mixed_lanes() { return 256 * 8 / std::max(bits_of<A>(), bits_of<B>()); }

template <typename A, typename B>
AscendC::UnaryRepeatParams dense_strides()
{
    const int64_t widest = std::max(bits_of<A>(), bits_of<B>());
    return AscendC::UnaryRepeatParams(1, 1, 8 * static_cast<int64_t>(bits_of<A>()) / widest, 8 * static_cast<int64_t>(bits_of<B>()) / widest);
}

template <typename T, typename U>
struct AxpyLanes {
    U factor;
    T operator()(U a, T sum) const { return static_cast<T>(float(a) * float(factor) + float(sum)); }
};
struct MulAddLanes { template <typename U, typename T> T operator()(U a, U b, T sum) const { return static_cast<T>(float(a) * float(b) + float(sum)); } };
struct FusedMulAddLanes { template <typename T> T operator()(T a, T b, T sum) const { return static_cast<T>(float(a) * float(sum) + float(b)); } };
struct FusedMulAddReluLanes { template <typename T> T operator()(T a, T b, T sum) const { return positive_part(FusedMulAddLanes()(a, b, sum)); } };

// Results and sources of one type, or sources of half with sums of float.
template <typename T, typename U>
void sums_of_products(VectorCall& call)
{
    call.dtype(dtype_of<T>(), FLOATS, "result");
    call.dtype(dtype_of<U>(), FLOATS, "source");
    if (std::is_same_v<U, float> && !std::is_same_v<T, float>) {
        call.fail("dtype", format("no instruction adds products of float to %s", dtype_name(dtype_of<T>())));
    }
}

template <typename T, typename U>
void axpy(VectorCall& call, const Lanes& lanes, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& src, U factor,
          const AscendC::UnaryRepeatParams& strides)
{
    sums_of_products<T, U>(call);
    const Operand target = operand(dst, strides.dstBlkStride, strides.dstRepStride);
    lanewise<Shadow::LANES, T, U, T>(call, lanes, {target, operand(src, strides.srcBlkStride, strides.srcRepStride), target}, AxpyLanes<T, U>{factor});
}

template <typename T, typename U, typename Function>
void multiply_add(VectorCall& call, const Lanes& lanes, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& src0,
                  const AscendC::LocalTensor<U>& src1, const AscendC::BinaryRepeatParams& strides, Function function)
{
    sums_of_products<T, U>(call);
    const Operand target = operand(dst, strides.dstBlkStride, strides.dstRepStride);
    lanewise<Shadow::LANES, T, U, U, T>(call, lanes,
                                        {target, operand(src0, strides.src0BlkStride, strides.src0RepStride),
                                         operand(src1, strides.src1BlkStride, strides.src1RepStride), target},
                                        function);
}

// With a counter, each repeat of Copy moves all elements counted, block by block; otherwise a mask selects.
template <typename Mask>
Lanes copy_lanes(VectorCall& call, const Mask& mask, int64_t repeats, uint32_t most, bool set_mask)
{
    Lanes lanes = call.masked(mask, repeats, most, set_mask);
    if (core().mask.counter) {
        const uint64_t total = static_cast<uint64_t>(lanes.repeats == 0 ? 0 : lanes.repeats - 1) * lanes.per_repeat + lanes.last;
        lanes.per_repeat = lanes.active = lanes.last = static_cast<uint32_t>(total);
        lanes.repeats = static_cast<uint32_t>(repeats);
    }
    return lanes;
}

// Each of 8 elements fills a block.
template <typename T>
void broadcast_blocks(VectorCall& call, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, int64_t repeats,
                      const AscendC::BrcbRepeatParams& strides)
{
    call.dtype(dtype_of<T>(), B16 | B32, "operand");
    call.repeat(repeats);
    Lanes lanes;
    lanes.per_repeat = lanes.active = lanes.last = lanes_of<T>();
    lanes.repeats = static_cast<uint32_t>(repeats & 255);
    const Operand target = operand(dst, strides.dstBlkStride, strides.dstRepStride);
    Ranges writes = call.place(target, lanes, "the result");
    const uint64_t bytes = static_cast<uint64_t>(lanes.repeats) * 8 * sizeof(T);
    if (src.address % 32 != 0) {
        call.fail("alignment", format("the source starts at byte %u of UB: not a multiple of 32", src.address));
    }
    if (!call.legal() || !within_local(src, src.address + bytes, "Brcb", call.at()) || lanes.repeats == 0) {
        return;
    }
    Ranges reads;
    append(reads, src.address, bytes);
    const LocalView source = src;
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(reads))}, [lanes, target, source] {
        Memory& memory = core().memory(Space::UB);
        std::vector<uint8_t> data(memory.data.begin() + source.address, memory.data.begin() + source.address + lanes.repeats * 8 * sizeof(T));
        std::vector<uint8_t> shadow(memory.shadow.begin() + source.address, memory.shadow.begin() + source.address + lanes.repeats * 8 * sizeof(T));
        constexpr uint32_t per_block = 32 / sizeof(T);
        for (uint32_t number = 0; number < lanes.repeats * 8; ++number) {
            const uint64_t to = target.offset(number / 8, number % 8 * per_block);
            for (uint32_t k = 0; k < per_block; ++k) {
                std::memcpy(memory.data.data() + to + k * sizeof(T), data.data() + number * sizeof(T), sizeof(T));
                std::memcpy(memory.shadow.data() + to + k * sizeof(T), shadow.data() + number * sizeof(T), sizeof(T));
            }
        }
    });
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T, bool isSetMask = true, typename Mask, typename = std::enable_if_t<std::is_convertible_v<Mask, uint64_t> || std::is_pointer_v<std::decay_t<Mask>>>>
void Duplicate(const LocalTensor<T>& dst, const std::common_type_t<T>& value, const Mask& mask, int64_t repeatTime, int64_t dstBlockStride,
               int64_t dstRepeatStride, Location at = Location::here())
{
    ascendc_host::VectorCall call("Duplicate", at);
    call.dtype(ascendc_host::dtype_of<T>(), ascendc_host::B16 | ascendc_host::B32, "operand");
    ascendc_host::Lanes lanes;
    if constexpr (std::is_convertible_v<Mask, uint64_t>) {
        lanes = call.masked(static_cast<uint64_t>(mask), repeatTime, ascendc_host::lanes_of<T>(), isSetMask);
    } else {
        lanes = call.masked(static_cast<const uint64_t*>(mask), repeatTime, ascendc_host::lanes_of<T>(), isSetMask);
    }
    ascendc_host::generate<T>(call, lanes, ascendc_host::operand(dst, dstBlockStride, dstRepeatStride), ascendc_host::Constant<T>{value});
}
template <typename T>
void Duplicate(const LocalTensor<T>& dst, const std::common_type_t<T>& value, int64_t count, Location at = Location::here())
{
    ascendc_host::VectorCall call("Duplicate", at);
    call.dtype(ascendc_host::dtype_of<T>(), ascendc_host::B16 | ascendc_host::B32, "operand");
    const auto lanes = call.count(count);
    ascendc_host::generate<T>(call, lanes, ascendc_host::operand(dst), ascendc_host::Constant<T>{value});
}

template <typename T, typename Mask>
void CreateVecIndex(const LocalTensor<T>& dst, const std::common_type_t<T>& first, const Mask& mask, int64_t repeatTime, int64_t dstBlkStride,
                    int64_t dstRepStride, Location at = Location::here())
{
    ascendc_host::VectorCall call("CreateVecIndex", at);
    call.dtype(ascendc_host::dtype_of<T>(), ascendc_host::ARITHMETIC, "operand");
    ascendc_host::Lanes lanes;
    if constexpr (std::is_convertible_v<Mask, uint64_t>) {
        lanes = call.masked(static_cast<uint64_t>(mask), repeatTime, ascendc_host::lanes_of<T>(), true);
    } else {
        lanes = call.masked(static_cast<const uint64_t*>(mask), repeatTime, ascendc_host::lanes_of<T>(), true);
    }
    ascendc_host::generate<T>(call, lanes, ascendc_host::operand(dst, dstBlkStride, dstRepStride), ascendc_host::Counting<T>{first});
}
template <typename T>
void CreateVecIndex(const LocalTensor<T>& dst, const std::common_type_t<T>& first, uint32_t count, Location at = Location::here())
{
    ascendc_host::VectorCall call("CreateVecIndex", at);
    call.dtype(ascendc_host::dtype_of<T>(), ascendc_host::ARITHMETIC, "operand");
    const auto lanes = call.count(count);
    ascendc_host::generate<T>(call, lanes, ascendc_host::operand(dst), ascendc_host::Counting<T>{first});
}

template <typename T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, int64_t repeatTime, const CopyRepeatParams& params,
          Location at = Location::here())
{
    ascendc_host::VectorCall call("Copy", at);
    const auto lanes = ascendc_host::copy_lanes(call, mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);
    ascendc_host::unary<ascendc_host::Shadow::BITS>(call, lanes, ascendc_host::B16 | ascendc_host::B32, dst, src,
        UnaryRepeatParams(params.dstStride, params.srcStride, params.dstRepeatSize, params.srcRepeatSize), ascendc_host::Identity());
}
template <typename T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], int64_t repeatTime, const CopyRepeatParams& params,
          Location at = Location::here())
{
    ascendc_host::VectorCall call("Copy", at);
    const auto lanes = ascendc_host::copy_lanes(call, mask, repeatTime, ascendc_host::lanes_of<T>(), isSetMask);
    ascendc_host::unary<ascendc_host::Shadow::BITS>(call, lanes, ascendc_host::B16 | ascendc_host::B32, dst, src,
        UnaryRepeatParams(params.dstStride, params.srcStride, params.dstRepeatSize, params.srcRepeatSize), ascendc_host::Identity());
}

template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, uint64_t mask, int64_t repeatTime,
          const UnaryRepeatParams& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("Cast", at);
    const auto lanes = call.masked(mask, repeatTime, std::min(128u, ascendc_host::mixed_lanes<T, U>()), isSetMask);
    ascendc_host::cast(call, lanes, dst, src, mode, params);
}
template <typename T, typename U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, const uint64_t mask[], int64_t repeatTime,
          const UnaryRepeatParams& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("Cast", at);
    const auto lanes = call.masked(mask, repeatTime, std::min(128u, ascendc_host::mixed_lanes<T, U>()), isSetMask);
    ascendc_host::cast(call, lanes, dst, src, mode, params);
}
template <typename T, typename U>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, uint32_t count, Location at = Location::here())
{
    ascendc_host::VectorCall call("Cast", at);
    const auto lanes = call.count(count);
    ascendc_host::cast(call, lanes, dst, src, mode, ascendc_host::dense_strides<T, U>());
}

template <typename T, typename U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const std::common_type_t<U>& factor, uint64_t mask, int64_t repeatTime,
          const UnaryRepeatParams& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("Axpy", at);
    ascendc_host::axpy(call, call.masked(mask, repeatTime, ascendc_host::mixed_lanes<T, U>(), isSetMask), dst, src, factor, params);
}
template <typename T, typename U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const std::common_type_t<U>& factor, const uint64_t mask[], int64_t repeatTime,
          const UnaryRepeatParams& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("Axpy", at);
    ascendc_host::axpy(call, call.masked(mask, repeatTime, ascendc_host::mixed_lanes<T, U>(), isSetMask), dst, src, factor, params);
}
template <typename T, typename U>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const std::common_type_t<U>& factor, int64_t count, Location at = Location::here())
{
    ascendc_host::VectorCall call("Axpy", at);
    ascendc_host::axpy(call, call.count(count), dst, src, factor, ascendc_host::dense_strides<T, U>());
}

template <typename T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime, const BrcbRepeatParams& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("Brcb", at);
    ascendc_host::broadcast_blocks(call, dst, src, repeatTime, params);
}

}  // namespace AscendC

#define ASCENDC_HOST_MULTIPLY_ADD(NAME, FUNCTION)                                                                                      \
    template <typename T, typename U = T, bool isSetMask = true>                                                                       \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask, int64_t repeatTime,    \
              const BinaryRepeatParams& params, Location at = Location::here())                                                        \
    {                                                                                                                                  \
        ascendc_host::VectorCall call(#NAME, at);                                                                                      \
        ascendc_host::multiply_add(call, call.masked(mask, repeatTime, ascendc_host::mixed_lanes<T, U>(), isSetMask), dst, src0, src1, \
                                   params, FUNCTION());                                                                                \
    }                                                                                                                                  \
    template <typename T, typename U = T, bool isSetMask = true>                                                                       \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint64_t mask[],                \
              int64_t repeatTime, const BinaryRepeatParams& params, Location at = Location::here())                                    \
    {                                                                                                                                  \
        ascendc_host::VectorCall call(#NAME, at);                                                                                      \
        ascendc_host::multiply_add(call, call.masked(mask, repeatTime, ascendc_host::mixed_lanes<T, U>(), isSetMask), dst, src0, src1, \
                                   params, FUNCTION());                                                                                \
    }                                                                                                                                  \
    template <typename T, typename U = T>                                                                                              \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, int64_t count,                        \
              Location at = Location::here())                                                                                          \
    {                                                                                                                                  \
        ascendc_host::VectorCall call(#NAME, at);                                                                                      \
        const auto strides = ascendc_host::dense_strides<T, U>();                                                                      \
        ascendc_host::multiply_add(call, call.count(count), dst, src0, src1,                                                           \
            BinaryRepeatParams(1, 1, 1, strides.dstRepStride, strides.srcRepStride, strides.srcRepStride), FUNCTION());                \
    }

namespace AscendC {
ASCENDC_HOST_MULTIPLY_ADD(MulAddDst, ascendc_host::MulAddLanes)
}  // namespace AscendC

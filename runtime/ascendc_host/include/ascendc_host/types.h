// Number types that host compilers lack: half, bfloat16_t and int4b_t, with the conversions of the hardware.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace ascendc_host {

template <typename To, typename From>
inline To bit_cast(const From& from)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To to;
    std::memcpy(&to, &from, sizeof(To));
    return to;
}

inline float half_to_float(uint16_t bits)
{
#if defined(__F16C__)
    return _cvtsh_ss(bits);
#else
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 31u;
    const uint32_t fraction = bits & 1023u;
    if (exponent == 31) {
        return bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    }
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
        return bit_cast<float>(bit_cast<uint32_t>(magnitude) | sign);
    }
    return bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
#endif
}

// Nearest, ties to even; overflow gives infinity.
inline uint16_t float_to_half(float value)
{
#if defined(__F16C__)
    return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
#else
    const uint32_t bits = bit_cast<uint32_t>(value);
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    }
    if (magnitude >= 0x477ff000u) {
        return static_cast<uint16_t>(sign | 0x7c00u);
    }
    if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 aligns the last place to 2^-24
        const float aligned = bit_cast<float>(magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (bit_cast<uint32_t>(aligned) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
#endif
}

inline uint16_t float_to_bfloat16(float value)
{
    const uint32_t bits = bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return static_cast<uint16_t>((bits >> 16) | 0x40u);
    }
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float bfloat16_to_float(uint16_t bits)
{
    return bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// A 16-bit floating-point number that computes as float and rounds on every assignment.
template <float (*Widen)(uint16_t), uint16_t (*Narrow)(float), int Tag>
struct SmallFloat {
    uint16_t bits;

    SmallFloat() = default;
    template <typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>
    constexpr SmallFloat(N number) : bits(narrow(number)) {}
    template <float (*W)(uint16_t), uint16_t (*R)(float), int T, typename = std::enable_if_t<T != Tag>>
    explicit SmallFloat(const SmallFloat<W, R, T>& other) : bits(Narrow(static_cast<float>(other))) {}

    template <typename N>
    static uint16_t narrow(N number)
    {
        if constexpr (std::is_same_v<N, double> || sizeof(N) > 2) {
            // Round to odd on the way through float, so that the two roundings equal one.
            const float nearest = static_cast<float>(number);
            const double exact = static_cast<double>(number);
            if (static_cast<double>(nearest) != exact && std::isfinite(nearest)) {
                const bool up = (static_cast<double>(nearest) > exact) == (nearest > 0);
                uint32_t pattern = bit_cast<uint32_t>(nearest);
                pattern = (up ? pattern - 1 : pattern) | 1u;
                return Narrow(bit_cast<float>(pattern));
            }
            return Narrow(nearest);
        } else {
            return Narrow(static_cast<float>(number));
        }
    }

    operator float() const { return Widen(bits); }

    SmallFloat& operator+=(float other) { return *this = SmallFloat(Widen(bits) + other); }
    SmallFloat& operator-=(float other) { return *this = SmallFloat(Widen(bits) - other); }
    SmallFloat& operator*=(float other) { return *this = SmallFloat(Widen(bits) * other); }
    SmallFloat& operator/=(float other) { return *this = SmallFloat(Widen(bits) / other); }
    SmallFloat operator-() const { return from_bits(static_cast<uint16_t>(bits ^ 0x8000u)); }

    static SmallFloat from_bits(uint16_t pattern)
    {
        SmallFloat number;
        number.bits = pattern;
        return number;
    }
};

}  // namespace ascendc_host

using half = ascendc_host::SmallFloat<ascendc_host::half_to_float, ascendc_host::float_to_half, 0>;
using bfloat16_t = ascendc_host::SmallFloat<ascendc_host::bfloat16_to_float, ascendc_host::float_to_bfloat16, 1>;
using float16_t = half;
using float32_t = float;
using float64_t = double;

namespace AscendC {

// Two numbers of four bits share a byte; the lower one comes first.
struct int4b_t {
    uint8_t storage = 0;
    int4b_t() = default;
    constexpr int4b_t(int number) : storage(static_cast<uint8_t>(number & 15)) {}
    operator int() const { return static_cast<int8_t>(storage << 4) >> 4; }
};

}  // namespace AscendC
using AscendC::int4b_t;

namespace ascendc_host {

enum class DType : uint8_t { F16, BF16, F32, F64, I4, I8, U8, I16, U16, I32, U32, I64, U64, OTHER };

template <typename T>
constexpr DType dtype_of()
{
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, half>) return DType::F16;
    else if constexpr (std::is_same_v<U, bfloat16_t>) return DType::BF16;
    else if constexpr (std::is_same_v<U, float>) return DType::F32;
    else if constexpr (std::is_same_v<U, double>) return DType::F64;
    else if constexpr (std::is_same_v<U, int4b_t>) return DType::I4;
    else if constexpr (std::is_integral_v<U> || std::is_enum_v<U>) {
        constexpr bool is_signed = std::is_signed_v<U>;
        if constexpr (sizeof(U) == 1) return is_signed && !std::is_same_v<U, bool> ? DType::I8 : DType::U8;
        else if constexpr (sizeof(U) == 2) return is_signed ? DType::I16 : DType::U16;
        else if constexpr (sizeof(U) == 4) return is_signed ? DType::I32 : DType::U32;
        else return is_signed ? DType::I64 : DType::U64;
    } else return DType::OTHER;
}

inline const char* dtype_name(DType type)
{
    static const char* const names[] = {"half",    "bfloat16_t", "float",    "double",  "int4b_t",  "int8_t",  "uint8_t",
                                        "int16_t", "uint16_t",   "int32_t",  "uint32_t", "int64_t", "uint64_t", "struct"};
    return names[static_cast<int>(type)];
}

constexpr uint32_t bit(DType type) { return 1u << static_cast<uint32_t>(type); }

// Bytes that `count` elements take; int4b_t packs two per byte.
template <typename T>
constexpr uint64_t bytes_of(uint64_t count)
{
    return std::is_same_v<T, int4b_t> ? (count + 1) / 2 : count * sizeof(T);
}

template <typename T>
constexpr uint32_t elements_in(uint32_t bytes)
{
    return std::is_same_v<T, int4b_t> ? bytes * 2 : bytes / static_cast<uint32_t>(sizeof(T));
}

}  // namespace ascendc_host


// Functions of each element in the advanced interface. Results are the exact ones, rounded; the device's differ in the last places.
#pragma once

#include "advanced_engine.h"

namespace ascendc_host {

// Bytes of temporary memory: so many rounds of 256 bytes for float and for half.
struct Rounds {
    uint32_t of_float;
    uint32_t of_half;
    template <typename T>
    uint64_t bytes() const { return 256ull * (sizeof(T) == 4 ? of_float : of_half); }
};

template <typename T, typename Function>
void map_elements(AdvancedCall& call, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, uint64_t count, const Temporary* memory,
                  Rounds rounds, bool in_place, Function function)
{
    call.dtype(dtype_of<T>(), HALF_OR_FLOAT);
    call.reads(src, count * sizeof(T), "the source");
    call.writes(dst, count * sizeof(T), "the result");
    if (!in_place) {
        call.apart();
    }
    if (call.legal()) {
        call.scratch(memory == nullptr ? Temporary() : *memory, rounds.bytes<T>());
    }
    const LocalView from = src;
    const LocalView to = dst;
    call.issue([=] {
        for (uint64_t k = 0; k < count; ++k) {
            store<T>(to, k, static_cast<T>(function(static_cast<double>(static_cast<float>(load<T>(from, k))))), is_set<T>(from, k));
        }
    });
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double gelu(double x) { return x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)); }
inline double faster_gelu(double x) { return x * sigmoid(1.702 * x); }
inline double sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : x); }

// What the two operands of Power are: a tensor, or a number.
template <typename T>
struct PowerOperand {
    bool is_tensor = false;
    LocalView view;
    T number{};

    PowerOperand(const AscendC::LocalTensor<T>& tensor) : is_tensor(true), view(tensor) {}
    explicit PowerOperand(T value) : number(value) {}
    T at(uint64_t k) const { return is_tensor ? load<T>(view, k) : number; }
    bool set(uint64_t k) const { return !is_tensor || is_set<T>(view, k); }
};

template <typename T>
T power_of(T base, T exponent)
{
    if constexpr (std::is_integral_v<T>) {
        if (exponent < 0) {
            return static_cast<T>(base == 1 ? 1 : (base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0));
        }
        uint64_t result = 1;
        for (uint64_t factor = static_cast<uint64_t>(base), left = static_cast<uint64_t>(exponent); left != 0; left >>= 1, factor *= factor) {
            result *= (left & 1) != 0 ? factor : 1;
        }
        return static_cast<T>(result);
    } else {
        return static_cast<T>(std::pow(static_cast<double>(static_cast<float>(base)), static_cast<double>(static_cast<float>(exponent))));
    }
}

template <typename T>
uint64_t power_bytes(bool both)
{
    if (std::is_integral_v<T>) {
        return 256ull * (both ? 6 : 7);
    }
    return sizeof(T) == 4 ? 256ull * (both ? 4 : 5) + 256 : 256ull * 14 / 2 + 256;
}

template <typename T>
void power(Location at, const AscendC::LocalTensor<T>& dst, const PowerOperand<T>& base, const PowerOperand<T>& exponent, uint64_t count,
           const Temporary& memory)
{
    AdvancedCall call("Power", at);
    call.dtype(dtype_of<T>(), HALF_OR_FLOAT | bit(DType::I32));
    for (const PowerOperand<T>* operand : {&base, &exponent}) {
        if (operand->is_tensor) {
            call.reads(operand->view, count * sizeof(T), "a source");
        }
    }
    call.writes(dst, count * sizeof(T), "the result");
    call.apart();
    if (call.legal()) {
        call.scratch(memory, power_bytes<T>(base.is_tensor && exponent.is_tensor));
    }
    const LocalView to = dst;
    call.issue([=] {
        for (uint64_t k = 0; k < count; ++k) {
            store<T>(to, k, power_of<T>(base.at(k), exponent.at(k)), base.set(k) && exponent.set(k));
        }
    });
}

}  // namespace ascendc_host

// The four forms: with and without temporary memory, with and without a count.
#define ASCENDC_HOST_MAP(NAME, FLOAT_ROUNDS, HALF_ROUNDS, IN_PLACE, FUNCTION)                                                          \
    template <typename T, bool = false, bool = false>                                                                                  \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, uint32_t count,                   \
              Location at = Location::here())                                                                                          \
    {                                                                                                                                  \
        ascendc_host::AdvancedCall call(#NAME, at);                                                                                    \
        const ascendc_host::Temporary memory = ascendc_host::temporary(tmp);                                                           \
        ascendc_host::map_elements(call, dst, src, count, &memory, {FLOAT_ROUNDS, HALF_ROUNDS}, IN_PLACE,                              \
                                   [](double x) -> double { return FUNCTION; });                                                      \
    }                                                                                                                                  \
    template <typename T, bool = false, bool = false>                                                                                  \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp, Location at = Location::here())   \
    {                                                                                                                                  \
        NAME(dst, src, tmp, src.GetSize(), at);                                                                                        \
    }                                                                                                                                  \
    template <typename T, bool = false, bool = false>                                                                                  \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, Location at = Location::here())                    \
    {                                                                                                                                  \
        ascendc_host::AdvancedCall call(#NAME, at);                                                                                    \
        ascendc_host::map_elements(call, dst, src, count, nullptr, {FLOAT_ROUNDS, HALF_ROUNDS}, IN_PLACE,                              \
                                   [](double x) -> double { return FUNCTION; });                                                      \
    }                                                                                                                                  \
    template <typename T, bool = false, bool = false>                                                                                  \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, Location at = Location::here())                                    \
    {                                                                                                                                  \
        NAME(dst, src, src.GetSize(), at);                                                                                             \
    }

namespace AscendC {

ASCENDC_HOST_MAP(Tanh, 1, 4, false, std::tanh(x))
ASCENDC_HOST_MAP(Erf, 3, 8, false, std::erf(x))
ASCENDC_HOST_MAP(Erfc, 7, 16, false, std::erfc(x))
ASCENDC_HOST_MAP(Sin, 3, 8, false, std::sin(x))
ASCENDC_HOST_MAP(Cos, 3, 8, false, std::cos(x))
ASCENDC_HOST_MAP(Tan, 4, 10, false, std::tan(x))
ASCENDC_HOST_MAP(Sinh, 1, 4, false, std::sinh(x))
ASCENDC_HOST_MAP(Cosh, 2, 6, false, std::cosh(x))
ASCENDC_HOST_MAP(Floor, 0, 2, false, std::floor(x))
ASCENDC_HOST_MAP(Ceil, 1, 2, false, std::ceil(x))
ASCENDC_HOST_MAP(Trunc, 1, 2, false, std::trunc(x))
ASCENDC_HOST_MAP(Frac, 0, 4, false, x - std::trunc(x))
ASCENDC_HOST_MAP(Sign, 3, 3, false, ascendc_host::sign(x))
ASCENDC_HOST_MAP(Log, 0, 0, false, std::log(x))
ASCENDC_HOST_MAP(Log2, 0, 1, false, std::log2(x))
ASCENDC_HOST_MAP(Log10, 0, 0, false, std::log10(x))
ASCENDC_HOST_MAP(Gelu, 3, 3, true, ascendc_host::gelu(x))
ASCENDC_HOST_MAP(FasterGelu, 3, 3, true, ascendc_host::faster_gelu(x))
ASCENDC_HOST_MAP(Sigmoid, 1, 1, false, ascendc_host::sigmoid(x))

template <typename T, bool isReuseSource = false>
void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, Location at = Location::here())
{
    ascendc_host::AdvancedCall call("Silu", at);
    ascendc_host::map_elements(call, dst, src, count, nullptr, {0, 0}, true, [](double x) { return x * ascendc_host::sigmoid(x); });
}
template <typename T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, const T scale, Location at = Location::here())
{
    ascendc_host::AdvancedCall call("Swish", at);
    const double factor = static_cast<double>(static_cast<float>(scale));
    ascendc_host::map_elements(call, dst, src, count, nullptr, {0, 0}, true, [factor](double x) { return x * ascendc_host::sigmoid(factor * x); });
}

enum class PowerAlgo { INTRINSIC, DOUBLE_FLOAT_TECH };
struct PowerConfig {
    PowerAlgo algo = PowerAlgo::INTRINSIC;
};

template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const LocalTensor<T>& exponent, const LocalTensor<uint8_t>& tmp, uint32_t count,
           Location at = Location::here())
{
    ascendc_host::power<T>(at, dst, base, exponent, count, ascendc_host::temporary(tmp));
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const std::common_type_t<T>& exponent, const LocalTensor<uint8_t>& tmp,
           uint32_t count, Location at = Location::here())
{
    ascendc_host::power<T>(at, dst, base, ascendc_host::PowerOperand<T>(exponent), count, ascendc_host::temporary(tmp));
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const std::common_type_t<T>& base, const LocalTensor<T>& exponent, const LocalTensor<uint8_t>& tmp,
           uint32_t count, Location at = Location::here())
{
    ascendc_host::power<T>(at, dst, ascendc_host::PowerOperand<T>(base), exponent, count, ascendc_host::temporary(tmp));
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const LocalTensor<T>& exponent, const LocalTensor<uint8_t>& tmp,
           Location at = Location::here())
{
    Power<T>(dst, base, exponent, tmp, base.GetSize(), at);
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const std::common_type_t<T>& exponent, const LocalTensor<uint8_t>& tmp,
           Location at = Location::here())
{
    Power<T>(dst, base, exponent, tmp, base.GetSize(), at);
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const std::common_type_t<T>& base, const LocalTensor<T>& exponent, const LocalTensor<uint8_t>& tmp,
           Location at = Location::here())
{
    Power<T>(dst, base, exponent, tmp, exponent.GetSize(), at);
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const LocalTensor<T>& exponent, uint32_t count, Location at = Location::here())
{
    ascendc_host::power<T>(at, dst, base, exponent, count, ascendc_host::Temporary());
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const LocalTensor<T>& exponent, Location at = Location::here())
{
    ascendc_host::power<T>(at, dst, base, exponent, base.GetSize(), ascendc_host::Temporary());
}

}  // namespace AscendC

// Printing and checking inside kernels.
#pragma once

#include <cstdarg>

#include "tensor.h"

namespace ascendc_host {

template <typename T>
auto printable(T value)
{
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t> || std::is_same_v<T, float>) {
        return static_cast<double>(static_cast<float>(value));
    } else {
        return value;
    }
}

inline std::mutex& print_mutex()
{
    static std::mutex mutex;
    return mutex;
}

template <typename T>
void print_values(const T* values, uint32_t count)
{
    std::printf("[");
    for (uint32_t k = 0; k < count; ++k) {
        const char* comma = k == 0 ? "" : ", ";
        if constexpr (std::is_integral_v<T>) {
            std::printf("%s%lld", comma, static_cast<long long>(values[k]));
        } else {
            std::printf("%s%f", comma, static_cast<double>(static_cast<float>(values[k])));
        }
    }
    std::printf("]\n");
}

}  // namespace ascendc_host

namespace AscendC {

template <typename... Arguments>
void printf(const char* text, Arguments... arguments)
{
    std::lock_guard<std::mutex> guard(ascendc_host::print_mutex());
    if constexpr (sizeof...(Arguments) == 0) {
        std::fputs(text, stdout);
    } else {
        std::printf(text, ascendc_host::printable(arguments)...);
    }
}
template <typename... Arguments>
void PRINTF(const char* text, Arguments... arguments)
{
    AscendC::printf(text, arguments...);
}

// Prints what the memory holds once everything issued so far is complete.
template <typename T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t description, uint32_t count, Location at = Location::here())
{
    ascendc_host::core().barrier_all(at);
    std::lock_guard<std::mutex> guard(ascendc_host::print_mutex());
    std::printf("DumpTensor: desc=%u, addr=%x, data_type=%s, position=%s, count=%u\n", description, tensor.address,
                ascendc_host::dtype_name(ascendc_host::dtype_of<T>()), ascendc_host::space_name(tensor.space), count);
    if (ascendc_host::within_local(tensor, tensor.address + ascendc_host::bytes_of<T>(count), "DumpTensor", at)) {
        ascendc_host::print_values(tensor.GetPhyAddr(), count);
    }
}
template <typename T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t description, uint32_t count, Location at = Location::here())
{
    ascendc_host::core().barrier_all(at);
    std::lock_guard<std::mutex> guard(ascendc_host::print_mutex());
    std::printf("DumpTensor: desc=%u, data_type=%s, position=GM, count=%u\n", description,
                ascendc_host::dtype_name(ascendc_host::dtype_of<T>()), count);
    if (ascendc_host::within_global(tensor.address, ascendc_host::bytes_of<T>(count), "DumpTensor", at) != nullptr) {
        ascendc_host::print_values(reinterpret_cast<const T*>(tensor.address), count);
    }
}
template <typename T, typename Shape>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t description, uint32_t count, const Shape&, Location at = Location::here())
{
    DumpTensor(tensor, description, count, at);
}
template <typename... Arguments>
void DumpAccChkPoint(const Arguments&...) {}
inline void PrintTimeStamp(uint32_t) {}

struct ShapeInfoTag;

}  // namespace AscendC

namespace ascendc_host {

inline void failed_assertion(const char* condition, Location at)
{
    core().report("assertion", at, format("the assertion %s does not hold", condition));
    throw KernelAbort();
}

}  // namespace ascendc_host

#undef assert
#define assert(...) ASCENDC_HOST_ASSERT((__VA_ARGS__), #__VA_ARGS__)
#define ASCENDC_HOST_ASSERT(condition, text)                                                     \
    do {                                                                                          \
        if (!ascendc_host::truth condition) {                                                     \
            ascendc_host::failed_assertion(text, ascendc_host::Location::here());                 \
        }                                                                                         \
    } while (false)
#define ascendc_assert(condition, ...) ASCENDC_HOST_ASSERT((condition), #condition)
#define ASCENDC_ASSERT(condition, behaviour) ASCENDC_HOST_ASSERT((condition), #condition)

namespace ascendc_host {

// Device assertions may carry a message and its arguments after the condition.
template <typename Condition, typename... Message>
bool truth(const Condition& condition, const Message&...)
{
    return static_cast<bool>(condition);
}

}  // namespace ascendc_host

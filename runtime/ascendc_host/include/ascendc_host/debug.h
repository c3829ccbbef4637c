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

inline void PrintTimeStamp(uint32_t) {}

}  // namespace AscendC

namespace ascendc_host {

inline void failed_assertion(const char* condition, Location at)
{
    if (current_core() == nullptr) {  // host code
        std::fprintf(stderr, "%s:%u: the assertion %s does not hold\n", at.file, at.line, condition);
        std::abort();
    }
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

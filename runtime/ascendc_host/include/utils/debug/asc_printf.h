// Printing inside kernels says which core prints; host code prints as ever.
#pragma once

#include <iostream>

#include "../../kernel_operator.h"

namespace ascendc_host {

inline std::string printing_core()
{
    const Core* mine = current_core();
    return mine == nullptr ? "" : format("[%s Block %lld/%u] ", mine->is_cube ? "AIC" : "AIV", static_cast<long long>(AscendC::GetBlockIdx()),
                                         mine->blocks * (mine->is_cube ? 1 : mine->ratio));
}

}  // namespace ascendc_host

template <typename... Arguments>
int kernel_printf(const char* text, Arguments... arguments)
{
    std::lock_guard<std::mutex> guard(ascendc_host::print_mutex());
    std::fputs(ascendc_host::printing_core().c_str(), stdout);
    if constexpr (sizeof...(Arguments) == 0) {
        return std::fputs(text, stdout);
    } else {
        return std::printf(text, ascendc_host::printable(arguments)...);
    }
}
namespace AscendC {
using ::kernel_printf;
}
#define printf kernel_printf

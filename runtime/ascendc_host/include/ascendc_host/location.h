// Where in a kernel's text a function of the interface was called.
#pragma once

#include <cstdint>

namespace ascendc_host {

// Taken as the last, defaulted parameter of every function of the interface, so that kernels need not pass it.
struct Location {
    const char* file = "";
    uint32_t line = 0;

    static constexpr Location here(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE())
    {
        Location location;
        location.file = file;
        location.line = line;
        return location;
    }

    constexpr bool operator==(const Location& other) const { return line == other.line && file == other.file; }
};

}  // namespace ascendc_host

// Unit flags: a flag for each 1024 bytes of L0C orders matrix products and what moves their results out.
#pragma once

#include "cube_engine.h"

namespace ascendc_host {

constexpr int64_t UNIT_BYTES = 1024;

// Whether somebody holds the units: told apart when instructions are issued, waited for when they run.
struct UnitFlags {
    static constexpr int64_t UNITS = 128;
    bool released[UNITS] = {};  // a transfer out gave the unit back
    bool held[UNITS] = {};      // a transfer out reads it and keeps it
};

inline UnitFlags& unit_flags()
{
    static thread_local UnitFlags flags;
    static thread_local const Core* owner = nullptr;
    if (owner != current_core()) {
        owner = current_core();
        flags = UnitFlags();
    }
    return flags;
}

template <typename Visit>
void for_each_unit(const Ranges& ranges, Visit visit)
{
    int64_t last = -1;
    for (const Range& range : ranges) {
        for (int64_t unit = static_cast<int64_t>(range.start) / UNIT_BYTES; unit * UNIT_BYTES < static_cast<int64_t>(range.end); ++unit) {
            if (unit > last) {
                visit(unit);
                last = unit;
            }
        }
    }
}

inline void check_unit_flag(CubeCall& call, int64_t flag)
{
    if (flag != 0 && flag != 2 && flag != 3) {
        call.fail("unit-flag", format("unitFlag is %lld: it has to be 0, 2 or 3", static_cast<long long>(flag)));
    }
}

// Before and after a matrix product that writes `ranges` of L0C.
inline void enter_product(const Ranges& ranges, int64_t flag, Location at)
{
    if (flag == 0) {
        return;
    }
    for_each_unit(ranges, [at](int64_t unit) {
        if (unit_flags().released[unit]) {
            core().unit_wait(AscendC::HardEvent::FIX_M, unit, at);
            unit_flags().released[unit] = false;
        }
    });
}

inline void leave_product(const Ranges& ranges, int64_t flag, Location at)
{
    if (flag == 3) {
        for_each_unit(ranges, [at](int64_t unit) { core().unit_set(AscendC::HardEvent::M_FIX, unit, at); });
    }
}

// Before and after a transfer out that reads `ranges` of L0C.
inline void enter_transfer(const Ranges& ranges, int64_t flag, Location at)
{
    if (flag == 0) {
        return;
    }
    for_each_unit(ranges, [at](int64_t unit) {
        if (!unit_flags().held[unit]) {
            core().unit_wait(AscendC::HardEvent::M_FIX, unit, at);
            unit_flags().held[unit] = true;
        }
    });
}

inline void leave_transfer(const Ranges& ranges, int64_t flag, Location at)
{
    if (flag != 3) {
        return;
    }
    for_each_unit(ranges, [at](int64_t unit) {
        core().unit_set(AscendC::HardEvent::FIX_M, unit, at);
        unit_flags().held[unit] = false;
        unit_flags().released[unit] = true;
    });
}

}  // namespace ascendc_host

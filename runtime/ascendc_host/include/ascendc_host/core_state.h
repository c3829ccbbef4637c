// Settings of a run, and what a core's instructions touch and remember.
#pragma once

#include "findings.h"
#include "memory.h"
#include "sync_sites.h"

namespace ascendc_host {

// When a queued instruction runs: as soon as it may, only when something waits for it, or at random moments.
enum class Order : uint8_t { EARLY, LATE, RANDOM };

struct Settings {
    Order order = Order::EARLY;
    uint64_t seed = 0;
    bool auto_sync = false;       // the device compiler inserts barriers between dependent instructions of the pipes V, M and FIX
    uint32_t threads = 0;         // cores that run at the same moment; 0: as many as this machine has processors
    uint32_t cube_cores = 24;
    uint32_t vector_cores = 48;
    uint32_t highest_event = 7;   // 6 and 7 are in use by the system in some styles
    bool strict_flags = false;    // a set whose order after the last wait nothing tells is a mistake; published kernels do it
    bool scalar_sync = true;      // accesses by scalar code need flags, too
};

inline Settings& settings()
{
    static Settings all;
    return all;
}

// Ends the kernel on one core after what cannot continue: a deadlock, a failed assertion.
struct KernelAbort {};

// A memory range of one operand; `memory` or `buffer` is set.
struct Access {
    Memory* memory = nullptr;
    GlobalBuffer* buffer = nullptr;
    Ranges ranges;
    bool writes = false;
    uint8_t atomic = 0;
};
using Accesses = std::vector<Access>;

constexpr uint32_t event_source(AscendC::HardEvent event)
{
    constexpr uint8_t sources[] = {4, 3, 3, 2, 4, 1, 5, 1, 2, 1, 1, 5, 3, 3, 4, 2, 1, 2, 6, 5, 4, 0, 1, 0, 4, 0, 5, 4, 6, 6, 2, 6, 3, 6, 6};
    return sources[static_cast<int>(event)];
}

constexpr uint32_t event_target(AscendC::HardEvent event)
{
    constexpr uint8_t targets[] = {3, 4, 2, 3, 1, 4, 1, 5, 1, 2, 1, 3, 5, 1, 2, 4, 3, 6, 2, 4, 5, 1, 0, 4, 0, 5, 0, 6, 4, 0, 0, 5, 6, 3, 6};
    return targets[static_cast<int>(event)];
}

struct MaskState {
    bool counter = false;
    uint64_t low = ~uint64_t{0};
    uint64_t high = ~uint64_t{0};
};

struct AtomicState {
    uint8_t operation = 0;  // 0 none, 1 add, 2 max, 3 min
    uint8_t dtype = 0;
};

}  // namespace ascendc_host

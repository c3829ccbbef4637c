// The system's workspace in global memory, and the kernel's own behind it.
#pragma once

#include "tensor.h"

namespace ascendc_host {

constexpr uint64_t SYSTEM_WORKSPACE = 16 * 1024 * 1024;

// One for all launches, made when a kernel asks for it.
inline uint8_t* system_workspace()
{
    static uint8_t* const memory = [] {
        uint8_t* made = static_cast<uint8_t*>(std::aligned_alloc(512, SYSTEM_WORKSPACE));
        global_memory().add(made, SYSTEM_WORKSPACE, "workspace", false);
        return made;
    }();
    return memory;
}

inline uint8_t*& chosen_workspace()
{
    static thread_local uint8_t* chosen = nullptr;
    return chosen;
}

}  // namespace ascendc_host

namespace AscendC {

constexpr uint64_t RESERVED_WORKSPACE = ascendc_host::SYSTEM_WORKSPACE;

inline uint8_t* GetSysWorkSpacePtr()
{
    uint8_t* chosen = ascendc_host::chosen_workspace();
    return chosen != nullptr ? chosen : ascendc_host::system_workspace();
}
inline void SetSysWorkspace(uint8_t* workspace) { ascendc_host::chosen_workspace() = workspace; }
inline void SetSysWorkspaceForce(uint8_t* workspace) { SetSysWorkspace(workspace); }

// What is passed as workspace begins with the system's part, if there is room for one.
inline uint8_t* GetUserWorkspace(uint8_t* workspace)
{
    ascendc_host::GlobalBuffer* buffer = ascendc_host::global_memory().find(reinterpret_cast<uint64_t>(workspace));
    const bool has_system_part = buffer != nullptr && buffer->bytes > ascendc_host::SYSTEM_WORKSPACE;
    return has_system_part ? workspace + ascendc_host::SYSTEM_WORKSPACE : workspace;
}

}  // namespace AscendC

using AscendC::GetSysWorkSpacePtr;

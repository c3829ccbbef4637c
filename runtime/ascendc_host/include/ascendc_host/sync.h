// Flags, barriers, flags between cores, atomic modes, mask modes, and the numbers of the block.
#pragma once

#include "tensor.h"

namespace ascendc_host {

constexpr const char* AT_ALL = "all";

inline std::string flag_token(int64_t id) { return format("flag %lld", static_cast<long long>(id)); }

inline std::vector<uint32_t> same_kind_cores(const Core& mine)
{
    std::vector<uint32_t> cores;
    for (uint32_t block = 0; block < mine.blocks; ++block) {
        const uint32_t first = block * mine.group_size;
        for (uint32_t member = 0; member < mine.group_size; ++member) {
            const bool member_is_cube = mine.group_size > 1 ? member == 0 : mine.is_cube;
            if (member_is_cube == mine.is_cube) {
                cores.push_back(first + member);
            }
        }
    }
    return cores;
}

inline std::vector<uint32_t> vector_cores_of_group(const Core& mine)
{
    std::vector<uint32_t> cores;
    const uint32_t first = mine.block * mine.group_size;
    for (uint32_t member = mine.group_size > 1 ? 1 : 0; member < mine.group_size; ++member) {
        cores.push_back(first + member);
    }
    return cores;
}

inline uint32_t index_in(const std::vector<uint32_t>& cores, uint32_t core)
{
    return static_cast<uint32_t>(std::find(cores.begin(), cores.end(), core) - cores.begin());
}

// Mode 0: all cores of a kind. 1: the vector cores of a group. 2: the cube core and the vector cores of a group.
inline void send_cross_flag(int64_t mode, int64_t id, const RemoteClock& clock)
{
    const Core& mine = core();
    Scheduler& scheduler = *mine.scheduler;
    const std::string token = flag_token(id);
    if (mode == 0) {
        const auto cores = same_kind_cores(mine);
        const std::string set = format("all %lld %d", static_cast<long long>(id), mine.is_cube);
        scheduler.arrive(set, index_in(cores, mine.number), static_cast<uint32_t>(cores.size()), cores, token, clock);
        return;
    }
    const auto cores = vector_cores_of_group(mine);
    const uint32_t cube = mine.block * mine.group_size;
    if (mode == 1) {
        const std::string set = format("pair %lld %u", static_cast<long long>(id), mine.block);
        scheduler.arrive(set, index_in(cores, mine.number), static_cast<uint32_t>(cores.size()), cores, token, clock);
    } else if (mine.is_cube) {
        for (const uint32_t receiver : cores) {
            scheduler.send(receiver, token, clock);
        }
    } else {
        const std::string set = format("group %lld %u", static_cast<long long>(id), mine.block);
        scheduler.arrive(set, index_in(cores, mine.number), static_cast<uint32_t>(cores.size()), {cube}, token, clock);
    }
}

// A counter of a flag holds 15: more sets are lost.
inline void expect_room(int64_t mode, int64_t id, Location at)
{
    Core& mine = core();
    std::vector<uint32_t> receivers = mode == 0 ? same_kind_cores(mine) : vector_cores_of_group(mine);
    if (mode == 2 && !mine.is_cube) {
        receivers = {mine.block * mine.group_size};
    }
    for (const uint32_t receiver : receivers) {
        if (mine.scheduler->pending(receiver, flag_token(id)) > 15) {
            mine.report("cross-core-flag", at, format("flag %lld is set more than 15 times before it is waited for", static_cast<long long>(id)));
            return;
        }
    }
}

inline bool legal_cross_flag(int64_t mode, int64_t id, Location at)
{
    Core& mine = core();
    if (!mine.runs_mixed) {
        mine.report("cross-core-kernel", at, "flags between cores hang in a kernel of one kind of core: make it a mixed one");
        throw KernelAbort();
    }
    if (mode < 0 || mode > 2) {
        mine.report("cross-core-flag", at, format("mode %lld is not among 0 to 2", static_cast<long long>(mode)));
        return false;
    }
    if (id < 0 || id > 15) {
        mine.report("cross-core-flag", at, format("flag %lld is not among 0 to 15", static_cast<long long>(id)));
        return false;
    }
    return true;
}

inline void wait_token(const std::string& token, Location at, const char* what)
{
    Core& mine = core();
    // What this core set before may be what the others wait for.
    mine.finish_all();
    RemoteClock clock;
    if (!mine.scheduler->receive(mine.number, token, clock)) {
        mine.report("deadlock", at, format("core %u waits for %s and all other cores wait or ended", mine.number, what));
        throw KernelAbort();
    }
    mine.acquire_remote(clock);
}

// All cores of a kind, or all cores of the launch, wait for each other.
inline void synchronise_all(bool vectors_only, Location at)
{
    Core& mine = core();
    mine.barrier_all(at);
    std::vector<uint32_t> cores;
    if (!vectors_only && mine.group_size == 1) {
        mine.report("deadlock", at, "SyncAll<false> waits for cube and vector cores: this kernel has one kind of core");
        throw KernelAbort();
    }
    if (vectors_only) {
        cores = same_kind_cores(mine);
    } else {
        for (uint32_t number = 0; number < mine.blocks * mine.group_size; ++number) {
            cores.push_back(number);
        }
    }
    const std::string name = format("sync %d %d", vectors_only, vectors_only && mine.is_cube);
    const RemoteClock clock = mine.release_scalar().published(mine.number);
    mine.scheduler->arrive(name, index_in(cores, mine.number), static_cast<uint32_t>(cores.size()), cores, name, clock);
    wait_token(name, at, "all cores to reach SyncAll");
    ++mine.instructions["SyncAll"];
}

}  // namespace ascendc_host

namespace AscendC {

template <HardEvent event>
void SetFlag(int32_t id, Location at = Location::here())
{
    if (ascendc_host::sync_sites().runs("SetFlag", at)) {
        ascendc_host::core().set_flag(event, id, at);
    }
}
template <HardEvent event>
void WaitFlag(int32_t id, Location at = Location::here())
{
    if (ascendc_host::sync_sites().runs("WaitFlag", at)) {
        ascendc_host::core().wait_flag(event, id, at);
    }
}
template <pipe_t pipe>
void PipeBarrier(Location at = Location::here())
{
    if (ascendc_host::sync_sites().runs("PipeBarrier", at)) {
        ascendc_host::core().barrier(pipe, at);
    }
}
template <MemDsbT kind = MemDsbT::ALL>
void DataSyncBarrier(Location at = Location::here())
{
    if (ascendc_host::sync_sites().runs("DataSyncBarrier", at)) {
        ascendc_host::core().barrier_all(at);
    }
}

template <uint8_t mode, pipe_t pipe>
void CrossCoreSetFlag(uint16_t id, Location at = Location::here())
{
    if (!ascendc_host::legal_cross_flag(mode, id, at) || !ascendc_host::sync_sites().runs("CrossCoreSetFlag", at)) {
        return;
    }
    ascendc_host::sync_sites().join(id, at);
    if (pipe == PIPE_S || pipe == PIPE_ALL) {
        ascendc_host::core().report("cross-core-flag", at, "a flag between cores is set by pipe V, M, MTE1, MTE2, MTE3 or FIX");
        return;
    }
    const uint32_t number = ascendc_host::core().number;
    ascendc_host::core().scheduler->note_set(id, at);
    ascendc_host::core().release_to(pipe, at, [id, number, at](const ascendc_host::Clock& clock) {
        ascendc_host::send_cross_flag(mode, id, clock.published(number));
        ascendc_host::expect_room(mode, id, at);
    });
}
template <uint8_t mode = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t id, Location at = Location::here())
{
    if (ascendc_host::legal_cross_flag(mode, id, at) && ascendc_host::sync_sites().runs("CrossCoreWaitFlag", at)) {
        ascendc_host::sync_sites().join(id, at);
        ascendc_host::wait_token(ascendc_host::flag_token(id), at, "a flag between cores");
    }
}

template <bool isAIVOnly = true>
void SyncAll(Location at = Location::here())
{
    if (ascendc_host::sync_sites().runs("SyncAll", at)) {
        ascendc_host::synchronise_all(isAIVOnly, at);
    }
}
// By software: both workspaces need 32 bytes for each block.
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& global, const LocalTensor<int32_t>& local, int32_t cores = 0, Location at = Location::here())
{
    ascendc_host::Core& mine = ascendc_host::core();
    const uint64_t needed = static_cast<uint64_t>(cores > 0 ? static_cast<uint32_t>(cores) : mine.blocks) * 32;
    mine.barrier_all(at);
    const auto* buffer = ascendc_host::within_global(global.address, needed, "SyncAll", at);
    if (buffer != nullptr) {
        ascendc_host::within_local(local, local.address + needed, "SyncAll", at);
        if (!buffer->shadow.empty() && !ascendc_host::all_set(buffer->shadow.data() + (global.address - buffer->base), needed)) {
            mine.report("uninitialised", at, "SyncAll counts in global memory, which has to hold zeros: nothing has written it");
        }
    }
    if (ascendc_host::sync_sites().runs("SyncAll", at)) {
        ascendc_host::synchronise_all(true, at);
    }
}

namespace {

template <typename T>
void host_set_atomic(uint8_t operation, Location at)
{
    using ascendc_host::bit;
    using ascendc_host::DType;
    const DType type = ascendc_host::dtype_of<T>();
    constexpr uint32_t allowed = bit(DType::F32) | bit(DType::F16) | bit(DType::BF16) | bit(DType::I8) | bit(DType::I16) | bit(DType::I32);
    if ((bit(type) & allowed) == 0) {
        ascendc_host::core().report("dtype", at, ascendc_host::format("no atomic store of %s", ascendc_host::dtype_name(type)));
    }
    ascendc_host::core().atomic.operation = operation;
    ascendc_host::core().atomic.dtype = static_cast<uint8_t>(type);
}

}  // namespace

template <typename T>
void SetAtomicAdd(Location at = Location::here()) { host_set_atomic<T>(1, at); }
template <typename T>
void SetAtomicMax(Location at = Location::here()) { host_set_atomic<T>(2, at); }
template <typename T>
void SetAtomicMin(Location at = Location::here()) { host_set_atomic<T>(3, at); }
template <typename T, HardEvent = HardEvent::MAX>
void SetAtomicType(Location at = Location::here()) { host_set_atomic<T>(ascendc_host::core().atomic.operation, at); }
inline void SetAtomicNone() { ascendc_host::core().atomic = ascendc_host::AtomicState(); }
inline void DisableDmaAtomic() { SetAtomicNone(); }

inline void SetMaskCount() { ascendc_host::core().mask.counter = true; }
inline void SetMaskNorm() { ascendc_host::core().mask.counter = false; }
inline void ResetMask()
{
    ascendc_host::core().mask.low = ascendc_host::core().mask.high = ~uint64_t{0};
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(uint64_t high, uint64_t low)
{
    ascendc_host::core().mask.low = low;
    ascendc_host::core().mask.high = high;
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t count)
{
    ascendc_host::MaskState& mask = ascendc_host::core().mask;
    if (mode == MaskMode::COUNTER) {
        mask.low = static_cast<uint64_t>(count);
        mask.high = 0;
    } else {
        mask.low = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
        mask.high = count <= 64 ? 0 : (count >= 128 ? ~uint64_t{0} : (uint64_t{1} << (count - 64)) - 1);
    }
}

inline void InitSocState()
{
    ascendc_host::Core& mine = ascendc_host::core();
    mine.mask = ascendc_host::MaskState();
    mine.atomic = ascendc_host::AtomicState();
}

// Vector cores count through all groups; cube cores count groups.
inline int64_t GetBlockIdx()
{
    const ascendc_host::Core& mine = ascendc_host::core();
    return mine.is_cube || mine.group_size == 1 ? mine.block : mine.block * mine.ratio + mine.sub_block;
}
inline int64_t GetBlockNum() { return ascendc_host::core().blocks; }
inline int64_t GetSubBlockIdx() { return ascendc_host::core().sub_block; }
inline int64_t GetSubBlockNum() { return ascendc_host::core().ratio; }
inline int64_t GetTaskRation() { return ascendc_host::core().ratio; }
inline int64_t GetTaskRatio() { return ascendc_host::core().ratio; }
inline int64_t GetSystemCycle() { return ++ascendc_host::core().registers[0]; }
inline int64_t GetProgramCounter() { return 0; }
inline void Trap(Location at = Location::here())
{
    ascendc_host::core().report("trap", at, "the kernel stopped itself");
    throw ascendc_host::KernelAbort();
}
constexpr uint32_t GetUBSizeInBytes() { return TOTAL_UB_SIZE; }
constexpr uint32_t GetRuntimeUBSize() { return TOTAL_UB_SIZE; }
constexpr uint32_t GetDataBlockSizeInBytes() { return 32; }

template <typename T, CacheLine line = CacheLine::SINGLE_CACHE_LINE, DcciDst where = DcciDst::CACHELINE_OUT>
void DataCacheCleanAndInvalid(const GlobalTensor<T>&) {}
template <typename T>
void DataCachePreload(const GlobalTensor<T>&, int64_t = 0) {}
template <typename... Arguments>
void ICachePreLoad(Arguments...) {}
template <typename... Arguments>
void SetCtrlSpr(Arguments...) {}

}  // namespace AscendC

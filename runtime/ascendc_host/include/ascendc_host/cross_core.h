// What cores tell each other beyond flags: IBSet/IBWait, turns by block number, group barriers, accesses past the data cache.
#pragma once

#include "copy.h"

namespace ascendc_host {

// Receiver of tokens that whoever asks first may take; waiters of a group barrier follow it.
constexpr uint32_t ANY_CORE = 0x80000000u;

inline RemoteClock publish_everything(Location at)
{
    Core& mine = core();
    mine.barrier_all(at);
    return mine.release_scalar().published(mine.number);
}

inline void receive_token(uint32_t receiver, const std::string& token, Location at, const char* what)
{
    Core& mine = core();
    mine.barrier_all(at);
    RemoteClock clock;
    if (!mine.scheduler->receive(receiver, token, clock)) {
        mine.report("deadlock", at, format("core %u waits for %s and all other cores wait or ended", mine.number, what));
        throw KernelAbort();
    }
    mine.acquire_remote(clock);
}

template <typename T>
void check_workspaces(const AscendC::GlobalTensor<T>& global, uint64_t global_bytes, const LocalView& local, uint64_t local_bytes, const char* name,
                      Location at)
{
    if (within_global(global.address, global_bytes, name, at) != nullptr) {
        within_local(local, local.address + local_bytes, name, at);
    }
}

// By core, how often it waited for its turn.
inline uint64_t& turns_taken()
{
    static thread_local uint64_t turns = 0;
    static thread_local const Core* owner = nullptr;
    if (owner != current_core()) {
        owner = current_core();
        turns = 0;
    }
    return turns;
}

inline std::string turn_token(int64_t block) { return format("turn %lld", static_cast<long long>(block)); }

// Clocks that writes past the data cache leave at their addresses, so that who polls them knows what went before.
class PublishedClocks {
public:
    void put(const void* address, const RemoteClock& clock)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        clocks_[address] = clock;
    }
    RemoteClock get(const void* address)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        const auto found = clocks_.find(address);
        return found == clocks_.end() ? nullptr : found->second;
    }

private:
    std::mutex mutex_;
    std::map<const void*, RemoteClock> clocks_;
};

inline PublishedClocks& published_clocks()
{
    static PublishedClocks clocks;
    return clocks;
}

inline Access past_cache(GlobalBuffer* buffer, const uint8_t* start, uint64_t bytes, bool writes)
{
    Access access = global_access(buffer, start, bytes, writes);
    access.atomic = 255;
    return access;
}

// The framework fills global memory through UB.
template <typename T>
void fill_global(const AscendC::GlobalTensor<T>& dst, uint64_t count, T value, Location at)
{
    GlobalBuffer* buffer = within_global(dst.address, count * sizeof(T), "InitOutput", at);
    if (buffer == nullptr || count == 0) {
        return;
    }
    uint8_t* start = dst.address;
    core().issue(PIPE_MTE3, at, "InitOutput", {global_access(buffer, start, count * sizeof(T), true)}, [=] {
        for (uint64_t k = 0; k < count; ++k) {
            std::memcpy(start + k * sizeof(T), &value, sizeof(T));
        }
        if (!buffer->shadow.empty()) {
            std::memset(buffer->shadow.data() + (start - buffer->base), 0xff, count * sizeof(T));
        }
    });
}

}  // namespace ascendc_host

namespace AscendC {

// The waiting core and the event name the flag; vector cores alone.
template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& global, const LocalTensor<int32_t>& local, int32_t block, int32_t event, Location at = Location::here())
{
    if (ascendc_host::core().is_cube) {
        return;
    }
    const uint64_t cores = static_cast<uint64_t>(ascendc_host::core().blocks) * (isAIVOnly ? 1 : 2);
    ascendc_host::check_workspaces(global, (cores * event + block) * 32 + 32, local, 32, "IBSet", at);
    ascendc_host::core().scheduler->send(ascendc_host::ANY_CORE, ascendc_host::format("ib %d %d", block, event),
                                         ascendc_host::publish_everything(at));
}
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& global, const LocalTensor<int32_t>& local, int32_t block, int32_t event, Location at = Location::here())
{
    if (ascendc_host::core().is_cube) {
        return;
    }
    const uint64_t cores = static_cast<uint64_t>(ascendc_host::core().blocks) * (isAIVOnly ? 1 : 2);
    ascendc_host::check_workspaces(global, (cores * event + block) * 32 + 32, local, 32, "IBWait", at);
    ascendc_host::receive_token(ascendc_host::ANY_CORE, ascendc_host::format("ib %d %d", block, event), at, "IBSet");
}

// Vector cores take turns in the order of their block numbers, round after round.
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>& global, LocalTensor<int32_t>& local, Location at = Location::here())
{
    if (ascendc_host::core().is_cube) {
        return;
    }
    const uint64_t blocks = ascendc_host::core().blocks;
    ascendc_host::check_workspaces(global, blocks * 32, local, blocks * 32 + 32, "InitDetermineComputeWorkspace", at);
    ascendc_host::synchronise_all(true, at);
}
inline void WaitPreBlock(GlobalTensor<int32_t>&, LocalTensor<int32_t>&, Location at = Location::here())
{
    if (ascendc_host::core().is_cube) {
        return;
    }
    const bool is_first = GetBlockIdx() == 0 && ascendc_host::turns_taken() == 0;
    ++ascendc_host::turns_taken();
    ascendc_host::core().barrier_all(at);
    if (!is_first) {
        ascendc_host::receive_token(ascendc_host::ANY_CORE, ascendc_host::turn_token(GetBlockIdx()), at, "the block before it (NotifyNextBlock)");
    }
}
inline void NotifyNextBlock(GlobalTensor<int32_t>&, LocalTensor<int32_t>&, Location at = Location::here())
{
    if (ascendc_host::core().is_cube) {
        return;
    }
    const int64_t cores = GetBlockNum() * (ascendc_host::core().group_size > 1 ? GetTaskRation() : 1);
    ascendc_host::core().scheduler->send(ascendc_host::ANY_CORE, ascendc_host::turn_token((GetBlockIdx() + 1) % cores),
                                         ascendc_host::publish_everything(at));
}

// `waiters` cores wait until `arrivals` cores have arrived.
template <PipeMode mode>
class GroupBarrier {
public:
    GroupBarrier(uint8_t* workspace, uint32_t arrivals, uint32_t waiters, Location at = Location::here())
        : workspace_(workspace), arrivals_(arrivals), waiters_(waiters)
    {
        ascendc_host::within_global(workspace, static_cast<uint64_t>(waiters) * 512, "GroupBarrier", at);
    }
    void Arrive(uint32_t number, Location at = Location::here())
    {
        if (number >= arrivals_) {
            ascendc_host::core().report("group-barrier", at, ascendc_host::format("Arrive(%u): the barrier has %u arrivals", number, arrivals_));
            return;
        }
        std::vector<uint32_t> receivers;
        for (uint32_t k = 0; k < waiters_; ++k) {
            receivers.push_back(ascendc_host::ANY_CORE + 1 + k);
        }
        ascendc_host::core().scheduler->arrive(name(), number, arrivals_, receivers, name(), ascendc_host::publish_everything(at));
    }
    void Wait(uint32_t number, Location at = Location::here())
    {
        if (number >= waiters_) {
            ascendc_host::core().report("group-barrier", at, ascendc_host::format("Wait(%u): the barrier has %u waiters", number, waiters_));
            return;
        }
        ascendc_host::receive_token(ascendc_host::ANY_CORE + 1 + number, name(), at, "a group barrier");
    }
    uint64_t GetWorkspaceLen() const { return static_cast<uint64_t>(waiters_) * 512; }

private:
    uint8_t* workspace_;
    uint32_t arrivals_;
    uint32_t waiters_;

    std::string name() const { return ascendc_host::format("group %p", static_cast<void*>(workspace_)); }
};

template <pipe_t AIV_PIPE = PIPE_MTE3, pipe_t AIC_PIPE = PIPE_FIX>
void SetNextTaskStart() {}
inline void WaitPreTaskEnd() {}

template <typename T>
void WriteGmByPassDCache(T* address, T value, Location at = Location::here())
{
    uint8_t* start = reinterpret_cast<uint8_t*>(address);
    ascendc_host::GlobalBuffer* buffer = ascendc_host::within_global(start, sizeof(T), "WriteGmByPassDCache", at);
    if (buffer == nullptr) {
        return;
    }
    ascendc_host::core().scalar_access(at, {ascendc_host::past_cache(buffer, start, sizeof(T), true)});
    ascendc_host::Core& mine = ascendc_host::core();
    std::unique_lock<std::mutex> guard(buffer->mutex);
    std::memcpy(start, &value, sizeof(T));
    if (!buffer->shadow.empty()) {
        std::memset(buffer->shadow.data() + (start - buffer->base), 0xff, sizeof(T));
    }
    ascendc_host::published_clocks().put(start, mine.release_scalar().published(mine.number));
}
// Others get a turn, since kernels poll like this.
template <typename T>
T ReadGmByPassDCache(T* address, Location at = Location::here())
{
    T value{};
    const uint8_t* start = reinterpret_cast<const uint8_t*>(address);
    ascendc_host::GlobalBuffer* buffer = ascendc_host::within_global(start, sizeof(T), "ReadGmByPassDCache", at);
    if (buffer == nullptr) {
        return value;
    }
    ascendc_host::core().scheduler->yield();
    std::unique_lock<std::mutex> guard(buffer->mutex);
    std::memcpy(&value, start, sizeof(T));
    ascendc_host::core().acquire_remote(ascendc_host::published_clocks().get(start));
    return value;
}

template <typename T>
void InitGlobalMemory(GlobalTensor<T>& dst, uint64_t count, T value, Location at = Location::here())
{
    ascendc_host::fill_global(dst, count, value, at);
}
template <typename T>
void InitOutput(GlobalTensor<T> dst, uint32_t count, T value = T(0), Location at = Location::here())
{
    ascendc_host::fill_global(dst, count, value, at);
}

}  // namespace AscendC

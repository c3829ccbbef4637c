// EXTERN_IMPL_BUFPOOL: pools whose bytes a kernel hands out itself.
#pragma once

#include "queue.h"

namespace AscendC {

using TBufHandle = int32_t;

}  // namespace AscendC

namespace ascendc_host {

// The bytes of one memory that a pool may hand out, and the queues that it gave some to.
class UserPool : public FrameOwner {
public:
    uint32_t next = 0;
    uint8_t used = 0;

    UserPool(AscendC::TPosition place, uint32_t most) : space_(space_of(place)), most_(most) {}
    ~UserPool() noexcept(false) override
    {
        if (std::uncaught_exceptions() == 0) {
            reset(Location());
        }
    }

    Space space() const { return space_; }
    uint32_t start() const { return start_; }
    uint32_t end() const { return end_; }

    void open(uint32_t first, uint32_t bytes)
    {
        start_ = next = first;
        end_ = first + bytes;
        used = 0;
    }

    void forget(QueueBase* queue) override { queues_.erase(std::remove(queues_.begin(), queues_.end(), queue), queues_.end()); }

    void adopt(QueueBase& queue)
    {
        if (queue.owner != this) {
            queue.owner = this;
            queues_.push_back(&queue);
        }
    }

    AscendC::TBufHandle handle(uint32_t number, Location at) const
    {
        if (number >= most_) {
            core().report("buffer-count", at, format("buffer %u of a pool that holds %u", number, most_));
        }
        return static_cast<AscendC::TBufHandle>(number);
    }

    void expect(uint64_t first, uint64_t bytes, Location at) const
    {
        if (first < start_ || first + bytes > end_) {
            core().report("capacity", at, format("a buffer of bytes %llu to %llu of %s does not lie in the pool, which has bytes %u to %u",
                          static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + bytes), space_name(space_), start_, end_));
            throw KernelAbort();
        }
    }

    // Waits for all users; the pool has no bytes until a pipe gives it some again.
    void reset(Location at)
    {
        for (QueueBase* queue : queues_) {
            queue->report_leaks();
            queue->settle(at);
            queue->owner = nullptr;
        }
        queues_.clear();
        open(0, 0);
    }

private:
    Space space_;
    uint32_t most_;
    uint32_t start_ = 0;
    uint32_t end_ = 0;
    std::vector<QueueBase*> queues_;
};

}  // namespace ascendc_host

#define EXTERN_IMPL_BUFPOOL(POOL, PLACE, MOST)                                                                          \
public:                                                                                                                 \
    static constexpr AscendC::TPosition poolPos = PLACE;                                                                \
    static constexpr bool isTbufPool = true;                                                                            \
    ascendc_host::UserPool host_pool{PLACE, MOST};                                                                      \
    void Init() { host_pool.open(0, 0); }                                                                               \
    void Reset(ascendc_host::Location at = ascendc_host::Location::here()) { host_pool.reset(at); }                     \
    AscendC::TBufHandle GetBufHandle(uint8_t number, ascendc_host::Location at = ascendc_host::Location::here()) const  \
    {                                                                                                                   \
        return host_pool.handle(number, at);                                                                            \
    }                                                                                                                   \
    void SetCurAddr(uint32_t address) { host_pool.next = address; }                                                     \
    uint32_t GetCurAddr() const { return host_pool.next; }                                                              \
    void SetCurBufSize(uint8_t buffers) { host_pool.used = buffers; }                                                   \
    uint8_t GetCurBufSize() const { return host_pool.used; }

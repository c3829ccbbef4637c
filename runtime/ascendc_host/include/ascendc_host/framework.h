// Buffers and queues that order their users by themselves: TPipe, TQue, TQueBind, TBuf, TBufPool.
#pragma once

#include "user_pool.h"

namespace AscendC {

struct TQueConfig {
    bool nd2nz = false;
    bool nz2nd = false;
    bool scmBlockGroup = false;
    uint32_t bufferLen = 0;
    uint32_t bufferNumber = 0;
    uint32_t consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false;
    bool enableLoopQueue = false;
};

template <TPosition source, TPosition target, int32_t depth_, auto mask = 0>
class TQueBind : public ascendc_host::QueueBase {
public:
    TQueBind()
    {
        // The buffer lies where the data comes from on chip, or goes to when it comes from global memory.
        position = source == TPosition::GM ? target : source;
        if (source == TPosition::VECIN || source == TPosition::VECOUT) {
            position = source;
        }
        events = ascendc_host::queue_events(source, target);
        depth = depth_;
    }

    template <typename T>
    LocalTensor<T> AllocTensor(Location at = Location::here())
    {
        return tensor<T>(take(at));
    }
    template <typename T>
    void AllocTensor(LocalTensor<T>& result, Location at = Location::here())
    {
        result = tensor<T>(take(at));
    }
    template <typename T>
    bool EnQue(const LocalTensor<T>& value, Location at = Location::here())
    {
        put(value.buffer, at);
        return true;
    }
    template <TPosition, TPosition, typename T>
    bool EnQue(const LocalTensor<T>& value, Location at = Location::here())
    {
        put(value.buffer, at);
        return true;
    }
    template <typename T>
    LocalTensor<T> DeQue(Location at = Location::here())
    {
        return tensor<T>(get(at));
    }
    template <typename T>
    void DeQue(LocalTensor<T>& result, Location at = Location::here())
    {
        result = tensor<T>(get(at));
    }
    template <TPosition, TPosition, typename T>
    LocalTensor<T> DeQue(Location at = Location::here())
    {
        return tensor<T>(get(at));
    }
    template <typename T>
    void FreeTensor(const LocalTensor<T>& value, Location at = Location::here())
    {
        free(value.buffer, at);
    }
    void FreeAllEvent(Location at = Location::here()) { settle(at); }
    // For pools that a kernel writes itself.
    void InitStartBufHandle(TBufHandle, uint8_t number, uint32_t)
    {
        buffers.assign(number, ascendc_host::FrameBuffer());
    }
    template <typename Pool>
    void InitBufHandle(Pool* pool, uint32_t number, TBufHandle, uint32_t start, uint32_t bytes, Location at = Location::here())
    {
        if (number >= buffers.size()) {
            ascendc_host::core().report("buffer-count", at, ascendc_host::format("buffer %u of a queue that has %zu", number, buffers.size()));
            return;
        }
        pool->host_pool.expect(start, bytes, at);
        buffers[number].address = start;
        buffers[number].bytes = bytes;
        pool->host_pool.adopt(*this);
    }
    bool VacantInQue() const { return waiting.size() < buffers.size(); }
    bool HasTensorInQue() const { return !waiting.empty(); }
    int32_t GetTensorCountInQue() const { return static_cast<int32_t>(waiting.size()); }
    bool HasIdleBuffer() const
    {
        return std::any_of(buffers.begin(), buffers.end(), [](const auto& buffer) { return !buffer.taken; });
    }

private:
    template <typename T>
    LocalTensor<T> tensor(int32_t number) const
    {
        ascendc_host::LocalView view;
        const ascendc_host::FrameBuffer& buffer = buffers[static_cast<size_t>(number)];
        view.space = ascendc_host::space_of(position);
        view.position = position;
        view.address = buffer.address;
        view.limit = buffer.address + buffer.bytes;
        view.buffer = number;
        return LocalTensor<T>::over(view, ascendc_host::elements_in<T>(buffer.bytes));
    }
};

template <TPosition place, int32_t depth_, auto mask = 0>
class TQue : public TQueBind<ascendc_host::queue_source(place), place, depth_, mask> {
public:
    TQue() { this->position = place; }
};

template <TPosition place = TPosition::VECCALC>
class TBuf {
public:
    ascendc_host::LocalView view;

    TBuf()
    {
        view.position = place;
        view.space = ascendc_host::space_of(place);
    }
    template <typename T>
    LocalTensor<T> Get() const
    {
        return LocalTensor<T>::over(view, ascendc_host::elements_in<T>(view.limit - view.address));
    }
    template <typename T>
    LocalTensor<T> Get(uint32_t elements, Location at = Location::here()) const
    {
        const uint32_t bytes = static_cast<uint32_t>(ascendc_host::bytes_of<T>(elements));
        ascendc_host::within_local(view, view.address + static_cast<uint64_t>(bytes), "Get", at);
        ascendc_host::LocalView part = view;
        return LocalTensor<T>::over(part, elements);
    }
    template <typename T>
    LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t offset) const
    {
        ascendc_host::LocalView part = view;
        part.address += offset;
        return LocalTensor<T>::over(part, elements);
    }
    template <typename T>
    void EnQue(const LocalTensor<T>&) {}
    template <typename T>
    LocalTensor<T> DeQue() const { return Get<T>(); }
    template <typename T>
    void FreeTensor(const LocalTensor<T>&) {}
    uint32_t GetBufLen() const { return view.limit - view.address; }
    // For pools that a kernel writes itself.
    void InitStartBufHandle(TBufHandle, uint8_t number, uint32_t, Location at = Location::here())
    {
        if (number != 1) {
            ascendc_host::core().report("buffer-count", at, ascendc_host::format("%u buffers for a TBuf, which has one", number));
        }
    }
    template <typename Pool>
    void InitBufHandle(Pool* pool, uint32_t, TBufHandle, uint32_t start, uint32_t bytes, Location at = Location::here())
    {
        pool->host_pool.expect(start, bytes, at);
        view.address = start;
        view.limit = start + bytes;
    }
};

// Hands out bytes of one memory after the other, and owns the event ids.
class TPipeBase : public ascendc_host::FrameOwner {
public:
    ~TPipeBase() noexcept(false) override
    {
        for (ascendc_host::QueueBase* queue : queues_) {
            queue->owner = nullptr;
        }
    }
    void forget(ascendc_host::QueueBase* queue) override
    {
        queues_.erase(std::remove(queues_.begin(), queues_.end(), queue), queues_.end());
    }

    template <typename Queue>
    bool InitBuffer(Queue& queue, uint8_t number, uint32_t bytes, Location at = Location::here())
    {
        const uint32_t rounded = (bytes + 31) / 32 * 32;
        queue.buffers.clear();
        for (uint32_t k = 0; k < number; ++k) {
            ascendc_host::FrameBuffer buffer;
            buffer.address = reserve(ascendc_host::space_of(queue.position), rounded, at);
            buffer.bytes = rounded;
            queue.buffers.push_back(buffer);
        }
        count(number, at);
        ascendc_host::QueueBase* base = &queue;
        base->owner = this;
        queues_.push_back(base);
        return true;
    }
    template <TPosition place>
    bool InitBuffer(TBuf<place>& buffer, uint32_t bytes, Location at = Location::here())
    {
        const uint32_t rounded = (bytes + 31) / 32 * 32;
        buffer.view.address = reserve(ascendc_host::space_of(place), rounded, at);
        buffer.view.limit = buffer.view.address + rounded;
        count(1, at);
        return true;
    }

    // Gives bytes to a pool: to a TBufPool, or to one that the kernel writes itself.
    template <typename Pool>
    bool InitBufPool(Pool& pool, uint32_t bytes, Location at = Location::here())
    {
        pool.host_pool.open(reserve(ascendc_host::space_of(Pool::poolPos), bytes, at), bytes);
        tell(pool);
        return true;
    }
    // Gives the bytes of another pool.
    template <typename Pool, typename Shared>
    bool InitBufPool(Pool& pool, uint32_t bytes, Shared& shared, Location at = Location::here())
    {
        const ascendc_host::UserPool& other = shared.host_pool;
        if (other.space() != pool.host_pool.space() || bytes > other.end() - other.start()) {
            ascendc_host::core().report("capacity", at, ascendc_host::format("a pool of %u bytes of %s does not fit into one of %u bytes of %s",
                                        bytes, space_name(pool.host_pool.space()), other.end() - other.start(), space_name(other.space())));
        }
        pool.host_pool.open(other.start(), bytes);
        tell(pool);
        return true;
    }

protected:
    struct Span {
        uint32_t next = 0;
        uint32_t end = 0;
    };
    Span spans_[8];
    uint32_t count_ = 0;
    uint32_t most_ = 64;
    std::vector<ascendc_host::QueueBase*> queues_;

    void count(uint32_t number, Location at)
    {
        count_ += number;
        if (count_ > most_) {
            ascendc_host::core().report("buffer-count", at, ascendc_host::format("%u buffers: the %s holds at most %u", count_,
                                        most_ == 64 ? "pipe" : "pool", most_));
        }
    }
    virtual void opened() {}
    template <typename Pool>
    static void tell(Pool& pool)
    {
        if constexpr (std::is_base_of_v<TPipeBase, Pool>) {
            TPipeBase& base = pool;
            base.opened();
        }
    }

    uint32_t reserve(ascendc_host::Space space, uint32_t bytes, Location at)
    {
        Span& span = spans_[static_cast<int>(space)];
        const uint32_t alignment = ascendc_host::space_alignment(space);
        const uint32_t address = (span.next + alignment - 1) / alignment * alignment;
        if (static_cast<uint64_t>(address) + bytes > span.end) {
            ascendc_host::core().report("capacity", at, ascendc_host::format("InitBuffer needs bytes %u to %u of %s, which has %u", address,
                                        address + bytes, ascendc_host::space_name(space), span.end));
            throw ascendc_host::KernelAbort();
        }
        span.next = address + bytes;
        return address;
    }

    void settle(Location at)
    {
        for (ascendc_host::QueueBase* queue : queues_) {
            queue->report_leaks();
            queue->settle(at);
            queue->owner = nullptr;
        }
        queues_.clear();
    }
};

class TPipe;
}  // namespace AscendC

namespace ascendc_host {
inline AscendC::TPipe*& current_pipe()
{
    static thread_local AscendC::TPipe* pipe = nullptr;
    return pipe;
}
}  // namespace ascendc_host

namespace AscendC {

template <TPosition place, uint32_t most = 4>
class TBufPool : public TPipeBase {
public:
    static constexpr TPosition poolPos = place;
    ascendc_host::UserPool host_pool{place, most};

    TBufPool() { most_ = most; }
    void Reset(Location at = Location::here())
    {
        settle(at);
        ascendc_host::core().barrier_all(at);
        open();
    }

private:
    void opened() override { open(); }
    void open()
    {
        Span& span = spans_[static_cast<int>(host_pool.space())];
        span.next = host_pool.start();
        span.end = host_pool.end();
        count_ = 0;
    }
};

class TPipe : public TPipeBase {
public:
    TPipe()
    {
        Init();
        ascendc_host::current_pipe() = this;
    }
    ~TPipe() noexcept(false) override
    {
        if (std::uncaught_exceptions() == 0) {
            Destroy();
        }
    }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;

    void Init()
    {
        for (int space = 0; space < 7; ++space) {
            spans_[space].next = 0;
            spans_[space].end = ascendc_host::space_bytes(static_cast<ascendc_host::Space>(space));
        }
        count_ = 0;
        done_ = false;
    }
    void Reset(Location at = Location::here())
    {
        settle(at);
        ascendc_host::core().barrier_all(at);
        Init();
    }
    void Destroy(Location at = Location::here())
    {
        if (!done_) {
            settle(at);
            ascendc_host::core().barrier_all(at);
            done_ = true;
        }
    }
    int32_t FetchEventID(HardEvent event) { return ascendc_host::core().free_event(event); }
    template <HardEvent event>
    int32_t FetchEventID() { return FetchEventID(event); }
    template <HardEvent event>
    int32_t AllocEventID(Location at = Location::here()) { return ascendc_host::core().allocate_event(event, at); }
    template <HardEvent event>
    void ReleaseEventID(int32_t id) { ascendc_host::core().release_event(event, id); }
    template <TPosition place>
    LocalTensor<uint8_t> GetAbsAddr(int32_t offset, int32_t bytes) const
    {
        return LocalTensor<uint8_t>(place, static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes));
    }
    template <TPosition place, typename T>
    LocalTensor<T> GetAbsAddr(int32_t offset, int32_t elements) const
    {
        return LocalTensor<T>(place, static_cast<uint32_t>(offset), static_cast<uint32_t>(elements));
    }
    // Without completing the pipes: the kernel orders what follows.
    void DestroyWithoutPipeAll(Location at = Location::here())
    {
        if (!done_) {
            settle(at);
            done_ = true;
        }
    }
    uint8_t* GetBaseAddr(int8_t place) const
    {
        return ascendc_host::core().memory(ascendc_host::space_of(static_cast<TPosition>(place))).data.data();
    }
    uint32_t used(ascendc_host::Space space) const { return spans_[static_cast<int>(space)].next; }

private:
    bool done_ = false;
};

}  // namespace AscendC

inline AscendC::TPipe* GetTPipePtr() { return ascendc_host::current_pipe(); }
namespace AscendC {
using ::GetTPipePtr;

// All memory of a position that the pipe has not handed out, as a tensor that belongs to no buffer.
template <typename T, TPosition pos>
bool PopStackBuffer(LocalTensor<T>& popLocal, Location at = Location::here())
{
    if (GetTPipePtr() == nullptr) {
        ascendc_host::core().report("no-pipe", at, "PopStackBuffer takes memory from a TPipe, and there is none");
        return false;
    }
    const ascendc_host::Space space = ascendc_host::space_of(pos);
    const uint32_t start = GetTPipePtr()->used(space);
    const uint32_t end = space == ascendc_host::Space::UB ? TOTAL_VEC_LOCAL_SIZE : ascendc_host::space_bytes(space);
    if (start >= end) {
        return false;
    }
    popLocal = LocalTensor<T>(pos, start, ascendc_host::elements_in<T>(end - start), at);
    return true;
}
}

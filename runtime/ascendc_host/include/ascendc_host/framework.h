// Buffers and queues that order their users by themselves: TPipe, TQue, TQueBind, TBuf, TBufPool.
#pragma once

#include "allocator.h"
#include "sync.h"

namespace ascendc_host {

// One buffer of a queue, and the flag that must be waited for before it may be filled again.
struct FrameBuffer {
    uint32_t address = 0;
    uint32_t bytes = 0;
    bool taken = false;
    bool queued = false;
    Location taken_at;
    int32_t filled_event = -1;
    int32_t freed_event = -1;
};

struct QueueEvents {
    AscendC::HardEvent filled;
    AscendC::HardEvent freed;
    bool needs_flags;
};

// What orders the one who fills a buffer and the one who uses it, by where the data comes from and goes to.
constexpr QueueEvents queue_events(AscendC::TPosition source, AscendC::TPosition target)
{
    using P = AscendC::TPosition;
    using E = AscendC::HardEvent;
    const bool from_gm = source == P::GM;
    if (target == P::VECIN || (from_gm && target == P::VECCALC)) return {E::MTE2_V, E::V_MTE2, true};
    if (source == P::VECIN && target == P::VECOUT) return {E::MTE2_MTE3, E::MTE3_MTE2, true};
    if (target == P::VECOUT || (source == P::VECOUT && target == P::GM)) return {E::V_MTE3, E::MTE3_V, true};
    if (target == P::A1 || target == P::B1 || target == P::C1 || target == P::TSCM) return {E::MTE2_MTE1, E::MTE1_MTE2, true};
    if (target == P::A2 || target == P::B2 || target == P::C2) return {E::MTE1_M, E::M_MTE1, true};
    if (target == P::CO1) return {E::M_FIX, E::FIX_M, true};
    if (target == P::C2PIPE2GM) return {E::FIX_FIX, E::FIX_FIX, false};
    return {E::V_V, E::V_V, false};
}

constexpr AscendC::TPosition queue_source(AscendC::TPosition position)
{
    using P = AscendC::TPosition;
    switch (position) {
        case P::VECOUT: return P::VECCALC;
        case P::A2: return P::A1;
        case P::B2: return P::B1;
        case P::C2: return P::C1;
        case P::CO1: return P::A2;
        default: return P::GM;
    }
}

class FrameOwner {
public:
    virtual ~FrameOwner() noexcept(false) {}
    virtual void forget(class QueueBase* queue) = 0;
};

class QueueBase {
public:
    FrameOwner* owner = nullptr;

    QueueBase() = default;
    QueueBase(const QueueBase&) = delete;
    QueueBase& operator=(const QueueBase&) = delete;

    // Queues go before or after their pipe.
    ~QueueBase()
    {
        if (owner != nullptr) {
            owner->forget(this);
            if (std::uncaught_exceptions() == 0) {
                report_leaks();
                settle(Location());
            }
        }
    }

    std::vector<FrameBuffer> buffers;
    AscendC::TPosition position = AscendC::TPosition::VECIN;
    std::deque<int32_t> waiting;
    QueueEvents events{};
    int32_t depth = 1;

    int32_t take(Location at)
    {
        for (size_t k = 0; k < buffers.size(); ++k) {
            const size_t number = (next_ + k) % buffers.size();
            if (!buffers[number].taken) {
                next_ = number + 1;
                return take_buffer(static_cast<int32_t>(number), at);
            }
        }
        core().report("queue-alloc", at, format("AllocTensor: all %zu buffers of the queue are taken and not freed", buffers.size()),
                      buffers.empty() ? Location() : buffers[0].taken_at);
        throw KernelAbort();
    }

    void put(int32_t number, Location at)
    {
        if (!valid(number, at, "EnQue")) {
            return;
        }
        FrameBuffer& buffer = buffers[static_cast<size_t>(number)];
        const size_t most = depth == 0 ? 1 : static_cast<size_t>(depth);
        if (waiting.size() >= std::max(most, buffers.size())) {
            core().report("queue-depth", at, format("EnQue: the queue holds %zu tensors already", waiting.size()));
        }
        if (events.needs_flags) {
            buffer.filled_event = core().allocate_event(events.filled, at);
            core().set_flag(events.filled, buffer.filled_event, at);
        } else {
            core().barrier(events.filled == AscendC::HardEvent::FIX_FIX ? PIPE_FIX : PIPE_V, at);
        }
        buffer.queued = true;
        waiting.push_back(number);
    }

    int32_t get(Location at)
    {
        if (waiting.empty()) {
            core().report("queue-empty", at, "DeQue: the queue holds no tensor");
            throw KernelAbort();
        }
        const int32_t number = waiting.front();
        waiting.pop_front();
        FrameBuffer& buffer = buffers[static_cast<size_t>(number)];
        buffer.queued = false;
        if (buffer.filled_event >= 0) {
            core().wait_flag(events.filled, buffer.filled_event, at);
            core().release_event(events.filled, buffer.filled_event);
            buffer.filled_event = -1;
        }
        return number;
    }

    void free(int32_t number, Location at)
    {
        if (!valid(number, at, "FreeTensor")) {
            return;
        }
        FrameBuffer& buffer = buffers[static_cast<size_t>(number)];
        if (!buffer.taken) {
            core().report("queue-free", at, "FreeTensor: the tensor was freed before");
            return;
        }
        if (events.needs_flags) {
            buffer.freed_event = core().allocate_event(events.freed, at);
            core().set_flag(events.freed, buffer.freed_event, at);
        }
        buffer.taken = false;
    }

    // Waits for what still uses the buffers, so that their bytes may serve another purpose.
    void settle(Location at)
    {
        for (FrameBuffer& buffer : buffers) {
            if (buffer.freed_event >= 0) {
                core().wait_flag(events.freed, buffer.freed_event, at);
                core().release_event(events.freed, buffer.freed_event);
                buffer.freed_event = -1;
            }
            if (buffer.filled_event >= 0) {
                core().wait_flag(events.filled, buffer.filled_event, at);
                core().release_event(events.filled, buffer.filled_event);
                buffer.filled_event = -1;
            }
        }
    }

    void report_leaks()
    {
        for (FrameBuffer& buffer : buffers) {
            if (buffer.taken) {
                core().report("leaked-buffer", buffer.taken_at, "a tensor of a queue is never freed");
                buffer.taken = false;
            }
        }
    }

private:
    size_t next_ = 0;

    int32_t take_buffer(int32_t number, Location at)
    {
        FrameBuffer& buffer = buffers[static_cast<size_t>(number)];
        if (buffer.freed_event >= 0) {
            core().wait_flag(events.freed, buffer.freed_event, at);
            core().release_event(events.freed, buffer.freed_event);
            buffer.freed_event = -1;
        }
        buffer.taken = true;
        buffer.taken_at = at;
        return number;
    }

    bool valid(int32_t number, Location at, const char* what)
    {
        if (number < 0 || number >= static_cast<int32_t>(buffers.size())) {
            core().report("queue-tensor", at, format("%s: the tensor does not come from this queue", what));
            return false;
        }
        return true;
    }
};

}  // namespace ascendc_host

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

using TBufHandle = int32_t;

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
        count_ += number;
        if (count_ > 64) {
            ascendc_host::core().report("buffer-count", at, ascendc_host::format("%u buffers: a pipe holds at most 64", count_));
        }
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
        return true;
    }

protected:
    struct Span {
        uint32_t next = 0;
        uint32_t end = 0;
    };
    Span spans_[8];
    uint32_t count_ = 0;
    std::vector<ascendc_host::QueueBase*> queues_;

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

    void open(uint32_t start, uint32_t bytes)
    {
        Span& span = spans_[static_cast<int>(ascendc_host::space_of(place))];
        span.next = start;
        span.end = start + bytes;
        start_ = start;
    }
    template <TPosition inner, uint32_t inner_most>
    bool InitBufPool(TBufPool<inner, inner_most>& pool, uint32_t bytes, Location at = Location::here())
    {
        pool.open(reserve(ascendc_host::space_of(inner), bytes, at), bytes);
        return true;
    }
    template <TPosition inner, uint32_t inner_most, typename Pool>
    bool InitBufPool(TBufPool<inner, inner_most>& pool, uint32_t bytes, Pool& shared, Location = Location::here())
    {
        pool.open(shared.start(), bytes);
        return true;
    }
    uint32_t start() const { return start_; }
    void Reset(Location at = Location::here())
    {
        settle(at);
        ascendc_host::core().barrier_all(at);
        spans_[static_cast<int>(ascendc_host::space_of(place))].next = start_;
    }

private:
    uint32_t start_ = 0;
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
    template <TPosition place, uint32_t most>
    bool InitBufPool(TBufPool<place, most>& pool, uint32_t bytes, Location at = Location::here())
    {
        pool.open(reserve(ascendc_host::space_of(place), bytes, at), bytes);
        return true;
    }
    template <TPosition place, uint32_t most, typename Pool>
    bool InitBufPool(TBufPool<place, most>& pool, uint32_t bytes, Pool& shared, Location = Location::here())
    {
        pool.open(shared.start(), bytes);
        return true;
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
    uint32_t used(ascendc_host::Space space) const { return spans_[static_cast<int>(space)].next; }

private:
    bool done_ = false;
};

}  // namespace AscendC

inline AscendC::TPipe* GetTPipePtr() { return ascendc_host::current_pipe(); }
namespace AscendC {
using ::GetTPipePtr;
}

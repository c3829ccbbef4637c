// The buffers of a queue and what orders those who fill and use them.
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
        if (buffer.queued || !buffer.taken) {
            core().report("queue-tensor", at, format("EnQue: the tensor %s", buffer.queued ? "is in the queue already" : "was freed before"));
            return;
        }
        if (depth > 0 && waiting.size() >= static_cast<size_t>(depth)) {
            core().report("queue-depth", at, format("EnQue: the queue has depth %d and holds %zu tensors already", depth, waiting.size()));
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

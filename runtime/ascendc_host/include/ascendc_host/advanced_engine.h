// What the advanced interface shares: operands in UB, temporary memory with its least size, and one step on the vector pipe.
#pragma once

#include "framework.h"
#include "vector_engine.h"

namespace ascendc_host {

// The temporary memory of a call: a tensor, or what the pipe has not handed out.
struct Temporary {
    bool given = false;
    LocalView view;
};

inline Temporary temporary(const AscendC::LocalTensor<uint8_t>& tensor) { return Temporary{true, tensor}; }

class AdvancedCall {
public:
    AdvancedCall(const char* name, Location at) : name_(name), at_(at), exists_(exists_here(false, name, at)), legal_(exists_) {}

    bool legal() const { return legal_; }
    Location at() const { return at_; }
    const char* name() const { return name_; }

    void fail(const char* rule, const std::string& message)
    {
        if (exists_) {
            core().report(rule, at_, std::string(name_) + ": " + message);
        }
        legal_ = false;
    }

    void dtype(DType type, uint32_t allowed)
    {
        if ((allowed & bit(type)) == 0) {
            fail("dtype", format("%s is not supported on this chip", dtype_name(type)));
        }
    }

    void reads(const LocalView& view, uint64_t bytes, const char* what) { operand(view, bytes, false, what); }
    void writes(const LocalView& view, uint64_t bytes, const char* what) { operand(view, bytes, true, what); }

    // Temporary memory of at least `least` bytes; everything in it is lost.
    void scratch(const Temporary& memory, uint64_t least)
    {
        LocalView view = memory.view;
        if (!memory.given) {
            if (least == 0) {
                return;
            }
            if (current_pipe() == nullptr) {
                fail("no-pipe", "without a temporary tensor the call takes memory from a TPipe, and there is none");
                return;
            }
            view.space = Space::UB;
            view.address = current_pipe()->used(Space::UB);
            view.limit = AscendC::TOTAL_VEC_LOCAL_SIZE;
        }
        if (view.limit < view.address + least) {
            fail("tmp-too-small", format("the call needs %llu bytes of temporary memory and gets %lld", static_cast<unsigned long long>(least),
                                         static_cast<long long>(view.limit) - view.address));
            return;
        }
        if (memory.given) {
            check_scratch(view);
        }
        scratch_ = {view.address, memory.given ? view.limit : static_cast<uint64_t>(view.address) + least};
        Access access;
        access.memory = &core().memory(Space::UB);
        access.ranges = {scratch_};
        access.writes = true;
        accesses_.push_back(std::move(access));
    }

    // Results must not lie on sources unless the call says so.
    void apart()
    {
        for (const Access& left : accesses_) {
            for (const Access& right : accesses_) {
                if (left.writes && !right.writes && meet(left.ranges[0], right.ranges[0])) {
                    fail("overlap", "the result or the temporary memory overlaps a source");
                    return;
                }
            }
        }
    }

    template <typename Run>
    void issue(Run run)
    {
        if (!legal_) {
            return;
        }
        const Range scratch = scratch_;
        core().issue(PIPE_V, at_, name_, std::move(accesses_), [scratch, run] {
            run();
            Memory& memory = core().memory(Space::UB);
            std::memset(memory.data.data() + scratch.start, 0xff, scratch.end - scratch.start);
            std::memset(memory.shadow.data() + scratch.start, 0, scratch.end - scratch.start);
        });
    }

private:
    const char* name_;
    Location at_;
    bool exists_;
    bool legal_;
    Accesses accesses_;
    Range scratch_{0, 0};

    static bool meet(const Range& left, const Range& right) { return left.start < right.end && right.start < left.end; }

    void check_scratch(const LocalView& view)
    {
        if (view.space != Space::UB) {
            fail("position", format("the temporary memory is in %s, it has to be in UB", space_name(view.space)));
        }
        for (const Access& access : accesses_) {
            if (meet(access.ranges[0], {view.address, view.limit})) {
                fail("overlap", "the temporary memory overlaps an operand");
                return;
            }
        }
    }

    void operand(const LocalView& view, uint64_t bytes, bool writes, const char* what)
    {
        if (view.space != Space::UB) {
            fail("position", format("%s is in %s, it has to be in UB", what, space_name(view.space)));
        }
        if (view.address % 32 != 0) {
            fail("alignment", format("%s starts at byte %u of UB: not a multiple of 32", what, view.address));
        }
        if (!legal_ || !within_local(view, view.address + bytes, name_, at_)) {
            legal_ = false;
            return;
        }
        Access access = local_access(view, view.address, bytes, writes);
        if (access.ranges.empty()) {
            access.ranges = {{view.address, view.address}};
        }
        accesses_.push_back(std::move(access));
    }
};

constexpr uint32_t HALF_OR_FLOAT = bit(DType::F16) | bit(DType::F32);

template <typename T>
T load(const LocalView& view, uint64_t element)
{
    T value;
    std::memcpy(&value, core().memory(Space::UB).data.data() + view.address + element * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
bool is_set(const LocalView& view, uint64_t element, uint64_t count = 1)
{
    return all_set(core().memory(Space::UB).shadow.data() + view.address + element * sizeof(T), count * sizeof(T));
}

template <typename T>
void store(const LocalView& view, uint64_t element, T value, bool valid)
{
    Memory& memory = core().memory(Space::UB);
    std::memcpy(memory.data.data() + view.address + element * sizeof(T), &value, sizeof(T));
    std::memset(memory.shadow.data() + view.address + element * sizeof(T), valid ? 0xff : 0, sizeof(T));
}

template <typename T>
void expect_set(const LocalView& view, uint64_t element, uint64_t count, const char* name, Location at)
{
    if (!is_set<T>(view, element, count)) {
        core().report("uninitialised", at, format("%s: a lane of a reduction was never written", name));
    }
}

}  // namespace ascendc_host

// What all vector instructions share: lanes and masks, operands with strides, the rules, and the loop over lanes.
#pragma once

#include "parameters.h"
#include "tensor.h"

namespace ascendc_host {

// The lanes that an instruction works on: `active` leading ones of each repeat (`last` of the last), or those of a bit mask.
struct Lanes {
    uint32_t per_repeat = 0;
    uint32_t repeats = 1;
    uint32_t active = 0;
    uint32_t last = 0;
    bool has_bits = false;
    uint64_t low = 0;
    uint64_t high = 0;

    bool is_active(uint32_t lane) const
    {
        if (!has_bits) {
            return lane < active;
        }
        return ((lane < 64 ? low >> lane : high >> (lane - 64)) & 1) != 0;
    }
};

// A tensor as an operand: strides in blocks of 32 bytes, between blocks of a repeat and between repeats.
struct Operand {
    LocalView view;
    uint32_t bits = 0;
    int64_t block_stride = 1;
    int64_t repeat_stride = 8;

    uint64_t offset(uint32_t repeat, uint32_t lane) const
    {
        if (block_stride == 1) {
            return view.address + static_cast<uint64_t>(repeat) * repeat_stride * 32 + static_cast<uint64_t>(lane) * bits / 8;
        }
        const uint32_t per_block = 256 / bits;
        return view.address + (static_cast<uint64_t>(repeat) * repeat_stride + lane / per_block * block_stride) * 32 +
               static_cast<uint64_t>(lane % per_block) * bits / 8;
    }
};

template <typename T>
constexpr uint32_t bits_of()
{
    return std::is_same_v<T, AscendC::int4b_t> ? 4 : static_cast<uint32_t>(sizeof(T)) * 8;
}

template <typename T>
Operand operand(const AscendC::LocalTensor<T>& tensor, int64_t block_stride = 1, int64_t repeat_stride = 8)
{
    return Operand{tensor, bits_of<T>(), block_stride, repeat_stride};
}

// Calls `visit(repeat, lane, count)` for runs of lanes that lie side by side in every operand.
template <typename Visit>
void for_each_run(const Lanes& lanes, uint32_t chunk, Visit visit)
{
    for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        const uint32_t end = lanes.has_bits ? lanes.per_repeat : (repeat + 1 == lanes.repeats ? lanes.last : lanes.active);
        if (!lanes.has_bits && chunk >= end) {
            visit(repeat, 0u, end);
            continue;
        }
        uint32_t lane = 0;
        while (lane < end) {
            if (lanes.has_bits && !lanes.is_active(lane)) {
                ++lane;
                continue;
            }
            const uint32_t stop = std::min(end, lane / chunk * chunk + chunk);
            uint32_t next = lanes.has_bits ? lane + 1 : stop;
            while (next < stop && lanes.is_active(next)) {
                ++next;
            }
            visit(repeat, lane, next - lane);
            lane = next;
        }
    }
}

inline Ranges ranges_of(const Operand& operand, const Lanes& lanes)
{
    Ranges ranges;
    const uint32_t chunk = operand.block_stride == 1 ? ~0u / 2 : 256 / operand.bits;
    for_each_run(lanes, chunk, [&](uint32_t repeat, uint32_t lane, uint32_t count) {
        append(ranges, operand.offset(repeat, lane), (static_cast<uint64_t>(count) * operand.bits + 7) / 8);
    });
    return ranges;
}

inline uint64_t end_of(const Ranges& ranges)
{
    uint64_t end = 0;
    for (const Range& range : ranges) {
        end = std::max(end, range.end);
    }
    return end;
}

// One vector instruction while its rules are checked.
class VectorCall {
public:
    VectorCall(const char* name, Location at) : name_(name), at_(at), exists_(exists_here(false, name, at)), legal_(exists_) {}

    bool legal() const { return legal_; }
    Location at() const { return at_; }

    void fail(const char* rule, const std::string& message)
    {
        if (exists_) {
            core().report(rule, at_, std::string(name_) + ": " + message);
        }
        legal_ = false;
    }

    void dtype(DType type, uint32_t allowed, const char* what)
    {
        if ((allowed & bit(type)) == 0) {
            fail("dtype", format("no instruction takes %s as %s on this chip", dtype_name(type), what));
        }
    }

    // Lanes of the form with a count.
    Lanes count(int64_t elements)
    {
        Lanes lanes;
        lanes.per_repeat = lanes.active = lanes.last = static_cast<uint32_t>(std::max<int64_t>(0, elements));
        lanes.repeats = elements > 0 ? 1 : 0;
        if (elements < 0) {
            fail("count", format("a count of %lld elements", static_cast<long long>(elements)));
        }
        core().mask.low = core().mask.high = ~uint64_t{0};
        return lanes;
    }

    // Lanes of the form with a number of leading lanes and repeats. `most` is the number of lanes of a repeat.
    Lanes masked(uint64_t mask, int64_t repeats, uint32_t most, bool set_mask)
    {
        MaskState& state = core().mask;
        if (state.counter) {
            return counted(set_mask ? mask : state.low, most);
        }
        Lanes lanes = whole(repeats, most);
        if (!set_mask) {
            return from_bits(lanes, state.low, state.high);
        }
        if (mask == 0 || mask > most) {
            fail("mask", format("a mask of %llu lanes is not among 1 to %u", static_cast<unsigned long long>(mask), most));
            return lanes;
        }
        state.low = mask >= 64 ? ~uint64_t{0} : (uint64_t{1} << mask) - 1;
        state.high = mask <= 64 ? 0 : (mask >= 128 ? ~uint64_t{0} : (uint64_t{1} << (mask - 64)) - 1);
        lanes.active = lanes.last = static_cast<uint32_t>(mask);
        return lanes;
    }

    Lanes masked(const uint64_t* mask, int64_t repeats, uint32_t most, bool set_mask)
    {
        MaskState& state = core().mask;
        if (state.counter) {
            return counted(set_mask ? mask[0] : state.low, most);
        }
        Lanes lanes = whole(repeats, most);
        if (set_mask) {
            state.low = mask[0];
            state.high = most > 64 ? mask[1] : 0;
            if (state.low == 0 && state.high == 0) {
                fail("mask", "the mask selects no lane");
            }
        }
        return from_bits(lanes, state.low, state.high);
    }

    void repeat(int64_t repeats)
    {
        if (repeats < 0 || repeats > 255) {
            fail("repeat", format("%lld repeats do not fit into 8 bits: the instruction would run %lld", static_cast<long long>(repeats),
                                  static_cast<long long>(repeats & 255)));
        }
    }

    // Place, alignment, strides and size of an operand; gives the bytes that it covers.
    Ranges place(const Operand& operand, const Lanes& lanes, const char* what, uint32_t alignment = 32, int64_t most_block_stride = 65535)
    {
        if (operand.view.space != Space::UB) {
            fail("position", format("%s is in %s, vector instructions work on UB", what, space_name(operand.view.space)));
        }
        if (operand.view.address % alignment != 0) {
            fail("alignment", format("%s starts at byte %u of UB: not a multiple of %u", what, operand.view.address, alignment));
        }
        if (operand.repeat_stride < 0 || operand.repeat_stride > 255) {
            fail("stride", format("a repeat stride of %lld blocks for %s does not fit into 8 bits",
                                  static_cast<long long>(operand.repeat_stride), what));
        }
        if (operand.block_stride < 0 || operand.block_stride > most_block_stride) {
            fail("stride", format("a block stride of %lld blocks for %s is not among 0 to %lld", static_cast<long long>(operand.block_stride),
                                  what, static_cast<long long>(most_block_stride)));
        }
        if (!legal_) {
            return {};
        }
        Ranges ranges = ranges_of(operand, lanes);
        if (!within_local(operand.view, end_of(ranges), name_, at_)) {
            legal_ = false;
        }
        return ranges;
    }

    // An instruction may work in place when each repeat reads just what it writes, not when they overlap in part, and not
    // when a repeat reads what an earlier one wrote; `accumulates` allows the latter for operands that stay in place.
    void overlap(const Operand& target, const Operand& source, const Lanes& lanes, const char* what, bool accumulates = false)
    {
        if (!legal_ || lanes.repeats == 0 || target.view.space != source.view.space) {
            return;
        }
        Lanes one = lanes;
        one.repeats = 1;
        one.last = lanes.repeats == 1 ? lanes.last : lanes.active;
        const Ranges writes = ranges_of(target, one), reads = ranges_of(source, one);
        for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
            const uint64_t to = static_cast<uint64_t>(repeat) * target.repeat_stride * 32;
            const uint64_t from = static_cast<uint64_t>(repeat) * source.repeat_stride * 32;
            if (meet(writes, to, reads, from) && !same_place(target, to, source, from, one)) {
                fail("overlap", format("the result overlaps %s in part (repeat %u)", what, repeat));
                return;
            }
            const uint64_t next = from + static_cast<uint64_t>(source.repeat_stride) * 32;
            if (repeat + 1 < lanes.repeats && meet(writes, to, reads, next) && !accumulates) {
                fail("overlap", format("repeat %u reads what repeat %u wrote, as part of %s", repeat + 1, repeat, what));
                return;
            }
        }
    }

    template <typename Run>
    void issue(Accesses accesses, Run run)
    {
        if (!keeps_reserved_) {
            core().issue(PIPE_V, at_, name_, std::move(accesses), [run] {
                run();
                lose_reserved();
            });
            return;
        }
        core().issue(PIPE_V, at_, name_, std::move(accesses), std::move(run));
    }

    // The instruction keeps something in the last 8 KiB of UB: what was there is lost.
    void uses_reserved() { keeps_reserved_ = false; }

    static Access reads(Ranges ranges) { return access(std::move(ranges), false); }
    static Access writes(Ranges ranges) { return access(std::move(ranges), true); }

private:
    const char* name_;
    Location at_;
    bool exists_;
    bool legal_;
    bool keeps_reserved_ = true;

    static void lose_reserved()
    {
        Memory& memory = core().memory(Space::UB);
        std::memset(memory.data.data() + AscendC::TOTAL_VEC_LOCAL_SIZE, 0xff, memory.capacity - AscendC::TOTAL_VEC_LOCAL_SIZE);
        std::memset(memory.shadow.data() + AscendC::TOTAL_VEC_LOCAL_SIZE, 0, memory.capacity - AscendC::TOTAL_VEC_LOCAL_SIZE);
    }

    static Access access(Ranges ranges, bool writes)
    {
        Access access;
        access.memory = &core().memory(Space::UB);
        access.ranges = std::move(ranges);
        access.writes = writes;
        return access;
    }

    // The same bytes in both, or the same start where the widths differ: narrow results never overtake wide sources, and
    // one repeat reads all lanes before it writes.
    static bool same_place(const Operand& target, uint64_t to, const Operand& source, uint64_t from, const Lanes& lanes)
    {
        if (target.view.address + to != source.view.address + from) {
            return false;
        }
        if (target.bits == source.bits) {
            return target.block_stride == source.block_stride;
        }
        return target.bits < source.bits || static_cast<uint64_t>(lanes.last) * target.bits <= 256 * 8;
    }

    static bool meet(const Ranges& left, uint64_t left_shift, const Ranges& right, uint64_t right_shift)
    {
        for (const Range& a : left) {
            for (const Range& b : right) {
                if (a.start + left_shift < b.end + right_shift && b.start + right_shift < a.end + left_shift) {
                    return true;
                }
            }
        }
        return false;
    }

    Lanes whole(int64_t repeats, uint32_t most)
    {
        repeat(repeats);
        Lanes lanes;
        lanes.per_repeat = lanes.active = lanes.last = most;
        lanes.repeats = legal_ ? static_cast<uint32_t>(repeats) : 0;
        return lanes;
    }

    static Lanes from_bits(Lanes lanes, uint64_t low, uint64_t high)
    {
        if (lanes.per_repeat <= 64) {
            high = 0;
        }
        uint32_t leading = 0;
        while (leading < lanes.per_repeat && ((leading < 64 ? low >> leading : high >> (leading - 64)) & 1) != 0) {
            ++leading;
        }
        const uint32_t set = static_cast<uint32_t>(__builtin_popcountll(low) + __builtin_popcountll(high));
        const uint64_t usable = lanes.per_repeat >= 64 ? ~uint64_t{0} : (uint64_t{1} << lanes.per_repeat) - 1;
        if (leading == lanes.per_repeat || (set == leading && (low & ~usable) == 0)) {
            lanes.active = lanes.last = leading;
            return lanes;
        }
        lanes.has_bits = true;
        lanes.low = low & usable;
        lanes.high = high;
        return lanes;
    }

    static Lanes counted(uint64_t total, uint32_t most)
    {
        Lanes lanes;
        lanes.per_repeat = lanes.active = most;
        lanes.repeats = static_cast<uint32_t>((total + most - 1) / most);
        lanes.last = static_cast<uint32_t>(total - static_cast<uint64_t>(lanes.repeats == 0 ? 0 : lanes.repeats - 1) * most);
        return lanes;
    }
};

// One long run instead of repeats that follow each other without gaps.
template <size_t N>
void collapse(Lanes& lanes, std::array<Operand, N>& operands)
{
    if (lanes.has_bits || lanes.repeats < 2 || lanes.active != lanes.per_repeat) {
        return;
    }
    for (const Operand& operand : operands) {
        const bool dense = operand.block_stride == 1 && static_cast<uint64_t>(operand.repeat_stride) * 256 ==
                                                            static_cast<uint64_t>(lanes.per_repeat) * operand.bits;
        if (!dense) {
            return;
        }
    }
    lanes.active = lanes.last = lanes.per_repeat = (lanes.repeats - 1) * lanes.per_repeat + lanes.last;
    lanes.repeats = 1;
}

template <size_t N>
uint32_t chunk_of(const std::array<Operand, N>& operands)
{
    uint32_t widest = 0;
    bool strided = false;
    for (const Operand& operand : operands) {
        widest = std::max(widest, operand.bits);
        strided = strided || operand.block_stride != 1;
    }
    return strided ? 256 / widest : ~0u / 2;
}

enum class Shadow : uint8_t { LANES, BITS };

template <typename Target, typename Function, typename... Sources>
void compute_run(uint32_t count, Target* target, Function function, const Sources*... sources)
{
    if constexpr (((sizeof(Target) > sizeof(Sources)) || ...)) {  // from the end: a wider result may start where its source does
        for (uint32_t k = count; k-- > 0;) {
            target[k] = function(sources[k]...);
        }
        return;
    }
    for (uint32_t k = 0; k < count; ++k) {
        target[k] = function(sources[k]...);
    }
}

// A lane of the result has a value when all operands' lanes have; bitwise instructions keep that apart for each bit.
template <Shadow kind, size_t N>
void shade_run(uint8_t* shadow, const std::array<Operand, N>& operands, uint32_t repeat, uint32_t lane, uint32_t count)
{
    const uint64_t to = operands[0].offset(repeat, lane);
    const uint32_t width = operands[0].bits / 8;
    bool whole = true;
    for (size_t k = 1; k < N; ++k) {
        whole = whole && all_set(shadow + operands[k].offset(repeat, lane), static_cast<uint64_t>(count) * operands[k].bits / 8);
    }
    if (whole) {
        std::memset(shadow + to, 0xff, static_cast<uint64_t>(count) * width);
        return;
    }
    for (uint32_t element = 0; element < count; ++element) {
        if constexpr (kind == Shadow::BITS) {
            for (uint32_t byte = 0; byte < width; ++byte) {
                uint8_t bits = 0xff;
                for (size_t k = 1; k < N; ++k) {
                    bits = static_cast<uint8_t>(bits & shadow[operands[k].offset(repeat, lane + element) + byte]);
                }
                shadow[to + element * width + byte] = bits;
            }
        } else {
            bool set = true;
            for (size_t k = 1; k < N; ++k) {
                set = set && all_set(shadow + operands[k].offset(repeat, lane + element), operands[k].bits / 8);
            }
            std::memset(shadow + to + element * width, set ? 0xff : 0, width);
        }
    }
}

// The first operand is the result.
template <Shadow kind, typename Target, typename... Sources, typename Function, size_t... K>
void compute_lanes(Lanes lanes, std::array<Operand, 1 + sizeof...(Sources)> operands, Function function, std::index_sequence<K...>)
{
    Memory& memory = core().memory(Space::UB);
    uint8_t* data = memory.data.data();
    collapse(lanes, operands);
    for_each_run(lanes, chunk_of(operands), [&](uint32_t repeat, uint32_t lane, uint32_t count) {
        // The shadow first: it needs what the sources were before an instruction in place.
        shade_run<kind>(memory.shadow.data(), operands, repeat, lane, count);
        compute_run(count, reinterpret_cast<Target*>(data + operands[0].offset(repeat, lane)), function,
                    reinterpret_cast<const Sources*>(data + operands[K + 1].offset(repeat, lane))...);
    });
}

// Checks and issues an instruction that computes lane by lane.
template <Shadow kind, typename Target, typename... Sources, typename Function>
void lanewise(VectorCall& call, const Lanes& lanes, const std::array<Operand, 1 + sizeof...(Sources)>& operands, Function function)
{
    static const char* const names[] = {"the result", "the first source", "the second source", "the third source"};
    Accesses accesses;
    for (size_t k = 0; k < operands.size(); ++k) {
        Ranges ranges = call.place(operands[k], lanes, names[k]);
        accesses.push_back(k == 0 ? VectorCall::writes(std::move(ranges)) : VectorCall::reads(std::move(ranges)));
    }
    for (size_t k = 1; k < operands.size(); ++k) {
        const bool accumulates = k == 2 && (operands[0].repeat_stride == 0 || operands[2].repeat_stride == 0);
        call.overlap(operands[0], operands[k], lanes, names[k], accumulates);
    }
    if (!call.legal() || lanes.repeats == 0) {
        return;
    }
    call.issue(std::move(accesses), [lanes, operands, function] {
        compute_lanes<kind, Target, Sources...>(lanes, operands, function, std::index_sequence_for<Sources...>());
    });
}

template <typename T>
constexpr uint32_t lanes_of()
{
    return 256 / static_cast<uint32_t>(sizeof(T));
}

}  // namespace ascendc_host

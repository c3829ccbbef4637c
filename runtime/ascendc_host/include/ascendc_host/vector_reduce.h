// Reductions: of a repeat, of each block of a repeat, of pairs, and of whole tensors.
#pragma once

#include "vector_compare.h"

namespace ascendc_host {

// Sums pairs of neighbours, then pairs of those sums, and so on; every sum is rounded to T. Lanes outside the mask count as 0.
template <typename T>
T tree_sum(std::array<T, 128>& values, uint32_t count)
{
    for (uint32_t left = count; left > 1; left /= 2) {
        for (uint32_t k = 0; k < left / 2; ++k) {
            values[k] = AddLanes()(values[2 * k], values[2 * k + 1]);
        }
    }
    return values[0];
}

template <typename T>
struct Extreme {
    T value{};
    uint32_t index = 0;
    bool found = false;

    // The first of equal values stays; a NaN beats everything.
    void offer(T candidate, uint32_t at, bool wants_largest)
    {
        const float x = static_cast<float>(candidate), y = static_cast<float>(value);
        const bool better = wants_largest ? x > y : x < y;
        if (!found || (better && y == y) || (x != x && y == y)) {
            value = candidate;
            index = at;
            found = true;
        }
    }
};

inline void report_reduced(const char* name, Location at, uint32_t repeat, uint32_t lane)
{
    core().report("uninitialised", at, format("%s reads lane %u of repeat %u, which nothing has written", name, lane, repeat));
}

// Visits the active lanes of one repeat; reports the first that has no value.
template <typename T, typename Visit>
void visit_lanes(const char* name, Location at, const Lanes& lanes, const Operand& source, uint32_t repeat, Visit visit)
{
    const Memory& memory = core().memory(Space::UB);
    const uint32_t end = lanes.has_bits ? lanes.per_repeat : (repeat + 1 == lanes.repeats ? lanes.last : lanes.active);
    for (uint32_t lane = 0; lane < end; ++lane) {
        if (lanes.has_bits && !lanes.is_active(lane)) {
            continue;
        }
        const uint64_t from = source.offset(repeat, lane);
        if (!all_set(memory.shadow.data() + from, sizeof(T))) {
            report_reduced(name, at, repeat, lane);
        }
        T value;
        std::memcpy(&value, memory.data.data() + from, sizeof(T));
        visit(lane, value);
    }
}

template <typename T>
T sum_repeat(const char* name, Location at, const Lanes& lanes, const Operand& source, uint32_t repeat)
{
    std::array<T, 128> values;
    values.fill(T(0));
    visit_lanes<T>(name, at, lanes, source, repeat, [&](uint32_t lane, T value) { values[lane] = value; });
    return tree_sum(values, lanes_of<T>());
}

template <typename T>
Extreme<T> extreme_repeat(const char* name, Location at, const Lanes& lanes, const Operand& source, uint32_t repeat, bool largest)
{
    Extreme<T> best;
    visit_lanes<T>(name, at, lanes, source, repeat, [&](uint32_t lane, T value) { best.offer(value, lane, largest); });
    return best;
}

template <typename T>
void put(uint64_t address, T value)
{
    Memory& memory = core().memory(Space::UB);
    std::memcpy(memory.data.data() + address, &value, sizeof(T));
    std::memset(memory.shadow.data() + address, 0xff, sizeof(T));
}

template <typename T>
using IndexBits = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;

// Bytes of one result, by what is asked for.
template <typename T>
uint32_t result_bytes(AscendC::ReduceType type, AscendC::ReduceOrder order)
{
    using Order = AscendC::ReduceOrder;
    if (type == AscendC::ReduceType::SUM || order == Order::ORDER_ONLY_VALUE) {
        return sizeof(T);
    }
    return order == Order::ORDER_ONLY_INDEX ? 4 : 2 * sizeof(T);
}

template <typename T>
void put_extreme(uint64_t address, const Extreme<T>& best, AscendC::ReduceOrder order)
{
    using Order = AscendC::ReduceOrder;
    const auto index = static_cast<IndexBits<T>>(best.index);
    switch (order) {
        case Order::ORDER_VALUE_INDEX: put(address, best.value); put(address + sizeof(T), index); break;
        case Order::ORDER_INDEX_VALUE: put(address, index); put(address + sizeof(T), best.value); break;
        case Order::ORDER_ONLY_VALUE: put(address, best.value); break;
        default: put(address, static_cast<uint32_t>(best.index)); break;
    }
}

inline void remember_sum(double value) { core().accumulated_value = value; }

struct ReduceShape {
    int64_t repeats;
    int64_t dst_stride;
    int64_t src_block;
    int64_t src_repeat;
};

inline Ranges result_ranges(VectorCall& call, const LocalView& dst, uint32_t repeats, uint64_t step, uint64_t bytes, uint32_t alignment)
{
    if (dst.space != Space::UB) {
        call.fail("position", format("the result is in %s, vector instructions work on UB", space_name(dst.space)));
    }
    if (dst.address % alignment != 0) {
        call.fail("alignment", format("the result starts at byte %u of UB: not a multiple of %u", dst.address, alignment));
    }
    Ranges ranges;
    for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
        append(ranges, dst.address + repeat * step, bytes);
    }
    return ranges;
}

inline void stride_16(VectorCall& call, int64_t stride, const char* what)
{
    if (stride < 0 || stride > 65535) {
        call.fail("stride", format("%s of %lld does not fit into 16 bits", what, static_cast<long long>(stride)));
    }
}

// The source of a reduction has 16-bit strides.
inline Ranges place_reduced(VectorCall& call, const Operand& source, const Lanes& lanes, const char* name)
{
    stride_16(call, source.repeat_stride, "a repeat stride");
    stride_16(call, source.block_stride, "a block stride");
    Operand narrow = source;
    narrow.repeat_stride = 0;
    call.place(narrow, Lanes(), "the source");
    if (!call.legal()) {
        return {};
    }
    Ranges ranges = ranges_of(source, lanes);
    if (!within_local(source.view, end_of(ranges), name, call.at())) {
        call.fail("tensor-too-small", "the source is too small");
    }
    return ranges;
}

// One result for each repeat.
template <typename T>
void reduce_repeats(VectorCall& call, const char* name, const Lanes& lanes, const AscendC::LocalTensor<T>& dst,
                    const AscendC::LocalTensor<T>& src, AscendC::ReduceType type, const ReduceShape& shape, AscendC::ReduceOrder order)
{
    call.dtype(dtype_of<T>(), FLOATS, "operand");
    stride_16(call, shape.dst_stride, "a result stride");
    const Operand source = operand(src, shape.src_block, shape.src_repeat);
    const uint32_t bytes = result_bytes<T>(type, order);
    const uint64_t step = static_cast<uint64_t>(shape.dst_stride) * bytes;
    Ranges reads = place_reduced(call, source, lanes, name);
    Ranges writes = result_ranges(call, dst, lanes.repeats, step, bytes, bytes);
    if (!call.legal() || lanes.repeats == 0 || !within_local(dst, end_of(writes), name, call.at())) {
        return;
    }
    const uint64_t target = dst.address;
    const Location at = call.at();
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(reads))}, [=] {
        for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
            if (type == AscendC::ReduceType::SUM) {
                const T sum = sum_repeat<T>(name, at, lanes, source, repeat);
                put(target + repeat * step, sum);
                core().reduce_value = bit_cast<IndexBits<T>>(sum);
                continue;
            }
            const auto best = extreme_repeat<T>(name, at, lanes, source, repeat, type == AscendC::ReduceType::MAX);
            put_extreme(target + repeat * step, best, order);
            core().reduce_value = bit_cast<IndexBits<T>>(best.value);
            core().reduce_index = best.index;
        }
    });
}

// One result for each block of 32 bytes, or for each pair of neighbours.
template <typename T>
void reduce_groups(VectorCall& call, const char* name, const Lanes& lanes, const AscendC::LocalTensor<T>& dst,
                   const AscendC::LocalTensor<T>& src, AscendC::ReduceType type, const ReduceShape& shape, uint32_t group)
{
    call.dtype(dtype_of<T>(), FLOATS, "operand");
    stride_16(call, shape.dst_stride, "a result stride");
    const Operand source = operand(src, shape.src_block, shape.src_repeat);
    const uint32_t results = lanes_of<T>() / group;
    const uint64_t step = static_cast<uint64_t>(shape.dst_stride) * results * sizeof(T);
    Ranges reads = place_reduced(call, source, lanes, name);
    Ranges writes;
    const uint32_t alignment = group == 2 ? 32 : results * static_cast<uint32_t>(sizeof(T));
    for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        for (uint32_t k = 0; k < results; ++k) {
            bool any = false;
            for (uint32_t lane = k * group; lane < (k + 1) * group; ++lane) {
                any = any || lanes.is_active(lane);
            }
            if (any) {
                append(writes, dst.address + repeat * step + k * sizeof(T), sizeof(T));
            }
        }
    }
    result_ranges(call, dst, 1, 0, 1, alignment);
    if (!call.legal() || lanes.repeats == 0 || !within_local(dst, end_of(writes), name, call.at())) {
        return;
    }
    const uint64_t target = dst.address;
    const Location at = call.at();
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(reads))}, [=] {
        for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
            std::array<std::array<T, 128>, 64> values;
            std::array<Extreme<T>, 64> best;
            std::array<bool, 64> any{};
            for (auto& row : values) {
                std::fill(row.begin(), row.begin() + group, T(0));
            }
            visit_lanes<T>(name, at, lanes, source, repeat, [&](uint32_t lane, T value) {
                values[lane / group][lane % group] = value;
                best[lane / group].offer(value, lane % group, type == AscendC::ReduceType::MAX);
                any[lane / group] = true;
            });
            for (uint32_t k = 0; k < results; ++k) {
                if (any[k]) {
                    put(target + repeat * step + k * sizeof(T), type == AscendC::ReduceType::SUM ? tree_sum(values[k], group) : best[k].value);
                }
            }
        }
    });
}

inline uint64_t up(uint64_t number, uint64_t to) { return (number + to - 1) / to * to; }

// Elements of workspace that a reduction of a whole tensor needs.
template <typename T>
uint64_t workspace_elements(uint64_t repeats, bool sum, bool index)
{
    const uint64_t per_block = 32 / sizeof(T), per_repeat = 256 / sizeof(T);
    const uint64_t first = up(repeats * (sum ? 1 : 2), per_block);
    if (sum || !index) {
        return first;
    }
    uint64_t total = first, results = repeats * 2;
    while (results > 2) {
        results = (results + per_repeat - 1) / per_repeat * 2;
        total += up(results, per_block);
    }
    return total;
}

// One result of all lanes: repeats are reduced by themselves, their results one after the other.
template <typename T>
void reduce_all(VectorCall& call, const char* name, const Lanes& lanes, const AscendC::LocalTensor<T>& dst,
                const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<T>& tmp, AscendC::ReduceType type, int64_t src_repeat,
                bool index, bool uses_tmp)
{
    call.dtype(dtype_of<T>(), FLOATS, "operand");
    const Operand source = operand(src, 1, src_repeat);
    const bool is_sum = type == AscendC::ReduceType::SUM;
    Ranges reads = place_reduced(call, source, lanes, name);
    Ranges writes = result_ranges(call, dst, 1, 0, sizeof(T) * (is_sum || !index ? 1 : 2), static_cast<uint32_t>(sizeof(T)) * (is_sum ? 1 : 2));
    if (!call.legal() || lanes.repeats == 0 || !within_local(dst, end_of(writes), name, call.at())) {
        return;
    }
    Accesses accesses{VectorCall::writes(writes), VectorCall::reads(std::move(reads))};
    if (uses_tmp) {
        const uint64_t bytes = workspace_elements<T>(lanes.repeats, is_sum, index) * sizeof(T);
        if (tmp.address % 32 != 0) {
            call.fail("alignment", format("the workspace starts at byte %u of UB: not a multiple of 32", tmp.address));
        }
        if (tmp.address + bytes > tmp.limit) {
            call.fail("workspace-too-small", format("the workspace needs %llu bytes and has %u", static_cast<unsigned long long>(bytes), tmp.limit - tmp.address));
        }
        if (!call.legal()) {
            return;
        }
        Ranges used;
        append(used, tmp.address, bytes);
        accesses.push_back(VectorCall::writes(std::move(used)));
    }
    const uint64_t target = dst.address, workspace = tmp.address;
    const uint64_t scratch = uses_tmp ? workspace_elements<T>(lanes.repeats, is_sum, index) * sizeof(T) : 0;
    const Location at = call.at();
    call.issue(std::move(accesses), [=] {
        Core& mine = core();
        std::vector<T> sums;
        Extreme<T> best;
        for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
            if (is_sum) {
                sums.push_back(sum_repeat<T>(name, at, lanes, source, repeat));
                continue;
            }
            visit_lanes<T>(name, at, lanes, source, repeat, [&](uint32_t lane, T value) {
                best.offer(value, repeat * lanes.per_repeat + lane, type == AscendC::ReduceType::MAX);
            });
        }
        Memory& memory = mine.memory(Space::UB);
        std::memset(memory.shadow.data() + workspace, 0, scratch);
        if (is_sum) {
            T total = sums[0];
            for (size_t k = 1; k < sums.size(); ++k) {
                total = AddLanes()(total, sums[k]);
            }
            put(target, total);
            mine.accumulated_value = static_cast<double>(static_cast<float>(total));
        } else if (index) {
            put_extreme(target, best, AscendC::ReduceOrder::ORDER_VALUE_INDEX);
        } else {
            put(target, best.value);
        }
        mine.reduce_value = bit_cast<IndexBits<T>>(best.value);
        mine.reduce_index = best.index;
    });
}

// The repeats that the form with a count is made of.
template <typename T>
Lanes counted_repeats(VectorCall& call, int64_t count)
{
    Lanes lanes = call.count(count);
    const uint32_t most = lanes_of<T>();
    const uint32_t total = lanes.active;
    lanes.per_repeat = lanes.active = most;
    lanes.repeats = (total + most - 1) / most;
    lanes.last = total - (lanes.repeats == 0 ? 0 : lanes.repeats - 1) * most;
    return lanes;
}

// Reductions of whole tensors take any number of repeats.
template <typename T, typename Mask>
Lanes many_repeats(VectorCall& call, const Mask& mask, int64_t repeats, bool set_mask = true)
{
    Lanes lanes;
    if constexpr (std::is_convertible_v<Mask, uint64_t>) {
        lanes = call.masked(static_cast<uint64_t>(mask), repeats > 255 ? 255 : repeats, lanes_of<T>(), set_mask);
    } else {
        lanes = call.masked(static_cast<const uint64_t*>(mask), repeats > 255 ? 255 : repeats, lanes_of<T>(), set_mask);
    }
    if (repeats > 255 && !core().mask.counter) {
        lanes.repeats = static_cast<uint32_t>(repeats);
    }
    return lanes;
}

template <typename T, typename Mask>
Lanes mask_lanes(VectorCall& call, const Mask& mask, int64_t repeats, bool set_mask)
{
    if constexpr (std::is_convertible_v<Mask, uint64_t>) {
        return call.masked(static_cast<uint64_t>(mask), repeats, lanes_of<T>(), set_mask);
    } else {
        return call.masked(static_cast<const uint64_t*>(mask), repeats, lanes_of<T>(), set_mask);
    }
}

}  // namespace ascendc_host

// The old names take (mask, repeat) for whole repeats and (repeat, mask) for blocks and pairs.
#define ASCENDC_HOST_WHOLE_REDUCE(NAME, TYPE)                                                                                        \
    template <typename T, bool isSetMask = true, typename Mask>                                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const Mask& mask, int64_t repeatTime, int64_t dstRepStride,      \
              int64_t srcBlkStride, int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,                        \
              Location at = Location::here())                                                                                        \
    {                                                                                                                                \
        ascendc_host::VectorCall call(#NAME, at);                                                                                    \
        const auto lanes = ascendc_host::mask_lanes<T>(call, mask, repeatTime, isSetMask);                                           \
        ascendc_host::reduce_repeats(call, #NAME, lanes, dst, src, ReduceType::TYPE, {repeatTime, dstRepStride, srcBlkStride, srcRepStride}, order); \
    }
#define ASCENDC_HOST_GROUP_REDUCE(NAME, TYPE, GROUP)                                                                                 \
    template <typename T, bool isSetMask = true, typename Mask>                                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime, const Mask& mask, int64_t dstRepStride,      \
              int64_t srcBlkStride, int64_t srcRepStride, Location at = Location::here())                                            \
    {                                                                                                                                \
        ascendc_host::VectorCall call(#NAME, at);                                                                                    \
        const auto lanes = ascendc_host::mask_lanes<T>(call, mask, repeatTime, isSetMask);                                           \
        ascendc_host::reduce_groups(call, #NAME, lanes, dst, src, ReduceType::TYPE, {repeatTime, dstRepStride, srcBlkStride, srcRepStride}, GROUP); \
    }
#define ASCENDC_HOST_EXTREME(NAME, TYPE)                                                                                             \
    template <typename T>                                                                                                            \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& tmp, int64_t count,                        \
              bool calIndex = false, Location at = Location::here())                                                                 \
    {                                                                                                                                \
        ascendc_host::VectorCall call(#NAME, at);                                                                                    \
        const auto lanes = ascendc_host::counted_repeats<T>(call, count);                                                            \
        ascendc_host::reduce_all(call, #NAME, lanes, dst, src, tmp, ReduceType::TYPE, 8, calIndex, true);                            \
    }                                                                                                                                \
    template <typename T, typename Mask>                                                                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& tmp, const Mask& mask,                     \
              int32_t repeatTime, int32_t srcRepStride, bool calIndex = false, Location at = Location::here())                       \
    {                                                                                                                                \
        ascendc_host::VectorCall call(#NAME, at);                                                                                    \
        const auto lanes = ascendc_host::many_repeats<T>(call, mask, repeatTime);                                                    \
        ascendc_host::reduce_all(call, #NAME, lanes, dst, src, tmp, ReduceType::TYPE, srcRepStride, calIndex, true);                 \
    }

namespace AscendC {

ASCENDC_HOST_WHOLE_REDUCE(WholeReduceMax, MAX)
ASCENDC_HOST_WHOLE_REDUCE(WholeReduceMin, MIN)
ASCENDC_HOST_WHOLE_REDUCE(WholeReduceSum, SUM)
ASCENDC_HOST_GROUP_REDUCE(BlockReduceSum, SUM, 32 / sizeof(T))
ASCENDC_HOST_GROUP_REDUCE(BlockReduceMax, MAX, 32 / sizeof(T))
ASCENDC_HOST_GROUP_REDUCE(BlockReduceMin, MIN, 32 / sizeof(T))
ASCENDC_HOST_GROUP_REDUCE(PairReduceSum, SUM, 2)
ASCENDC_HOST_EXTREME(ReduceMax, MAX)
ASCENDC_HOST_EXTREME(ReduceMin, MIN)

// An old name of WholeReduceSum; a stride between blocks of the result means nothing.
template <typename T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime, int32_t mask, int64_t, int64_t srcBlkStride,
                     int64_t dstRepStride, int64_t srcRepStride, Location at = Location::here())
{
    ascendc_host::VectorCall call("RepeatReduceSum", at);
    const auto lanes = ascendc_host::mask_lanes<T>(call, mask, repeatTime, isSetMask);
    ascendc_host::reduce_repeats(call, "RepeatReduceSum", lanes, dst, src, ReduceType::SUM, {repeatTime, dstRepStride, srcBlkStride, srcRepStride},
                                 ReduceOrder::ORDER_VALUE_INDEX);
}

// The new names take (mask, repeat) throughout.
template <ReduceType type, typename T, typename U = T, bool isSetMask = true, typename Mask>
void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask, int64_t repeatTime, int64_t dstRepStride,
                  int64_t srcBlkStride, int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Location at = Location::here())
{
    ascendc_host::VectorCall call("ReduceRepeat", at);
    const auto lanes = ascendc_host::mask_lanes<T>(call, mask, repeatTime, isSetMask);
    ascendc_host::reduce_repeats(call, "ReduceRepeat", lanes, dst, src, type, {repeatTime, dstRepStride, srcBlkStride, srcRepStride}, order);
}
template <ReduceType type, typename T, typename U = T, bool isSetMask = true, typename Mask>
void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask, int64_t repeatTime, int64_t dstRepStride,
                     int64_t srcBlkStride, int64_t srcRepStride, Location at = Location::here())
{
    ascendc_host::VectorCall call("ReduceDataBlock", at);
    const auto lanes = ascendc_host::mask_lanes<T>(call, mask, repeatTime, isSetMask);
    ascendc_host::reduce_groups(call, "ReduceDataBlock", lanes, dst, src, type, {repeatTime, dstRepStride, srcBlkStride, srcRepStride}, 32 / sizeof(T));
}
template <ReduceType type, typename T, typename U = T, bool isSetMask = true, typename Mask>
void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Mask& mask, int64_t repeatTime, int64_t dstRepStride,
                    int64_t srcBlkStride, int64_t srcRepStride, Location at = Location::here())
{
    ascendc_host::VectorCall call("ReducePairElem", at);
    const auto lanes = ascendc_host::mask_lanes<T>(call, mask, repeatTime, isSetMask);
    ascendc_host::reduce_groups(call, "ReducePairElem", lanes, dst, src, type, {repeatTime, dstRepStride, srcBlkStride, srcRepStride}, 2);
}

template <typename T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& tmp, int64_t count, Location at = Location::here())
{
    ascendc_host::VectorCall call("ReduceSum", at);
    const auto lanes = ascendc_host::counted_repeats<T>(call, isSetMask ? count : static_cast<int64_t>(ascendc_host::core().mask.low));
    ascendc_host::reduce_all(call, "ReduceSum", lanes, dst, src, tmp, ReduceType::SUM, 8, false, false);
}
template <typename T, typename Mask>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& tmp, const Mask& mask, int32_t repeatTime,
               int32_t srcRepStride, Location at = Location::here())
{
    ascendc_host::VectorCall call("ReduceSum", at);
    const auto lanes = ascendc_host::many_repeats<T>(call, mask, repeatTime);
    ascendc_host::reduce_all(call, "ReduceSum", lanes, dst, src, tmp, ReduceType::SUM, srcRepStride, false, true);
}

template <typename T>
T GetAccVal() { return static_cast<T>(ascendc_host::core().accumulated_value); }
template <typename T>
T GetReduceRepeatSumSpr() { return static_cast<T>(ascendc_host::core().accumulated_value); }
template <typename T>
void GetReduceMaxMinCount(T& value)
{
    value = ascendc_host::bit_cast<T>(static_cast<ascendc_host::IndexBits<T>>(ascendc_host::core().reduce_value));
}
template <typename T>
void GetReduceMaxMinCount(T& value, T& index)
{
    GetReduceMaxMinCount(value);
    index = ascendc_host::bit_cast<T>(static_cast<ascendc_host::IndexBits<T>>(ascendc_host::core().reduce_index));
}
template <typename T>
void GetReduceRepeatMaxMinSpr(T& value) { GetReduceMaxMinCount(value); }
template <typename T>
void GetReduceRepeatMaxMinSpr(T& value, T& index) { GetReduceMaxMinCount(value, index); }

}  // namespace AscendC

// Vector instructions that rearrange elements: gathers, masks, interleaving, transposition, sorting.
#pragma once

#include <algorithm>

#include "vector_reduce.h"

namespace ascendc_host {

// Data and shadow of a range, as they are before an instruction writes.
struct Snapshot {
    std::vector<uint8_t> data;
    std::vector<uint8_t> shadow;
    uint64_t start = 0;

    Snapshot(const Memory& memory, uint64_t first, uint64_t bytes) : start(first)
    {
        data.assign(memory.data.begin() + static_cast<int64_t>(first), memory.data.begin() + static_cast<int64_t>(first + bytes));
        shadow.assign(memory.shadow.begin() + static_cast<int64_t>(first), memory.shadow.begin() + static_cast<int64_t>(first + bytes));
    }
    template <typename T>
    T value(uint64_t address) const
    {
        T value;
        std::memcpy(&value, data.data() + (address - start), sizeof(T));
        return value;
    }
    bool known(uint64_t address, uint64_t bytes) const { return all_set(shadow.data() + (address - start), bytes); }
};

inline void move_element(Memory& memory, uint64_t to, const Snapshot& from, uint64_t address, uint64_t bytes)
{
    std::memcpy(memory.data.data() + to, from.data.data() + (address - from.start), bytes);
    std::memcpy(memory.shadow.data() + to, from.shadow.data() + (address - from.start), bytes);
}

// A contiguous operand: place, alignment and size.
inline Ranges dense(VectorCall& call, const char* name, const LocalView& view, uint64_t bytes, const char* what, uint32_t alignment = 32)
{
    Ranges ranges;
    append(ranges, view.address, bytes);
    if (view.space != Space::UB) {
        call.fail("position", format("%s is in %s, vector instructions work on UB", what, space_name(view.space)));
    } else if (view.address % alignment != 0) {
        call.fail("alignment", format("%s starts at byte %u of UB: not a multiple of %u", what, view.address, alignment));
    } else if (!within_local(view, view.address + bytes, name, call.at())) {
        call.fail("tensor-too-small", format("%s is too small", what));
    }
    return ranges;
}

inline void no_overlap(VectorCall& call, const Ranges& writes, const Ranges& reads)
{
    for (const Range& a : writes) {
        for (const Range& b : reads) {
            if (a.start < b.end && b.start < a.end) {
                call.fail("overlap", "the result overlaps a source");
                return;
            }
        }
    }
}

// Elements at byte offsets. What an offset points to must lie in the source.
template <typename T>
void gather(VectorCall& call, const Lanes& lanes, const Operand& target, const LocalView& src, const LocalView& offsets, uint64_t base,
            uint64_t offset_repeat)
{
    call.dtype(dtype_of<T>(), B16 | B32, "operand");
    Ranges writes = call.place(target, lanes, "the result");
    const uint64_t count = lanes.repeats == 0 ? 0 : (lanes.repeats - 1) * offset_repeat + lanes.last;
    Ranges from = dense(call, "Gather", offsets, count * 4, "the offsets");
    Ranges reads;
    append(reads, src.address, src.limit - src.address);
    if (!call.legal() || lanes.repeats == 0) {
        return;
    }
    const Location at = call.at();
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(from)), VectorCall::reads(std::move(reads))}, [=] {
        Memory& memory = core().memory(Space::UB);
        const Snapshot source(memory, src.address, src.limit - src.address);
        for_each_run(lanes, ~0u / 2, [&](uint32_t repeat, uint32_t first, uint32_t runs) {
            for (uint32_t lane = first; lane < first + runs; ++lane) {
                const uint64_t where = offsets.address + (repeat * offset_repeat + lane) * 4;
                uint32_t offset;
                std::memcpy(&offset, memory.data.data() + where, 4);
                const uint64_t address = src.address + base + offset;
                if (!all_set(memory.shadow.data() + where, 4)) {
                    core().report("uninitialised", at, format("Gather reads offset %u, which nothing has written", lane));
                } else if (offset % sizeof(T) != 0 || address + sizeof(T) > src.limit) {
                    core().report("gather-offset", at, format("offset %u of lane %u leaves the source of %u bytes or splits an element",
                                  offset, lane, src.limit - src.address));
                } else {
                    move_element(memory, target.offset(repeat, lane), source, address, sizeof(T));
                }
            }
        });
    });
}

// Blocks at byte offsets, eight in each repeat.
template <typename T>
void gather_blocks(VectorCall& call, const AscendC::LocalTensor<T>& dst, const LocalView& src, const LocalView& offsets, int64_t repeats,
                   const AscendC::GatherRepeatParams& params)
{
    call.dtype(dtype_of<T>(), B16 | B32, "operand");
    const Lanes lanes = call.masked(static_cast<uint64_t>(lanes_of<T>()), repeats, lanes_of<T>(), true);
    const Operand target = operand(dst, params.dstBlkStride, params.dstRepStride);
    Ranges writes = call.place(target, lanes, "the result");
    Ranges from = dense(call, "Gatherb", offsets, static_cast<uint64_t>(lanes.repeats) * 32, "the offsets");
    Ranges reads;
    append(reads, src.address, src.limit - src.address);
    if (!call.legal() || lanes.repeats == 0) {
        return;
    }
    const Location at = call.at();
    const LocalView source_view = src, offset_view = offsets;
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(from)), VectorCall::reads(std::move(reads))}, [=] {
        Memory& memory = core().memory(Space::UB);
        const Snapshot source(memory, source_view.address, source_view.limit - source_view.address);
        for (uint32_t block = 0; block < lanes.repeats * 8; ++block) {
            uint32_t offset;
            std::memcpy(&offset, memory.data.data() + offset_view.address + block * 4, 4);
            if (offset % 32 != 0 || source_view.address + offset + 32 > source_view.limit) {
                core().report("gather-offset", at, format("offset %u of block %u leaves the source or splits a block", offset, block));
                continue;
            }
            move_element(memory, target.offset(block / 8, block % 8 * (32 / sizeof(T))), source, source_view.address + offset, 32);
        }
    });
}

// Which element of four or two a fixed pattern keeps.
inline bool pattern_keeps(uint8_t pattern, uint64_t element)
{
    switch (pattern) {
        case 1: return element % 2 == 0;
        case 2: return element % 2 == 1;
        case 7: return true;
        default: return element % 4 == static_cast<uint64_t>(pattern - 3);
    }
}

struct MaskGather {
    bool counter;
    uint32_t per_repeat;
    uint8_t pattern;         // 0: by bits in memory
    LocalView bits;
    AscendC::GatherMaskParams params;
};

template <typename T>
void gather_mask(VectorCall& call, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const MaskGather& how)
{
    const AscendC::GatherMaskParams params = how.params;
    if (params.repeatTimes < 0 || params.repeatTimes > 65535) {
        call.fail("repeat", format("%lld repeats do not fit into 16 bits", static_cast<long long>(params.repeatTimes)));
        return;
    }
    Lanes lanes;
    lanes.per_repeat = lanes.active = lanes.last = how.counter ? how.per_repeat : lanes_of<T>();
    lanes.repeats = static_cast<uint32_t>(params.repeatTimes);
    const Operand source = operand(src, params.src0BlockStride, params.src0RepeatStride);
    Ranges reads = place_reduced(call, source, lanes, "GatherMask");
    Accesses accesses{VectorCall::reads(std::move(reads))};
    const uint64_t bits_per_repeat = (lanes.per_repeat + 7) / 8;
    if (how.pattern == 0) {
        const uint64_t last = (lanes.repeats == 0 ? 0 : lanes.repeats - 1) * static_cast<uint64_t>(params.src1RepeatStride) * 32 + bits_per_repeat;
        accesses.push_back(VectorCall::reads(dense(call, "GatherMask", how.bits, last, "the pattern")));
    }
    Ranges writes = dense(call, "GatherMask", dst, 0, "the result");
    if (!call.legal() || lanes.repeats == 0) {
        return;
    }
    uint64_t most = 0;
    for (uint32_t lane = 0; lane < lanes.per_repeat * lanes.repeats; ++lane) {
        most += how.pattern == 0 || pattern_keeps(how.pattern, lane % lanes.per_repeat) ? 1 : 0;
    }
    writes.clear();
    append(writes, dst.address, std::min<uint64_t>(most * sizeof(T), dst.limit - dst.address));
    accesses.push_back(VectorCall::writes(std::move(writes)));
    const uint64_t target = dst.address, limit = dst.limit;
    const Location at = call.at();
    call.issue(std::move(accesses), [=] {
        Memory& memory = core().memory(Space::UB);
        const Snapshot all(memory, 0, memory.capacity);
        uint64_t kept = 0;
        for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
            for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
                bool keep;
                if (how.pattern == 0) {
                    const uint64_t where = how.bits.address + repeat * static_cast<uint64_t>(params.src1RepeatStride) * 32 + lane / 8;
                    keep = (all.data[where] >> (lane % 8) & 1) != 0;
                    if ((all.shadow[where] >> (lane % 8) & 1) == 0) {
                        core().report("uninitialised", at, format("GatherMask reads bit %u of the pattern, which nothing has written", lane));
                    }
                } else {
                    keep = pattern_keeps(how.pattern, lane);
                }
                if (!keep) {
                    continue;
                }
                const uint64_t to = target + kept * sizeof(T);
                if (to + sizeof(T) > limit) {
                    core().report("tensor-too-small", at, format("GatherMask keeps more elements than the %llu that the result has",
                                  static_cast<unsigned long long>((limit - target) / sizeof(T))));
                    core().gather_count = kept;
                    return;
                }
                move_element(memory, to, all, source.offset(repeat, lane), sizeof(T));
                ++kept;
            }
        }
        core().gather_count = kept;
    });
    core().finish_all();
}

template <typename T>
struct SortItem {
    T score;
    uint64_t address;
};

template <typename T>
bool before(const SortItem<T>& a, const SortItem<T>& b) { return static_cast<float>(a.score) > static_cast<float>(b.score); }

// One record of a sorted list: the score in the lowest bytes, the index in the upper four of eight.
constexpr uint64_t RECORD = 8;

template <typename T>
void sort32(VectorCall& call, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& scores, const LocalView& indices, int64_t repeats)
{
    call.dtype(dtype_of<T>(), FLOATS, "operand");
    call.repeat(repeats);
    const uint64_t count = static_cast<uint64_t>(repeats & 255) * 32;
    Ranges writes = dense(call, "Sort32", dst, count * RECORD, "the result");
    Ranges first = dense(call, "Sort32", scores, count * sizeof(T), "the scores");
    Ranges second = dense(call, "Sort32", indices, count * 4, "the indices");
    no_overlap(call, writes, first);
    if (!call.legal() || count == 0) {
        return;
    }
    const uint64_t target = dst.address, from = scores.address, index = indices.address;
    call.issue({VectorCall::writes(std::move(writes)), VectorCall::reads(std::move(first)), VectorCall::reads(std::move(second))}, [=] {
        Memory& memory = core().memory(Space::UB);
        const Snapshot score(memory, from, count * sizeof(T)), number(memory, index, count * 4);
        for (uint64_t start = 0; start < count; start += 32) {
            std::vector<SortItem<T>> items;
            for (uint64_t k = start; k < start + 32; ++k) {
                items.push_back({score.value<T>(from + k * sizeof(T)), k});
            }
            std::stable_sort(items.begin(), items.end(), before<T>);
            for (uint64_t k = 0; k < 32; ++k) {
                const uint64_t to = target + (start + k) * RECORD;
                std::memset(memory.data.data() + to, 0, RECORD);
                std::memset(memory.shadow.data() + to, 0xff, RECORD);
                move_element(memory, to, score, from + items[k].address * sizeof(T), sizeof(T));
                move_element(memory, to + 4, number, index + items[k].address * 4, 4);
            }
        }
    });
}

struct MergeList {
    uint64_t address[4] = {};
    uint64_t length[4] = {};
    uint32_t lists = 0;
};

// Takes the largest head each time, the earlier list among equals; gives how many each list gave.
template <typename T>
void merge_lists(Memory& memory, const Snapshot& all, uint64_t target, const MergeList& from, bool stops, uint64_t (&taken)[4])
{
    for (uint64_t& number : taken) {
        number = 0;
    }
    while (true) {
        int best = -1;
        T best_score{};
        for (uint32_t list = 0; list < from.lists; ++list) {
            if (taken[list] == from.length[list]) {
                if (stops) {
                    return;
                }
                continue;
            }
            const T score = all.value<T>(from.address[list] + taken[list] * RECORD);
            if (best < 0 || static_cast<float>(score) > static_cast<float>(best_score)) {
                best = static_cast<int>(list);
                best_score = score;
            }
        }
        if (best < 0) {
            return;
        }
        move_element(memory, target, all, from.address[best] + taken[best] * RECORD, RECORD);
        target += RECORD;
        ++taken[best];
    }
}

// Whether each repeat may go on behind the four lists of the one before.
inline bool repeats_merge(const MergeList& lists, const AscendC::MrgSort4Info& info)
{
    bool together = lists.lists == 4 && !info.ifExhaustedSuspension;
    for (uint32_t k = 1; k < lists.lists; ++k) {
        together = together && lists.length[k] == lists.length[0] && lists.address[k] == lists.address[0] + k * lists.length[0] * RECORD;
    }
    return together;
}

template <typename T>
void merge_sort(VectorCall& call, const AscendC::LocalTensor<T>& dst, const std::array<LocalView, 4>& sources, const AscendC::MrgSort4Info& info)
{
    call.dtype(dtype_of<T>(), FLOATS, "operand");
    MergeList lists;
    lists.lists = info.validBit == 15 ? 4 : (info.validBit == 7 ? 3 : (info.validBit == 3 ? 2 : 0));
    if (lists.lists == 0) {
        call.fail("merge-lists", format("validBit is %u, not 3, 7 or 15", info.validBit));
        return;
    }
    uint64_t total = 0;
    Accesses accesses;
    const uint64_t repeats = info.repeatTimes;
    for (uint32_t k = 0; k < lists.lists; ++k) {
        lists.address[k] = sources[k].address;
        lists.length[k] = info.elementLengths[k];
        total += lists.length[k];
        if (lists.length[k] > 4095) {
            call.fail("merge-lists", format("list %u has %u elements: at most 4095", k, info.elementLengths[k]));
        }
    }
    call.repeat(static_cast<int64_t>(repeats));
    if (repeats > 1 && !repeats_merge(lists, info)) {
        call.fail("merge-lists", format("%llu repeats need four lists of one length, side by side, that all run to their end",
                                        static_cast<unsigned long long>(repeats)));
    }
    if (!call.legal()) {
        return;
    }
    for (uint32_t k = 0; k < lists.lists; ++k) {
        const uint64_t bytes = (repeats == 0 ? 0 : (repeats - 1) * total + lists.length[k]) * RECORD;
        accesses.push_back(VectorCall::reads(dense(call, "MrgSort", sources[k], bytes, "a source", 8)));
    }
    Ranges writes = dense(call, "MrgSort", dst, total * repeats * RECORD, "the result");
    for (const Access& access : accesses) {
        no_overlap(call, writes, access.ranges);
    }
    if (!call.legal() || repeats == 0) {
        return;
    }
    accesses.push_back(VectorCall::writes(std::move(writes)));
    const uint64_t target = dst.address;
    const bool stops = info.ifExhaustedSuspension;
    call.issue(std::move(accesses), [=] {
        Core& mine = core();
        Memory& memory = mine.memory(Space::UB);
        const Snapshot all(memory, 0, memory.capacity);
        for (uint64_t repeat = 0; repeat < repeats; ++repeat) {
            MergeList shifted = lists;
            for (uint64_t& address : shifted.address) {
                address += repeat * total * RECORD;
            }
            merge_lists<T>(memory, all, target + repeat * total * RECORD, shifted, stops, mine.sorted_counts);
        }
    });
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, uint32_t base, uint32_t count,
            Location at = Location::here())
{
    ascendc_host::VectorCall call("Gather", at);
    const auto lanes = call.count(count);
    ascendc_host::gather<T>(call, lanes, ascendc_host::operand(dst), src, offsets, base, count);
}
template <typename T, typename Mask>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, uint32_t base, const Mask& mask,
            int64_t repeatTime, int64_t dstRepStride, Location at = Location::here())
{
    ascendc_host::VectorCall call("Gather", at);
    const auto lanes = ascendc_host::mask_lanes<T>(call, mask, repeatTime, true);
    ascendc_host::gather<T>(call, lanes, ascendc_host::operand(dst, 1, dstRepStride), src, offsets, base, ascendc_host::lanes_of<T>());
}
template <typename T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, int64_t repeatTime,
             const GatherRepeatParams& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("Gatherb", at);
    ascendc_host::gather_blocks(call, dst, src, offsets, repeatTime, params);
}
template <typename T, GatherMaskMode mode = GatherMaskMode::VERSION_V2>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint8_t pattern, bool reduceMode, uint32_t mask,
                const GatherMaskParams& params, uint64_t& kept, Location at = Location::here())
{
    ascendc_host::VectorCall call("GatherMask", at);
    if (pattern < 1 || pattern > 7) {
        call.fail("pattern", ascendc_host::format("pattern %u is not among 1 to 7", pattern));
        return;
    }
    ascendc_host::gather_mask(call, dst, src, {reduceMode, mask, pattern, {}, params});
    kept = ascendc_host::core().gather_count;
}
template <typename T, typename U, GatherMaskMode mode = GatherMaskMode::VERSION_V2>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U>& pattern, bool reduceMode, uint32_t mask,
                const GatherMaskParams& params, uint64_t& kept, Location at = Location::here())
{
    ascendc_host::VectorCall call("GatherMask", at);
    ascendc_host::gather_mask(call, dst, src, {reduceMode, mask, 0, pattern, params});
    kept = ascendc_host::core().gather_count;
}

template <typename T>
struct MrgSortSrcList {
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c, const LocalTensor<T>& d)
        : src1(a), src2(b), src3(c), src4(d)
    {}
    LocalTensor<T> src1;
    LocalTensor<T> src2;
    LocalTensor<T> src3;
    LocalTensor<T> src4;
};

template <typename T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1, int64_t repeatTime,
            Location at = Location::here())
{
    ascendc_host::VectorCall call("Sort32", at);
    ascendc_host::sort32(call, dst, src0, src1, repeatTime);
}
template <typename T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params, Location at = Location::here())
{
    ascendc_host::VectorCall call("MrgSort", at);
    ascendc_host::merge_sort(call, dst, {src.src1, src.src2, src.src3, src.src4}, params);
}
template <typename T>
void MrgSort4(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params, Location at = Location::here())
{
    MrgSort(dst, src, params, at);
}
inline void GetMrgSortResult(uint16_t& first, uint16_t& second, uint16_t& third, uint16_t& fourth)
{
    const auto& counts = ascendc_host::core().sorted_counts;
    first = static_cast<uint16_t>(counts[0]);
    second = static_cast<uint16_t>(counts[1]);
    third = static_cast<uint16_t>(counts[2]);
    fourth = static_cast<uint16_t>(counts[3]);
}
template <typename T>
uint32_t GetSortLen(uint32_t count) { return count * 8 / sizeof(T); }
template <typename T>
uint32_t GetSortOffset(uint32_t offset) { return offset * 8 / sizeof(T); }

}  // namespace AscendC

// Comparisons, whose results are bits, and selections by such bits.
#pragma once

#include "vector_move.h"

namespace ascendc_host {

template <typename T>
bool compares(T a, T b, AscendC::CMPMODE mode)
{
    using Mode = AscendC::CMPMODE;
    using C = std::conditional_t<std::is_integral_v<T>, T, float>;
    const C x = static_cast<C>(a), y = static_cast<C>(b);
    switch (mode) {
        case Mode::LT: return x < y;
        case Mode::GT: return x > y;
        case Mode::EQ: return x == y;
        case Mode::LE: return x <= y;
        case Mode::GE: return x >= y;
        default: return x != y;
    }
}

inline void set_bit(uint8_t* data, uint8_t* shadow, uint64_t number, bool value, bool known)
{
    const uint8_t one = static_cast<uint8_t>(1u << (number % 8));
    data[number / 8] = static_cast<uint8_t>(value ? data[number / 8] | one : data[number / 8] & ~one);
    shadow[number / 8] = static_cast<uint8_t>(known ? shadow[number / 8] | one : shadow[number / 8] & ~one);
}

// One operand of a comparison or selection: a tensor or a number.
template <typename T>
struct Source {
    bool is_number = false;
    T number{};
    Operand tensor;

    T value(const Memory& memory, uint32_t repeat, uint32_t lane) const
    {
        if (is_number) {
            return number;
        }
        T result;
        std::memcpy(&result, memory.data.data() + tensor.offset(repeat, lane), sizeof(T));
        return result;
    }
    bool known(const Memory& memory, uint32_t repeat, uint32_t lane) const
    {
        return is_number || all_set(memory.shadow.data() + tensor.offset(repeat, lane), sizeof(T));
    }
};

template <typename T>
Source<T> number_source(T number)
{
    Source<T> source;
    source.is_number = true;
    source.number = number;
    return source;
}
template <typename T>
Source<T> tensor_source(const AscendC::LocalTensor<T>& tensor, int64_t block_stride = 1, int64_t repeat_stride = 8)
{
    Source<T> source;
    source.tensor = operand(tensor, block_stride, repeat_stride);
    return source;
}

template <typename T>
void add_reads(VectorCall& call, Accesses& accesses, const Source<T>& source, const Lanes& lanes, const char* what)
{
    if (!source.is_number) {
        accesses.push_back(VectorCall::reads(call.place(source.tensor, lanes, what)));
    }
}

inline Ranges packed_bits(VectorCall& call, const LocalView& view, uint64_t bits, const char* what)
{
    Ranges ranges;
    append(ranges, view.address, (bits + 7) / 8);
    if (view.space != Space::UB) {
        call.fail("position", format("%s is in %s, vector instructions work on UB", what, space_name(view.space)));
    } else if (view.address % 32 != 0) {
        call.fail("alignment", format("%s starts at byte %u of UB: not a multiple of 32", what, view.address));
    }
    return ranges;
}

// Bits go to the target one after the other, a full repeat's worth for each repeat.
template <typename T>
void compare(VectorCall& call, const Lanes& lanes, const LocalView& dst, const Source<T>& src0, const Source<T>& src1,
             AscendC::CMPMODE mode, const char* name)
{
    call.dtype(dtype_of<T>(), FLOATS | bit(DType::I32), "operand");
    if (dtype_of<T>() == DType::I32 && mode != AscendC::CMPMODE::EQ) {
        call.fail("dtype", "int32_t has only CMPMODE::EQ on this chip");
    }
    Accesses accesses;
    add_reads(call, accesses, src0, lanes, "the first source");
    add_reads(call, accesses, src1, lanes, "the second source");
    Ranges writes = packed_bits(call, dst, static_cast<uint64_t>(lanes.repeats) * lanes.per_repeat, "the result");
    if (!call.legal() || lanes.repeats == 0 || !within_local(dst, end_of(writes), name, call.at())) {
        return;
    }
    accesses.push_back(VectorCall::writes(std::move(writes)));
    const LocalView target = dst;
    call.issue(std::move(accesses), [=] {
        Memory& memory = core().memory(Space::UB);
        uint8_t* data = memory.data.data() + target.address;
        uint8_t* shadow = memory.shadow.data() + target.address;
        for_each_run(lanes, ~0u / 2, [&](uint32_t repeat, uint32_t first, uint32_t count) {
            for (uint32_t lane = first; lane < first + count; ++lane) {
                const bool known = src0.known(memory, repeat, lane) && src1.known(memory, repeat, lane);
                const bool value = compares(src0.value(memory, repeat, lane), src1.value(memory, repeat, lane), mode);
                set_bit(data, shadow, static_cast<uint64_t>(repeat) * lanes.per_repeat + lane, value, known);
            }
        });
    });
}

template <typename T>
void count_rule(VectorCall& call, uint32_t count)
{
    if (static_cast<uint64_t>(count) * sizeof(T) % 256 != 0) {
        call.fail("compare-size", format("%u elements are %llu bytes: not a multiple of 256", count,
                                         static_cast<unsigned long long>(count) * sizeof(T)));
    }
}

// Where the bits of a selection are: in the mask register, the same for each repeat, or on from repeat to repeat.
enum class BitSource : uint8_t { REGISTER, SAME, FOLLOWING };

template <typename T>
void select(VectorCall& call, const Lanes& lanes, const AscendC::LocalTensor<T>& dst, const LocalView& bits, const Source<T>& src0,
            const Source<T>& src1, BitSource where, const AscendC::BinaryRepeatParams& strides, const char* name)
{
    call.dtype(dtype_of<T>(), FLOATS, "operand");
    const Operand target = operand(dst, strides.dstBlkStride, strides.dstRepStride);
    Accesses accesses;
    accesses.push_back(VectorCall::writes(call.place(target, lanes, "the result")));
    add_reads(call, accesses, src0, lanes, "the first source");
    add_reads(call, accesses, src1, lanes, "the second source");
    const uint64_t total = where == BitSource::FOLLOWING ? static_cast<uint64_t>(lanes.repeats) * lanes.per_repeat : lanes.per_repeat;
    if (where != BitSource::REGISTER) {
        Ranges reads = packed_bits(call, bits, total, "the bits");
        if (!within_local(bits, end_of(reads), name, call.at())) {
            return;
        }
        accesses.push_back(VectorCall::reads(std::move(reads)));
    }
    if (!call.legal() || lanes.repeats == 0) {
        return;
    }
    const LocalView from = bits;
    call.issue(std::move(accesses), [=] {
        Core& mine = core();
        Memory& memory = mine.memory(Space::UB);
        const uint8_t* data = where == BitSource::REGISTER ? reinterpret_cast<const uint8_t*>(mine.compare_mask) : memory.data.data() + from.address;
        const uint8_t* shadow = where == BitSource::REGISTER ? mine.compare_shadow : memory.shadow.data() + from.address;
        for_each_run(lanes, ~0u / 2, [&](uint32_t repeat, uint32_t first, uint32_t count) {
            for (uint32_t lane = first; lane < first + count; ++lane) {
                const uint64_t number = where == BitSource::FOLLOWING ? static_cast<uint64_t>(repeat) * lanes.per_repeat + lane : lane;
                const bool chosen = (data[number / 8] >> (number % 8) & 1) != 0;
                const Source<T>& source = chosen ? src0 : src1;
                const bool known = (shadow[number / 8] >> (number % 8) & 1) != 0 && source.known(memory, repeat, lane);
                const T value = source.value(memory, repeat, lane);
                const uint64_t to = target.offset(repeat, lane);
                std::memcpy(memory.data.data() + to, &value, sizeof(T));
                std::memset(memory.shadow.data() + to, known ? 0xff : 0, sizeof(T));
            }
        });
    });
}

// Modes 1 and 2 keep the bits in the last 8 KiB of the unified buffer.
inline void reserved_rule(VectorCall& call, AscendC::SELMODE mode, const LocalView& dst, const LocalView& bits)
{
    if (mode == AscendC::SELMODE::VSEL_CMPMASK_SPR) {
        return;
    }
    call.uses_reserved();
    const AscendC::TPipe* pipe = current_pipe();
    if (pipe != nullptr && pipe->used(Space::UB) > AscendC::TOTAL_VEC_LOCAL_SIZE) {
        call.fail("reserved-buffer", format("this mode needs the last 8 KiB of UB, and buffers take %u bytes", pipe->used(Space::UB)));
    } else if (dst.address >= AscendC::TOTAL_VEC_LOCAL_SIZE || bits.address >= AscendC::TOTAL_VEC_LOCAL_SIZE) {
        call.fail("reserved-buffer", "this mode needs the last 8 KiB of UB, where an operand is");
    }
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T, typename U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, uint32_t count,
             Location at = Location::here())
{
    ascendc_host::VectorCall call("Compare", at);
    ascendc_host::count_rule<T>(call, count);
    ascendc_host::compare(call, call.count(count), dst, ascendc_host::tensor_source(src0), ascendc_host::tensor_source(src1), mode, "Compare");
}
template <typename T, typename U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, uint64_t mask,
             int64_t repeatTime, const BinaryRepeatParams& params, Location at = Location::here())
{
    // This form works on whole repeats whatever the mask.
    static_cast<void>(mask);
    ascendc_host::VectorCall call("Compare", at);
    const auto lanes = call.masked(static_cast<uint64_t>(ascendc_host::lanes_of<T>()), repeatTime, ascendc_host::lanes_of<T>(), isSetMask);
    ascendc_host::compare(call, lanes, dst, ascendc_host::tensor_source(src0, params.src0BlkStride, params.src0RepStride),
                          ascendc_host::tensor_source(src1, params.src1BlkStride, params.src1RepStride), mode, "Compare");
}
template <typename T, typename U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const uint64_t mask[],
             int64_t repeatTime, const BinaryRepeatParams& params, Location at = Location::here())
{
    static_cast<void>(mask);
    Compare<T, U, isSetMask>(dst, src0, src1, mode, uint64_t{1}, repeatTime, params, at);
}

template <typename T, typename U>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const std::common_type_t<T>& number, CMPMODE mode, uint32_t count,
                   Location at = Location::here())
{
    ascendc_host::VectorCall call("CompareScalar", at);
    ascendc_host::count_rule<T>(call, count);
    ascendc_host::compare(call, call.count(count), dst, ascendc_host::tensor_source(src0), ascendc_host::number_source<T>(number), mode, "CompareScalar");
}
template <typename T, typename U, bool isSetMask = true>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const std::common_type_t<T>& number, CMPMODE mode, uint64_t mask,
                   int64_t repeatTime, const UnaryRepeatParams& params, Location at = Location::here())
{
    static_cast<void>(mask);
    ascendc_host::VectorCall call("CompareScalar", at);
    const auto lanes = call.masked(static_cast<uint64_t>(ascendc_host::lanes_of<T>()), repeatTime, ascendc_host::lanes_of<T>(), isSetMask);
    ascendc_host::compare(call, lanes, dst, ascendc_host::tensor_source(src0, params.srcBlkStride, params.srcRepStride),
                          ascendc_host::number_source<T>(number), mode, "CompareScalar");
}
template <typename T, typename U, bool isSetMask = true>
void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const std::common_type_t<T>& number, CMPMODE mode,
                   const uint64_t mask[], int64_t repeatTime, const UnaryRepeatParams& params, Location at = Location::here())
{
    static_cast<void>(mask);
    CompareScalar<T, U, isSetMask>(dst, src0, number, mode, uint64_t{1}, repeatTime, params, at);
}
template <typename T, typename U>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const std::common_type_t<T>& number, CMPMODE mode, uint32_t count,
              Location at = Location::here())
{
    CompareScalar<T, U>(dst, src0, number, mode, count, at);
}
template <typename T, typename U, bool isSetMask = true, typename Mask>
void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const std::common_type_t<T>& number, CMPMODE mode, const Mask& mask,
              int64_t repeatTime, const UnaryRepeatParams& params, Location at = Location::here())
{
    static_cast<void>(mask);
    CompareScalar<T, U, isSetMask>(dst, src0, number, mode, uint64_t{1}, repeatTime, params, at);
}

// Into the mask register: one repeat.
template <typename T, bool isSetMask = true, typename Mask>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, const Mask& mask, const BinaryRepeatParams& params,
             Location at = Location::here())
{
    using namespace ascendc_host;
    VectorCall call("Compare", at);
    call.dtype(dtype_of<T>(), FLOATS, "operand");
    Lanes lanes;
    if constexpr (std::is_convertible_v<Mask, uint64_t>) {
        lanes = call.masked(static_cast<uint64_t>(mask), 1, lanes_of<T>(), isSetMask);
    } else {
        lanes = call.masked(static_cast<const uint64_t*>(mask), 1, lanes_of<T>(), isSetMask);
    }
    const auto left = tensor_source(src0, params.src0BlkStride, params.src0RepStride);
    const auto right = tensor_source(src1, params.src1BlkStride, params.src1RepStride);
    Accesses accesses;
    add_reads(call, accesses, left, lanes, "the first source");
    add_reads(call, accesses, right, lanes, "the second source");
    if (!call.legal()) {
        return;
    }
    call.issue(std::move(accesses), [=] {
        Core& mine = core();
        const Memory& memory = mine.memory(Space::UB);
        for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
            if (lanes.is_active(lane)) {
                const bool known = left.known(memory, 0, lane) && right.known(memory, 0, lane);
                set_bit(reinterpret_cast<uint8_t*>(mine.compare_mask), mine.compare_shadow, lane,
                        compares(left.value(memory, 0, lane), right.value(memory, 0, lane), mode), known);
            }
        }
    });
}

template <typename T>
void GetCmpMask(const LocalTensor<T>& dst, Location at = Location::here())
{
    using namespace ascendc_host;
    if (!within_local(dst, dst.address + 16u, "GetCmpMask", at)) {
        return;
    }
    const LocalView view = dst;
    core().issue(PIPE_V, at, "GetCmpMask", {local_access(view, view.address, 16, true)}, [view] {
        Core& mine = core();
        Memory& memory = mine.memory(Space::UB);
        std::memcpy(memory.data.data() + view.address, mine.compare_mask, 16);
        std::memcpy(memory.shadow.data() + view.address, mine.compare_shadow, 16);
    });
}
template <typename T>
void SetCmpMask(const LocalTensor<T>& src, Location at = Location::here())
{
    using namespace ascendc_host;
    if (!within_local(src, src.address + 16u, "SetCmpMask", at)) {
        return;
    }
    const LocalView view = src;
    core().issue(PIPE_V, at, "SetCmpMask", {local_access(view, view.address, 16, false)}, [view] {
        Core& mine = core();
        const Memory& memory = mine.memory(Space::UB);
        std::memcpy(mine.compare_mask, memory.data.data() + view.address, 16);
        std::memcpy(mine.compare_shadow, memory.shadow.data() + view.address, 16);
    });
}

// Two tensors, by a count.
template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode,
            uint32_t count, Location at = Location::here())
{
    using namespace ascendc_host;
    VectorCall call("Select", at);
    reserved_rule(call, mode, dst, bits);
    if (mode == SELMODE::VSEL_CMPMASK_SPR) {
        // The bits of one repeat serve all of them.
        Lanes lanes = call.masked(static_cast<uint64_t>(lanes_of<T>()), (count + lanes_of<T>() - 1) / lanes_of<T>(), lanes_of<T>(), true);
        lanes.last = count - (lanes.repeats == 0 ? 0 : lanes.repeats - 1) * lanes_of<T>();
        select(call, lanes, dst, bits, tensor_source(src0), tensor_source(src1), BitSource::SAME, BinaryRepeatParams(), "Select");
        return;
    }
    select(call, call.count(count), dst, bits, tensor_source(src0), tensor_source(src1), BitSource::FOLLOWING, BinaryRepeatParams(), "Select");
}
// A tensor and a number, by a count.
template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, const std::common_type_t<T>& number,
            SELMODE mode, uint32_t count, Location at = Location::here())
{
    using namespace ascendc_host;
    VectorCall call("Select", at);
    reserved_rule(call, mode, dst, bits);
    select(call, call.count(count), dst, bits, tensor_source(src0), number_source<T>(number), BitSource::FOLLOWING, BinaryRepeatParams(), "Select");
}
template <typename T, typename U, bool isSetMask = true, typename Mask>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode,
            const Mask& mask, int64_t repeatTime, const BinaryRepeatParams& params, Location at = Location::here())
{
    using namespace ascendc_host;
    VectorCall call("Select", at);
    reserved_rule(call, mode, dst, bits);
    Lanes lanes;
    if constexpr (std::is_convertible_v<Mask, uint64_t>) {
        lanes = call.masked(static_cast<uint64_t>(mask), repeatTime, lanes_of<T>(), isSetMask);
    } else {
        lanes = call.masked(static_cast<const uint64_t*>(mask), repeatTime, lanes_of<T>(), isSetMask);
    }
    select(call, lanes, dst, bits, tensor_source(src0, params.src0BlkStride, params.src0RepStride),
           tensor_source(src1, params.src1BlkStride, params.src1RepStride),
           mode == SELMODE::VSEL_CMPMASK_SPR ? BitSource::SAME : BitSource::FOLLOWING, params, "Select");
}
template <typename T, typename U, bool isSetMask = true, typename Mask>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, const std::common_type_t<T>& number,
            SELMODE mode, const Mask& mask, int64_t repeatTime, const BinaryRepeatParams& params, Location at = Location::here())
{
    using namespace ascendc_host;
    VectorCall call("Select", at);
    reserved_rule(call, mode, dst, bits);
    Lanes lanes;
    if constexpr (std::is_convertible_v<Mask, uint64_t>) {
        lanes = call.masked(static_cast<uint64_t>(mask), repeatTime, lanes_of<T>(), isSetMask);
    } else {
        lanes = call.masked(static_cast<const uint64_t*>(mask), repeatTime, lanes_of<T>(), isSetMask);
    }
    select(call, lanes, dst, bits, tensor_source(src0, params.src0BlkStride, params.src0RepStride), number_source<T>(number),
           BitSource::FOLLOWING, params, "Select");
}
// By the mask register, lanes by the vector mask.
template <typename T, SELMODE mode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int64_t repeatTime,
            const BinaryRepeatParams& params, Location at = Location::here())
{
    using namespace ascendc_host;
    VectorCall call("Select", at);
    const Lanes lanes = call.masked(uint64_t{0}, repeatTime, lanes_of<T>(), false);
    select(call, lanes, dst, dst, tensor_source(src0, params.src0BlkStride, params.src0RepStride),
           tensor_source(src1, params.src1BlkStride, params.src1RepStride), BitSource::REGISTER, params, "Select");
}
template <typename T, typename U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, int64_t repeatTime,
            const BinaryRepeatParams& params, Location at = Location::here())
{
    using namespace ascendc_host;
    VectorCall call("Select", at);
    call.uses_reserved();
    const Lanes lanes = call.masked(uint64_t{0}, repeatTime, lanes_of<T>(), false);
    const T number = bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>(core().registers['s']));
    select(call, lanes, dst, bits, tensor_source(src0, params.src0BlkStride, params.src0RepStride), number_source<T>(number),
           BitSource::FOLLOWING, params, "Select");
}

}  // namespace AscendC

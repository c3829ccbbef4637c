// Copies between global and on-chip memory: DataCopy and DataCopyPad.
#pragma once

#include "parameters.h"
#include "tensor.h"

namespace ascendc_host {

// One side of a copy: rows of bytes, `pitch` apart.
struct End {
    bool global = false;
    uint8_t* start = nullptr;      // of global memory
    GlobalBuffer* buffer = nullptr;
    LocalView view;
    int64_t pitch = 0;

    Space space() const { return global ? Space::GM : view.space; }
    uint8_t* data(int64_t row) const { return global ? start + row * pitch : core().memory(view.space).data.data() + view.address + row * pitch; }

    // Null when everything there has a value.
    uint8_t* shadow(int64_t row) const
    {
        if (!global) {
            return core().memory(view.space).shadow.data() + view.address + row * pitch;
        }
        return buffer->shadow.empty() ? nullptr : buffer->shadow.data() + (start - buffer->base) + row * pitch;
    }
};

template <typename T>
End end_of(const AscendC::GlobalTensor<T>& tensor, int64_t pitch)
{
    End end;
    end.global = true;
    end.start = tensor.address;
    end.pitch = pitch;
    return end;
}

inline End end_of(const LocalView& view, int64_t pitch)
{
    End end;
    end.view = view;
    end.pitch = pitch;
    return end;
}

// What each row of the target gets besides the source's bytes.
struct Padding {
    int64_t left = 0;    // bytes
    int64_t right = 0;   // bytes
    bool filled = false;
    uint8_t pattern[8] = {};
    uint32_t width = 1;
};

// The pipe that moves data between two memories; PIPE_ALL when the chip has no such path.
inline uint32_t pipe_of(Space from, Space to)
{
    if (from == Space::GM) {
        return to == Space::UB || to == Space::L1 || to == Space::L0A || to == Space::L0B ? PIPE_MTE2 : PIPE_ALL;
    }
    if (to == Space::GM) {
        return from == Space::UB || from == Space::L1 ? PIPE_MTE3 : PIPE_ALL;
    }
    if (from == Space::UB && to == Space::UB) {
        return PIPE_V;
    }
    if (from == Space::L1) {
        return to == Space::BT ? PIPE_MTE1 : (to == Space::FB ? PIPE_FIX : PIPE_ALL);
    }
    return PIPE_ALL;
}

inline uint8_t atomic_tag(const AtomicState& state) { return static_cast<uint8_t>(state.operation == 0 ? 0 : state.operation * 16 + state.dtype); }

template <typename T>
void combine(uint8_t operation, uint8_t* target, const uint8_t* source, int64_t bytes)
{
    for (int64_t k = 0; k + static_cast<int64_t>(sizeof(T)) <= bytes; k += sizeof(T)) {
        T left, right;
        std::memcpy(&left, target + k, sizeof(T));
        std::memcpy(&right, source + k, sizeof(T));
        T result;
        if (operation == 1) {
            if constexpr (std::is_integral_v<T>) {
                result = static_cast<T>(static_cast<uint32_t>(left) + static_cast<uint32_t>(right));
            } else {
                result = static_cast<T>(static_cast<float>(left) + static_cast<float>(right));
            }
        } else if (operation == 2) {
            result = left < right ? right : left;
        } else {
            result = right < left ? right : left;
        }
        std::memcpy(target + k, &result, sizeof(T));
    }
}

inline void combine(const AtomicState& state, uint8_t* target, const uint8_t* source, int64_t bytes)
{
    switch (static_cast<DType>(state.dtype)) {
        case DType::F32: combine<float>(state.operation, target, source, bytes); break;
        case DType::F16: combine<half>(state.operation, target, source, bytes); break;
        case DType::BF16: combine<bfloat16_t>(state.operation, target, source, bytes); break;
        case DType::I8: combine<int8_t>(state.operation, target, source, bytes); break;
        case DType::I16: combine<int16_t>(state.operation, target, source, bytes); break;
        default: combine<int32_t>(state.operation, target, source, bytes); break;
    }
}

class CopyCall {
public:
    CopyCall(const char* name, Location at) : name_(name), at_(at) {}

    void fail(const char* rule, const std::string& message)
    {
        core().report(rule, at_, std::string(name_) + ": " + message);
        legal_ = false;
    }

    void limit(int64_t value, int64_t most, const char* what)
    {
        if (value < 0 || value > most) {
            fail("copy-limit", format("%s is %lld, the field holds 0 to %lld", what, static_cast<long long>(value), static_cast<long long>(most)));
        }
    }

    bool legal() const { return legal_; }

    // Copies `rows` rows of `bytes` bytes and issues them to the pipe of the path.
    void rows(End target, End source, int64_t rows, int64_t bytes, const Padding& padding = Padding())
    {
        const uint32_t pipe = pipe_of(source.space(), target.space());
        if (pipe == PIPE_ALL) {
            fail("position", format("the chip has no path from %s to %s", space_name(source.space()), space_name(target.space())));
        } else if (!exists(source.space()) || !exists(target.space())) {
            return;
        }
        if (!legal_ || rows == 0 || bytes == 0) {
            return;
        }
        const int64_t whole = target.global ? bytes : (padding.left + bytes + padding.right + 31) / 32 * 32;
        Access to = access(target, rows, whole, true, "writes");
        Access from = access(source, rows, bytes, false, "reads");
        if (!legal_) {
            return;
        }
        Core& mine = core();
        const AtomicState atomic = target.global ? mine.atomic : AtomicState();
        to.atomic = atomic_tag(atomic);
        mine.moved[static_cast<int>(source.space())][static_cast<int>(target.space())] += static_cast<uint64_t>(rows * bytes);
        const CopyCall call = *this;
        mine.issue(pipe, at_, name_, {std::move(to), std::move(from)}, [=] {
            for (int64_t row = 0; row < rows; ++row) {
                call.row(target, source, row, bytes, whole, padding, atomic);
            }
        });
    }

private:
    const char* name_;
    Location at_;
    bool legal_ = true;

    // Copies to and from UB are vector cores' own; L1 and what lies behind it belong to cube cores.
    bool exists(Space space) const { return space == Space::GM || exists_here(space != Space::UB, name_, at_); }

    Access access(End& end, int64_t rows, int64_t bytes, bool writes, const char* verb)
    {
        Access access;
        access.writes = writes;
        const int64_t last = (rows - 1) * end.pitch + bytes;
        uint64_t first = 0;
        if (end.global) {
            end.buffer = within_global(end.start, static_cast<uint64_t>(last), (std::string(name_) + " " + verb).c_str(), at_);
            if (end.buffer == nullptr) {
                legal_ = false;
                return access;
            }
            access.buffer = end.buffer;
            first = static_cast<uint64_t>(end.start - end.buffer->base);
        } else {
            if (end.view.address % 32 != 0) {
                fail("alignment", format("%s %s from byte %u: not a multiple of 32", verb, space_name(end.view.space), end.view.address));
            }
            legal_ = legal_ && within_local(end.view, end.view.address + static_cast<uint64_t>(last), name_, at_);
            access.memory = &core().memory(end.view.space);
            first = end.view.address;
        }
        for (int64_t row = 0; row < rows; ++row) {
            append(access.ranges, first + static_cast<uint64_t>(row * end.pitch), static_cast<uint64_t>(bytes));
        }
        return access;
    }

    void row(const End& target, const End& source, int64_t row, int64_t bytes, int64_t whole, const Padding& padding,
             const AtomicState& atomic) const
    {
        uint8_t* to = target.data(row) + padding.left;
        const uint8_t* from = source.data(row);
        if (target.global) {
            report_uninitialised(target, source.shadow(row), bytes);
        }
        if (atomic.operation != 0) {
            std::unique_lock<std::mutex> guard(target.buffer->mutex);
            combine(atomic, to, from, bytes);
            return;
        }
        std::memmove(to, from, static_cast<size_t>(bytes));
        shade(target, source, row, bytes, padding.left);
        if (!target.global && (whole != bytes)) {
            pad(target, row, bytes, whole, padding);
        }
    }

    static void shade(const End& target, const End& source, int64_t row, int64_t bytes, int64_t left)
    {
        uint8_t* to = target.shadow(row);
        if (to == nullptr) {
            return;
        }
        const uint8_t* from = source.shadow(row);
        if (from == nullptr) {
            std::memset(to + left, 0xff, static_cast<size_t>(bytes));
        } else {
            std::memmove(to + left, from, static_cast<size_t>(bytes));
        }
    }

    static void pad(const End& target, int64_t row, int64_t bytes, int64_t whole, const Padding& padding)
    {
        uint8_t* data = target.data(row);
        uint8_t* shadow = target.shadow(row);
        fill(data, shadow, 0, padding.left, padding);
        fill(data, shadow, padding.left + bytes, padding.left + bytes + padding.right, padding);
        const int64_t used = padding.left + bytes + padding.right;
        std::memset(data + used, fill_byte(), static_cast<size_t>(whole - used));
        std::memset(shadow + used, 0, static_cast<size_t>(whole - used));
    }

    static void fill(uint8_t* data, uint8_t* shadow, int64_t from, int64_t to, const Padding& padding)
    {
        for (int64_t k = from; k < to; ++k) {
            data[k] = padding.filled ? padding.pattern[static_cast<size_t>(k - from) % padding.width] : fill_byte();
            shadow[k] = padding.filled ? 0xff : 0;
        }
    }

    void report_uninitialised(const End& target, const uint8_t* shadow, int64_t bytes) const
    {
        if (shadow == nullptr || target.buffer->name == "workspace" || all_set(shadow, static_cast<uint64_t>(bytes))) {
            return;
        }
        int64_t first = 0;
        while (shadow[first] == 0xff) {
            ++first;
        }
        core().report("uninitialised", at_, format("%s stores byte %lld of a row, which nothing has written, to %s", name_,
                      static_cast<long long>(first), target.buffer->name.c_str()));
    }
};

// Rows given in blocks of 32 bytes with gaps.
inline void copy_blocks(const char* name, Location at, End target, End source, const AscendC::DataCopyParams& params, bool dense = true)
{
    CopyCall call(name, at);
    call.limit(params.blockCount, 4095, "blockCount");
    call.limit(params.blockLen, 65535, "blockLen (in blocks of 32 bytes)");
    call.limit(params.srcStride, 65535, "srcGap");
    call.limit(params.dstStride, 65535, "dstGap");
    // A row of the bias table is 64 bytes, of the fixpipe buffer 128; lengths count 64 and 128 bytes there.
    const int64_t unit = target.space() == Space::BT ? 64 : (target.space() == Space::FB ? 128 : 32);
    source.pitch = params.blockLen * unit + params.srcStride * 32;
    target.pitch = (params.blockLen + params.dstStride) * unit;
    static_cast<void>(dense);
    call.rows(target, source, params.blockCount, params.blockLen * unit);
}

template <typename T>
void copy_count(const char* name, Location at, End target, End source, int64_t count)
{
    CopyCall call(name, at);
    const int64_t bytes = static_cast<int64_t>(bytes_of<T>(static_cast<uint64_t>(std::max<int64_t>(count, 0))));
    if (count < 0 || bytes % 32 != 0) {
        call.fail("copy-size", format("%lld elements are %lld bytes: not a multiple of 32, the rest would not be copied",
                                      static_cast<long long>(count), static_cast<long long>(bytes)));
    }
    call.rows(target, source, 1, bytes);
}

// Lengths and gaps in global memory in bytes, gaps in the unified buffer in blocks.
template <typename T>
void copy_pad_in(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src, const AscendC::DataCopyExtParams& params,
                 bool filled, int64_t left, int64_t right, const void* value, int64_t longest)
{
    CopyCall call("DataCopyPad", at);
    const int64_t width = static_cast<int64_t>(sizeof(T));
    call.limit(params.blockCount, 4095, "blockCount");
    call.limit(params.blockLen, longest, "blockLen (in bytes)");
    call.limit(params.srcStride, longest == 65535 ? 65535 : 0xffffffffll, "srcStride (in bytes)");
    call.limit(params.dstStride, 65535, "dstStride (in blocks)");
    if (params.blockLen % width != 0) {
        call.fail("copy-size", format("blockLen is %lld bytes: not whole elements of %lld", static_cast<long long>(params.blockLen), static_cast<long long>(width)));
    }
    if (left < 0 || right < 0 || left * width > 32 || right * width > 32) {
        call.fail("copy-limit", format("%lld and %lld elements of padding: at most 32 bytes each", static_cast<long long>(left), static_cast<long long>(right)));
    }
    Padding padding;
    padding.left = left * width;
    padding.right = right * width;
    padding.filled = filled;
    padding.width = static_cast<uint32_t>(width);
    std::memcpy(padding.pattern, value, sizeof(T) <= 8 ? sizeof(T) : 8);
    const auto set = core().registers.find('p');
    if (!filled && set != core().registers.end()) {
        padding.filled = true;
        std::memcpy(padding.pattern, &set->second, 8);
    }
    const int64_t whole = (padding.left + params.blockLen + padding.right + 31) / 32 * 32;
    call.rows(end_of(dst, whole + params.dstStride * 32), end_of(src, params.blockLen + params.srcStride), params.blockCount, params.blockLen, padding);
}

template <typename T>
void copy_pad_out(Location at, const AscendC::GlobalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AscendC::DataCopyExtParams& params,
                  int64_t longest)
{
    CopyCall call("DataCopyPad", at);
    call.limit(params.blockCount, 4095, "blockCount");
    call.limit(params.blockLen, longest, "blockLen (in bytes)");
    call.limit(params.srcStride, 65535, "srcStride (in blocks)");
    call.limit(params.dstStride, longest == 65535 ? 65535 : 0xffffffffll, "dstStride (in bytes)");
    if (params.blockLen % static_cast<int64_t>(sizeof(T)) != 0) {
        call.fail("copy-size", format("blockLen is %lld bytes: not whole elements of %zu", static_cast<long long>(params.blockLen), sizeof(T)));
    }
    const int64_t whole = (params.blockLen + 31) / 32 * 32;
    call.rows(end_of(dst, params.blockLen + params.dstStride), end_of(src, whole + params.srcStride * 32), params.blockCount, params.blockLen);
}

}  // namespace ascendc_host

namespace AscendC {

enum class PaddingMode : uint8_t { Normal, Compact };

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, uint32_t count, Location at = Location::here())
{
    ascendc_host::copy_count<T>("DataCopy", at, ascendc_host::end_of(dst, 0), ascendc_host::end_of(src, 0), count);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, Location at = Location::here())
{
    ascendc_host::copy_count<T>("DataCopy", at, ascendc_host::end_of(dst, 0), ascendc_host::end_of(src, 0), count);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count, Location at = Location::here())
{
    ascendc_host::copy_count<T>("DataCopy", at, ascendc_host::end_of(dst, 0), ascendc_host::end_of(src, 0), count);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params, Location at = Location::here())
{
    ascendc_host::copy_blocks("DataCopy", at, ascendc_host::end_of(dst, 0), ascendc_host::end_of(src, 0), params);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, Location at = Location::here())
{
    ascendc_host::copy_blocks("DataCopy", at, ascendc_host::end_of(dst, 0), ascendc_host::end_of(src, 0), params);
}
template <typename T, typename U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params, Location at = Location::here())
{
    ascendc_host::copy_blocks("DataCopy", at, ascendc_host::end_of(dst, 0), ascendc_host::end_of(src, 0), params);
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params, const DataCopyEnhancedParams&,
              Location at = Location::here())
{
    ascendc_host::copy_blocks("DataCopy", at, ascendc_host::end_of(dst, 0), ascendc_host::end_of(src, 0), params);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, const DataCopyEnhancedParams&,
              Location at = Location::here())
{
    ascendc_host::copy_blocks("DataCopy", at, ascendc_host::end_of(dst, 0), ascendc_host::end_of(src, 0), params);
}

template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params, const DataCopyPadExtParams<T>& pad,
                 Location at = Location::here())
{
    ascendc_host::copy_pad_in(at, dst, src, params, pad.isPad, pad.leftPadding, pad.rightPadding, &pad.paddingValue, 2097151);
}
template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params, const DataCopyPadParams& pad,
                 Location at = Location::here())
{
    const DataCopyExtParams wide(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0);
    const uint64_t value = pad.paddingValue;
    ascendc_host::copy_pad_in(at, dst, src, wide, pad.isPad, pad.leftPadding, pad.rightPadding, &value, 65535);
}
template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params, Location at = Location::here())
{
    ascendc_host::copy_pad_out(at, dst, src, params, 2097151);
}
template <typename T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, Location at = Location::here())
{
    const DataCopyExtParams wide(params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0);
    ascendc_host::copy_pad_out(at, dst, src, wide, 65535);
}

// Fills what DataCopyPad adds without a value of its own.
template <typename T, TPosition position = TPosition::MAX>
void SetPadValue(T value)
{
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    ascendc_host::core().registers['p'] = bits;
}

}  // namespace AscendC

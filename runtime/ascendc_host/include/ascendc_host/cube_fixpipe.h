// Results out of L0C: Fixpipe and DataCopy to global memory or L1, with change of layout, scaling and the positive part.
#pragma once

#include "cube_unit_flag.h"

namespace ascendc_host {

// A transfer of `columns` times `rows` numbers of 32 bits, in fractals of 16 times 16, to rows or to fractals.
struct Transfer {
    int64_t columns = 0;
    int64_t rows = 0;
    int64_t source_stride = 0;   // rows of 16 numbers between columns of fractals
    int64_t target_stride = 0;   // rows: elements; fractals: 32 bytes
    int64_t matrices = 1;
    int64_t source_matrix = 0;   // units of 1024 bytes
    int64_t target_matrix = 0;   // elements
    bool to_rows = true;
    bool split = false;          // f32 in fractals of 8 columns
    bool positive = false;
    QuantMode_t mode = NoQuant;
    uint64_t scale = 0;
    int64_t scales = -1;         // byte of the first of a scale per column
    Space scales_space = Space::L1;
    int64_t width = 4;           // bytes of an element of the result
    bool is_signed = true;

    int64_t source(int64_t matrix, int64_t row, int64_t column) const
    {
        return matrix * source_matrix * UNIT_BYTES + (column / 16 * source_stride + row) * 64 + column % 16 * 4;
    }
    // Columns of a fractal of the result.
    int64_t length() const { return width == 1 ? 32 : (split ? 8 : 16); }
    int64_t target(int64_t matrix, int64_t row, int64_t column) const
    {
        if (to_rows) {
            return (matrix * target_matrix + row * target_stride + column) * width;
        }
        return column / length() * target_stride * 32 + (row * length() + column % length()) * width;
    }
    int64_t run_length() const { return to_rows ? columns : std::min(columns, length()); }

    Ranges reads(int64_t start) const
    {
        Ranges ranges;
        for (int64_t matrix = 0; matrix < matrices; ++matrix) {
            for (int64_t column = 0; column < columns; column += 16) {
                append(ranges, static_cast<uint64_t>(start + source(matrix, 0, column)), static_cast<uint64_t>(rows * 64));
            }
        }
        return ranges;
    }
    Ranges writes(int64_t start) const
    {
        Ranges ranges;
        for (int64_t matrix = 0; matrix < matrices; ++matrix) {
            for (int64_t column = 0; column < columns; column += run_length()) {
                const int64_t count = std::min(run_length(), columns - column);
                for (int64_t row = 0; row < rows; ++row) {
                    append(ranges, static_cast<uint64_t>(start + target(matrix, row, column)), static_cast<uint64_t>(count * width));
                }
            }
        }
        return ranges;
    }
};

// Scales have a sign, 8 bits of exponent and 10 of fraction; the offset is signed and has 9 bits. Whole numbers may be
// shifted to 16 bits before they become float.
struct Quantiser {
    float scale = 1;
    int32_t offset = 0;
    bool is_signed = false;
    uint32_t shift = 0;

    explicit Quantiser(uint64_t bits)
        : scale(bit_cast<float>(static_cast<uint32_t>(bits) & ~uint32_t{0x1fff})),
          offset(static_cast<int32_t>(bits >> 37 & 0x1ff)), is_signed((bits >> 46 & 1) != 0),
          shift((bits >> 36 & 1) != 0 ? static_cast<uint32_t>(bits >> 32 & 15) + 1 : 0)
    {
        offset = offset >= 256 ? offset - 512 : offset;
    }

    float shifted(int32_t number) const
    {
        return static_cast<float>(shift == 0 ? number : std::min(32767, std::max(-32768, number >> shift)));
    }
    int32_t to_byte(float value) const
    {
        const float scaled = std::nearbyint(std::min(255.0f, std::max(-256.0f, value * scale)));
        const int32_t shifted = (scaled != scaled ? 0 : static_cast<int32_t>(scaled)) + offset;
        return is_signed ? std::min(127, std::max(-128, shifted)) : std::min(255, std::max(0, shifted));
    }
};

inline bool scales_by_column(QuantMode_t mode) { return mode == VQF322B8_PRE || mode == VDEQF16 || mode == VREQ8; }

template <typename T, typename U>
T quantised(U number, const Transfer& transfer, uint64_t scale)
{
    if constexpr (sizeof(T) == 4) {
        return transfer.positive && number < U(0) ? U(0) : number;
    } else {
        float value = static_cast<float>(number);
        if constexpr (sizeof(T) == 1 && std::is_same_v<U, int32_t>) {
            value = Quantiser(scale).shifted(number);
        }
        value = transfer.positive && value < 0 ? 0.0f : value;
        if constexpr (sizeof(T) == 1) {
            return static_cast<T>(Quantiser(scale).to_byte(value));
        } else {
            return std::is_same_v<U, int32_t> ? T(value * Quantiser(scale).scale) : T(value);
        }
    }
}

struct Scale {
    uint64_t value;
    bool set;
};
using Scales = std::vector<Scale>;

// Scales are copied into the buffer of the pipe before any result leaves it: results may take their place.
inline Scales scales_of(const Transfer& transfer)
{
    Scales scales;
    for (int64_t column = 0; transfer.scales >= 0 && column < transfer.columns; ++column) {
        const Bytes factor = bytes_at(transfer.scales_space, transfer.scales + column * 8);
        Scale scale{0, all_set(factor.shadow, 8)};
        std::memcpy(&scale.value, factor.data, 8);
        scales.push_back(scale);
    }
    return scales;
}

// One run of a row, converted: its bytes and their shadow.
template <typename T, typename U>
bool convert_run(const Transfer& transfer, const Scales& scales, int64_t start, int64_t matrix, int64_t row, int64_t column, int64_t count,
                 std::vector<T>& values, std::vector<uint8_t>& shadow)
{
    bool valid = true;
    for (int64_t k = 0; k < count; ++k) {
        const Bytes from = bytes_at(Space::L0C, start + transfer.source(matrix, row, column + k));
        uint64_t scale = transfer.scale;
        bool set = all_set(from.shadow, 4);
        if (transfer.scales >= 0) {
            scale = scales[column + k].value;
            set = set && scales[column + k].set;
        }
        U number;
        std::memcpy(&number, from.data, 4);
        values[k] = quantised<T, U>(number, transfer, scale);
        std::memset(shadow.data() + k * sizeof(T), set ? 0xff : 0, sizeof(T));
        valid = valid && set;
    }
    return valid;
}

template <typename T, typename U>
void run_transfer(const Transfer& transfer, int64_t start, const End& end, const AtomicState& atomic, const char* name, Location at)
{
    const Scales scales = scales_of(transfer);
    std::vector<T> values(transfer.run_length());
    std::vector<uint8_t> shadow(transfer.run_length() * sizeof(T));
    for (int64_t matrix = 0; matrix < transfer.matrices; ++matrix) {
        for (int64_t row = 0; row < transfer.rows; ++row) {
            for (int64_t column = 0; column < transfer.columns; column += transfer.run_length()) {
                const int64_t count = std::min(transfer.run_length(), transfer.columns - column);
                const bool valid = convert_run<T, U>(transfer, scales, start, matrix, row, column, count, values, shadow);
                const int64_t to = transfer.target(matrix, row, column);
                if (!valid && end.global && end.buffer->name != "workspace") {
                    core().report("uninitialised", at, format("%s stores row %lld of a result that nothing has computed to %s", name,
                                  static_cast<long long>(row), end.buffer->name.c_str()));
                }
                const Bytes source{reinterpret_cast<uint8_t*>(values.data()), shadow.data()};
                const Bytes target = advance({end.data(0), end.shadow(0)}, to);
                if (atomic.operation != 0) {
                    std::unique_lock<std::mutex> guard(end.buffer->mutex);
                    combine(atomic, target.data, source.data, count * static_cast<int64_t>(sizeof(T)));
                } else {
                    move_bytes(target, source, count * static_cast<int64_t>(sizeof(T)));
                }
            }
        }
    }
}

template <typename T, typename U>
bool mode_fits(QuantMode_t mode)
{
    const bool is_byte = std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>;
    if (std::is_same_v<U, float>) {
        if (std::is_same_v<T, float>) return mode == NoQuant;
        if (std::is_same_v<T, half>) return mode == F322F16;
        if (std::is_same_v<T, bfloat16_t>) return mode == F322BF16;
        return is_byte && (mode == QF322B8_PRE || mode == VQF322B8_PRE);
    }
    if (std::is_same_v<T, int32_t>) return mode == NoQuant;
    if (std::is_same_v<T, half>) return mode == DEQF16 || mode == VDEQF16;
    return is_byte && (mode == REQ8 || mode == VREQ8);
}

template <typename T, typename U>
void check_transfer(CubeCall& call, const Transfer& transfer, bool global)
{
    if (!(std::is_same_v<U, float> || std::is_same_v<U, int32_t>) || (!global && sizeof(T) == 4)) {
        call.fail("dtype", format("no path takes %s out of L0C as %s to %s", dtype_name(dtype_of<U>()), dtype_name(dtype_of<T>()), global ? "GM" : "L1"));
    } else if (!mode_fits<T, U>(transfer.mode)) {
        call.fail("quantisation", format("quantPre %d does not turn %s into %s", static_cast<int>(transfer.mode), dtype_name(dtype_of<U>()),
                                         dtype_name(dtype_of<T>())));
    }
    call.limit(transfer.columns, 0, 4095, "nSize");
    call.limit(transfer.rows, 0, transfer.to_rows ? 8192 : 65535, "mSize");
    call.limit(transfer.source_stride, 0, 65535, "srcStride");
    call.limit(transfer.target_stride, 1, 0xffffffffll, "dstStride");
    call.limit(transfer.matrices, 0, 65535, "ndNum");
    call.limit(transfer.source_matrix, 0, 512, "srcNdStride");
    call.limit(transfer.target_matrix, 0, 65535, "dstNdStride");
    const int64_t unit = transfer.split ? 8 : 16;
    if (!transfer.to_rows && transfer.columns % unit != 0) {
        call.fail("channels", format("nSize is %lld: a result in fractals needs a multiple of %lld", static_cast<long long>(transfer.columns),
                                     static_cast<long long>(unit)));
    }
    if (transfer.split && (transfer.to_rows || !std::is_same_v<T, float> || !std::is_same_v<U, float>)) {
        call.fail("channels", "channels are split for results of float in fractals alone");
    }
    if (scales_by_column(transfer.mode) != (transfer.scales >= 0)) {
        call.fail("quantisation", transfer.scales >= 0 ? "a tensor of scales, but quantPre scales by one number" : "quantPre needs a tensor of scales");
    }
}

// Bytes of the result in its place, or null with a report.
inline bool locate(CubeCall& call, End& end, Access& access, const Transfer& transfer)
{
    access.writes = true;
    if (end.global) {
        end.buffer = within_global(end.start, last_byte(transfer.writes(0)), call.name(), call.at());
        if (end.buffer == nullptr) {
            return false;
        }
        access.buffer = end.buffer;
        access.ranges = transfer.writes(end.start - end.buffer->base);
        return true;
    }
    access.memory = &core().memory(end.view.space);
    access.ranges = transfer.writes(end.view.address);
    call.within(end.view, static_cast<int64_t>(last_byte(access.ranges)), "the result");
    return call.legal();
}

template <typename T, typename U>
void transfer_out(CubeCall& call, End end, const AscendC::LocalTensor<U>& src, Transfer transfer, int64_t unit_flag)
{
    if (!call.starts()) {
        return;
    }
    transfer.width = sizeof(T);
    if (!transfer.to_rows) {
        transfer.matrices = 1;
    }
    call.place(src, {Space::L0C}, 64, "the source");
    if (!end.global) {
        call.place(end.view, {Space::L1}, 32, "the result");
    } else if (!transfer.to_rows && reinterpret_cast<uint64_t>(end.start) % 32 != 0) {
        call.fail("alignment", "a result in fractals starts at a multiple of 32 bytes");
    }
    check_transfer<T, U>(call, transfer, end.global);
    check_unit_flag(call, unit_flag);
    if (!call.legal() || transfer.columns == 0 || transfer.rows == 0 || transfer.matrices == 0) {
        return;
    }
    Ranges reads = transfer.reads(src.address);
    call.within(src, static_cast<int64_t>(last_byte(reads)), "the source");
    Access to;
    if (!call.legal() || !locate(call, end, to, transfer)) {
        return;
    }
    const AtomicState atomic = end.global ? core().atomic : AtomicState();
    to.atomic = atomic_tag(atomic);
    core().moved[static_cast<int>(Space::L0C)][static_cast<int>(end.space())] += static_cast<uint64_t>(transfer.matrices * transfer.rows * transfer.columns) * sizeof(T);
    Accesses accesses{std::move(to), access_of(src, reads, false)};
    if (transfer.scales >= 0) {
        LocalView scales;
        scales.space = transfer.scales_space;
        accesses.push_back(access_of(scales, {{static_cast<uint64_t>(transfer.scales), static_cast<uint64_t>(transfer.scales + transfer.columns * 8)}}, false));
    }
    const int64_t start = src.address;
    const char* name = call.name();
    const Location at = call.at();
    enter_transfer(reads, unit_flag, at);
    call.issue(PIPE_FIX, std::move(accesses), [=] { run_transfer<T, U>(transfer, start, end, atomic, name, at); });
    leave_transfer(reads, unit_flag, at);
}

inline Transfer transfer_of(const AscendC::FixpipeParamsV220& params, AscendC::CO2Layout layout)
{
    Transfer transfer;
    transfer.columns = params.nSize;
    transfer.rows = params.mSize;
    transfer.source_stride = params.srcStride;
    transfer.target_stride = params.dstStride;
    transfer.matrices = params.ndNum;
    transfer.source_matrix = params.srcNdStride;
    transfer.target_matrix = params.dstNdStride;
    transfer.to_rows = layout == AscendC::CO2Layout::ROW_MAJOR;
    transfer.split = params.isChannelSplit;
    transfer.positive = params.reluEn;
    transfer.mode = params.quantPre;
    transfer.scale = params.deqScalar;
    return transfer;
}

// What SetFixpipeNz2ndFlag, SetFixpipePreQuantFlag and SetFixPipeConfig leave for DataCopy.
struct FixpipeRegisters {
    int64_t matrices = 1;
    int64_t source_matrix = 0;
    int64_t target_matrix = 0;
    uint64_t scale = 0;
    int64_t scales = -1;
    bool unit_flag = false;
};

inline FixpipeRegisters& fixpipe_registers()
{
    static thread_local FixpipeRegisters registers;
    static thread_local const Core* owner = nullptr;
    if (owner != current_core()) {
        owner = current_core();
        registers = FixpipeRegisters();
    }
    return registers;
}

inline Transfer transfer_of(const AscendC::DataCopyCO12DstParams& params)
{
    const FixpipeRegisters& registers = fixpipe_registers();
    Transfer transfer;
    transfer.columns = params.nSize;
    transfer.rows = params.mSize;
    transfer.source_stride = params.srcStride;
    transfer.target_stride = params.dstStride;
    transfer.to_rows = params.nz2ndEn;
    transfer.matrices = registers.matrices;
    transfer.source_matrix = registers.source_matrix;
    transfer.target_matrix = registers.target_matrix;
    transfer.split = params.channelSplit;
    transfer.positive = params.reluPre != 0;
    transfer.mode = params.quantPre;
    transfer.scale = registers.scale;
    transfer.scales = scales_by_column(params.quantPre) ? registers.scales : -1;
    transfer.scales_space = Space::FB;
    return transfer;
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& params, Location at = Location::here())
{
    ascendc_host::CubeCall call("Fixpipe", at);
    ascendc_host::transfer_out<T, U>(call, ascendc_host::end_of(dst, 0), src, ascendc_host::transfer_of(params, config.format), params.unitFlag);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& params, Location at = Location::here())
{
    ascendc_host::CubeCall call("Fixpipe", at);
    ascendc_host::transfer_out<T, U>(call, ascendc_host::end_of(dst, 0), src, ascendc_host::transfer_of(params, config.format), params.unitFlag);
}
// A scale for each column, in L1.
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& scales, const FixpipeParamsV220& params,
             Location at = Location::here())
{
    ascendc_host::CubeCall call("Fixpipe", at);
    call.place(scales, {ascendc_host::Space::L1}, 32, "the tensor of scales");
    ascendc_host::Transfer transfer = ascendc_host::transfer_of(params, config.format);
    transfer.scales = scales.address;
    ascendc_host::transfer_out<T, U>(call, ascendc_host::end_of(dst, 0), src, transfer, params.unitFlag);
}
template <typename T, typename U, const FixpipeConfig& config = CFG_ROW_MAJOR, typename S = uint64_t>
void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& scales, const FixpipeParamsV220& params,
             Location at = Location::here())
{
    ascendc_host::CubeCall call("Fixpipe", at);
    call.place(scales, {ascendc_host::Space::L1}, 32, "the tensor of scales");
    ascendc_host::Transfer transfer = ascendc_host::transfer_of(params, config.format);
    transfer.scales = scales.address;
    ascendc_host::transfer_out<T, U>(call, ascendc_host::end_of(dst, 0), src, transfer, params.unitFlag);
}

template <typename T, typename U>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& params, Location at = Location::here())
{
    ascendc_host::CubeCall call("DataCopy", at);
    ascendc_host::transfer_out<T, U>(call, ascendc_host::end_of(dst, 0), src, ascendc_host::transfer_of(params), params.unitFlag);
}
template <typename T, typename U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& params, Location at = Location::here())
{
    ascendc_host::CubeCall call("DataCopy", at);
    ascendc_host::transfer_out<T, U>(call, ascendc_host::end_of(dst, 0), src, ascendc_host::transfer_of(params), params.unitFlag);
}

inline void SetFixpipeNz2ndFlag(uint16_t matrices, uint16_t source_matrix, uint16_t target_matrix)
{
    ascendc_host::FixpipeRegisters& registers = ascendc_host::fixpipe_registers();
    registers.matrices = matrices;
    registers.source_matrix = source_matrix;
    registers.target_matrix = target_matrix;
}
inline void SetFixpipePreQuantFlag(uint64_t scale) { ascendc_host::fixpipe_registers().scale = scale; }
template <typename T, bool setRelu = false>
void SetFixPipeConfig(const LocalTensor<T>& scales, bool unit_flag = false)
{
    ascendc_host::fixpipe_registers().scales = setRelu ? -1 : static_cast<int64_t>(scales.address);
    ascendc_host::fixpipe_registers().unit_flag = unit_flag;
}
template <typename T>
void SetFixPipeConfig(const LocalTensor<T>&, const LocalTensor<T>& scales, bool unit_flag = false)
{
    SetFixPipeConfig(scales, unit_flag);
}

}  // namespace AscendC

// What the cube core's instructions share: rules, fractals of 512 bytes, and moving data together with its shadow.
#pragma once

#include "copy.h"
#include "cube_parameters.h"

namespace ascendc_host {

constexpr int64_t FRACTAL_BYTES = 512;
constexpr int64_t FRACTAL_ROWS = 16;

constexpr int64_t ceiling(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

// Elements of a type in a row of 32 bytes.
template <typename T>
constexpr int64_t row_elements()
{
    return std::is_same_v<T, AscendC::int4b_t> ? 64 : 32 / static_cast<int64_t>(sizeof(T));
}

// One instruction of the cube core while its rules are checked.
class CubeCall {
public:
    CubeCall(const char* name, Location at) : name_(name), at_(at) {}

    bool starts() const { return exists_here(true, name_, at_); }

    bool legal() const { return legal_; }
    Location at() const { return at_; }
    const char* name() const { return name_; }

    void fail(const char* rule, const std::string& message)
    {
        core().report(rule, at_, std::string(name_) + ": " + message);
        legal_ = false;
    }

    void limit(int64_t value, int64_t least, int64_t most, const char* what)
    {
        if (value < least || value > most) {
            fail("copy-limit", format("%s is %lld, allowed are %lld to %lld", what, static_cast<long long>(value), static_cast<long long>(least),
                                      static_cast<long long>(most)));
        }
    }

    void dtype(DType type, uint32_t allowed, const char* what)
    {
        if ((allowed & bit(type)) == 0) {
            fail("dtype", format("no instruction takes %s as %s on this chip", dtype_name(type), what));
        }
    }

    void place(const LocalView& view, std::initializer_list<Space> allowed, uint32_t alignment, const char* what)
    {
        if (std::find(allowed.begin(), allowed.end(), view.space) == allowed.end()) {
            std::string names;
            for (const Space space : allowed) {
                names += (names.empty() ? "" : " or ") + std::string(space_name(space));
            }
            fail("position", format("%s is in %s, it has to be in %s", what, space_name(view.space), names.c_str()));
        }
        if (view.address % alignment != 0) {
            fail("alignment", format("%s starts at byte %u of %s: not a multiple of %u", what, view.address, space_name(view.space), alignment));
        }
    }

    // A tensor that is too small is reported, but the instruction knows addresses alone and runs as long as the memory goes on.
    void within(const LocalView& view, int64_t end, const char* what)
    {
        if (end < 0) {
            fail("capacity", format("%s reaches below byte 0 of %s", what, space_name(view.space)));
            return;
        }
        if (!within_local(view, static_cast<uint64_t>(end), (std::string(name_) + ", " + what + ",").c_str(), at_) &&
            end > static_cast<int64_t>(space_bytes(view.space))) {
            legal_ = false;
        }
    }

    template <typename Run>
    void issue(uint32_t pipe, Accesses accesses, Run run)
    {
        core().issue(pipe, at_, name_, std::move(accesses), std::move(run));
    }

private:
    const char* name_;
    Location at_;
    bool legal_ = true;
};

inline Access access_of(const LocalView& view, Ranges ranges, bool writes)
{
    Access access;
    access.memory = &core().memory(view.space);
    access.ranges = std::move(ranges);
    access.writes = writes;
    return access;
}

inline uint64_t last_byte(const Ranges& ranges)
{
    uint64_t end = 0;
    for (const Range& range : ranges) {
        end = std::max(end, range.end);
    }
    return end;
}

// Bytes and their shadows at one place: `shadow` is null where everything has a value.
struct Bytes {
    uint8_t* data = nullptr;
    uint8_t* shadow = nullptr;
};

inline Bytes bytes_at(Space space, int64_t address)
{
    Memory& memory = core().memory(space);
    return {memory.data.data() + address, memory.shadow.data() + address};
}

inline void move_bytes(Bytes target, Bytes source, int64_t count)
{
    std::memcpy(target.data, source.data, static_cast<size_t>(count));
    if (target.shadow == nullptr) {
        return;
    }
    if (source.shadow == nullptr) {
        std::memset(target.shadow, 0xff, static_cast<size_t>(count));
    } else {
        std::memcpy(target.shadow, source.shadow, static_cast<size_t>(count));
    }
}

inline Bytes advance(Bytes bytes, int64_t count) { return {bytes.data + count, bytes.shadow == nullptr ? nullptr : bytes.shadow + count}; }

// Zero bytes that have a value, or (`valid` false) bytes that have none.
inline void fill_bytes(Bytes target, int64_t count, bool valid)
{
    std::memset(target.data, valid ? 0 : 0xff, static_cast<size_t>(count));
    std::memset(target.shadow, valid ? 0xff : 0, static_cast<size_t>(count));
}

}  // namespace ascendc_host

// On-chip memories of one core and the registered buffers of global memory, with a shadow bit for every bit of data.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "clocks.h"
#include "enums.h"

namespace ascendc_host {

enum class Space : uint8_t { UB, L1, L0A, L0B, L0C, BT, FB, GM, COUNT };

inline const char* space_name(Space space)
{
    static const char* const names[] = {"UB", "L1", "L0A", "L0B", "L0C", "BT", "FB", "GM"};
    return names[static_cast<int>(space)];
}

constexpr uint32_t space_bytes(Space space)
{
    constexpr uint32_t KIB = 1024;
    constexpr uint32_t sizes[] = {192 * KIB, 512 * KIB, 64 * KIB, 64 * KIB, 128 * KIB, 1 * KIB, 7 * KIB, 0};
    return sizes[static_cast<int>(space)];
}

// Alignment that a tensor's first byte needs in each memory.
constexpr uint32_t space_alignment(Space space)
{
    constexpr uint32_t alignments[] = {32, 32, 512, 512, 64, 64, 64, 1};
    return alignments[static_cast<int>(space)];
}

constexpr Space space_of(AscendC::TPosition position)
{
    using P = AscendC::TPosition;
    switch (position) {
        case P::A1: case P::B1: case P::C1: case P::TSCM: case P::SPM: return Space::L1;
        case P::A2: return Space::L0A;
        case P::B2: return Space::L0B;
        case P::CO1: return Space::L0C;
        case P::C2: return Space::BT;
        case P::C2PIPE2GM: case P::C2PIPE2LOCAL: return Space::FB;
        case P::GM: case P::CO2: return Space::GM;
        default: return Space::UB;
    }
}

// What bytes hold that nothing has written: by default a NaN of every floating-point type.
inline uint8_t& fill_byte()
{
    static uint8_t byte = 0xff;
    return byte;
}

// Bytes with a shadow: a bit of the shadow is set when the bit of data was written.
struct Memory {
    Space space = Space::UB;
    uint32_t capacity = 0;
    std::vector<uint8_t> data;
    std::vector<uint8_t> shadow;
    AccessMap accesses;

    void create(Space kind)
    {
        space = kind;
        capacity = space_bytes(kind);
        data.resize(capacity);
        shadow.resize(capacity);
        reset();
    }

    void reset()
    {
        std::memset(data.data(), fill_byte(), capacity);
        std::memset(shadow.data(), 0, capacity);
        accesses.clear();
    }
};

inline bool all_set(const uint8_t* shadow, uint64_t bytes)
{
    uint64_t k = 0;
    for (; k + 8 <= bytes; k += 8) {
        uint64_t word;
        std::memcpy(&word, shadow + k, 8);
        if (word != ~uint64_t{0}) {
            return false;
        }
    }
    for (; k < bytes; ++k) {
        if (shadow[k] != 0xff) {
            return false;
        }
    }
    return true;
}

// One allocation of global memory. `shadow` is empty when everything in it has a value.
struct GlobalBuffer {
    uint8_t* base = nullptr;
    uint64_t bytes = 0;
    std::string name;
    bool is_input = false;
    std::vector<uint8_t> shadow;
    AccessMap accesses;
    AccessMap lines;
    std::mutex mutex;
};

class GlobalMemory {
public:
    void add(void* base, uint64_t bytes, const std::string& name, bool initialised)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        auto buffer = std::make_unique<GlobalBuffer>();
        buffer->base = static_cast<uint8_t*>(base);
        buffer->bytes = bytes;
        buffer->name = name;
        if (!initialised) {
            buffer->shadow.resize(bytes);
        }
        buffers_[reinterpret_cast<uint64_t>(base)] = std::move(buffer);
    }

    void remove(void* base)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        buffers_.erase(reinterpret_cast<uint64_t>(base));
    }

    // The buffer that holds `address`, or the last one before it when `nearest`, or null.
    GlobalBuffer* find(uint64_t address, bool nearest = false)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        auto it = buffers_.upper_bound(address);
        if (it == buffers_.begin()) {
            return nullptr;
        }
        --it;
        GlobalBuffer* buffer = it->second.get();
        return nearest || address < it->first + buffer->bytes ? buffer : nullptr;
    }

    // The host wrote these bytes.
    void initialise(void* start, uint64_t bytes)
    {
        GlobalBuffer* buffer = find(reinterpret_cast<uint64_t>(start));
        if (buffer != nullptr && !buffer->shadow.empty()) {
            const uint64_t offset = static_cast<uint8_t*>(start) - buffer->base;
            std::memset(buffer->shadow.data() + offset, 0xff, std::min(bytes, buffer->bytes - offset));
        }
    }

    // Launches on one stream follow each other: nothing before can race with what comes.
    void forget_accesses()
    {
        std::lock_guard<std::mutex> guard(mutex_);
        for (auto& entry : buffers_) {
            entry.second->accesses.clear();
            entry.second->lines.clear();
        }
    }

private:
    std::mutex mutex_;
    std::map<uint64_t, std::unique_ptr<GlobalBuffer>> buffers_;
};

inline GlobalMemory& global_memory()
{
    static GlobalMemory memory;
    return memory;
}

}  // namespace ascendc_host

// LocalTensor and GlobalTensor: typed views of on-chip and of global memory.
#pragma once

#include "scheduler.h"
#include "types.h"

namespace ascendc_host {

// What every tensor of on-chip memory is, whatever its type. `limit` is the byte after its last one.
struct LocalView {
    Space space = Space::UB;
    AscendC::TPosition position = AscendC::TPosition::MAX;
    uint32_t address = 0;
    uint32_t limit = 0;
    int32_t buffer = -1;  // number of the framework's buffer, if it comes from one

    uint8_t* data() const { return core().memory(space).data.data() + address; }
};

struct GlobalView {
    uint8_t* address = nullptr;
    uint64_t elements = 0;
};

inline bool within_local(const LocalView& view, uint64_t end, const char* name, Location at)
{
    if (end > space_bytes(view.space)) {
        core().report("capacity", at, format("%s reaches byte %llu of %s, which has %u", name, static_cast<unsigned long long>(end),
                      space_name(view.space), space_bytes(view.space)));
        return false;
    }
    if (end > view.limit) {
        core().report("tensor-too-small", at, format("%s reaches byte %llu of a tensor that has %u", name,
                      static_cast<unsigned long long>(end - view.address), view.limit > view.address ? view.limit - view.address : 0));
        return false;
    }
    return true;
}

// Whether this core has the instruction. The device compiler drops it from the other kind of core of a mixed kernel; in a
// kernel of that other kind alone it is a mistake.
inline bool exists_here(bool on_cube, const char* name, Location at)
{
    const Core& mine = core();
    if (mine.is_cube == on_cube) {
        return true;
    }
    if (!mine.runs_mixed || mine.group_size == 1) {
        core().report("wrong-core", at, format("%s: %s cores have no such instruction", name, mine.is_cube ? "cube" : "vector"));
    }
    return false;
}

// Finds the buffer of a range of global memory; null, with a report, when the range leaves it.
inline GlobalBuffer* within_global(const uint8_t* start, uint64_t bytes, const char* name, Location at)
{
    const uint64_t address = reinterpret_cast<uint64_t>(start);
    GlobalBuffer* buffer = global_memory().find(address, true);
    if (buffer == nullptr) {
        core().report("gm-out-of-bounds", at, format("%s touches memory that is no buffer of this launch", name));
        return nullptr;
    }
    const uint64_t offset = address - reinterpret_cast<uint64_t>(buffer->base);
    if (offset + bytes > buffer->bytes) {
        core().report("gm-out-of-bounds", at, format("%s touches bytes %llu to %llu of %s, which has %llu", name,
                      static_cast<unsigned long long>(offset), static_cast<unsigned long long>(offset + bytes - 1),
                      buffer->name.c_str(), static_cast<unsigned long long>(buffer->bytes)));
        return nullptr;
    }
    return buffer;
}

inline Access local_access(const LocalView& view, uint64_t start, uint64_t bytes, bool writes)
{
    Access access;
    access.memory = &core().memory(view.space);
    append(access.ranges, start, bytes);
    access.writes = writes;
    return access;
}

inline Access global_access(GlobalBuffer* buffer, const uint8_t* start, uint64_t bytes, bool writes)
{
    Access access;
    access.buffer = buffer;
    append(access.ranges, static_cast<uint64_t>(start - buffer->base), bytes);
    access.writes = writes;
    return access;
}

}  // namespace ascendc_host

namespace AscendC {

using ascendc_host::Location;

template <typename T>
using PrimT = T;

struct ShapeInfo {
    uint8_t shapeDim = 0;
    uint8_t originalShapeDim = 0;
    uint32_t shape[8] = {};
    uint32_t originalShape[8] = {};
    DataFormat dataFormat = DataFormat::ND;

    ShapeInfo() = default;
    ShapeInfo(uint8_t dimensions, const uint32_t lengths[], uint8_t original_dimensions, const uint32_t original_lengths[], DataFormat format)
        : shapeDim(dimensions), originalShapeDim(original_dimensions), dataFormat(format)
    {
        std::copy(lengths, lengths + dimensions, shape);
        std::copy(original_lengths, original_lengths + original_dimensions, originalShape);
    }
    ShapeInfo(uint8_t dimensions, const uint32_t lengths[], DataFormat format = DataFormat::ND)
        : ShapeInfo(dimensions, lengths, dimensions, lengths, format)
    {
    }
};

inline int GetShapeSize(const ShapeInfo& info)
{
    int size = 1;
    for (uint8_t k = 0; k < info.shapeDim; ++k) {
        size *= static_cast<int>(info.shape[k]);
    }
    return size;
}

template <typename T>
class LocalTensor : public ascendc_host::LocalView {
public:
    using PrimType = T;

    LocalTensor() = default;

    // A tensor at a byte address of the memory of `place`.
    LocalTensor(TPosition place, uint32_t start, uint32_t elements, Location at = Location::here())
    {
        space = ascendc_host::space_of(place);
        position = place;
        address = start;
        count_ = elements;
        limit = start + static_cast<uint32_t>(ascendc_host::bytes_of<T>(elements));
        check_place(at);
    }
    explicit LocalTensor(TPosition place) { position = place; space = ascendc_host::space_of(place); }

    static LocalTensor over(const LocalView& view, uint32_t elements)
    {
        LocalTensor tensor;
        static_cast<LocalView&>(tensor) = view;
        tensor.count_ = elements;
        return tensor;
    }

    LocalTensor operator[](uint32_t offset) const
    {
        LocalTensor tensor = *this;
        tensor.address += static_cast<uint32_t>(ascendc_host::bytes_of<T>(offset));
        tensor.count_ = offset < count_ ? count_ - offset : 0;
        return tensor;
    }

    T GetValue(uint32_t index, Location at = Location::here()) const
    {
        const uint64_t start = address + static_cast<uint64_t>(index) * sizeof(T);
        T value{};
        if (!ascendc_host::within_local(*this, start + sizeof(T), "GetValue", at)) {
            return value;
        }
        ascendc_host::Core& core = ascendc_host::core();
        core.scalar_access(at, {ascendc_host::local_access(*this, start, sizeof(T), false)});
        const ascendc_host::Memory& memory = core.memory(space);
        if (!ascendc_host::all_set(memory.shadow.data() + start, sizeof(T))) {
            core.report("uninitialised", at, ascendc_host::format("GetValue reads element %u, which nothing has written", index));
        }
        std::memcpy(&value, memory.data.data() + start, sizeof(T));
        return value;
    }

    template <typename N>
    void SetValue(uint32_t index, N number, Location at = Location::here()) const
    {
        const uint64_t start = address + static_cast<uint64_t>(index) * sizeof(T);
        if (!ascendc_host::within_local(*this, start + sizeof(T), "SetValue", at)) {
            return;
        }
        ascendc_host::Core& core = ascendc_host::core();
        core.scalar_access(at, {ascendc_host::local_access(*this, start, sizeof(T), true)});
        ascendc_host::Memory& memory = core.memory(space);
        const T value = static_cast<T>(number);
        std::memcpy(memory.data.data() + start, &value, sizeof(T));
        std::memset(memory.shadow.data() + start, 0xff, sizeof(T));
    }

    template <typename U>
    LocalTensor<U> ReinterpretCast() const
    {
        const uint32_t bytes = static_cast<uint32_t>(ascendc_host::bytes_of<T>(count_));
        return LocalTensor<U>::over(*this, ascendc_host::elements_in<U>(bytes));
    }

    uint32_t GetSize() const { return count_; }
    uint32_t GetLength() const { return static_cast<uint32_t>(ascendc_host::bytes_of<T>(count_)); }
    void SetSize(uint32_t elements) { count_ = elements; }
    void SetBufferLen(uint32_t bytes) { limit = address + bytes; }
    TPosition GetPosition() const { return position; }
    T* GetPhyAddr() const { return reinterpret_cast<T*>(data()); }
    T* GetPhyAddr(uint32_t offset) const { return reinterpret_cast<T*>(data()) + offset; }
    void SetAddr(uint32_t start) { address = start; }
    template <typename U>
    void SetAddrWithOffset(LocalTensor<U>& source, uint32_t offset)
    {
        static_cast<LocalView&>(*this) = source;
        address += static_cast<uint32_t>(ascendc_host::bytes_of<U>(offset));
    }
    void SetShapeInfo(const ShapeInfo& info) { shape_ = info; }
    ShapeInfo GetShapeInfo() const { return shape_; }
    void SetUserTag(int32_t tag) { tag_ = tag; }
    int32_t GetUserTag() const { return tag_; }
    void Print(uint32_t = 0) const {}

private:
    uint32_t count_ = 0;
    int32_t tag_ = 0;
    ShapeInfo shape_;

    void check_place(Location at) const
    {
        using namespace ascendc_host;
        if (limit > space_bytes(space)) {
            core().report("capacity", at, format("a tensor of bytes %u to %u does not fit into the %u bytes of %s", address, limit,
                          space_bytes(space), space_name(space)));
        }
        if (address % 32 != 0) {
            core().report("alignment", at, format("a tensor starts at byte %u of %s: not a multiple of 32", address, space_name(space)));
        }
    }
};

template <typename T>
class GlobalTensor : public ascendc_host::GlobalView {
public:
    using PrimType = T;

    void SetGlobalBuffer(T* start, uint64_t count)
    {
        address = reinterpret_cast<uint8_t*>(start);
        elements = count;
    }
    void SetGlobalBuffer(T* start)
    {
        address = reinterpret_cast<uint8_t*>(start);
        elements = 0;
    }

    GlobalTensor operator[](uint64_t offset) const
    {
        GlobalTensor tensor = *this;
        tensor.address += ascendc_host::bytes_of<T>(offset);
        tensor.elements = offset < elements ? elements - offset : 0;
        return tensor;
    }

    T GetValue(uint64_t index, Location at = Location::here()) const
    {
        T value{};
        poll();
        const uint8_t* start = address + index * sizeof(T);
        ascendc_host::GlobalBuffer* buffer = ascendc_host::within_global(start, sizeof(T), "GetValue", at);
        if (buffer != nullptr) {
            ascendc_host::core().scalar_access(at, {ascendc_host::global_access(buffer, start, sizeof(T), false)});
            check_value(buffer, start, at);
            std::memcpy(&value, start, sizeof(T));
        }
        return value;
    }

    template <typename N>
    void SetValue(uint64_t index, N number, Location at = Location::here()) const
    {
        uint8_t* start = address + index * sizeof(T);
        ascendc_host::GlobalBuffer* buffer = ascendc_host::within_global(start, sizeof(T), "SetValue", at);
        if (buffer != nullptr) {
            ascendc_host::core().scalar_access(at, {ascendc_host::global_access(buffer, start, sizeof(T), true)});
            const T value = static_cast<T>(number);
            std::memcpy(start, &value, sizeof(T));
            if (!buffer->shadow.empty()) {
                std::memset(buffer->shadow.data() + (start - buffer->base), 0xff, sizeof(T));
            }
        }
    }

    T operator()(uint64_t index) const { return GetValue(index); }
    uint64_t GetSize() const { return elements; }
    const T* GetPhyAddr() const { return reinterpret_cast<T*>(address); }
    T* GetPhyAddr() { return reinterpret_cast<T*>(address); }
    T* GetPhyAddr(uint64_t offset) const { return reinterpret_cast<T*>(address) + offset; }
    template <typename U>
    GlobalTensor<U> ReinterpretCast() const
    {
        GlobalTensor<U> tensor;
        tensor.address = address;
        tensor.elements = elements * sizeof(T) / sizeof(U);
        return tensor;
    }
    void SetShapeInfo(const ShapeInfo& info) { shape_ = info; }
    ShapeInfo GetShapeInfo() const { return shape_; }
    template <typename Mode = CacheMode>
    void SetL2CacheHint(Mode) {}

private:
    ShapeInfo shape_;

    // Code that reads a word again and again waits for another core.
    static void poll()
    {
        static thread_local uint32_t reads = 0;
        if (++reads % 64 == 0) {
            ascendc_host::core().scheduler->yield();
        }
    }

    static void check_value(const ascendc_host::GlobalBuffer* buffer, const uint8_t* start, Location at)
    {
        if (!buffer->shadow.empty() && !ascendc_host::all_set(buffer->shadow.data() + (start - buffer->base), sizeof(T))) {
            ascendc_host::core().report("uninitialised", at, "GetValue reads global memory that nothing has written");
        }
    }
};

}  // namespace AscendC

// LocalMemAllocator: addresses for kernels that order everything by themselves.
#pragma once

#include "tensor.h"

namespace AscendC {

// Places tensors one after the other; everything else is up to the kernel.
template <Hardware where = Hardware::UB>
class LocalMemAllocator {
public:
    LocalMemAllocator() = default;

    template <TPosition place, typename T, uint32_t elements>
    LocalTensor<T> Alloc(Location at = Location::here()) { return allocate<T>(place, elements, at); }
    template <typename T, uint32_t elements>
    LocalTensor<T> Alloc(Location at = Location::here()) { return allocate<T>(default_place(), elements, at); }
    template <TPosition place, typename T>
    LocalTensor<T> Alloc(uint32_t elements, Location at = Location::here()) { return allocate<T>(place, elements, at); }
    template <typename T>
    LocalTensor<T> Alloc(uint32_t elements, Location at = Location::here()) { return allocate<T>(default_place(), elements, at); }
    uint32_t GetCurAddr() const { return next_; }

private:
    uint32_t next_ = 0;

    static constexpr TPosition default_place()
    {
        switch (where) {
            case Hardware::L1: return TPosition::A1;
            case Hardware::L0A: return TPosition::A2;
            case Hardware::L0B: return TPosition::B2;
            case Hardware::L0C: return TPosition::CO1;
            case Hardware::BIAS: return TPosition::C2;
            case Hardware::FIXBUF: return TPosition::C2PIPE2GM;
            default: return TPosition::VECCALC;
        }
    }
    template <typename T>
    LocalTensor<T> allocate(TPosition place, uint32_t elements, Location at)
    {
        const uint32_t alignment = ascendc_host::space_alignment(ascendc_host::space_of(place));
        next_ = (next_ + alignment - 1) / alignment * alignment;
        LocalTensor<T> tensor(place, next_, elements, at);
        next_ = tensor.limit;
        return tensor;
    }
};

}  // namespace AscendC

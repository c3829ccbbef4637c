// Printing what memories hold: DumpTensor, DumpAccChkPoint and the asc_dump functions.
#pragma once

#include "debug.h"

namespace ascendc_host {

inline const char* dump_name(DType type)
{
    switch (type) {
        case DType::F16: return "float16";
        case DType::BF16: return "bfloat16";
        case DType::F32: return "float32";
        default: return dtype_name(type);
    }
}

template <typename T>
std::string printed_value(const T& value)
{
    if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else {
        return format("%f", static_cast<double>(static_cast<float>(value)));
    }
}

// Numbers in brackets by the shape; where the shape goes on beyond the numbers it shows a dash.
template <typename T>
std::string printed_values(const T* values, uint32_t count, const AscendC::ShapeInfo& shape, uint8_t dimension = 0, uint32_t first = 0)
{
    uint32_t inner = 1;
    for (int k = dimension + 1; k < shape.shapeDim; ++k) {
        inner *= shape.shape[k];
    }
    const bool last = dimension + 1 >= shape.shapeDim;
    std::string text = "[";
    for (uint32_t k = 0; k < shape.shape[dimension]; ++k) {
        const uint32_t place = first + k * inner;
        text += k == 0 ? "" : (last ? ", " : ",\n");
        text += !last ? printed_values(values, count, shape, static_cast<uint8_t>(dimension + 1), place)
                      : (place < count ? printed_value(values[place]) : "-");
    }
    return text + "]";
}

// Prints at once what memory holds after everything issued so far; null values print nothing but the head.
template <typename T>
void dump(const T* values, const char* place, uint64_t address, uint32_t description, uint32_t count, const AscendC::ShapeInfo* shape)
{
    const AscendC::ShapeInfo flat(1, &count);
    std::lock_guard<std::mutex> guard(print_mutex());
    std::printf("DumpTensor: desc=%u, addr=0x%llx, data_type=%s, position=%s, dump_size=%u\n", description,
                static_cast<unsigned long long>(address), dump_name(dtype_of<T>()), place, count);
    if (values != nullptr) {
        std::printf("%s\n", printed_values(values, count, shape == nullptr ? flat : *shape).c_str());
    }
}

template <typename T>
void dump_local(const LocalView& view, uint32_t description, uint32_t count, const AscendC::ShapeInfo* shape, Location at)
{
    core().barrier_all(at);
    if (view.space == Space::L0A || view.space == Space::L0B || view.space == Space::BT || view.space == Space::FB) {
        core().report("position", at, format("DumpTensor: nothing can be printed from %s", space_name(view.space)));
        return;
    }
    const bool fits = within_local(view, view.address + bytes_of<T>(count), "DumpTensor", at);
    dump(fits ? reinterpret_cast<const T*>(view.data()) : nullptr, space_name(view.space), view.address, description, count, shape);
}

template <typename T>
void dump_global(const uint8_t* address, uint32_t description, uint32_t count, const AscendC::ShapeInfo* shape, Location at)
{
    core().barrier_all(at);
    const bool fits = within_global(address, bytes_of<T>(count), "DumpTensor", at) != nullptr;
    dump(fits ? reinterpret_cast<const T*>(address) : nullptr, "GM", reinterpret_cast<uint64_t>(address), description, count, shape);
}

// By a pointer into a memory of this core.
template <typename T>
void dump_pointer(const T* pointer, Space space, uint32_t description, uint32_t count, Location at)
{
    LocalView view;
    view.space = space;
    view.address = static_cast<uint32_t>(reinterpret_cast<const uint8_t*>(pointer) - core().memory(space).data.data());
    view.limit = space_bytes(space);
    dump_local<T>(view, description, count, nullptr, at);
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t description, uint32_t count, Location at = Location::here())
{
    ascendc_host::dump_local<T>(tensor, description, count, nullptr, at);
}
template <typename T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t description, uint32_t count, Location at = Location::here())
{
    ascendc_host::dump_global<T>(tensor.address, description, count, nullptr, at);
}
template <typename T>
void DumpTensor(const LocalTensor<T>& tensor, uint32_t description, uint32_t count, const ShapeInfo& shape, Location at = Location::here())
{
    ascendc_host::dump_local<T>(tensor, description, count, &shape, at);
}
template <typename T>
void DumpTensor(const GlobalTensor<T>& tensor, uint32_t description, uint32_t count, const ShapeInfo& shape, Location at = Location::here())
{
    ascendc_host::dump_global<T>(tensor.address, description, count, &shape, at);
}
// From an element on.
template <typename Tensor>
void DumpAccChkPoint(const Tensor& tensor, uint32_t description, uint32_t first, uint32_t count, Location at = Location::here())
{
    DumpTensor(tensor[first], description, count, at);
}

}  // namespace AscendC

template <typename T>
void asc_dump_gm(const T* pointer, uint32_t description, uint32_t count, ascendc_host::Location at = ascendc_host::Location::here())
{
    ascendc_host::dump_global<T>(reinterpret_cast<const uint8_t*>(pointer), description, count, nullptr, at);
}
template <typename T>
void asc_dump_ubuf(const T* pointer, uint32_t description, uint32_t count, ascendc_host::Location at = ascendc_host::Location::here())
{
    ascendc_host::dump_pointer(pointer, ascendc_host::Space::UB, description, count, at);
}
template <typename T>
void asc_dump_l1buf(const T* pointer, uint32_t description, uint32_t count, ascendc_host::Location at = ascendc_host::Location::here())
{
    ascendc_host::dump_pointer(pointer, ascendc_host::Space::L1, description, count, at);
}
template <typename T>
void asc_dump_cbuf(const T* pointer, uint32_t description, uint32_t count, ascendc_host::Location at = ascendc_host::Location::here())
{
    ascendc_host::dump_pointer(pointer, ascendc_host::Space::L0C, description, count, at);
}

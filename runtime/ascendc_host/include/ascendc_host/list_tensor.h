// A list of tensors in global memory: where the addresses begin, for each tensor its rank, number and shape, then the addresses.
#pragma once

#include "tensor.h"

namespace AscendC {

template <class T>
class TensorDesc {
public:
    void SetShapeAddr(uint64_t* shape) { shape_ = shape; }
    uint64_t GetDim() const { return rank_; }
    uint64_t GetIndex() const { return index_; }
    uint64_t GetShape(uint32_t axis) const { return shape_[axis]; }
    T* GetDataPtr() const { return data_; }
    GlobalTensor<T> GetDataObj() const
    {
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(data_);
        return tensor;
    }

private:
    friend class ListTensorDesc;
    uint32_t rank_ = 0;
    uint32_t index_ = 0;
    uint64_t* shape_ = nullptr;
    T* data_ = nullptr;
};

class ListTensorDesc {
public:
    ListTensorDesc() = default;
    explicit ListTensorDesc(void* data, uint32_t length = 0xffffffff, uint32_t = 0xffffffff, Location at = Location::here()) { Init(data, length, 0, at); }

    void Init(void* data, uint32_t length = 0xffffffff, uint32_t = 0xffffffff, Location at = Location::here())
    {
        words_ = static_cast<uint64_t*>(data);
        if (ascendc_host::within_global(static_cast<uint8_t*>(data), 8, "ListTensorDesc", at) == nullptr) {
            throw ascendc_host::KernelAbort();
        }
        addresses_ = words_ + words_[0] / 8;
        for (uint64_t* word = words_ + 1; word < addresses_; word += 1 + static_cast<uint32_t>(*word)) {
            ++count_;
        }
        count_ = std::min(count_, length);
        if (ascendc_host::within_global(static_cast<uint8_t*>(data), words_[0] + count_ * 8ull, "ListTensorDesc", at) == nullptr) {
            throw ascendc_host::KernelAbort();
        }
    }
    template <class T>
    void GetDesc(TensorDesc<T>& desc, uint32_t number)
    {
        uint64_t* word = words_ + 1;
        for (uint32_t k = 0; k < number; ++k) {
            word += 1 + static_cast<uint32_t>(*word);
        }
        desc.rank_ = static_cast<uint32_t>(*word);
        desc.index_ = static_cast<uint32_t>(*word >> 32);
        for (uint32_t axis = 0; axis < desc.rank_ && desc.shape_ != nullptr; ++axis) {
            desc.shape_[axis] = word[1 + axis];
        }
        desc.data_ = GetDataPtr<T>(number);
    }
    template <class T>
    T* GetDataPtr(uint32_t number) const { return number < count_ ? reinterpret_cast<T*>(addresses_[number]) : nullptr; }
    uint32_t GetSize() const { return count_; }

private:
    uint64_t* words_ = nullptr;
    uint64_t* addresses_ = nullptr;
    uint32_t count_ = 0;
};

}  // namespace AscendC

// Products of all elements up to each one of a line, from left to right.
template <typename T>
__aicore__ inline void CumulativeProduct(const AscendC::LocalTensor<T>& result, int64_t to, int64_t to_step,
    const AscendC::LocalTensor<T>& source, int64_t from, int64_t from_step, int64_t count)
{
    T total = 1;
    for (int64_t k = 0; k < count; ++k) {
        total = Times(total, source.GetValue(from + k * from_step));
        result.SetValue(to + k * to_step, total);
    }
}

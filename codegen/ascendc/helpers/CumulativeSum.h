// Sums of all elements up to each one of a line. What each float addition rounds away is kept and added to every sum
// (Neumaier's method); there is nothing to keep once a sum is infinite or NaN.
__aicore__ inline void CumulativeSum(const AscendC::LocalTensor<float>& result, int64_t to, int64_t to_step,
    const AscendC::LocalTensor<float>& source, int64_t from, int64_t from_step, int64_t count)
{
    float total = 0.0f;
    float kept = 0.0f;
    for (int64_t k = 0; k < count; ++k) {
        const float element = source.GetValue(from + k * from_step);
        const float sum = k == 0 ? element : total + element;
        const float part = sum - total;
        const float rest = (total - (sum - part)) + (element - part);
        kept = rest == rest ? kept + rest : 0.0f;
        total = sum;
        result.SetValue(to + k * to_step, kept == 0.0f || sum - sum != 0.0f ? sum : sum + kept);
    }
}
__aicore__ inline void CumulativeSum(const AscendC::LocalTensor<int32_t>& result, int64_t to, int64_t to_step,
    const AscendC::LocalTensor<int32_t>& source, int64_t from, int64_t from_step, int64_t count)
{
    int32_t total = 0;
    for (int64_t k = 0; k < count; ++k) {
        total = Plus(total, source.GetValue(from + k * from_step));
        result.SetValue(to + k * to_step, total);
    }
}

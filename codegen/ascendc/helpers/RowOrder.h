// The first `wanted` positions of a line in the order of its elements, by merging runs of growing length; equals keep
// their order. `workspace` holds all positions twice.
template <typename T>
__aicore__ inline void RowOrder(const AscendC::LocalTensor<int32_t>& result, int64_t to, int64_t to_step,
    const AscendC::LocalTensor<T>& source, int64_t from, int64_t from_step, const AscendC::LocalTensor<int32_t>& workspace,
    int64_t count, int64_t wanted, bool descending)
{
    int64_t now = 0;
    int64_t next = count;
    for (int64_t k = 0; k < count; ++k) {
        workspace.SetValue(k, static_cast<int32_t>(k));
    }
    for (int64_t length = 1; length < count; length *= 2) {
        for (int64_t start = 0; start < count; start += 2 * length) {
            const int64_t middle = start + length < count ? start + length : count;
            const int64_t end = start + 2 * length < count ? start + 2 * length : count;
            int64_t left = start;
            int64_t right = middle;
            for (int64_t k = start; k < end; ++k) {
                bool from_right = left == middle;
                if (!from_right && right < end) {
                    const T first = source.GetValue(from + workspace.GetValue(now + left) * from_step);
                    const T second = source.GetValue(from + workspace.GetValue(now + right) * from_step);
                    from_right = IsBefore(second, first, descending);
                }
                workspace.SetValue(next + k, workspace.GetValue(now + (from_right ? right : left)));
                right += from_right ? 1 : 0;
                left += from_right ? 0 : 1;
            }
        }
        const int64_t other = now;
        now = next;
        next = other;
    }
    for (int64_t k = 0; k < wanted; ++k) {
        result.SetValue(to + k * to_step, workspace.GetValue(now + k));
    }
}

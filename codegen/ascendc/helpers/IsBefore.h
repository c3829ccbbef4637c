// Whether one number stands before another in an order, NaN being the largest of all.
__aicore__ inline bool IsBefore(float left, float right, bool descending)
{
    if (left != left || right != right) {
        return descending ? left != left && right == right : left == left && right != right;
    }
    return descending ? left > right : left < right;
}
__aicore__ inline bool IsBefore(int32_t left, int32_t right, bool descending)
{
    return descending ? left > right : left < right;
}

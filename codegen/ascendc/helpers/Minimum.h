__aicore__ inline int64_t Minimum(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

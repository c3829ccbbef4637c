__aicore__ inline int64_t Maximum(int64_t left, int64_t right)
{
    return left < right ? right : left;
}

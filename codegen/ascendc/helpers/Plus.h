// Sums of two numbers; integers wrap.
__aicore__ inline float Plus(float left, float right)
{
    return left + right;
}
__aicore__ inline int32_t Plus(int32_t left, int32_t right)
{
    return static_cast<int32_t>(static_cast<uint32_t>(left) + static_cast<uint32_t>(right));
}

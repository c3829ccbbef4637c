// The exponent of a power of two.
__aicore__ inline constexpr int32_t Log2(int32_t power)
{
    return power > 1 ? 1 + Log2(power / 2) : 0;
}

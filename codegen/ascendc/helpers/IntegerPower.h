// A power by squaring, wrapping; negative powers leave 1 of 1, a sign of -1 and 0 of the rest.
__aicore__ inline int32_t IntegerPower(int32_t base, int32_t exponent)
{
    if (exponent < 0) {
        return base == 1 ? 1 : base != -1 ? 0 : (exponent & 1) != 0 ? -1 : 1;
    }
    uint32_t result = 1;
    uint32_t square = static_cast<uint32_t>(base);
    for (uint32_t left = static_cast<uint32_t>(exponent); left != 0; left >>= 1) {
        result = (left & 1) != 0 ? result * square : result;
        square *= square;
    }
    return static_cast<int32_t>(result);
}

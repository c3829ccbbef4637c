// The greatest common divisor by Euclid's algorithm; that of -2^31 and 0 or itself wraps.
__aicore__ inline int32_t GreatestDivisor(int32_t left, int32_t right)
{
    uint32_t larger = left < 0 ? 0u - static_cast<uint32_t>(left) : static_cast<uint32_t>(left);
    uint32_t smaller = right < 0 ? 0u - static_cast<uint32_t>(right) : static_cast<uint32_t>(right);
    while (smaller != 0) {
        const uint32_t rest = larger % smaller;
        larger = smaller;
        smaller = rest;
    }
    return static_cast<int32_t>(larger);
}

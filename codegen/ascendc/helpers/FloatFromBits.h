// An infinity or NaN by its bits.
__aicore__ inline float FloatFromBits(uint32_t bits)
{
    return *reinterpret_cast<float*>(&bits);
}

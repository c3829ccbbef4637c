// The remainder that goes with FloorDivide: between 0 and divisor - 1.
__aicore__ inline int64_t FloorModulo(int64_t number, int64_t divisor)
{
    const int64_t remainder = number % divisor;
    return remainder < 0 ? remainder + divisor : remainder;
}

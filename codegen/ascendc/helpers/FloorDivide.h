// Rounds down, also for negative numerators; `divisor` is positive.
__aicore__ inline int64_t FloorDivide(int64_t number, int64_t divisor)
{
    return number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor);
}

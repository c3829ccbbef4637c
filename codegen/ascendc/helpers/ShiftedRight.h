// Only signs where `places` is negative or not below the width.
__aicore__ inline int32_t ShiftedRight(int32_t number, int32_t places)
{
    return number >> (places < 0 || places > 31 ? 31 : places);
}

// 0 where `places` is negative or not below the width.
__aicore__ inline int32_t ShiftedLeft(int32_t number, int32_t places)
{
    return places < 0 || places > 31 ? 0 : static_cast<int32_t>(static_cast<uint32_t>(number) << places);
}

// The element of an axis that an index means, or -1 for none; an index below 0 counts from the end when it wraps.
__aicore__ inline int64_t ElementOf(int64_t index, int64_t extent, bool wraps)
{
    const int64_t element = wraps && index < 0 ? index + extent : index;
    return element < 0 || element >= extent ? -1 : element;
}

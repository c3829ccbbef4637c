// Repeats one number per row, side by side in `source`, over `columns` elements of each row; rows of `result` are `pitch`
// apart. Brcb puts each number into a block of its own in `workspace`; OR-ing a block with itself copies its bits.
template <typename T>
__aicore__ inline void RowBroadcast(const AscendC::LocalTensor<T>& result, const AscendC::LocalTensor<T>& source,
    const AscendC::LocalTensor<T>& workspace, int64_t rows, int64_t columns, int64_t pitch)
{
    constexpr int64_t MOST_REPEATS = 255;
    constexpr int64_t LANES = 128;                       // 16-bit words in a repeat
    constexpr int64_t WORDS = 16;                        // 16-bit words in a block
    constexpr int64_t SPREAD = 8;                        // numbers that one repeat of Brcb spreads
    constexpr int64_t BLOCK = 32 / sizeof(T);
    const int64_t groups = (rows + SPREAD - 1) / SPREAD;
    for (int64_t group = 0; group < groups; group += MOST_REPEATS) {
        const int64_t count = Minimum(MOST_REPEATS, groups - group);
        AscendC::Brcb(workspace[group * SPREAD * BLOCK], source[group * SPREAD], static_cast<uint8_t>(count), {1, 8});
    }
    AscendC::PipeBarrier<PIPE_V>();
    const int64_t width = columns * static_cast<int64_t>(sizeof(T)) / 2;
    const int64_t step = pitch * static_cast<int64_t>(sizeof(T)) / 2;
    auto to = result.template ReinterpretCast<uint16_t>();
    auto from = workspace.template ReinterpretCast<uint16_t>();
    if (step / WORDS <= MOST_REPEATS && width <= rows * LANES) {
        for (int64_t column = 0; column < width; column += LANES) {
            const uint64_t mask = static_cast<uint64_t>(Minimum(LANES, width - column));
            for (int64_t row = 0; row < rows; row += MOST_REPEATS) {
                const uint8_t count = static_cast<uint8_t>(Minimum(MOST_REPEATS, rows - row));
                AscendC::Or(to[row * step + column], from[row * WORDS], from[row * WORDS], mask, count,
                    {1, 0, 0, static_cast<uint8_t>(step / WORDS), 1, 1});
            }
        }
        return;
    }
    const int64_t whole = width / LANES;
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t repeat = 0; repeat < whole; repeat += MOST_REPEATS) {
            const uint8_t count = static_cast<uint8_t>(Minimum(MOST_REPEATS, whole - repeat));
            AscendC::Or(to[row * step + repeat * LANES], from[row * WORDS], from[row * WORDS],
                static_cast<uint64_t>(LANES), count, {1, 0, 0, 8, 0, 0});
        }
        if (width > whole * LANES) {
            AscendC::Or(to[row * step + whole * LANES], from[row * WORDS], from[row * WORDS],
                static_cast<uint64_t>(width - whole * LANES), 1, {1, 0, 0, 8, 0, 0});
        }
    }
}

// C = A times B for any sizes: tiles of 128 times 128 with 64 columns of A at a time; blocks share the tiles of C.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t TILE = 128;
constexpr uint32_t DEPTH = 64;

__aicore__ inline uint32_t up(uint32_t number, uint32_t to) { return (number + to - 1) / to * to; }

// B is given transposed (n rows of k elements), so that neither matrix turns on its way. `sizes` holds m, n, k.
template <typename T, typename S>
class Product {
public:
    __aicore__ inline Product(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t m, uint32_t n, uint32_t k) : m_(m), n_(n), k_(k)
    {
        a_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(a), static_cast<uint64_t>(m) * k);
        b_.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(b), static_cast<uint64_t>(n) * k);
        c_.SetGlobalBuffer(reinterpret_cast<__gm__ S*>(c), static_cast<uint64_t>(m) * n);
    }

    __aicore__ inline void run()
    {
        const uint32_t columns = (n_ + TILE - 1) / TILE;
        const uint32_t tiles = (m_ + TILE - 1) / TILE * columns;
        SetFlag<HardEvent::MTE1_MTE2>(0);
        SetFlag<HardEvent::M_MTE1>(0);
        SetFlag<HardEvent::FIX_M>(0);
        for (uint32_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {
            compute(tile / columns * TILE, tile % columns * TILE);
        }
        WaitFlag<HardEvent::MTE1_MTE2>(0);
        WaitFlag<HardEvent::M_MTE1>(0);
        WaitFlag<HardEvent::FIX_M>(0);
    }

private:
    static constexpr uint32_t LENGTH = 32 / sizeof(T);
    uint32_t m_, n_, k_;
    GlobalTensor<T> a_, b_;
    GlobalTensor<S> c_;
    LocalTensor<T> a1_{TPosition::A1, 0, TILE * DEPTH}, b1_{TPosition::B1, 65536, TILE * DEPTH};
    LocalTensor<T> a2_{TPosition::A2, 0, TILE * DEPTH}, b2_{TPosition::B2, 0, TILE * DEPTH};
    LocalTensor<S> l0c_{TPosition::CO1, 0, TILE * TILE};

    __aicore__ inline void compute(uint32_t row, uint32_t column)
    {
        const uint32_t rows = m_ - row < TILE ? m_ - row : TILE;
        const uint32_t columns = n_ - column < TILE ? n_ - column : TILE;
        WaitFlag<HardEvent::FIX_M>(0);
        for (uint32_t k = 0; k < k_; k += DEPTH) {
            const uint32_t depth = k_ - k < DEPTH ? k_ - k : DEPTH;
            fetch(row, column, rows, columns, k, depth);
            multiply(rows, columns, depth, k == 0);
        }
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        Fixpipe(c_[static_cast<uint64_t>(row) * n_ + column], l0c_, FixpipeParamsV220(columns, rows, up(rows, 16), n_, false));
        SetFlag<HardEvent::FIX_M>(0);
    }

    __aicore__ inline void fetch(uint32_t row, uint32_t column, uint32_t rows, uint32_t columns, uint32_t k, uint32_t depth)
    {
        WaitFlag<HardEvent::MTE1_MTE2>(0);
        DataCopy(a1_, a_[static_cast<uint64_t>(row) * k_ + k], Nd2NzParams(1, rows, depth, 0, k_, up(rows, 16), 1, 0));
        DataCopy(b1_, b_[static_cast<uint64_t>(column) * k_ + k], Nd2NzParams(1, columns, depth, 0, k_, up(columns, 16), 1, 0));
        SetFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::M_MTE1>(0);
        const uint32_t fractals = (depth + LENGTH - 1) / LENGTH;
        for (uint32_t i = 0; i < up(rows, 16) / 16; ++i) {
            LoadData(a2_[i * fractals * 16 * LENGTH], a1_[i * 16 * LENGTH], LoadData2DParams(0, fractals, up(rows, 16) / 16, 0, 0, false, 0));
        }
        LoadData(b2_, b1_, LoadData2DParams(0, fractals * up(columns, 16) / 16, 1, 0, 0, false, 0));
        SetFlag<HardEvent::MTE1_MTE2>(0);
        SetFlag<HardEvent::MTE1_M>(0);
    }

    __aicore__ inline void multiply(uint32_t rows, uint32_t columns, uint32_t depth, bool first)
    {
        WaitFlag<HardEvent::MTE1_M>(0);
        // A single row would be taken for a row without fractals.
        Mmad(l0c_, a2_, b2_, MmadParams(rows == 1 ? 16 : rows, columns, depth, 0, false, first));
        PipeBarrier<PIPE_M>();
        SetFlag<HardEvent::M_MTE1>(0);
    }
};

}  // namespace

extern "C" __global__ __cube__ void product_f16(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t m, uint32_t n, uint32_t k)
{
    Product<half, float>(a, b, c, m, n, k).run();
}

extern "C" __global__ __cube__ void product_bf16(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t m, uint32_t n, uint32_t k)
{
    Product<bfloat16_t, float>(a, b, c, m, n, k).run();
}

extern "C" __global__ __cube__ void product_f32(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t m, uint32_t n, uint32_t k)
{
    Product<float, float>(a, b, c, m, n, k).run();
}

extern "C" __global__ __cube__ void product_s8(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t m, uint32_t n, uint32_t k)
{
    Product<int8_t, int32_t>(a, b, c, m, n, k).run();
}

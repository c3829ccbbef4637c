// A convolution as a product: LoadData unfolds the image, 32 channels in two blocks of 16, on its way to L0A.
#include "kernel_operator.h"

using namespace AscendC;

struct Shape {
    uint32_t height, width, filter_h, filter_w, stride_h, stride_w, dilation_h, dilation_w, rows, pad_value;
    uint8_t pads[4];
};

__global__ __cube__ void convolve(GM_ADDR x, GM_ADDR weights, GM_ADDR z, Shape shape)
{
    constexpr uint32_t N = 32, CHANNELS = 32;
    const uint32_t depth = CHANNELS * shape.filter_h * shape.filter_w, up = (shape.rows + 15) / 16 * 16;
    const uint32_t pixels = shape.height * shape.width * CHANNELS;
    GlobalTensor<half> image, filter;
    GlobalTensor<float> result;
    image.SetGlobalBuffer((__gm__ half*)x, pixels);
    filter.SetGlobalBuffer((__gm__ half*)weights, N * depth);
    result.SetGlobalBuffer((__gm__ float*)z, shape.rows * N);
    LocalTensor<half> a1(TPosition::A1, 0, pixels), b1(TPosition::B1, 131072, N * depth), a2(TPosition::A2, 0, up * depth),
        b2(TPosition::B2, 0, N * depth);
    LocalTensor<float> c(TPosition::CO1, 0, up * N);
    DataCopy(a1, image, pixels);
    DataCopy(b1, filter, Nd2NzParams(1, N, depth, 0, depth, N, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData(a2, a1, LoadData3DParamsV2<half>(shape.pads, shape.height, shape.width, CHANNELS, depth, up, 0, 0, shape.stride_w, shape.stride_h,
        shape.filter_w, shape.filter_h, shape.dilation_w, shape.dilation_h, false, false, half(float(shape.pad_value))));
    LoadData(b2, b1, LoadData2DParams(0, depth / 16 * N / 16, 1, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    Mmad(c, a2, b2, MmadParams(shape.rows == 1 ? 16 : shape.rows, N, depth, 0, false, true));
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe(result, c, FixpipeParamsV220(N, shape.rows, up, N, false));
}

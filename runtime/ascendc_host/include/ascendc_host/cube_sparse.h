// Products with a right matrix of which two in four are zero: it comes without them, with indices of two bits for each number.
#pragma once

#include "cube_load.h"
#include "cube_mmad.h"

namespace ascendc_host {

constexpr int64_t INDEX_FRACTAL = 128;  // bytes of indices for a fractal of 512 bytes in L0B

// The memory beside L0B that holds the indices.
inline std::vector<uint8_t>& sparse_indices()
{
    static thread_local std::vector<uint8_t> indices(space_bytes(Space::L0B) / 4);
    return indices;
}

inline void load_sparse(Location at, const AscendC::LocalTensor<int8_t>& dst, const AscendC::LocalTensor<int8_t>& src,
                        const AscendC::LocalTensor<uint8_t>& indices, const AscendC::LoadData2DParams& params)
{
    CubeCall call("LoadDataWithSparse", at);
    if (!call.starts()) {
        return;
    }
    call.place(dst, {Space::L0B}, 512, "the result");
    call.place(src, {Space::L1}, 32, "the source");
    call.place(indices, {Space::L1}, 32, "the indices");
    call.limit(params.startIndex, 0, 65535, "startIndex");
    call.limit(params.repeatTimes, 0, 255, "repeatTimes");
    if (!call.legal() || params.repeatTimes == 0) {
        return;
    }
    const int64_t count = params.repeatTimes;
    const int64_t from = src.address + params.startIndex * FRACTAL_BYTES;
    const int64_t index_from = indices.address + params.startIndex * INDEX_FRACTAL;
    const int64_t to = dst.address;
    call.within(dst, to + count * FRACTAL_BYTES, "the result");
    call.within(src, from + count * FRACTAL_BYTES, "the source");
    call.within(indices, index_from + count * INDEX_FRACTAL, "the indices");
    if (!call.legal()) {
        return;
    }
    const auto span = [](int64_t start, int64_t bytes) { return Ranges{{static_cast<uint64_t>(start), static_cast<uint64_t>(start + bytes)}}; };
    call.issue(PIPE_MTE1,
               {access_of(dst, span(to, count * FRACTAL_BYTES), true), access_of(src, span(from, count * FRACTAL_BYTES), false),
                access_of(indices, span(index_from, count * INDEX_FRACTAL), false)},
               [=] {
                   move_bytes(bytes_at(Space::L0B, to), bytes_at(Space::L1, from), count * FRACTAL_BYTES);
                   std::memcpy(sparse_indices().data() + to / 4, bytes_at(Space::L1, index_from).data, static_cast<size_t>(count * INDEX_FRACTAL));
               });
}

// Which column of A the number at `place` (of 32) in a fractal's column takes: the first of a pair among the first three
// of four, the second among the last three.
inline int64_t sparse_column(int64_t b, int64_t fractal, int64_t column, int64_t place)
{
    const uint8_t byte = sparse_indices()[static_cast<size_t>(b / 4 + fractal * INDEX_FRACTAL + column * 8 + place / 4)];
    return place / 2 * 4 + (byte >> place % 4 * 2 & 3) + place % 2;
}

inline void multiply_sparse(const Product<int8_t>& whole, Start start)
{
    Product<int8_t> packed = whole;
    packed.k = whole.k / 2;
    StartRow<int32_t> first;
    std::vector<int32_t> results(static_cast<size_t>(whole.m * whole.n));
    std::vector<uint8_t> valid(results.size(), 1);
    for (int64_t row = 0; row < whole.m; ++row) {
        first.read(whole, start, 0, row);
        for (int64_t column = 0; column < whole.n; ++column) {
            const size_t at = static_cast<size_t>(row * whole.n + column);
            results[at] = first.values[column];
            valid[at] = first.valid[column];
            for (int64_t k = 0; k < packed.k; ++k) {
                const int64_t fractal = k / 32 * packed.columns_of_fractals() + column / 16;
                const int64_t chosen = k / 32 * 64 + sparse_column(whole.b, fractal, column % 16, k % 32);
                const Bytes a = bytes_at(Space::L0A, whole.a_row(row, chosen / 32) + chosen % 32);
                const Bytes b = bytes_at(Space::L0B, packed.b_column(column, k / 32) + k % 32);
                accumulate(results[at], static_cast<int8_t>(*a.data), static_cast<int8_t>(*b.data));
                valid[at] &= all_set(a.shadow, 1) && all_set(b.shadow, 1);
            }
        }
    }
    fill_bytes(bytes_at(Space::L0C, whole.c), whole.c_bytes(), false);
    for (int64_t row = 0; row < whole.m; ++row) {
        for (int64_t column = 0; column < whole.n; ++column) {
            const Bytes to = bytes_at(Space::L0C, whole.c_element(row, column));
            std::memcpy(to.data, &results[static_cast<size_t>(row * whole.n + column)], 4);
            std::memset(to.shadow, valid[static_cast<size_t>(row * whole.n + column)] != 0 ? 0xff : 0, 4);
        }
    }
}

inline void multiply_sparse_call(Location at, const AscendC::LocalTensor<int32_t>& dst, const AscendC::LocalTensor<int8_t>& left,
                                 const AscendC::LocalTensor<int8_t>& right, const AscendC::MmadParams& params)
{
    CubeCall call("MmadWithSparse", at);
    if (!call.starts()) {
        return;
    }
    call.place(dst, {Space::L0C}, 1024, "the result");
    call.place(left, {Space::L0A}, 512, "the left matrix");
    call.place(right, {Space::L0B}, 512, "the right matrix");
    call.limit(params.m, 0, 4095, "m");
    call.limit(params.n, 0, 4095, "n");
    call.limit(params.k, 0, 4095, "k");
    if (!call.legal() || params.m == 0 || params.n == 0 || params.k == 0) {
        return;
    }
    const Product<int8_t> product{params.m, params.n, params.k, left.address, right.address, dst.address, params.m == 1, false};
    const int64_t right_end = product.b + product.columns_of_fractals() * ceiling(product.k / 2, 32) * FRACTAL_BYTES;
    call.within(dst, product.c + product.c_bytes(), "the result");
    call.within(left, product.a + product.a_bytes(), "the left matrix");
    call.within(right, right_end, "the right matrix");
    if (!call.legal()) {
        return;
    }
    const Start start = params.cmatrixInitVal ? Start::ZERO : (params.cmatrixSource ? Start::BIAS : Start::RESULT);
    const auto span = [](int64_t from, int64_t to) { return Ranges{{static_cast<uint64_t>(from), static_cast<uint64_t>(to)}}; };
    call.issue(PIPE_M,
               {access_of(dst, span(product.c, product.c + product.c_bytes()), true), access_of(left, span(product.a, product.a + product.a_bytes()), false),
                access_of(right, span(product.b, right_end), false)},
               [=] { multiply_sparse(product, start); });
}

}  // namespace ascendc_host

namespace AscendC {

inline void LoadDataWithSparse(const LocalTensor<int8_t>& dst, const LocalTensor<int8_t>& src, const LocalTensor<uint8_t>& indices,
                               const LoadData2dParams& params, Location at = Location::here())
{
    ascendc_host::load_sparse(at, dst, src, indices, params);
}
inline void MmadWithSparse(const LocalTensor<int32_t>& dst, const LocalTensor<int8_t>& left, const LocalTensor<int8_t>& right, const MmadParams& params,
                           Location at = Location::here())
{
    ascendc_host::multiply_sparse_call(at, dst, left, right, params);
}

}  // namespace AscendC

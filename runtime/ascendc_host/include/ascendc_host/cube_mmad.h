// The matrix product of fractals in L0A and L0B into L0C: Mmad.
#pragma once

#include "cube_unit_flag.h"

namespace ascendc_host {

// Products and sums of f32 round each, in the order of k (assumed); sums of whole numbers wrap.
template <typename U>
using SumOf = std::conditional_t<std::is_integral_v<U> || std::is_same_v<U, AscendC::int4b_t>, int32_t, float>;

inline void accumulate(float& sum, float factor, float other) { sum += factor * other; }
inline void accumulate(int32_t& sum, int32_t factor, int32_t other)
{
    sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(factor * other));
}

// Sizes of a product, and where each element lies.
template <typename U>
struct Product {
    int64_t m = 0;
    int64_t n = 0;
    int64_t k = 0;
    int64_t a = 0;
    int64_t b = 0;
    int64_t c = 0;
    bool vector_mode = false;  // m = 1: A is a row without fractals
    bool wide_k = false;       // 32-bit A has its columns in pairs of fractals
    static constexpr int64_t LENGTH = row_elements<U>();

    int64_t rows_of_fractals() const { return ceiling(m, 16); }
    int64_t columns_of_fractals() const { return ceiling(n, 16); }
    int64_t depth_of_fractals() const { return wide_k ? ceiling(k, 16) * (16 / LENGTH) : ceiling(k, LENGTH); }
    int64_t a_bytes() const { return vector_mode ? ceiling(k, LENGTH) * 32 : rows_of_fractals() * depth_of_fractals() * FRACTAL_BYTES; }
    int64_t b_bytes() const { return columns_of_fractals() * ceiling(k, LENGTH) * FRACTAL_BYTES; }
    int64_t c_bytes() const { return rows_of_fractals() * columns_of_fractals() * UNIT_BYTES; }

    // Byte of the row of 32 bytes that holds elements [block * LENGTH, ...) of a row of A, or of a column of B.
    int64_t a_row(int64_t row, int64_t block) const
    {
        return a + (vector_mode ? block * 32 : (row / 16 * depth_of_fractals() + block) * FRACTAL_BYTES + row % 16 * 32);
    }
    int64_t b_column(int64_t column, int64_t block) const
    {
        return b + (block * columns_of_fractals() + column / 16) * FRACTAL_BYTES + column % 16 * 32;
    }
    int64_t c_element(int64_t row, int64_t column) const
    {
        return c + (column / 16 * rows_of_fractals() + row / 16) * UNIT_BYTES + (row % 16 * 16 + column % 16) * 4;
    }
};

template <typename U>
void read_row(const uint8_t* data, int64_t count, SumOf<U>* values)
{
    for (int64_t k = 0; k < count; ++k) {
        if constexpr (std::is_same_v<U, AscendC::int4b_t>) {
            values[k] = static_cast<int8_t>(static_cast<uint8_t>(data[k / 2] << (k % 2 == 0 ? 4 : 0))) >> 4;
        } else {
            U value;
            std::memcpy(&value, data + k * sizeof(U), sizeof(U));
            values[k] = static_cast<SumOf<U>>(value);
        }
    }
}

inline int64_t bytes_in_row(int64_t count, uint32_t bits) { return (count * bits + 7) / 8; }

// Operands in plain order: rows of A, and B with its columns side by side; with what has a value.
template <typename U>
struct Operands {
    std::vector<SumOf<U>> a, b;
    std::vector<uint8_t> a_valid, b_valid;

    explicit Operands(const Product<U>& product)
        : a(product.m * product.k), b(product.k * product.n), a_valid(product.m, 1), b_valid(product.n, 1)
    {
        constexpr uint32_t bits = 256 / Product<U>::LENGTH;
        std::vector<SumOf<U>> line(Product<U>::LENGTH);
        for (int64_t start = 0, block = 0; start < product.k; start += Product<U>::LENGTH, ++block) {
            const int64_t count = std::min(Product<U>::LENGTH, product.k - start);
            for (int64_t row = 0; row < product.m; ++row) {
                const Bytes from = bytes_at(Space::L0A, product.a_row(row, block));
                read_row<U>(from.data, count, a.data() + row * product.k + start);
                a_valid[row] &= all_set(from.shadow, bytes_in_row(count, bits));
            }
            for (int64_t column = 0; column < product.n; ++column) {
                const Bytes from = bytes_at(Space::L0B, product.b_column(column, block));
                read_row<U>(from.data, count, line.data());
                b_valid[column] &= all_set(from.shadow, bytes_in_row(count, bits));
                for (int64_t k = 0; k < count; ++k) {
                    b[(start + k) * product.n + column] = line[k];
                }
            }
        }
    }
};

// What C starts with: zeros, what is there, or the bias of each column.
enum class Start : uint8_t { ZERO, RESULT, BIAS };

template <typename T>
struct StartRow {
    std::vector<T> values;
    std::vector<uint8_t> valid;

    template <typename U>
    void read(const Product<U>& product, Start start, int64_t bias, int64_t row)
    {
        values.assign(product.n, T(0));
        valid.assign(product.n, 1);
        if (start == Start::ZERO) {
            return;
        }
        for (int64_t column = 0; column < product.n; ++column) {
            const Bytes from = start == Start::BIAS ? bytes_at(Space::BT, bias + column * 4) : bytes_at(Space::L0C, product.c_element(row, column));
            std::memcpy(&values[column], from.data, 4);
            valid[column] = all_set(from.shadow, 4);
        }
    }
};

// Lanes of the fractals beyond the matrix hold nothing afterwards.
template <typename T, typename U>
void multiply(const Product<U>& product, Start start, int64_t bias)
{
    const Operands<U> operands(product);
    std::vector<SumOf<U>> sums(product.n);
    StartRow<T> first;
    std::vector<T> results(product.m * product.n);
    std::vector<uint8_t> valid(product.m * product.n);
    for (int64_t row = 0; row < product.m; ++row) {
        first.read(product, start, bias, row);
        std::copy(first.values.begin(), first.values.end(), sums.begin());
        for (int64_t k = 0; k < product.k; ++k) {
            const SumOf<U> factor = operands.a[row * product.k + k];
            const SumOf<U>* line = operands.b.data() + k * product.n;
            for (int64_t column = 0; column < product.n; ++column) {
                accumulate(sums[column], factor, line[column]);
            }
        }
        for (int64_t column = 0; column < product.n; ++column) {
            results[row * product.n + column] = sums[column];
            valid[row * product.n + column] = operands.a_valid[row] & operands.b_valid[column] & first.valid[column];
        }
    }
    fill_bytes(bytes_at(Space::L0C, product.c), product.c_bytes(), false);
    for (int64_t row = 0; row < product.m; ++row) {
        for (int64_t column = 0; column < product.n; ++column) {
            const Bytes to = bytes_at(Space::L0C, product.c_element(row, column));
            std::memcpy(to.data, &results[row * product.n + column], 4);
            std::memset(to.shadow, valid[row * product.n + column] != 0 ? 0xff : 0, 4);
        }
    }
}

template <typename T, typename U, typename S>
void check_product_dtypes(CubeCall& call)
{
    const bool floats = std::is_same_v<T, float> && (std::is_same_v<U, half> || std::is_same_v<U, bfloat16_t> || std::is_same_v<U, float>);
    const bool whole = std::is_same_v<T, int32_t> && (std::is_same_v<U, int8_t> || std::is_same_v<U, AscendC::int4b_t>);
    if (!std::is_same_v<U, S> || !(floats || whole)) {
        call.fail("dtype", format("no instruction multiplies %s by %s into %s on this chip", dtype_name(dtype_of<U>()), dtype_name(dtype_of<S>()),
                                  dtype_name(dtype_of<T>())));
    }
}

template <typename T, typename U>
void issue_product(CubeCall& call, const Product<U>& product, Start start, const LocalView& dst, const LocalView& left, const LocalView& right,
                   const LocalView* bias, int64_t unit_flag)
{
    call.within(dst, product.c + product.c_bytes(), "the result");
    call.within(left, product.a + product.a_bytes(), "the left matrix");
    call.within(right, product.b + product.b_bytes(), "the right matrix");
    if (!call.legal()) {
        return;
    }
    const int64_t bias_start = bias == nullptr ? 0 : bias->address;
    Ranges result{{static_cast<uint64_t>(product.c), static_cast<uint64_t>(product.c + product.c_bytes())}};
    Accesses accesses{access_of(dst, result, true),
                      access_of(left, {{static_cast<uint64_t>(product.a), static_cast<uint64_t>(product.a + product.a_bytes())}}, false),
                      access_of(right, {{static_cast<uint64_t>(product.b), static_cast<uint64_t>(product.b + product.b_bytes())}}, false)};
    if (start == Start::BIAS) {
        LocalView table;
        table.space = Space::BT;
        accesses.push_back(access_of(table, {{static_cast<uint64_t>(bias_start), static_cast<uint64_t>(bias_start + product.n * 4)}}, false));
    }
    enter_product(result, unit_flag, call.at());
    call.issue(PIPE_M, std::move(accesses), [=] { multiply<T, U>(product, start, bias_start); });
    leave_product(result, unit_flag, call.at());
    // The hardware keeps large products in order by itself.
    if (product.rows_of_fractals() * product.columns_of_fractals() >= 10) {
        core().barrier(PIPE_M, call.at());
    }
}

template <typename T, typename U, typename S>
void multiply_call(Location at, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& left, const AscendC::LocalTensor<S>& right,
                   const LocalView* bias, const AscendC::MmadParams& params)
{
    CubeCall call("Mmad", at);
    if (!call.starts()) {
        return;
    }
    check_product_dtypes<T, U, S>(call);
    call.place(dst, {Space::L0C}, 1024, "the result");
    call.place(left, {Space::L0A}, 512, "the left matrix");
    call.place(right, {Space::L0B}, 512, "the right matrix");
    call.limit(params.m, 0, 4095, "m");
    call.limit(params.n, 0, 4095, "n");
    call.limit(params.k, 0, 4095, "k");
    check_unit_flag(call, params.unitFlag);
    if (bias != nullptr) {
        call.place(*bias, {Space::BT}, 64, "the bias");
    }
    if constexpr (std::is_same_v<U, S> && (std::is_same_v<T, float> || std::is_same_v<T, int32_t>)) {
        if (call.legal() && params.m != 0 && params.n != 0 && params.k != 0) {
            Product<U> product{params.m, params.n, params.k, left.address, right.address, dst.address, params.m == 1,
                               std::is_same_v<U, float> && params.kDirectionAlign};
            Start start = params.isBias ? Start::RESULT : Start::ZERO;
            if (bias != nullptr || (!params.cmatrixInitVal && params.cmatrixSource)) {
                start = Start::BIAS;
            } else if (!params.cmatrixInitVal) {
                start = Start::RESULT;
            }
            issue_product<T>(call, product, start, dst, left, right, bias, params.unitFlag);
        }
    }
}

}  // namespace ascendc_host

namespace AscendC {

template <typename T, typename U, typename S>
void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& left, const LocalTensor<S>& right, const MmadParams& params, Location at = Location::here())
{
    ascendc_host::multiply_call(at, dst, left, right, nullptr, params);
}
template <typename T, typename U, typename S, typename V>
void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& left, const LocalTensor<S>& right, const LocalTensor<V>& bias, const MmadParams& params,
          Location at = Location::here())
{
    if (!std::is_same_v<V, T>) {
        ascendc_host::CubeCall("Mmad", at).fail("dtype", ascendc_host::format("a bias of %s for a result of %s", ascendc_host::dtype_name(ascendc_host::dtype_of<V>()),
                                                                              ascendc_host::dtype_name(ascendc_host::dtype_of<T>())));
        return;
    }
    const ascendc_host::LocalView view = bias;
    ascendc_host::multiply_call(at, dst, left, right, &view, params);
}

inline void SetMMColumnMajor() {}
inline void SetMMRowMajor() {}
inline void SetHF32Mode(HF32Mode mode, Location at = Location::here())
{
    if (mode == HF32Mode::ENABLE) {
        ascendc_host::core().report("not-modelled", at, "products of f32 with shortened fractions are not modelled: results are more exact here");
    }
}
inline void SetHF32TransMode(HF32TransMode) {}

}  // namespace AscendC

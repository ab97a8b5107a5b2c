// ggml's matrix products for every storage type, and its copies of rows. Names are FILE/KERNEL, FILE being a
// source of the package.
#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "metal_conformance/ggml_kernels.h"
#include "metal_conformance/tables.h"

namespace ingot::metal::conformance {
namespace {

using enum Type;

constexpr double kProductTolerance = 1e-5;
// mul_mm multiplies halves.
constexpr double kHalfTolerance = 3e-3;

struct MatrixRow {
    const char* type;
    int rows_a_simdgroup, simdgroups;  // of the vector kernel
    uint32_t vector_memory;
    int split_rows = 0;  // rows a simdgroup takes when a row has fewer than 32 groups of 32
};

constexpr MatrixRow kMatrixRows[] = {
    {"f32", 2, 4, 256},    {"f16", 2, 4, 256},         {"bf16", 2, 4, 256},        {"q1_0", 8, 2, 0},
    {"q2_0", 8, 2, 0},     {"q4_0", 4, 2, 0},          {"q4_1", 4, 2, 0},          {"q5_0", 4, 2, 0},
    {"q5_1", 4, 2, 0},     {"q8_0", 2, 4, 256},        {"mxfp4", 2, 2, 128},       {"q2_K", 4, 2, 0},
    {"q3_K", 2, 2, 0},     {"q4_K", 2, 2, 0},          {"q5_K", 1, 2, 0},          {"q6_K", 2, 2, 0},
    {"iq1_s", 4, 2, 0, 8}, {"iq1_m", 4, 2, 0, 8},      {"iq2_xxs", 4, 2, 2176, 8}, {"iq2_xs", 4, 2, 4224, 8},
    {"iq2_s", 4, 2, 0, 8}, {"iq3_xxs", 4, 2, 1152, 8}, {"iq3_s", 4, 2, 2048, 8},   {"iq4_nl", 2, 2, 128},
    {"iq4_xs", 2, 2, 128}, {"tq2_0", 4, 2, 0},
};

bool is_plain(const std::string& type) {
    return ggml_block_size(type) == 1;
}

// The fields that the argument structs of both kinds of products share.
std::vector<std::pair<std::string, double>> product_arguments(const QuantRows& w, const ProductSize& size) {
    const double row = double(w.row_bytes), all = row * size.m, x_row = 4.0 * size.k, x_all = x_row * size.n;
    return {{"ne00", size.k}, {"ne02", 1},     {"nb01", row},   {"nb02", all},   {"nb03", all},
            {"ne12", 1},      {"nb10", 4},     {"nb11", x_row}, {"nb12", x_all}, {"nb13", x_all},
            {"ne0", size.m},  {"ne1", size.n}, {"r2", 1},       {"r3", 1}};
}

const MatrixRow& matrix_row(const std::string& type) {
    const auto found = std::ranges::find(kMatrixRows, type, &MatrixRow::type);
    EXPECT_NE(std::end(kMatrixRows), found) << type;
    return *found;
}

}  // namespace

std::string vector_product_kernel(const std::string& type) {
    return "mul_mv/kernel_mul_mv_" + type + "_f32" + (is_plain(type) ? "_4" : "");
}

std::string matrix_product_kernel(const std::string& type) {
    return "mul_mm/kernel_mul_mm_" + type + "_f32";
}

std::vector<double> product_reference(const QuantRows& w, const Array& x, const ProductSize& size) {
    const auto [m, n, k] = size;
    std::vector<double> out(size_t(n) * m);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j) {
            for (int p = 0; p < k; ++p)
                out[size_t(i) * m + j] += x.get(size_t(i) * k + p) * w.values[size_t(j) * k + p];
        }
    }
    return out;
}

Array run_vector_product(Session& session, QuantRows& w, Array& x, const ProductSize& size) {
    const MatrixRow& row = matrix_row(w.type);
    const bool plain = is_plain(w.type), split = row.split_rows != 0 && size.k < 1024;
    const int rows = split ? row.split_rows : row.rows_a_simdgroup;
    auto fields = product_arguments(w, size);
    for (const auto& [name, value] : {std::pair("ne01", double(size.m)),
                                      {"nb00", ggml_block_bytes(w.type)},
                                      {"ne11", size.n},
                                      {"nr0", rows}})
        fields.emplace_back(name, value);
    // f32, f16, bf16 and q8_0 share rows between their simdgroups; the others have rows each.
    const bool shared = plain || w.type == "q8_0";
    const int rows_a_group = rows * (shared ? 1 : row.simdgroups);
    Array y(kF32, size_t(size.n) * size.m);
    session
        .kernel(vector_product_kernel(w.type), {{600, int64_t(row.simdgroups)},
                                                {601, int64_t{4}},
                                                {602, int64_t{1}},
                                                {603, int64_t{1}},
                                                {604, int64_t{1}},
                                                {605, split}})
        .add(ggml_arguments("mul_mv", fields))
        .add(w.blocks)
        .add(x)
        .add(y)
        .threadgroup(0, row.vector_memory + 16)
        .groups({uint32_t((size.m + rows_a_group - 1) / rows_a_group), uint32_t(size.n), 1},
                {32, uint32_t(row.simdgroups), 1});
    return y;
}

Array run_matrix_product(Session& session, QuantRows& w, Array& x, const ProductSize& size) {
    Array y(kF32, size_t(size.n) * size.m);
    // Sizes that are no multiple of a tile take the form that checks its bounds.
    session
        .kernel(matrix_product_kernel(w.type), {{700, false},
                                                {701, size.m % 64 != 0 || size.n % 32 != 0},
                                                {702, int64_t{1}},
                                                {703, int64_t{1}},
                                                {704, int64_t{1}},
                                                {705, int64_t{1}},
                                                {706, false}})
        .add(ggml_arguments("mul_mm", product_arguments(w, size)))
        .add(w.blocks)
        .add(x)
        .add(y)
        .threadgroup(0, 8192)
        .groups({uint32_t((size.n + 31) / 32), uint32_t((size.m + 63) / 64), 1}, {128, 1, 1});
    return y;
}

namespace {

void add_vector_product(Cases& cases, const MatrixRow& row, int k) {
    cases.push_back({"mul_mv", vector_product_kernel(row.type), std::to_string(k), [=](Session& session) {
                         constexpr int m = 66, n = 2;
                         QuantRows w(row.type, m, k, 1);
                         Array x = random_array(kF32, n * k, 2);
                         session.near(run_vector_product(session, w, x, {m, n, k}),
                                      product_reference(w, x, {m, n, k}), kProductTolerance);
                     }});
}

void add_matrix_product(Cases& cases, const MatrixRow& row) {
    cases.push_back({"mul_mm", matrix_product_kernel(row.type), "", [=](Session& session) {
                         constexpr int m = 70, n = 33, k = 256;
                         QuantRows w(row.type, m, k, 3);
                         Array x = random_array(kF32, n * k, 4);
                         session.near(run_matrix_product(session, w, x, {m, n, k}),
                                      product_reference(w, x, {m, n, k}), kHalfTolerance);
                     }});
}

void add_get_rows(Cases& cases, const std::string& type) {
    const std::string name = "quantize/kernel_get_rows_" + type;
    cases.push_back({"get_rows", name, "", [=](Session& session) {
                         const int rows = 9, columns = 512, picks = 5;
                         QuantRows w(type, rows, columns, 5);
                         Array ids = array_of(kI32, std::vector<int>{8, 0, 3, 3, 7}),
                               y(kF32, picks * columns);
                         std::vector<double> expected(y.size());
                         for (int i = 0; i < picks * columns; ++i) {
                             expected[i] = w.values[size_t(ids.get(i / columns)) * columns + i % columns];
                         }
                         // A thread takes one element of a plain type, 16 of a quantized one.
                         const int units = is_plain(type) ? columns : columns / 16;
                         const double nb1 = double(w.row_bytes);
                         session.kernel(name)
                             .add(ggml_arguments("get_rows", {{"ne00t", units},
                                                              {"ne00", columns},
                                                              {"nb01", nb1},
                                                              {"nb02", nb1 * rows},
                                                              {"nb03", nb1 * rows},
                                                              {"ne10", picks},
                                                              {"nb10", 4},
                                                              {"nb11", 4 * picks},
                                                              {"nb12", 4 * picks},
                                                              {"nb1", 4 * columns},
                                                              {"nb2", 4 * columns * picks},
                                                              {"nb3", 4 * columns * picks}}))
                             .add(w.blocks)
                             .add(ids)
                             .add(y)
                             .groups({picks, 1, 1}, {uint32_t(units), 1, 1});
                         session.near(y, expected, 1e-6);
                     }});
}

}  // namespace

Cases ggml_matrix_cases() {
    Cases cases;
    for (const MatrixRow& row : kMatrixRows) {
        add_vector_product(cases, row, 512);
        if (row.split_rows != 0) add_vector_product(cases, row, 1024);
        add_matrix_product(cases, row);
        add_get_rows(cases, row.type);
    }
    return cases;
}

}  // namespace ingot::metal::conformance
